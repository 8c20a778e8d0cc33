/* Samples of rows, against Floyd's algorithm on plain lists, and against the frequencies that are promised. */
#include "test_sparse_support.h"

#include <string.h>

#include <tamis/structure.h>

#include "support/refusals.h"

enum { ROWS = 23, MOST = 64 };

static bool has(const int64_t *numbers, int64_t count, int64_t number) {
    for (int64_t i = 0; i < count; i++)
        if (numbers[i] == number) return true;
    return false;
}

static int rising(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns how many entries of a row are expected, and sets them. */
static int64_t expected(const tamis_sparse *S, int64_t row, int64_t fanout, bool replace, uint64_t seed,
                        int64_t *entries) {
    const int64_t begin = tamis_index_load(S->offsets, S->offset_type, row);
    const int64_t length = tamis_index_load(S->offsets, S->offset_type, row + 1) - begin;
    const int64_t kept = length == 0 || (!replace && length <= fanout) ? length : fanout;
    for (int64_t i = 0; i < kept; i++) {
        const int64_t last = replace ? length - 1 : length - fanout + i;
        int64_t number = (int64_t)(tamis_random_uniform_at(seed, (uint64_t)row, (uint64_t)i) * (double)(last + 1));
        if (!replace && length <= fanout)
            number = i;
        else if (!replace && has(entries, i, number + begin))
            number = last;
        entries[i] = number + begin;
    }
    qsort(entries, (size_t)kept, sizeof *entries, rising);
    return kept;
}

TEST(samples_as_the_oracle) {
    for (int round = 0; round < 40; round++) {
        OWN(sample) s = sample_draw((uint64_t)round + 1, ROWS, 9, round * 7);
        order_entries(&s, by_row);
        sample_build(&s, TAMIS_CSR, (tamis_index_type)(round & 1), (tamis_index_type)(round >> 1 & 1), TAMIS_F32,
                     false);
        int64_t rows[3 * ROWS], offsets[3 * ROWS + 1], entries[3 * ROWS * MOST], want[MOST];
        for (int i = 0; i < 3 * ROWS; i++) rows[i] = i * 7 % ROWS;
        const int64_t fanout = round % 6 == 5 ? 40 : round % 6;
        const uint64_t seed = (uint64_t)round * UINT64_C(0x123456789abcdef);
        const bool replace = round % 4 == 3;
        works(tamis_sample(&s.view, rows, 3 * ROWS, fanout, replace, seed, offsets, NULL));
        assert_true(offsets[3 * ROWS] <= 3 * ROWS * MOST);
        int64_t again[3 * ROWS + 1];
        works(tamis_sample(&s.view, rows, 3 * ROWS, fanout, replace, seed, again, entries));
        assert_memory_equal(offsets, again, sizeof offsets);
        for (int i = 0; i < 3 * ROWS; i++) {
            if (!replace && fanout == 40) continue; /* rows may be longer than `want` */
            const int64_t kept = expected(&s.view, rows[i], fanout, replace, seed, want);
            assert_int_equal(offsets[i + 1] - offsets[i], kept);
            if (kept) assert_memory_equal(entries + offsets[i], want, (size_t)kept * sizeof *want);
        }
    }
}

/* Rows of 5 entries, of which each pair is as likely: chi-square of 10 pairs. 50 is exceeded with probability 1e-7. */
TEST(every_pair_is_as_likely) {
    enum { COUNT = 20000, LENGTH = 5 };
    int64_t *const offsets = room_for(COUNT + 1, 8), *const rows = room_for(COUNT, 8),
                   *const columns = room_for(COUNT * LENGTH, 8);
    int64_t *const begins = room_for(COUNT + 1, 8), *const entries = room_for(2 * COUNT, 8);
    for (int64_t i = 0; i <= COUNT; i++) {
        offsets[i] = i * LENGTH;
        if (i < COUNT) rows[i] = i;
    }
    const tamis_sparse S = {.rows = COUNT,
                            .cols = 1,
                            .nnz = COUNT * LENGTH,
                            .offset_type = TAMIS_I64,
                            .index_type = TAMIS_I64,
                            .offsets = offsets,
                            .columns = columns};
    for (uint64_t seed = 1; seed < 4; seed++) {
        int64_t found[LENGTH][LENGTH] = {{0}};
        double sum = 0;
        works(tamis_sample(&S, rows, COUNT, 2, false, seed, begins, entries));
        for (int64_t i = 0; i < COUNT; i++) found[entries[2 * i] % LENGTH][entries[2 * i + 1] % LENGTH]++;
        for (int a = 0; a < LENGTH; a++)
            for (int b = 0; b < LENGTH; b++) {
                const double want = a < b ? COUNT / 10.0 : 0;
                if (a >= b) assert_int_equal(found[a][b], 0);
                if (a < b) sum += ((double)found[a][b] - want) * ((double)found[a][b] - want) / want;
            }
        assert_true(sum < 50);
    }
    free(offsets);
    free(rows);
    free(columns);
    free(begins);
    free(entries);
}

/* More entries than wait for their place at once. */
TEST(samples_large_parts_of_a_row) {
    enum { LENGTH = 5000, FANOUT = 2100 };
    const int64_t offsets[] = {0, LENGTH}, row = 0;
    int64_t *const columns = room_for(LENGTH, 8), *const entries = room_for(FANOUT, 8),
                   *const want = room_for(FANOUT, 8);
    int64_t begins[2];
    const tamis_sparse S = {.rows = 1,
                            .cols = 1,
                            .nnz = LENGTH,
                            .offset_type = TAMIS_I64,
                            .index_type = TAMIS_I64,
                            .offsets = offsets,
                            .columns = columns};
    for (int replace = 0; replace < 2; replace++) {
        assert_int_equal(expected(&S, 0, FANOUT, replace, 5, want), FANOUT);
        works(tamis_sample(&S, &row, 1, FANOUT, replace, 5, begins, entries));
        assert_memory_equal(entries, want, FANOUT * sizeof *want);
    }
    free(columns);
    free(entries);
    free(want);
}

TEST(refuses) {
    const int32_t lengths[] = {0, 2, 2}, columns[] = {0, 1};
    const tamis_sparse S = {.rows = 2, .cols = 2, .nnz = 2, .offsets = lengths, .columns = columns};
    const int64_t rows[] = {0, 1, 2}, negative[] = {-1};
    int64_t offsets[4];
    REFUSED(ARGUMENT, "S = NULL", tamis_sample(NULL, rows, 1, 1, false, 0, offsets, NULL));
    REFUSED(ARGUMENT, "rows = NULL", tamis_sample(&S, NULL, 1, 1, false, 0, offsets, NULL));
    REFUSED(ARGUMENT, "offsets = NULL", tamis_sample(&S, rows, 1, 1, false, 0, NULL, NULL));
    REFUSED(ARGUMENT, "count = -1", tamis_sample(&S, rows, -1, 1, false, 0, offsets, NULL));
    REFUSED(ARGUMENT, "fanout = -1", tamis_sample(&S, rows, 1, -1, false, 0, offsets, NULL));
    REFUSED(ARGUMENT, "rows[2] = 2 is not in 0 .. 1", tamis_sample(&S, rows, 3, 1, false, 0, offsets, NULL));
    REFUSED(ARGUMENT, "rows[0] = -1 is not in 0 .. 1", tamis_sample(&S, negative, 1, 1, false, 0, offsets, NULL));
    REFUSED(OVERFLOW, "too many entries",
            tamis_sample(&S, (const int64_t[]){0, 0}, 2, INT64_MAX >> 8, true, 0, offsets, NULL));
    works(tamis_sample(&S, NULL, 0, 1, false, 0, offsets, NULL));
    assert_int_equal(offsets[0], 0);
}
