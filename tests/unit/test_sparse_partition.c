/* Equal shares of nonzeros: every nonzero and every empty row belongs to exactly one part. */
#include "test_sparse_support.h"

#include <tamis/structure.h>

#include "sparse/structure.h"

TEST(splits_totals) {
    for (int parts = 1; parts < 20; parts++)
        for (int64_t total = 0; total < 100; total++) {
            assert_int_equal(tamis_partition_even(total, parts, 0), 0);
            assert_int_equal(tamis_partition_even(total, parts, parts), total);
            for (int part = 0; part < parts; part++)
                assert_int_equal(tamis_partition_even(total, parts, part), part * total / parts);
        }
    assert_true(tamis_partition_even(INT64_MAX, 1000, 1000) == INT64_MAX);
    assert_true(tamis_partition_even(INT64_MAX, 2, 1) == INT64_MAX / 2);
}

/* Visits rows as a kernel does and counts how often each nonzero and each empty row comes up. */
static void expect_partition(const sample *s, int parts) {
    const tamis_sparse *const S = &s->view;
    int *const nonzeros = room_for(s->nnz, sizeof(int)), *const empties = room_for(s->rows, sizeof(int));
    for (int part = 0; part < parts; part++) {
        int64_t begin, end, row, next_row;
        tamis_partition_nonzeros(S->offsets, S->offset_type, S->rows, S->nnz, parts, part, &begin, &row);
        tamis_partition_nonzeros(S->offsets, S->offset_type, S->rows, S->nnz, parts, part + 1, &end, &next_row);
        assert_int_equal(begin, part * s->nnz / parts);
        if (part == 0) assert_int_equal(row, 0);
        if (part == parts - 1) assert_int_equal(next_row, s->rows);
        for (; row <= next_row && row < s->rows; row++) {
            const int64_t row_begin = tamis_index_load(S->offsets, S->offset_type, row);
            const int64_t row_end = tamis_index_load(S->offsets, S->offset_type, row + 1);
            if (row_begin == row_end && row < next_row) empties[row]++;
            for (int64_t z = row_begin > begin ? row_begin : begin; z < row_end && z < end; z++) nonzeros[z]++;
        }
    }
    for (int64_t z = 0; z < s->nnz; z++) assert_int_equal(nonzeros[z], 1);
    for (int64_t row = 0; row < s->rows; row++) {
        const bool empty =
            tamis_index_load(S->offsets, S->offset_type, row) == tamis_index_load(S->offsets, S->offset_type, row + 1);
        assert_int_equal(empties[row], empty ? 1 : 0);
    }
    int64_t before = 0, first[41];
    works(tamis_partition(S, parts, first));
    for (int part = 0; part <= parts; part++) {
        const int64_t row = tamis_partition_rows(S->offsets, S->offset_type, S->rows, S->nnz, parts, part);
        assert_true(row >= before && row <= s->rows && row == first[part]);
        before = row;
    }
    assert_int_equal(before, s->rows);
    assert_int_equal(tamis_partition_rows(S->offsets, S->offset_type, S->rows, S->nnz, parts, 0), 0);
    free(nonzeros);
    free(empties);
}

TEST(covers_everything_once) {
    for (int shape = 0; shape < SAMPLE_SHAPES - 1; shape++)
        for (int parts = 1; parts < 40; parts += 1 + parts / 5) {
            OWN(sample) s = sample_of(parts, shape);
            order_entries(&s, by_row);
            sample_build(&s, TAMIS_CSR, TAMIS_I32, (tamis_index_type)(parts % 2), TAMIS_F32, false);
            expect_partition(&s, parts);
        }
}

/* Shares and rows of more nonzeros than 32 bits can count. */
TEST(counts_beyond_32_bits) {
    const int64_t giga = (int64_t)1 << 30, nnz = 13 * giga;
    const int64_t offsets[] = {0, 0, 5 * giga, 5 * giga, 12 * giga, nnz, nnz};
    int64_t begin, row;
    for (int part = 0; part <= 26; part++) {
        tamis_partition_nonzeros(offsets, TAMIS_I64, 6, nnz, 26, part, &begin, &row);
        assert_true(begin == part * (giga / 2));
        const int64_t expected = part == 0 ? 0 : part < 10 ? 1 : part == 10 ? 2 : part < 24 ? 3 : part < 26 ? 4 : 6;
        assert_int_equal(row, expected);
    }
}
