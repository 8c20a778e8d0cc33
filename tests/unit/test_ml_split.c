/* Splits: nothing lost, what each kind promises, the shares within derived bounds, the same on every machine. */
#include <tamis/structure.h>

#include "base/random.h"
#include "test_ml_support.h"

/* A CSR of rows of 0 to 40 entries, some empty, columns unsorted, values whole numbers 0 to `most`. `cols` is prime:
   with any step a row has no column twice. */
static tamis_owned_sparse *random_counts(int64_t rows, int64_t cols, int64_t most, uint64_t seed) {
    tamis_random random = tamis_random_start(seed, 77);
    OWN(int64_t) *const offsets = malloc((size_t)(rows + 1) * sizeof *offsets);
    OWN(int32_t) *const columns = malloc((size_t)rows * 40 * sizeof *columns + 1);
    OWN(float) *const values = malloc((size_t)rows * 40 * sizeof *values + 1);
    assert_true(offsets && columns && values);
    int64_t nnz = 0;
    offsets[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t most_entries = cols < 41 ? cols - 1 : 40;
        const int64_t count = row % 7 == 0 ? row % 3 : tamis_random_below(&random, most_entries + 1);
        const int64_t first = tamis_random_below(&random, cols), step = 1 + tamis_random_below(&random, cols - 1);
        for (int64_t i = 0; i < count; i++) {
            columns[nnz] = (int32_t)((first + i * step) % cols);
            values[nnz++] = (float)tamis_random_below(&random, most + 1);
        }
        offsets[row + 1] = nnz;
    }
    const tamis_sparse view = CSR(rows, cols, offsets, columns, values);
    const tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    tamis_owned_sparse *matrix = NULL;
    works(tamis_convert(&view, &options, &matrix));
    return matrix;
}

static int64_t begin_of(const tamis_sparse *S, int64_t row) { return io_index(S->offsets, S->offset_type, row); }
static int64_t column_of(const tamis_sparse *S, int64_t t) { return io_index(S->columns, S->index_type, t); }
static double value_of(const tamis_sparse *S, int64_t t) {
    return S->values ? io_value(S->values, S->value_type, t) : 1;
}

/* Both sides have S's shape and types, and merged in order they are S's rows, entries divided or whole. */
static void expect_whole(const tamis_sparse *S, const tamis_sparse *kept, const tamis_sparse *held, bool divided) {
    const tamis_sparse *const sides[] = {kept, held};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sides[i]->format, TAMIS_CSR);
        assert_true(sides[i]->rows == S->rows && sides[i]->cols == S->cols);
        assert_true(sides[i]->index_type == S->index_type && sides[i]->value_type == S->value_type &&
                    sides[i]->offset_type == S->offset_type);
        assert_true(sides[i]->nnz == 0 || (sides[i]->values != NULL) == (S->values != NULL));
        works(tamis_validate(sides[i]));
    }
    for (int64_t row = 0; row < S->rows; row++) {
        int64_t k = begin_of(kept, row), h = begin_of(held, row);
        const int64_t kept_end = begin_of(kept, row + 1), held_end = begin_of(held, row + 1);
        for (int64_t t = begin_of(S, row); t < begin_of(S, row + 1); t++) {
            double left = value_of(S, t);
            const bool at_kept = k < kept_end && column_of(kept, k) == column_of(S, t);
            const bool at_held = h < held_end && column_of(held, h) == column_of(S, t);
            if (at_kept && at_held && divided && value_of(kept, k) + value_of(held, h) == left) {
                k++, h++;
                continue;
            }
            if (at_kept && value_of(kept, k) == left)
                left -= value_of(kept, k++);
            else if (at_held && value_of(held, h) == left)
                left -= value_of(held, h++);
            else
                fail_msg("row %lld: entry %lld is in neither", (long long)row, (long long)t);
            assert_true(left == 0);
        }
        assert_true(k == kept_end && h == held_end);
    }
}

typedef struct sides {
    tamis_owned_sparse *owned[2];
    const tamis_sparse *kept, *held;
} sides;

static sides split(const tamis_sparse *S, tamis_split_kind kind, double share, uint64_t seed) {
    tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
    options.kind = kind;
    options.share = share;
    options.seed = seed;
    sides made = {0};
    works(tamis_split(S, &options, &made.owned[0], &made.owned[1]));
    assert_string_equal(tamis_last_error(), "");
    made.kept = tamis_owned_sparse_view(made.owned[0]);
    made.held = tamis_owned_sparse_view(made.owned[1]);
    return made;
}

static void forget(sides *made) {
    for (int i = 0; i < 2; i++) tamis_owned_sparse_free(made->owned[i]);
}
OWN_VALUE(sides, forget)

static double sum_of(const tamis_sparse *S) {
    double sum = 0;
    for (int64_t t = 0; t < S->nnz; t++) sum += value_of(S, t);
    return sum;
}

/* ---- each kind */

/* Held out of a row of n: m or m + 1 with m = floor(share n), the mean being share n, so that the whole has at most a
   variance of 1/4 a row; 6 standard deviations are never left. Rows that are full (n - 1) cannot give more. */
TEST(entries_are_shared) {
    OWN(tamis_owned_sparse) *const matrix = random_counts(2000, 53, 9, 1);
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    static const double shares[] = {0.1, 0.25, 0.5, 0.001, 0.9};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        OWN(sides) made = split(S, TAMIS_SPLIT_ENTRIES, shares[i], 3);
        const tamis_sparse *const kept = made.kept, *const held = made.held;
        expect_whole(S, kept, held, false);
        double expected = 0;
        for (int64_t row = 0; row < S->rows; row++) {
            const int64_t n = begin_of(S, row + 1) - begin_of(S, row);
            const int64_t out = begin_of(held, row + 1) - begin_of(held, row);
            const double mean = shares[i] * (double)n;
            assert_true(n == 0 || out < n);
            assert_true((double)out >= fmin(floor(mean), (double)n - 1) && (double)out <= floor(mean) + 1);
            /* of the two numbers that may come, the larger is cut to n - 1 */
            const double high = fmin(floor(mean) + 1, fmax((double)n - 1, 0)), low = fmin(floor(mean), high);
            expected += low + (high - low) * (mean - floor(mean));
        }
        assert_true(fabs((double)held->nnz - expected) <= 6 * 0.5 * sqrt((double)S->rows));
    }
}

/* Every place of a row is as likely: each is drawn about rows / n times, within 6 standard deviations of a binomial. */
TEST(every_place_is_as_likely) {
    enum { ROWS = 20000, N = 5 };
    OWN(int32_t) *const columns = malloc((size_t)ROWS * N * sizeof *columns);
    OWN(int32_t) *const offsets = malloc((size_t)(ROWS + 1) * sizeof *offsets);
    assert_true(columns && offsets);
    for (int i = 0; i < ROWS * N; i++) columns[i] = i % N;
    for (int i = 0; i <= ROWS; i++) offsets[i] = i * N;
    const tamis_sparse S = {.rows = ROWS, .cols = N, .nnz = ROWS * N, .offsets = offsets, .columns = columns};
    static const struct {
        tamis_split_kind kind;
        double share, likely;
    } cases[] = {{TAMIS_SPLIT_LEAVE_ONE, 0, 0.2},
                 {TAMIS_SPLIT_ENTRIES, 0.4, 0.4},
                 {TAMIS_SPLIT_ENTRIES, 0.3, 0.3},
                 {TAMIS_SPLIT_TOKENS, 0.7, 0.7},
                 {TAMIS_SPLIT_ROWS, 0.5, 0.5}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWN(sides) made = split(&S, cases[c].kind, cases[c].share, 12);
        const tamis_sparse *const held = made.held;
        expect_whole(&S, made.kept, held, false);
        int64_t drawn[N] = {0};
        for (int64_t t = 0; t < held->nnz; t++) drawn[column_of(held, t)]++;
        const double mean = cases[c].likely * ROWS, deviation = sqrt(mean * (1 - cases[c].likely));
        for (int i = 0; i < N; i++) assert_true(fabs((double)drawn[i] - mean) <= 6 * deviation);
    }
}

TEST(one_of_each_row_is_left_out) {
    OWN(tamis_owned_sparse) *const matrix = random_counts(500, 31, 9, 2);
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    OWN(sides) made = split(S, TAMIS_SPLIT_LEAVE_ONE, 7.5 /* not looked at */, 3);
    const tamis_sparse *const held = made.held;
    expect_whole(S, made.kept, held, false);
    for (int64_t row = 0; row < S->rows; row++)
        assert_int_equal(begin_of(held, row + 1) - begin_of(held, row), begin_of(S, row + 1) - begin_of(S, row) >= 2);
}

TEST(whole_rows_are_held_out) {
    for (int64_t rows = 0; rows < 40; rows++) {
        int32_t offsets[41], columns[40];
        for (int32_t i = 0; i <= rows; i++) offsets[i] = i;
        for (int32_t i = 0; i < rows; i++) columns[i] = i;
        const tamis_sparse S = {.rows = rows, .cols = 40, .nnz = rows, .offsets = offsets, .columns = columns};
        static const double shares[] = {0.001, 0.1, 0.5, 0.999};
        for (int i = 0; i < 4; i++) {
            OWN(sides) made = split(&S, TAMIS_SPLIT_ROWS, shares[i], 4);
            expect_whole(&S, made.kept, made.held, false);
            double wanted = floor(shares[i] * (double)rows + 0.5);
            wanted = fmax(fmin(fmax(wanted, 1), (double)rows - 1), 0);
            assert_true((double)made.held->nnz == wanted);
        }
    }
    OWN(tamis_owned_sparse) *const matrix = random_counts(500, 31, 9, 2);
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    OWN(sides) made = split(S, TAMIS_SPLIT_ROWS, 0.3, 3);
    const tamis_sparse *const kept = made.kept, *const held = made.held;
    expect_whole(S, kept, held, false);
    for (int64_t row = 0; row < S->rows; row++)
        assert_true(begin_of(kept, row + 1) == begin_of(kept, row) || begin_of(held, row + 1) == begin_of(held, row));
}

/* The number of tokens held out is Binomial(tokens, share): within 6 standard deviations. */
TEST(tokens_are_shared) {
    static const double shares[] = {0.1, 0.5, 0.75, 0.9, 1e-9, 1 - 1e-9};
    static const int64_t most[] = {1, 5, 200, 100000};
    for (int m = 0; m < 4; m++) {
        OWN(tamis_owned_sparse) *const matrix = random_counts(m < 3 || test_whole() ? 300 : 60, 53, most[m], 5);
        const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
        const double tokens = sum_of(S);
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
            OWN(sides) made = split(S, TAMIS_SPLIT_TOKENS, shares[i], 3);
            const tamis_sparse *const kept = made.kept, *const held = made.held;
            expect_whole(S, kept, held, true);
            assert_true(sum_of(kept) + sum_of(held) == tokens);
            assert_true(fabs(sum_of(held) - shares[i] * tokens) <= 6 * sqrt(tokens * shares[i] * (1 - shares[i])) + 1);
            for (int64_t t = 0; t < held->nnz; t++) assert_true(value_of(held, t) > 0);
        }
    }
}

/* Of counts of 3, how often 0, 1, 2 and 3 are held out: the binomial's probabilities, each within 6 deviations. */
TEST(tokens_of_an_entry_are_binomial) {
    enum { ROWS = 50000 };
    OWN(int32_t) *const columns = calloc(ROWS, sizeof *columns), *const offsets = malloc((ROWS + 1) * sizeof *offsets);
    OWN(double) *const values = malloc(ROWS * sizeof *values);
    assert_true(columns && offsets && values);
    for (int i = 0; i <= ROWS; i++) offsets[i] = i;
    for (int i = 0; i < ROWS; i++) values[i] = 3;
    const tamis_sparse S = CSR(ROWS, 1, offsets, columns, values);
    OWN(sides) made = split(&S, TAMIS_SPLIT_TOKENS, 0.3, 8);
    const tamis_sparse *const held = made.held;
    int64_t seen[4] = {ROWS - held->nnz};
    for (int64_t t = 0; t < held->nnz; t++) seen[(int)value_of(held, t)]++;
    static const double likely[] = {0.343, 0.441, 0.189, 0.027};
    for (int i = 0; i < 4; i++)
        assert_true(fabs((double)seen[i] - likely[i] * ROWS) <= 6 * sqrt(ROWS * likely[i] * (1 - likely[i])));
}

/* ---- all kinds */

TEST(all_types_and_formats_are_split) {
    OWN(tamis_owned_sparse) *const matrix = random_counts(60, 23, 200, 6);
    for (int kind = 0; kind < 4; kind++)
        for (int type = 0; type < 4; type++)
            for (int wide = 0; wide < 2; wide++)
                for (int values = 0; values < 2; values++) {
                    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
                    options.value_type = (tamis_type)type;
                    options.index_type = options.offset_type = (tamis_index_type)wide;
                    options.values = values ? TAMIS_VALUES_AS_FILED : TAMIS_VALUES_NONE;
                    OWN(tamis_owned_sparse) *csr = NULL, *coo = NULL;
                    works(tamis_convert(tamis_owned_sparse_view(matrix), &options, &csr));
                    options.format = TAMIS_COO;
                    works(tamis_convert(tamis_owned_sparse_view(matrix), &options, &coo));
                    const tamis_sparse *const S = tamis_owned_sparse_view(csr);
                    tamis_sparse other = *tamis_owned_sparse_view(coo);
                    other.offset_type = S->offset_type;
                    OWN(sides) of_csr = split(S, (tamis_split_kind)kind, 0.4, 5);
                    OWN(sides) of_coo = split(&other, (tamis_split_kind)kind, 0.4, 5);
                    expect_whole(S, of_csr.kept, of_csr.held, kind == 3);
                    OWN(char) *const one = io_text_of(of_csr.held);
                    OWN(char) *const two = io_text_of(of_coo.held);
                    assert_string_equal(one, two);
                }
}

TEST(the_seed_decides) {
    OWN(tamis_owned_sparse) *const matrix = random_counts(60, 23, 9, 6);
    for (int kind = 0; kind < 4; kind++) {
        char *texts[3];
        for (int i = 0; i < 3; i++) {
            OWN(sides) made = split(tamis_owned_sparse_view(matrix), (tamis_split_kind)kind, 0.4, i < 2 ? 1 : 2);
            texts[i] = io_text_of(made.held);
        }
        assert_string_equal(texts[0], texts[1]);
        assert_string_not_equal(texts[0], texts[2]);
        for (int i = 0; i < 3; i++) free(texts[i]);
    }
}

/* Written down once: a change means that splits of published results cannot be had again. */
TEST(splits_stay_as_they_are) {
    static const int32_t offsets[] = {0, 4, 4, 5, 8}, columns[] = {0, 1, 2, 3, 2, 0, 1, 3};
    static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const tamis_sparse S = {.rows = 4, .cols = 4, .nnz = 8, .offsets = offsets, .columns = columns, .values = values};
    static const char *const wanted[] = {
        "csr 4x4 3| 0 0 1| 0 1 2| 3 3 8",
        "csr 4x4 2| 0 0 1| 3 0 6",
        "csr 4x4 4| 2 2 5| 3 0 6| 3 1 7| 3 3 8",
        "csr 4x4 6| 0 0 1| 0 1 1| 2 2 5| 3 0 2| 3 1 2| 3 3 5",
    };
    for (int kind = 0; kind < 4; kind++) {
        OWN(sides) made = split(&S, (tamis_split_kind)kind, 0.5, 1);
        OWN(char) *const text = io_text_of(made.held);
        assert_string_equal(text, wanted[kind]);
    }
    OWN(sides) made = {0}; /* the defaults */
    works(tamis_split(&S, NULL, &made.owned[0], &made.owned[1]));
    expect_whole(&S, tamis_owned_sparse_view(made.owned[0]), tamis_owned_sparse_view(made.owned[1]), false);
}

TEST(empty_matrices_are_split) {
    static const int32_t offsets[4] = {0};
    for (int64_t rows = 0; rows <= 3; rows++)
        for (int kind = 0; kind < 4; kind++) {
            const tamis_sparse S = {.rows = rows, .cols = rows, .offsets = offsets};
            OWN(sides) made = split(&S, (tamis_split_kind)kind, 0.5, 1);
            expect_whole(&S, made.kept, made.held, false);
        }
}

/* Entries at the same place are entries of their own. */
TEST(repeated_columns_are_split) {
    static const int32_t offsets[] = {0, 10}, columns[10] = {0};
    const tamis_sparse S = {.rows = 1, .cols = 1, .nnz = 10, .offsets = offsets, .columns = columns};
    static const int64_t held[] = {3, 1, 0};
    for (int kind = 0; kind < 3; kind++) {
        OWN(sides) made = split(&S, (tamis_split_kind)kind, 0.3, 1);
        assert_int_equal(made.held->nnz, held[kind]);
        assert_int_equal(made.kept->nnz, 10 - held[kind]);
    }
}

TEST(wrong_arguments_are_refused) {
    int32_t offsets[] = {0, 2, 3}, columns[] = {0, 1, 0};
    float values[] = {1, 2.5F, 3};
    tamis_sparse S = {.rows = 2, .cols = 2, .nnz = 3, .offsets = offsets, .columns = columns, .values = values};
    tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
    tamis_owned_sparse *kept = NULL, *matrix = NULL;
    REFUSED(ARGUMENT, "^kept = NULL: expected an address for the result$", tamis_split(&S, &options, NULL, &matrix));
    REFUSED(ARGUMENT, "^held_out = NULL: expected an address for the result$",
            tamis_split(&S, &options, &matrix, NULL));
#define SPLIT(S)                      tamis_split(S, &options, &kept, &matrix)
#define REFUSED_SPLIT(S, want, words) MADE(kept, REFUSED_MADE(matrix, want, "^" words "$", SPLIT(S)))
#define SPOILT_SPLIT(field, value, want, words)                                                                        \
    MADE(kept, SPOILT_MADE(matrix, field, value, want, "^" words "$", SPLIT(&S)))
    REFUSED_SPLIT(NULL, ARGUMENT, "S = NULL: expected a sparse matrix");
    SPOILT_SPLIT(options.reserved[1], 3, UNSUPPORTED,
                 "options.reserved[1] = 0x3: a field that version " TAMIS_VERSION_STRING
                 " does not know is set, or the structure was not initialised with its _INIT macro or with zeros");
    SPOILT_SPLIT(options.kind, (tamis_split_kind)4, ARGUMENT, "options.kind = 4, expected 0 to 3");
    options.kind = TAMIS_SPLIT_ENTRIES;
    SPOILT_SPLIT(options.share, 1.5, ARGUMENT, "options.share = 1.5, expected between 0 and 1");
    SPOILT_SPLIT(options.share, 0, ARGUMENT, "options.share = 0, expected between 0 and 1");
    SPOILT_SPLIT(options.share, (double)NAN, ARGUMENT, "options.share = nan, expected between 0 and 1");
    options.share = 0.5;
    options.kind = TAMIS_SPLIT_TOKENS;
    REFUSED_SPLIT(&S, ARGUMENT, "S.values[1] = 2.5 (row 0), expected a whole number from 0 to 16777216");
    SPOILT_SPLIT(values[1], -1, ARGUMENT, "S.values[1] = -1 (row 0), expected a whole number from 0 to 16777216");
    values[1] = 1;
    SPOILT_SPLIT(values[2], (float)NAN, ARGUMENT,
                 "S.values[2] = nan (row 1), expected a whole number from 0 to 16777216");
    SPOILT_SPLIT(values[2], 1e30F, ARGUMENT, "S.values[2] = 1e+30 (row 1), expected a whole number from 0 to 16777216");
    SPOILT_SPLIT(columns[1], 5, PATTERN, "...columns[1] = 5...");
    SPOILT_SPLIT(S.location, TAMIS_DEVICE, ARGUMENT, "...location = device...");
}

TEST(splits_survive_failing_memory) {
    OWN(tamis_owned_sparse) *const csr = random_counts(20, 23, 9, 6);
    OWN(tamis_owned_sparse) *coo = NULL;
    tamis_convert_options conversion = TAMIS_CONVERT_OPTIONS_INIT;
    conversion.format = TAMIS_COO;
    works(tamis_convert(tamis_owned_sparse_view(csr), &conversion, &coo));
    for (int kind = 0; kind < 4; kind++)
        for (int format = 0; format < 2; format++) {
            tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
            options.kind = (tamis_split_kind)kind;
            const tamis_sparse *const S = tamis_owned_sparse_view(format ? coo : csr);
            EACH_FAULT(w) {
                OWN(sides) made = {0};
                if (FAULTY(w, tamis_split(S, &options, &made.owned[0], &made.owned[1])) != TAMIS_OK)
                    assert_true(!made.owned[0] && !made.owned[1]);
            }
        }
}
