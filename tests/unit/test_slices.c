/*
 * Slices of rows everywhere: what a function makes of a slice, whose offsets begin anywhere, is what it makes of a
 * packed copy of these rows. Each row of the table is one function that takes a matrix; of operations, the rows of
 * tests/operations do.
 */
#include "support/test.h"

#include <unistd.h>

#include <tamis/matrix.h>
#include <tamis/ml.h>
#include <tamis/structure.h>

#include "base/random.h"
#include "cpu_device.h"

enum { ALL = 100, FIRST = 30, ROWS = 60, COLS = 40, INNER = 8, MOST = 4000, BYTES = 1 << 20 };

/* What a function has said of a matrix. */
typedef struct answer {
    unsigned char bytes[BYTES];
    size_t used;
} answer;

static answer answers[2];
static float dense[2][ALL * INNER];

static void say(answer *a, const void *data, size_t bytes) {
    assert_true(bytes <= BYTES - a->used);
    if (bytes > 0) memcpy(a->bytes + a->used, data, bytes);
    a->used += bytes;
}

static void say_matrix(answer *a, tamis_owned_sparse *matrix) {
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    assert_int_equal(S->offset_base, 0);
    say(a, &S->nnz, sizeof S->nnz);
    say(a, S->offsets, (size_t)(S->rows + 1) * (S->offset_type == TAMIS_I64 ? 8 : 4));
    say(a, S->columns, (size_t)S->nnz * (S->index_type == TAMIS_I64 ? 8 : 4));
    say(a, S->values, (size_t)S->nnz * tamis_type_size(S->value_type));
    tamis_owned_sparse_free(matrix);
}

static tamis_dense view_of(float *data, int64_t rows, int64_t cols) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols};
}

/* ------------------------------------------------------------------------------------------ functions */

static void validated(const tamis_sparse *S, int which, answer *a) { works(tamis_validate(S)); }

static void profiled(const tamis_sparse *S, int which, answer *a) {
    tamis_profile profile;
    works(tamis_row_profile(S, &profile));
    say(a, &profile, sizeof profile);
}

static void classified(const tamis_sparse *S, int which, answer *a) {
    tamis_structure found;
    works(tamis_structure_find(S, NULL, &found));
    say(a, found.reason, strlen(found.reason));
}

static void listed(const tamis_sparse *S, int which, answer *a) {
    int32_t rows[MOST];
    works(tamis_csr_to_coo(S, rows));
    say(a, rows, (size_t)S->nnz * sizeof *rows);
}

/* which: sorted, else transposed. */
static void reordered(const tamis_sparse *S, int which, answer *a) {
    int32_t offsets[ALL + 1] = {0}, columns[MOST];
    float values[MOST];
    int64_t places[MOST];
    works(which ? tamis_sort(S, columns, values, places) : tamis_transpose(S, offsets, columns, values, places));
    say(a, offsets, sizeof offsets);
    say(a, columns, (size_t)S->nnz * sizeof *columns);
    say(a, values, (size_t)S->nnz * sizeof *values);
    say(a, places, (size_t)S->nnz * sizeof *places);
}

static void partitioned(const tamis_sparse *S, int which, answer *a) {
    int64_t first[9];
    works(tamis_partition(S, which, first));
    say(a, first, (size_t)(which + 1) * sizeof *first);
}

/* which: with replacement, else without. */
static void sampled(const tamis_sparse *S, int which, answer *a) {
    int64_t rows[ALL], offsets[ALL + 1], entries[MOST];
    for (int64_t i = 0; i < S->rows; i++) rows[i] = i;
    works(tamis_sample(S, rows, S->rows, 3, which, 7, offsets, NULL));
    assert_true(offsets[S->rows] <= MOST);
    works(tamis_sample(S, rows, S->rows, 3, which, 7, offsets, entries));
    say(a, offsets, (size_t)(S->rows + 1) * sizeof *offsets);
    say(a, entries, (size_t)offsets[S->rows] * sizeof *entries);
}

static void converted(const tamis_sparse *S, int which, answer *a) {
    tamis_owned_sparse *made;
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.transpose = which;
    works(tamis_convert(S, &options, &made));
    say_matrix(a, made);
}

static void written(const tamis_sparse *S, int which, answer *a) {
    static const char *const endings[] = {"mtx", "mtx.gz", "npz"};
    char path[128];
    const char *const folder = getenv("TMPDIR");
    tamis_owned_sparse *read = NULL;
    snprintf(path, sizeof path, "%.80s/tamis-slice-%ld.%s", folder ? folder : "/tmp", (long)getpid(), endings[which]);
    works(tamis_write_sparse(path, S));
    const tamis_status status = tamis_read_sparse(path, NULL, &read);
    unlink(path);
    works(status);
    say_matrix(a, read);
}

static void split(const tamis_sparse *S, int which, answer *a) {
    tamis_owned_sparse *kept, *held;
    tamis_split_options options = TAMIS_SPLIT_OPTIONS_INIT;
    options.kind = (tamis_split_kind)which;
    options.share = 0.25;
    works(tamis_split(S, &options, &kept, &held));
    say_matrix(a, kept);
    say_matrix(a, held);
}

static void in_slabs(const tamis_sparse *S, int which, answer *a) {
    float out[MOST] = {0};
    const tamis_options options = options_for((tamis_operation)which, INNER, INNER);
    tamis_slab_options slabs = TAMIS_SLAB_OPTIONS_INIT;
    tamis_slab_plan *plan;
    const tamis_dense A = view_of(dense[0], S->rows, INNER), B = view_of(dense[1], S->cols, INNER);
    const tamis_dense P = view_of(out, S->nnz, 1), C = view_of(out, S->rows, INNER);
    slabs.device_memory = 300000;
    works(tamis_slab_plan_create(device, S, &options, &slabs, &plan));
    if (which == TAMIS_OP_SDDMM) works(tamis_slab_plan_sddmm(plan, &A, &B, &P, NULL));
    if (which == TAMIS_OP_SPMM) works(tamis_slab_plan_spmm(plan, &B, &C, NULL));
    if (which == TAMIS_OP_FUSED) works(tamis_slab_plan_fused(plan, &A, &B, &B, &C, NULL));
    tamis_slab_plan_destroy(plan);
    say(a, out, sizeof out);
}

static void sharded(const tamis_sparse *S, int which, answer *a) {
    float out[ROWS * INNER] = {0};
    const int64_t starts[] = {0, 15, COLS};
    tamis_shard_options options = TAMIS_SHARD_OPTIONS_INIT;
    tamis_shard_description about;
    tamis_shard *shard;
    options.ranks = 2;
    options.rank = which;
    options.column_starts = starts;
    options.split = true;
    works(tamis_shard_create(S, &options, &shard));
    works(tamis_shard_describe(shard, &about));
    const tamis_dense B = view_of(dense[1], about.local.cols, INNER), C = view_of(out, S->rows, INNER);
    works(tamis_spmm(device, &about.local, &B, &C, NULL, NULL));
    tamis_shard_destroy(shard);
    say(a, out, sizeof out);
}

static void referenced(const tamis_sparse *S, int which, answer *a) {
    float out[MOST] = {0};
    const tamis_options options = options_for(TAMIS_OP_SDDMM, INNER, 0);
    const tamis_dense A = view_of(dense[0], S->rows, INNER), B = view_of(dense[1], S->cols, INNER);
    const tamis_dense P = view_of(out, S->nnz, 1);
    works(tamis_sddmm(device, S, &A, &B, &P, NULL, NULL));
    tamis_oracle *oracle;
    tamis_comparison comparison;
    works(tamis_oracle_create(S, &A, &B, NULL, &options, 1e30, &oracle));
    works(tamis_oracle_compare(oracle, &P, 1, 0, NULL, &comparison));
    assert_true(comparison.passed);
    say(a, &comparison.error, sizeof comparison.error);
    tamis_oracle_free(oracle);
}

/* Fits a model, and asks it all that takes a matrix. */
static void modelled(const tamis_sparse *S, int which, answer *a) {
    tamis_model_options options;
    tamis_model *model;
    tamis_owned_dense *factors = NULL;
    int64_t columns[ROWS * 5];
    double numbers[MOST] = {0};
    float W[ROWS * COLS] = {0};
    works(tamis_model_options_init(&options, (tamis_method)which));
    options.iterations = 2;
    options.threads = 1;
    if (options.factors != 1) options.factors = 3; /* that of models of pairs */
    works(tamis_model_create(device, &options, &model));
    works(tamis_model_fit(model, S, NULL));
    tamis_model_description about;
    works(tamis_model_describe(model, &about));
    works(tamis_model_column_factors(model, &factors));
    const tamis_dense *const kept = tamis_owned_dense_view(factors), rows = view_of(W, S->rows, about.width);
    say(a, kept->data, (size_t)(kept->rows * kept->cols) * sizeof(float));
    works(tamis_model_transform(model, S, &rows));
    say(a, W, sizeof W);
    works(tamis_model_recommend(model, &rows, NULL, S->rows, S, 5, columns, numbers));
    say(a, columns, sizeof columns);
    works(tamis_model_predict(model, &rows, S, numbers));
    say(a, numbers, sizeof numbers);
    const tamis_held_out held_out = {.entries = S, .observed = S};
    tamis_score score = {0};
    works(tamis_model_score(model, &held_out, true, 5, &score));
    say(a, &score, sizeof score);
    works(tamis_baseline((tamis_method)which, S, S, numbers));
    say(a, numbers, sizeof *numbers);
    tamis_owned_dense_free(factors);
    tamis_model_free(model);
}

static const struct {
    const char *name;
    void (*run)(const tamis_sparse *S, int which, answer *a);
    int from, to;
} functions[] = {{"tamis_validate", validated, 0, 0},
                 {"tamis_row_profile", profiled, 0, 0},
                 {"tamis_structure_find", classified, 0, 0},
                 {"tamis_csr_to_coo", listed, 0, 0},
                 {"tamis_transpose and tamis_sort", reordered, 0, 1},
                 {"tamis_partition", partitioned, 1, 8},
                 {"tamis_sample", sampled, 0, 1},
                 {"tamis_convert", converted, 0, 1},
                 {"tamis_write_sparse", written, 0, 2},
                 {"tamis_split", split, 0, 3},
                 {"slabs", in_slabs, 0, 2},
                 {"tamis_shard_create", sharded, 0, 1},
                 {"tamis_oracle_create", referenced, 0, 0},
                 {"models", modelled, 0, 8}};

TEST(slices_are_copies) {
    int32_t offsets[ALL + 1], packed[ROWS + 1], columns[MOST];
    float values[MOST];
    int32_t nnz = offsets[0] = 0;
    for (int i = 0; i < ALL; i++) {
        for (int j = 0; j < COLS; j++)
            if (tamis_random_at(5, 1, (uint64_t)(i * COLS + j)) % 4 == 0) {
                columns[nnz] = j;
                values[nnz++] = (float)(1 + (i + j) % 5);
            }
        offsets[i + 1] = nnz;
    }
    for (int i = 0; i < ALL * INNER; i++) {
        dense[0][i] = (float)(i % 7) - 3;
        dense[1][i] = (float)(i % 5) - 2;
    }
    const tamis_sparse all = {
        .rows = ALL, .cols = COLS, .nnz = nnz, .offsets = offsets, .columns = columns, .values = values};
    tamis_sparse slice;
    works(tamis_slice(&all, FIRST, ROWS, 0, 0, &slice));
    const int32_t base = offsets[FIRST];
    assert_int_equal(slice.offset_base, base);
    for (int i = 0; i <= ROWS; i++) packed[i] = offsets[FIRST + i] - base;
    const tamis_sparse copy = csr_of(TAMIS_F32, ROWS, COLS, slice.nnz, packed, columns + base, values + base);
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (int which = functions[f].from; which <= functions[f].to; which++) {
            answers[0].used = answers[1].used = 0;
            functions[f].run(&slice, which, &answers[0]);
            functions[f].run(&copy, which, &answers[1]);
            if (answers[0].used != answers[1].used || memcmp(answers[0].bytes, answers[1].bytes, answers[0].used) != 0)
                fail_msg("%s, %d: a slice is not what its copy is", functions[f].name, which);
        }
}

TEST_FIXTURE(set_up, tear_down)
