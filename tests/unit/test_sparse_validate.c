/* Every broken entry is found, wherever it is, and the first one is named. */
#include <tamis/structure.h>

#include "test_sparse_support.h"

#include "sparse/structure.h"

static const int thread_counts[] = {1, 2, 5};

static void set_index(const void *array, tamis_index_type type, int64_t i, int64_t value) {
    tamis_index_store((void *)(uintptr_t)array, type, i, value);
}

static void expect_bad(const tamis_sparse *S, const char *text) {
    REFUSED(PATTERN, text, tamis_validate(S));
    for (int t = 0; t < 3; t++) REFUSED(PATTERN, text, tamis_validate_threads(S, thread_counts[t]));
}

TEST(accepts_samples) {
    for (int shape = 0; shape < SAMPLE_SHAPES; shape++)
        for (int types = 0; types < 8; types++) {
            OWN(sample) s = sample_of(0, shape);
            order_entries(&s, by_row);
            sample_build(&s, types & 1 ? TAMIS_COO : TAMIS_CSR, (tamis_index_type)(types >> 1 & 1),
                         (tamis_index_type)(types >> 2), TAMIS_F32, true);
            works(tamis_validate(&s.view));
            for (int t = 0; t < 3; t++) works(tamis_validate_threads(&s.view, thread_counts[t]));
        }
}

TEST(names_the_first_bad_entry) {
    tamis_random random = tamis_random_start(1, 1);
    for (int types = 0; types < 8; types++) {
        OWN(sample) s = sample_draw(5, 70000, 80, 140000);
        const tamis_index_type index_type = (tamis_index_type)(types >> 1 & 1),
                               offset_type = (tamis_index_type)(types >> 2);
        order_entries(&s, by_row);
        sample_build(&s, types & 1 ? TAMIS_COO : TAMIS_CSR, index_type, offset_type, TAMIS_F32, false);
        const int64_t wrong[] = {-1, 80, 90, INT32_MAX, INT32_MIN};
        char text[128];
        for (int round = 0; round < test_rounds(10, 4); round++) {
            const int64_t bad = round == 0 ? 0 : round == 1 ? s.nnz - 1 : tamis_random_below(&random, s.nnz);
            const int64_t later = bad + (round > 1 ? tamis_random_below(&random, s.nnz - bad) : 0);
            const int64_t value = wrong[round % 5];
            const int64_t old = s.entries[bad].column, old_later = s.entries[later].column;
            set_index(s.columns, index_type, later, 1000);
            set_index(s.columns, index_type, bad, value);
            snprintf(text, sizeof text, "columns[%lld] = %lld is not in 0 .. 79", (long long)bad, (long long)value);
            expect_bad(&s.view, text);
            set_index(s.columns, index_type, later, old_later);
            set_index(s.columns, index_type, bad, old);
            if (s.row_indices) {
                set_index(s.row_indices, index_type, bad, -1 - round);
                snprintf(text, sizeof text, "row_indices[%lld] = %d is not in 0 .. 69999", (long long)bad, -1 - round);
                expect_bad(&s.view, text);
                set_index(s.row_indices, index_type, bad, s.entries[bad].row);
            }
        }
        works(tamis_validate(&s.view));
    }
}

TEST(names_the_first_bad_offset) {
    tamis_random random = tamis_random_start(2, 1);
    for (int wide = 0; wide < 2; wide++) {
        const tamis_index_type type = (tamis_index_type)wide;
        OWN(sample) s = sample_draw(6, 90000, 80, 100000);
        order_entries(&s, by_row);
        sample_build(&s, TAMIS_CSR, TAMIS_I32, type, TAMIS_F32, false);
        char text[128];
        for (int round = 0; round < test_rounds(10, 4); round++) {
            const int64_t bad = 1 + tamis_random_below(&random, s.rows);
            const int64_t old = tamis_index_load(s.offsets, type, bad),
                          before = tamis_index_load(s.offsets, type, bad - 1);
            set_index(s.offsets, type, bad, s.nnz + 1 + round);
            snprintf(text, sizeof text, "offsets[%lld] = %lld is greater than nnz = %lld", (long long)bad,
                     (long long)(s.nnz + 1 + round), (long long)s.nnz);
            expect_bad(&s.view, text);
            set_index(s.offsets, type, bad, before - 1 - round);
            snprintf(text, sizeof text, "offsets[%lld] = %lld is less than offsets[%lld] = %lld", (long long)bad,
                     (long long)(before - 1 - round), (long long)(bad - 1), (long long)before);
            expect_bad(&s.view, text);
            set_index(s.offsets, type, bad, type == TAMIS_I32 ? INT32_MIN : INT64_MIN);
            expect_bad(&s.view, "is less than");
            set_index(s.offsets, type, bad, type == TAMIS_I32 ? INT32_MAX : INT64_MAX);
            expect_bad(&s.view, "is greater than nnz");
            set_index(s.offsets, type, bad, old);
        }
        set_index(s.offsets, type, 0, 1);
        expect_bad(&s.view, "offsets[0] = 1 is not 0");
        set_index(s.offsets, type, 0, 0);
        s.view.nnz++;
        REFUSED(PATTERN, "offsets[90000] = 100000 is not nnz = 100001", tamis_validate(&s.view));
    }
}

TEST(says_it_as_documented) {
    int32_t offsets[] = {0, 90, 90}, columns[80] = {0};
    tamis_sparse S = {.rows = 2, .cols = 80, .nnz = 80, .offsets = offsets, .columns = columns};
    expect_bad(&S, "offsets[1] = 90 is greater than nnz = 80");
    offsets[1] = offsets[2] = 80;
    columns[17] = 90;
    expect_bad(&S, "columns[17] = 90 is not in 0 .. 79");
    columns[17] = 79;
    works(tamis_validate(&S));
    assert_string_equal(tamis_last_error(), "");
    S.offset_base = 1;
    expect_bad(&S, "offsets[0] = 0 is not offset_base = 1");
    S.location = TAMIS_DEVICE;
    REFUSED(ARGUMENT, "S.location", tamis_validate(&S));
    REFUSED(ARGUMENT, "S = NULL", tamis_validate(NULL));
}
