/* tamis_convert: every combination of formats, types and steps against plain lists. */
#include <tamis/structure.h>

#include "test_sparse_support.h"

/* What the options make of the entries. */
static sample plain_convert(const sample *s, tamis_format from, const tamis_convert_options *o, bool has_values) {
    sample r = sample_copy(s);
    if (o->transpose) {
        r.rows = s->cols;
        r.cols = s->rows;
        for (int64_t t = 0; t < r.nnz; t++) {
            r.entries[t].row = s->entries[t].column;
            r.entries[t].column = s->entries[t].row;
        }
    }
    for (int64_t t = 0; !has_values && t < r.nnz; t++) r.entries[t].value = 1;
    if (o->sort || o->duplicates != TAMIS_DUPLICATES_KEEP)
        order_entries(&r, by_both);
    else if (o->format == TAMIS_CSR || (from == TAMIS_CSR && o->transpose))
        order_entries(&r, by_row);
    if (o->duplicates != TAMIS_DUPLICATES_KEEP) {
        const bool last = o->duplicates == TAMIS_DUPLICATES_LAST;
        int64_t to = 0;
        for (int64_t t = 0; t < r.nnz; t++) {
            if (to > 0 && r.entries[to - 1].row == r.entries[t].row && r.entries[to - 1].column == r.entries[t].column)
                r.entries[to - 1].value = r.entries[t].value + (last ? 0 : r.entries[to - 1].value);
            else
                r.entries[to++] = r.entries[t];
        }
        r.nnz = to;
    }
    return r;
}

static void expect_types(const tamis_sparse *S, const tamis_convert_options *o) {
    assert_int_equal(S->format, o->format);
    assert_int_equal(S->index_type, o->index_type);
    assert_int_equal(S->offset_type, o->offset_type);
    assert_int_equal(S->value_type, o->value_type);
    assert_int_equal(S->location, TAMIS_HOST);
    assert_int_equal(S->batch_stride, 0);
    assert_true((S->offsets == NULL) == (o->format == TAMIS_COO));
    if (o->format == TAMIS_CSR) assert_null(S->row_indices);
    works(tamis_validate(S));
}

TEST(converts_everything) {
    const int64_t live = tamis_memory_live();
    for (int shape = 0; shape < SAMPLE_SHAPES - 1; shape++)
        for (int source = shape % test_rounds(1, 3); source < 16; source += test_rounds(1, 3)) {
            const tamis_format from = (tamis_format)(source & 1);
            const bool has_values = source >> 3;
            OWN(sample) s = sample_of(600, shape);
            if (from == TAMIS_CSR) order_entries(&s, shape % 2 ? by_row : by_both);
            sample_build(&s, from, (tamis_index_type)(source >> 1 & 1), (tamis_index_type)(source >> 2 & 1),
                         (tamis_type)(shape & 3), has_values);
            for (int wish = 0; wish < 144; wish += test_rounds(1, 5)) {
                tamis_convert_options o = TAMIS_CONVERT_OPTIONS_INIT;
                o.format = (tamis_format)(wish & 1);
                o.index_type = (tamis_index_type)(wish >> 1 & 1);
                o.offset_type = (tamis_index_type)((wish + source) & 1);
                o.value_type = (tamis_type)((wish + shape + source / 2) % 4);
                o.duplicates = (tamis_duplicates)(wish / 48);
                o.sort = wish >> 2 & 1;
                o.transpose = wish >> 3 & 1;
                o.values = (tamis_values)(wish / 16 % 3);
                /* sums of many halves need more bits than the 16-bit types have */
                if (o.duplicates == TAMIS_DUPLICATES_SUM) o.value_type = (tamis_type)(o.value_type & 1);
                OWN(sample) expected = plain_convert(&s, from, &o, has_values);
                OWN(tamis_owned_sparse) *matrix;
                works(tamis_convert(&s.view, &o, &matrix));
                const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
                expect_types(S, &o);
                const bool counts = o.duplicates == TAMIS_DUPLICATES_SUM && expected.nnz < s.nnz;
                expect_entries(S, &expected,
                               o.values == TAMIS_VALUES_ONES ||
                                   (o.values == TAMIS_VALUES_AS_FILED && (has_values || counts)));
            }
        }
    assert_int_equal(tamis_memory_live(), live);
}

TEST(defaults_and_large) {
    OWN(sample) s = sample_draw(9, 900, 5000, 150000);
    sample_build(&s, TAMIS_COO, TAMIS_I64, TAMIS_I64, TAMIS_F64, true);
    OWN(tamis_owned_sparse) *matrix;
    works(tamis_convert(&s.view, NULL, &matrix));
    const tamis_convert_options defaults = TAMIS_CONVERT_OPTIONS_INIT;
    expect_types(tamis_owned_sparse_view(matrix), &defaults);
    OWN(sample) expected = plain_convert(&s, TAMIS_COO, &defaults, true);
    expect_entries(tamis_owned_sparse_view(matrix), &expected, true);
}

/* Values that pass through unchanged keep their bits; others are rounded once. */
TEST(keeps_values) {
    const uint32_t bits[] = {0x7fc12345u, 0xff800000u, 0x80000000u, 0x00000001u, 0x7f800001u};
    int32_t offsets[] = {0, 5}, columns[] = {0, 1, 2, 3, 4};
    const tamis_sparse S = {.rows = 1, .cols = 5, .nnz = 5, .offsets = offsets, .columns = columns, .values = bits};
    tamis_owned_sparse *matrix;
    works(tamis_convert(&S, NULL, &matrix));
    assert_memory_equal(tamis_owned_sparse_view(matrix)->values, bits, sizeof bits);
    tamis_owned_sparse_free(matrix);
    const double wide[] = {1 + 0x1p-24, 1e300, -1e-300, 65519, NAN};
    tamis_sparse D = S;
    D.value_type = TAMIS_F64;
    D.values = wide;
    works(tamis_convert(&D, NULL, &matrix));
    const float *const narrow = tamis_owned_sparse_view(matrix)->values;
    assert_true(narrow[0] == 1 && isinf(narrow[1]) && narrow[2] == 0 && narrow[3] == 65519 && isnan(narrow[4]));
    tamis_owned_sparse_free(matrix);
}

TEST(sums_in_double) {
    int32_t offsets[] = {0, 0, 5, 5}, columns[] = {7, 7, 2, 7, 7};
    const float values[] = {16777216, 1, 3, 1, 0.5f};
    const tamis_sparse S = {.rows = 3, .cols = 8, .nnz = 5, .offsets = offsets, .columns = columns, .values = values};
    tamis_convert_options o = TAMIS_CONVERT_OPTIONS_INIT;
    o.duplicates = TAMIS_DUPLICATES_SUM;
    OWN(tamis_owned_sparse) *matrix;
    works(tamis_convert(&S, &o, &matrix));
    const tamis_sparse *const view = tamis_owned_sparse_view(matrix);
    assert_int_equal(view->nnz, 2);
    assert_true(((const float *)view->values)[0] == 3);
    assert_true(((const float *)view->values)[1] == 16777218); /* one by one in fp32 it would stay 16777216 */
}

TEST(refuses_arguments) {
    int32_t offsets[] = {0, 1}, columns[] = {1};
    const tamis_sparse S = {.rows = 1, .cols = 2, .nnz = 1, .offsets = offsets, .columns = columns};
    tamis_owned_sparse *matrix = (tamis_owned_sparse *)&matrix;
    tamis_convert_options o = TAMIS_CONVERT_OPTIONS_INIT;
    REFUSED(ARGUMENT, "S = NULL", tamis_convert(NULL, &o, &matrix));
    assert_null(matrix);
    REFUSED(ARGUMENT, "matrix = NULL", tamis_convert(&S, &o, NULL));
    SPOILT(o.reserved[5], 2, UNSUPPORTED, "options.reserved[5] = 0x2", tamis_convert(&S, &o, &matrix));
    SPOILT(o.format, (tamis_format)2, ARGUMENT, "options.format = 2", tamis_convert(&S, &o, &matrix));
    SPOILT(o.index_type, (tamis_index_type)2, ARGUMENT, "options.index_type = 2", tamis_convert(&S, &o, &matrix));
    SPOILT(o.offset_type, (tamis_index_type)5, ARGUMENT, "options.offset_type = 5", tamis_convert(&S, &o, &matrix));
    SPOILT(o.value_type, (tamis_type)4, ARGUMENT, "options.value_type = 4", tamis_convert(&S, &o, &matrix));
    SPOILT(o.values, (tamis_values)3, ARGUMENT, "options.values = 3", tamis_convert(&S, &o, &matrix));
    SPOILT(o.duplicates, (tamis_duplicates)3, ARGUMENT, "options.duplicates = 3", tamis_convert(&S, &o, &matrix));
    tamis_sparse wide = S;
    int64_t wide_columns[] = {1};
    wide.index_type = TAMIS_I64;
    wide.columns = wide_columns;
    wide.cols = (int64_t)1 << 32;
    REFUSED(OVERFLOW, "S.cols = 4294967296", tamis_convert(&wide, &o, &matrix));
    o.index_type = TAMIS_I64;
    works(tamis_convert(&wide, &o, &matrix));
    tamis_owned_sparse_free(matrix);
    wide = S;
    wide.nnz = (int64_t)1 << 31;
    wide.offset_type = TAMIS_I64;
    wide.offsets = wide_columns;
    REFUSED(OVERFLOW, "S.nnz = 2147483648", tamis_convert(&wide, NULL, &matrix));
    wide = S;
    wide.rows = (int64_t)1 << 32;
    o = (tamis_convert_options)TAMIS_CONVERT_OPTIONS_INIT;
    o.format = TAMIS_COO;
    REFUSED(OVERFLOW, "S.rows = 4294967296", tamis_convert(&wide, &o, &matrix));
    columns[0] = 2;
    REFUSED(PATTERN, "columns[0] = 2", tamis_convert(&S, NULL, &matrix));
    assert_null(matrix);
}
