/* CSR to COO and back, transpose and sort, against stable sorts of plain lists. */
#include <tamis/structure.h>

#include "test_sparse_support.h"

#include "sparse/order.h"

typedef struct outputs {
    void *offsets, *columns, *values;
    int64_t *permutation;
} outputs;

static outputs outputs_for(int64_t groups, int64_t nnz) {
    return (outputs){room_for(groups + 1, 8), room_for(nnz, 8), room_for(nnz, 8), room_for(nnz, 8)};
}

static void outputs_free(outputs *o) {
    free(o->offsets);
    free(o->columns);
    free(o->values);
    free(o->permutation);
}

/* The outputs hold the entries of `from` in the order of `expected`, whose `at` are numbers in `from`. */
static void expect_outputs(const outputs *o, const tamis_sparse *from, const sample *expected, bool with_values) {
    tamis_sparse S = *from;
    S.format = TAMIS_CSR;
    S.rows = expected->rows;
    S.cols = expected->cols;
    S.offsets = o->offsets;
    S.row_indices = NULL;
    S.columns = o->columns;
    S.values = with_values && S.nnz ? o->values : NULL;
    expect_entries(&S, expected, with_values);
    for (int64_t t = 0; t < S.nnz; t++) assert_int_equal(o->permutation[t], expected->entries[t].at);
}

static sample transposed(const sample *s) {
    sample t = sample_copy(s);
    t.rows = s->cols;
    t.cols = s->rows;
    for (int64_t i = 0; i < t.nnz; i++) {
        t.entries[i].row = s->entries[i].column;
        t.entries[i].column = s->entries[i].row;
    }
    qsort(t.entries, (size_t)t.nnz, sizeof(entry), by_row);
    return t;
}

static void ones_where_without_values(sample *s, const void *values) {
    for (int64_t t = 0; !values && t < s->nnz; t++) s->entries[t].value = 1;
}

/* The bits of `types`: of indices, of offsets, and whether there are values. */
static void build(sample *s, tamis_format format, int types, int shape) {
    sample_build(s, format, (tamis_index_type)(types & 1), (tamis_index_type)(types >> 1 & 1),
                 (tamis_type)((shape + types) & 3), types >> 2 & 1);
}

static void free_all(sample *s, sample *expected, outputs *o) {
    outputs_free(o);
    sample_free(expected);
    sample_free(s);
}

TEST(coo_becomes_csr) {
    for (int shape = 0; shape < SAMPLE_SHAPES; shape++)
        for (int types = 0; types < 8; types++) {
            sample s = sample_of(200, shape);
            build(&s, TAMIS_COO, types, shape);
            sample expected = sample_copy(&s);
            ones_where_without_values(&expected, s.values);
            qsort(expected.entries, (size_t)expected.nnz, sizeof(entry), by_row);
            outputs o = outputs_for(s.rows, s.nnz);
            works(tamis_coo_to_csr(&s.view, o.offsets, o.columns, o.values, o.permutation));
            expect_outputs(&o, &s.view, &expected, true);
            memset(o.columns, 0, (size_t)s.nnz);
            works(tamis_coo_to_csr(&s.view, o.offsets, o.columns, NULL, NULL));
            expect_outputs(&o, &s.view, &expected, true);
            for (int threads = 2; threads < 6 && s.nnz > 100000; threads += 3) {
                memset(o.permutation, 0, (size_t)s.nnz * 8);
                works(tamis_group(&s.view, false, threads, s.view.offset_type, o.offsets,
                                  &(tamis_reordered){o.columns, o.values, o.permutation}));
                expect_outputs(&o, &s.view, &expected, true);
            }
            free_all(&s, &expected, &o);
        }
}

TEST(csr_becomes_coo) {
    for (int shape = 0; shape < SAMPLE_SHAPES; shape++)
        for (int types = 0; types < 4; types++) {
            OWN(sample) s = sample_of(300, shape);
            order_entries(&s, by_row);
            const tamis_index_type type = (tamis_index_type)(types & 1);
            sample_build(&s, TAMIS_CSR, type, (tamis_index_type)(types >> 1), TAMIS_F32, false);
            OWN(void) *const rows = room_for(s.nnz, 8);
            works(tamis_csr_to_coo(&s.view, rows));
            for (int64_t t = 0; t < s.nnz; t++) assert_int_equal(tamis_index_load(rows, type, t), s.entries[t].row);
            for (int threads = 2; threads < 6 && s.nnz > 100000; threads += 3) {
                memset(rows, 0, (size_t)s.nnz * 4);
                tamis_expand_rows(&s.view, threads, rows);
                for (int64_t t = 0; t < s.nnz; t++) assert_int_equal(tamis_index_load(rows, type, t), s.entries[t].row);
            }
        }
}

TEST(transposes) {
    for (int shape = 0; shape < SAMPLE_SHAPES; shape++)
        for (int types = 0; types < 16; types++) {
            const tamis_format format = (tamis_format)(types >> 3);
            sample s = sample_of(400, shape);
            if (format == TAMIS_CSR) order_entries(&s, by_row);
            build(&s, format, types, shape);
            sample expected = transposed(&s);
            ones_where_without_values(&expected, s.values);
            outputs o = outputs_for(s.cols, s.nnz);
            works(tamis_transpose(&s.view, o.offsets, o.columns, o.values, o.permutation));
            expect_outputs(&o, &s.view, &expected, true);
            for (int threads = 2; threads < 6 && s.nnz > 100000; threads += 3) {
                memset(o.permutation, 0, (size_t)s.nnz * 8);
                works(tamis_group(&s.view, true, threads, s.view.offset_type, o.offsets,
                                  &(tamis_reordered){o.columns, o.values, o.permutation}));
                expect_outputs(&o, &s.view, &expected, true);
            }
            free_all(&s, &expected, &o);
        }
}

/* So many entries that they are sorted into buckets first: spread, with a hub of a quarter of them, and with one of
   most of them, which no bucket holds. */
TEST(groups_by_buckets) {
    for (int types = 0; types < 8; types++)
        for (int hub = 0; hub <= 80; hub += hub ? 55 : 25) {
            const tamis_format format = (tamis_format)(types >> 2);
            OWN(sample) s = sample_draw((uint64_t)(450 + hub), 5000, 100003, 270001);
            for (int64_t t = 0; t < s.nnz; t++)
                if (t % 100 < hub) s.entries[t].row = s.entries[t].column = 4321;
            if (format == TAMIS_CSR) order_entries(&s, by_row);
            sample_build(&s, format, (tamis_index_type)(types & 1), (tamis_index_type)(types >> 1 & 1), 0, false);
            for (int transpose = format == TAMIS_CSR; transpose < 2; transpose++) {
                OWN(sample) expected = transpose ? transposed(&s) : sample_copy(&s);
                if (!transpose) qsort(expected.entries, (size_t)expected.nnz, sizeof(entry), by_row);
                outputs o = outputs_for(s.cols, s.nnz);
                for (int threads = 1; threads < 8; threads += 2) {
                    memset(o.permutation, 0xa5, (size_t)s.nnz * 8);
                    memset(o.columns, 0xa5, (size_t)s.nnz * 4);
                    works(tamis_group(&s.view, transpose, threads, s.view.offset_type, o.offsets,
                                      &(tamis_reordered){o.columns, NULL, o.permutation}));
                    expect_outputs(&o, &s.view, &expected, false);
                }
                outputs_free(&o);
            }
        }
}

TEST(sorts_rows) {
    for (int shape = 0; shape < SAMPLE_SHAPES; shape++)
        for (int types = 0; types < 8; types++)
            for (int sorted = 0; sorted < 2; sorted++) {
                sample s = sample_of(500, shape);
                order_entries(&s, sorted ? by_both : by_row);
                build(&s, TAMIS_CSR, types, shape);
                sample expected = sample_copy(&s);
                ones_where_without_values(&expected, s.values);
                qsort(expected.entries, (size_t)expected.nnz, sizeof(entry), by_both);
                outputs o = outputs_for(s.rows, s.nnz);
                memcpy(o.offsets, s.offsets, (size_t)(s.rows + 1) * 8);
                works(tamis_sort(&s.view, o.columns, o.values, o.permutation));
                expect_outputs(&o, &s.view, &expected, true);
                for (int threads = 2; threads < 6 && s.nnz > 100000; threads += 3) {
                    memset(o.permutation, 0, (size_t)s.nnz * 8);
                    works(tamis_sort_rows(&s.view, threads, &(tamis_reordered){o.columns, o.values, o.permutation}));
                    expect_outputs(&o, &s.view, &expected, true);
                }
                free_all(&s, &expected, &o);
            }
}

/* Every length of a row around the limits between the ways of sorting, and columns as large as there are. */
TEST(sorts_rows_of_any_length) {
    tamis_random random = tamis_random_start(3, 3);
    for (int64_t length = 0; length < 2200; length += length < 120 ? 1 : 77) {
        sample s = {.rows = 1, .cols = TAMIS_SIZE_MOST, .nnz = length, .entries = room_for(length, sizeof(entry))};
        for (int64_t t = 0; t < length; t++)
            s.entries[t] = (entry){
                .column = (int64_t)(tamis_random_next(&random) >> (9 + t % 52)), .at = t, .value = (double)(t % 7)};
        sample_build(&s, TAMIS_CSR, TAMIS_I64, TAMIS_I32, TAMIS_F64, true);
        sample expected = sample_copy(&s);
        qsort(expected.entries, (size_t)length, sizeof(entry), by_both);
        outputs o = outputs_for(1, length);
        memcpy(o.offsets, s.offsets, 8);
        works(tamis_sort(&s.view, o.columns, o.values, o.permutation));
        expect_outputs(&o, &s.view, &expected, true);
        free_all(&s, &expected, &o);
    }
}

TEST(refuses_arguments) {
    int32_t offsets[] = {0, 2, 3}, rows[] = {0, 0, 1}, columns[] = {1, 0, 2}, out[8];
    int64_t permutation[4];
    const tamis_sparse csr = {.rows = 2, .cols = 3, .nnz = 3, .offsets = offsets, .columns = columns};
    const tamis_sparse coo = coo_of(TAMIS_F32, 2, 3, 3, rows, columns, NULL);
    REFUSED(ARGUMENT, "S = NULL", tamis_csr_to_coo(NULL, out));
    REFUSED(ARGUMENT, "S.format = coo: expected csr", tamis_csr_to_coo(&coo, out));
    REFUSED(ARGUMENT, "row_indices = NULL", tamis_csr_to_coo(&csr, NULL));
    REFUSED(ARGUMENT, "S = NULL", tamis_coo_to_csr(NULL, out, out, NULL, NULL));
    REFUSED(ARGUMENT, "S.format = csr: expected coo", tamis_coo_to_csr(&csr, out, out, NULL, NULL));
    REFUSED(ARGUMENT, "offsets = NULL", tamis_coo_to_csr(&coo, NULL, out, NULL, NULL));
    REFUSED(ARGUMENT, "columns = NULL", tamis_coo_to_csr(&coo, out, NULL, NULL, NULL));
    REFUSED(ARGUMENT, "S = NULL", tamis_transpose(NULL, out, out, NULL, permutation));
    REFUSED(ARGUMENT, "offsets = NULL", tamis_transpose(&csr, NULL, out, NULL, permutation));
    REFUSED(ARGUMENT, "columns = NULL", tamis_transpose(&coo, out, NULL, NULL, permutation));
    REFUSED(ARGUMENT, "S = NULL", tamis_sort(NULL, out, NULL, permutation));
    REFUSED(ARGUMENT, "S.format = coo: expected csr", tamis_sort(&coo, out, NULL, permutation));
    REFUSED(ARGUMENT, "columns = NULL", tamis_sort(&csr, NULL, NULL, permutation));
    rows[1] = 2;
    REFUSED(PATTERN, "row_indices[1] = 2", tamis_coo_to_csr(&coo, out, out, NULL, NULL));
    rows[1] = 0;
    columns[2] = -1;
    REFUSED(PATTERN, "columns[2] = -1", tamis_transpose(&csr, out, out, NULL, NULL));
    REFUSED(PATTERN, "columns[2] = -1", tamis_sort(&csr, out, NULL, NULL));
    columns[2] = 2;
    offsets[1] = 4;
    REFUSED(PATTERN, "offsets[1] = 4", tamis_csr_to_coo(&csr, out));
    offsets[1] = 2;
    tamis_sparse large = csr;
    large.rows = (int64_t)1 << 32;
    REFUSED(OVERFLOW, "S.rows = 4294967296", tamis_csr_to_coo(&large, out));
    REFUSED(OVERFLOW, "S.rows = 4294967296", tamis_transpose(&large, out, out, NULL, NULL));
    large = coo;
    large.nnz = (int64_t)1 << 31;
    REFUSED(OVERFLOW, "S.nnz = 2147483648", tamis_coo_to_csr(&large, out, out, NULL, NULL));
    large = csr;
    large.index_type = TAMIS_I64;
    large.columns = permutation;
    large.cols = INT64_MAX;
    large.nnz = 0;
    REFUSED(OVERFLOW, "S.cols = 9223372036854775807", tamis_transpose(&large, out, out, NULL, NULL));
}
