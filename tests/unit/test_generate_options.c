/* Names, options out of range, and the promise that the same options give the same matrix. */
#include <tamis/generate.h>

#include "test_sparse_support.h"

#include "base/fnv.h"
#include "generate/recipe.h"

TEST(names) {
    for (int k = TAMIS_KIND_UNIFORM; k <= TAMIS_KIND_WINDOW; k++) {
        tamis_kind kind;
        works(tamis_kind_from_name(tamis_kind_name((tamis_kind)k), &kind));
        assert_int_equal(kind, k);
    }
    assert_string_equal(tamis_kind_name(TAMIS_KIND_RMAT), "rmat");
    assert_string_equal(tamis_kind_name((tamis_kind)7), "unknown");
    tamis_kind kind;
    REFUSED(ARGUMENT, "expected uniform, rmat", tamis_kind_from_name("RMAT", &kind));
    REFUSED(ARGUMENT, "name = NULL", tamis_kind_from_name(NULL, &kind));
    REFUSED(ARGUMENT, "kind = NULL", tamis_kind_from_name("rmat", NULL));
}

TEST(refuses_options) {
    tamis_owned_sparse *matrix;
    tamis_generate_options o = TAMIS_GENERATE_OPTIONS_INIT;
    o.rows = 10;
    o.nnz = 20;
    REFUSED_MADE(matrix, ARGUMENT, "options = NULL", tamis_generate(NULL, &matrix));
#define SPOILT_OPTION(change, want, words) SPOILT_MADE_BY(matrix, o, change, want, words, tamis_generate(&o, &matrix))
    SPOILT_OPTION(o.reserved[7] = 1, UNSUPPORTED, "options.reserved[7] = 0x1");
    SPOILT_OPTION(o.kind = (tamis_kind)7, ARGUMENT, "options.kind = 7");
    SPOILT_OPTION(o.rows = -1, ARGUMENT, "options.rows = -1");
    SPOILT_OPTION(o.cols = -2, ARGUMENT, "options.cols = -2");
    SPOILT_OPTION(o.nnz = -3, ARGUMENT, "options.nnz = -3");
    SPOILT_OPTION(o.band = -4, ARGUMENT, "options.band = -4");
    SPOILT_OPTION(o.block = -5, ARGUMENT, "options.block = -5");
    SPOILT_OPTION(o.global = -6, ARGUMENT, "options.global = -6");
    SPOILT_OPTION(o.density = -0.5, ARGUMENT, "options.density = -0.5");
    SPOILT_OPTION(o.density = 1.5, ARGUMENT, "options.density = 1.5");
    SPOILT_OPTION(o.density = (double)__builtin_nanf(""), ARGUMENT, "options.density");
    SPOILT_OPTION(o.value_type = (tamis_type)4, ARGUMENT, "options.value_type = 4");
    SPOILT_OPTION(o.index_type = (tamis_index_type)2, ARGUMENT, "options.index_type = 2");
    SPOILT_OPTION(o.offset_type = (tamis_index_type)2, ARGUMENT, "options.offset_type = 2");
    SPOILT_OPTION(o.nnz = 101, ARGUMENT, "options.nnz = 101");
    SPOILT_OPTION(o.rows = 0, ARGUMENT, "options.nnz = 20");
    SPOILT_OPTION((o.kind = TAMIS_KIND_FEM, o.cols = 11), ARGUMENT, "square");
    SPOILT_OPTION(o.cols = (int64_t)1 << 32, OVERFLOW, "options.cols = 4294967296");
    SPOILT_OPTION((o.nnz = (int64_t)1 << 31, o.rows = 1 << 20), OVERFLOW, "options.nnz = 2147483648");
    SPOILT_OPTION((o.nnz = 0, o.rows = o.cols = (int64_t)1 << 40, o.density = 1), OVERFLOW, "options.density");
    SPOILT_OPTION((o.kind = TAMIS_KIND_RMAT, o.rows = o.cols = (int64_t)1 << 40, o.index_type = TAMIS_I64), OVERFLOW,
                  "product");
    SPOILT_OPTION((o.kind = TAMIS_KIND_SCATTER, o.rows = (int64_t)1 << 32, o.cols = 10), OVERFLOW, "rows = 4294967296");
    o = (tamis_generate_options)TAMIS_GENERATE_OPTIONS_INIT;
    REFUSED(ARGUMENT, "matrix = NULL", tamis_generate(&o, NULL));
}

/* A number that any change of the pattern or the values changes. */
static uint64_t digest(const tamis_sparse *S) {
    uint64_t hash = 1469598103934665603u;
    for (int64_t row = 0; row <= S->rows; row++)
        hash = tamis_fnv_step(hash, (uint64_t)tamis_index_load(S->offsets, S->offset_type, row));
    for (int64_t z = 0; z < S->nnz; z++) {
        uint32_t bits;
        memcpy(&bits, (const char *)S->values + 4 * z, 4);
        hash = tamis_fnv_step(hash, (uint64_t)tamis_index_load(S->columns, S->index_type, z));
        hash = tamis_fnv_step(hash, bits);
    }
    return hash;
}

static tamis_generate_options example(int kind) {
    tamis_generate_options o = TAMIS_GENERATE_OPTIONS_INIT;
    o.kind = (tamis_kind)kind;
    o.rows = 3000;
    o.cols = kind == TAMIS_KIND_FEM ? 0 : 2000;
    o.nnz = 120000;
    o.seed = 2024;
    o.global = 5;
    return o;
}

/* Recorded once: other machines, compilers and versions must give the same. */
static const uint64_t recorded[] = {
    0x33b2573aaeb1cd71u, 0xf275cf4629b20df1u, 0x92ec58fd6cf57b06u, 0x6afda18999f7e748u,
    0x19c63a3c487f19c9u, 0x7f7df2318b329a6cu, 0x0bff4263bd03a38cu,
};

TEST(same_everywhere) {
    for (int kind = TAMIS_KIND_UNIFORM; kind <= TAMIS_KIND_WINDOW; kind++) {
        tamis_generate_options o = example(kind);
        tamis_owned_sparse *matrix;
        works(tamis_generate(&o, &matrix));
        const uint64_t first = digest(tamis_owned_sparse_view(matrix));
        tamis_owned_sparse_free(matrix);
        if (first != recorded[kind])
            fail_msg("%s: 0x%016llxu instead of 0x%016llxu", tamis_kind_name(o.kind), (unsigned long long)first,
                     (unsigned long long)recorded[kind]);
        o.index_type = TAMIS_I64;
        o.offset_type = TAMIS_I64;
        works(tamis_generate(&o, &matrix));
        assert_true(digest(tamis_owned_sparse_view(matrix)) == first);
        tamis_owned_sparse_free(matrix);
        o.seed++;
        works(tamis_generate(&o, &matrix));
        assert_true(digest(tamis_owned_sparse_view(matrix)) != first);
        tamis_owned_sparse_free(matrix);
    }
}

TEST(same_for_any_threads) {
    for (int kind = TAMIS_KIND_UNIFORM; kind <= TAMIS_KIND_WINDOW; kind++) {
        tamis_recipe recipe = {.rows = 5000, .cols = 5000, .nnz = 150000, .block = 3, .seed = 5};
        tamis_owned_sparse *one, *many;
        recipe.threads = 1;
        works(tamis_generate_pattern((tamis_kind)kind, &recipe, &one));
        for (recipe.threads = 2; recipe.threads < 10; recipe.threads += 3) {
            works(tamis_generate_pattern((tamis_kind)kind, &recipe, &many));
            const tamis_sparse *const a = tamis_owned_sparse_view(one), *const b = tamis_owned_sparse_view(many);
            assert_int_equal(a->nnz, b->nnz);
            assert_memory_equal(a->offsets, b->offsets, 4 * (size_t)(a->rows + 1));
            assert_memory_equal(a->columns, b->columns, 4 * (size_t)a->nnz);
            tamis_owned_sparse_free(many);
        }
        tamis_owned_sparse_free(one);
    }
}
