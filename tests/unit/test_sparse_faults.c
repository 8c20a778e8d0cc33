/* The n-th allocation fails, for every n: the error says so, and nothing is leaked. */
#include <tamis/generate.h>
#include <tamis/structure.h>

#include "test_sparse_support.h"

/* One of the calls below, with everything released that it gave. */
typedef tamis_status attempt(const void *argument);

static void fail_everywhere(attempt *call, const void *argument) {
    EACH_FAULT(w) FAULTY(w, call(argument));
}

typedef struct conversion {
    const tamis_sparse *S;
    tamis_convert_options options;
} conversion;

static tamis_status convert(const void *argument) {
    const conversion *const c = argument;
    OWN(tamis_owned_sparse) *matrix;
    const tamis_status status = tamis_convert(c->S, &c->options, &matrix);
    if (status != TAMIS_OK) assert_null(matrix);
    return status;
}

TEST(conversions) {
    for (int format = 0; format < 2; format++) {
        OWN(sample) s = sample_draw(11, 60, 50, 700);
        if (format == TAMIS_CSR) order_entries(&s, by_row);
        sample_build(&s, (tamis_format)format, TAMIS_I64, TAMIS_I64, TAMIS_F64, true);
        for (int wish = 0; wish < 64; wish += test_rounds(1, 5)) {
            conversion c = {&s.view, TAMIS_CONVERT_OPTIONS_INIT};
            c.options.format = (tamis_format)(wish & 1);
            c.options.sort = wish >> 1 & 1;
            c.options.transpose = wish >> 2 & 1;
            c.options.duplicates = (tamis_duplicates)(wish >> 3 & 1);
            c.options.index_type = c.options.offset_type = (tamis_index_type)(wish >> 4 & 1);
            c.options.value_type = wish >> 4 & 1 ? TAMIS_F64 : TAMIS_F32;
            c.options.values = wish >> 5 ? TAMIS_VALUES_NONE : TAMIS_VALUES_AS_FILED;
            fail_everywhere(convert, &c);
        }
    }
}

static tamis_status generate(const void *argument) {
    OWN(tamis_owned_sparse) *matrix;
    const tamis_status status = tamis_generate(argument, &matrix);
    if (status != TAMIS_OK) assert_null(matrix);
    return status;
}

TEST(generators) {
    for (int kind = TAMIS_KIND_UNIFORM; kind <= TAMIS_KIND_WINDOW; kind++)
        for (int wish = 0; wish < 4; wish += test_rounds(1, 3)) {
            tamis_generate_options options = TAMIS_GENERATE_OPTIONS_INIT;
            options.kind = (tamis_kind)kind;
            options.rows = 80;
            options.nnz = wish & 1 ? 5000 : 900; /* rmat: completed at the end */
            options.pattern = wish >> 1;
            options.global = 3;
            fail_everywhere(generate, &options);
        }
}

static tamis_status profile(const void *argument) {
    tamis_profile result;
    return tamis_row_profile(argument, &result);
}

static tamis_status find_structure(const void *argument) {
    tamis_structure result;
    tamis_sparse lower;
    const tamis_status status = tamis_slice(argument, 30, 30, 0, 0, &lower);
    return status == TAMIS_OK ? tamis_structure_find(&lower, NULL, &result) : status;
}

static tamis_status group(const void *argument) {
    int64_t offsets[64], columns[800];
    return tamis_coo_to_csr(argument, offsets, columns, NULL, NULL);
}

static tamis_status transpose(const void *argument) {
    int64_t offsets[64], columns[800];
    return tamis_transpose(argument, offsets, columns, NULL, NULL);
}

static tamis_status sort(const void *argument) {
    int64_t columns[800];
    return tamis_sort(argument, columns, NULL, NULL);
}

static tamis_status create_array(const void *argument) {
    OWN(tamis_owned_dense) *array;
    const tamis_status status = tamis_owned_dense_create(3, 4, TAMIS_F32, TAMIS_ROW_MAJOR, &array);
    if (status != TAMIS_OK) assert_null(array);
    return status;
}

TEST(structure_helpers) {
    OWN(sample) s = sample_draw(12, 60, 50, 700);
    sample_build(&s, TAMIS_COO, TAMIS_I32, TAMIS_I32, TAMIS_F32, true);
    fail_everywhere(profile, &s.view);
    fail_everywhere(group, &s.view);
    fail_everywhere(transpose, &s.view);
    order_entries(&s, by_row);
    sample_build(&s, TAMIS_CSR, TAMIS_I32, TAMIS_I32, TAMIS_F32, true);
    fail_everywhere(find_structure, &s.view);
    fail_everywhere(transpose, &s.view);
    fail_everywhere(sort, &s.view);
    fail_everywhere(create_array, NULL);
}
