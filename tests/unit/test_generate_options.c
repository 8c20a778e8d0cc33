/* Names, options out of range, and the promise that the same options give the same matrix. */
#include <tamis/generate.h>

#include "test_sparse_support.h"

#include "base/fnv.h"
#include "base/threads.h"
#include "generate/generate.h"

TEST(names) {
    for (int k = TAMIS_KIND_UNIFORM; k <= TAMIS_KIND_WINDOW; k++) {
        tamis_kind kind;
        expect_ok(tamis_kind_from_name(tamis_kind_name((tamis_kind)k), &kind));
        assert_int_equal(kind, k);
    }
    assert_string_equal(tamis_kind_name(TAMIS_KIND_RMAT), "rmat");
    assert_string_equal(tamis_kind_name((tamis_kind)7), "unknown");
    tamis_kind kind;
    expect_error(TAMIS_ERROR_ARGUMENT, "expected uniform, rmat", tamis_kind_from_name("RMAT", &kind));
    expect_error(TAMIS_ERROR_ARGUMENT, "name = NULL", tamis_kind_from_name(NULL, &kind));
    expect_error(TAMIS_ERROR_ARGUMENT, "kind = NULL", tamis_kind_from_name("rmat", NULL));
}

TEST(refuses_options) {
    tamis_owned_sparse *matrix = (tamis_owned_sparse *)&matrix;
    expect_error(TAMIS_ERROR_ARGUMENT, "options = NULL", tamis_generate(NULL, &matrix));
    assert_null(matrix);
    tamis_generate_options o;
#define REJECT(status, text, ...)                                                                                      \
    o = (tamis_generate_options)TAMIS_GENERATE_OPTIONS_INIT;                                                           \
    o.rows = 10;                                                                                                       \
    o.nnz = 20;                                                                                                        \
    __VA_ARGS__;                                                                                                       \
    expect_error(status, text, tamis_generate(&o, &matrix));                                                           \
    assert_null(matrix)
    REJECT(TAMIS_ERROR_UNSUPPORTED, "options.reserved[7] = 0x1", o.reserved[7] = 1);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.kind = 7", o.kind = (tamis_kind)7);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.rows = -1", o.rows = -1);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.cols = -2", o.cols = -2);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.nnz = -3", o.nnz = -3);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.band = -4", o.band = -4);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.block = -5", o.block = -5);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.global = -6", o.global = -6);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.density = -0.5", o.density = -0.5);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.density = 1.5", o.density = 1.5);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.density", o.density = (double)__builtin_nanf(""));
    REJECT(TAMIS_ERROR_ARGUMENT, "options.value_type = 4", o.value_type = (tamis_type)4);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.index_type = 2", o.index_type = (tamis_index_type)2);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.offset_type = 2", o.offset_type = (tamis_index_type)2);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.nnz = 101", o.nnz = 101);
    REJECT(TAMIS_ERROR_ARGUMENT, "options.nnz = 20", o.rows = 0);
    REJECT(TAMIS_ERROR_ARGUMENT, "square", o.kind = TAMIS_KIND_FEM; o.cols = 11);
    REJECT(TAMIS_ERROR_OVERFLOW, "options.cols = 4294967296", o.cols = (int64_t)1 << 32);
    REJECT(TAMIS_ERROR_OVERFLOW, "options.nnz = 2147483648", o.nnz = (int64_t)1 << 31; o.rows = 1 << 20);
    REJECT(TAMIS_ERROR_OVERFLOW, "options.density", o.nnz = 0; o.rows = o.cols = (int64_t)1 << 40; o.density = 1);
    REJECT(TAMIS_ERROR_OVERFLOW, "product", o.kind = TAMIS_KIND_RMAT; o.rows = o.cols = (int64_t)1 << 40;
           o.index_type = TAMIS_I64);
    REJECT(TAMIS_ERROR_OVERFLOW, "rows = 4294967296", o.kind = TAMIS_KIND_SCATTER; o.rows = (int64_t)1 << 32;
           o.cols = 10);
#undef REJECT
    o = (tamis_generate_options)TAMIS_GENERATE_OPTIONS_INIT;
    expect_error(TAMIS_ERROR_ARGUMENT, "matrix = NULL", tamis_generate(&o, NULL));
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
        expect_ok(tamis_generate(&o, &matrix));
        const uint64_t first = digest(tamis_owned_sparse_view(matrix));
        tamis_owned_sparse_free(matrix);
        if (first != recorded[kind])
            fail_msg("%s: 0x%016llxu instead of 0x%016llxu", tamis_kind_name(o.kind), (unsigned long long)first,
                     (unsigned long long)recorded[kind]);
        o.index_type = TAMIS_I64;
        o.offset_type = TAMIS_I64;
        expect_ok(tamis_generate(&o, &matrix));
        assert_true(digest(tamis_owned_sparse_view(matrix)) == first);
        tamis_owned_sparse_free(matrix);
        o.seed++;
        expect_ok(tamis_generate(&o, &matrix));
        assert_true(digest(tamis_owned_sparse_view(matrix)) != first);
        tamis_owned_sparse_free(matrix);
    }
}

TEST(same_for_any_threads) {
    for (int kind = TAMIS_KIND_UNIFORM; kind <= TAMIS_KIND_WINDOW; kind++) {
        tamis_recipe recipe = {.rows = 5000, .cols = 5000, .nnz = 150000, .block = 3, .seed = 5};
        tamis_owned_sparse *one, *many;
        recipe.threads = 1;
        expect_ok(tamis_generate_pattern((tamis_kind)kind, &recipe, &one));
        for (recipe.threads = 2; recipe.threads < 10; recipe.threads += 3) {
            expect_ok(tamis_generate_pattern((tamis_kind)kind, &recipe, &many));
            const tamis_sparse *const a = tamis_owned_sparse_view(one), *const b = tamis_owned_sparse_view(many);
            assert_int_equal(a->nnz, b->nnz);
            assert_memory_equal(a->offsets, b->offsets, 4 * (size_t)(a->rows + 1));
            assert_memory_equal(a->columns, b->columns, 4 * (size_t)a->nnz);
            tamis_owned_sparse_free(many);
        }
        tamis_owned_sparse_free(one);
    }
}
