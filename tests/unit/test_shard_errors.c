/* Shards of what is wrong: a message that names argument and value; and of what fails: nothing leaked. */

#include "test_sparse_support.h"

static const int32_t offsets[] = {0, 2, 3}, columns[] = {0, 5, 3}, bad_columns[] = {0, 6, 3};
static const int64_t starts[] = {0, 2, 6};

static tamis_sparse good_matrix(void) {
    return (tamis_sparse){.rows = 2, .cols = 6, .nnz = 3, .offsets = offsets, .columns = columns};
}

static tamis_shard_options good_options(void) {
    tamis_shard_options o = TAMIS_SHARD_OPTIONS_INIT;
    o.rank = 1;
    o.ranks = 2;
    o.column_starts = starts;
    return o;
}

TEST(refuses_options) {
    static const int64_t late[] = {1, 2, 6}, falling[] = {0, 7, 6}, brief[] = {0, 2, 5};
    const tamis_sparse S = good_matrix();
    tamis_shard_options o = good_options();
    tamis_shard *shard;
#define SPOILT_OPTION(field, value, want, words)                                                                       \
    SPOILT_MADE(shard, o.field, value, want, words, tamis_shard_create(&S, &o, &shard))
    SPOILT_OPTION(ranks, 0, ARGUMENT, "options.ranks = 0: expected 1 or more");
    SPOILT_OPTION(rank, 2, ARGUMENT, "options.rank = 2 is not in 0 .. 1");
    SPOILT_OPTION(rank, -1, ARGUMENT, "options.rank = -1 is not in 0 .. 1");
    SPOILT_OPTION(column_starts, NULL, ARGUMENT, "options.column_starts = NULL: expected 3 numbers");
    SPOILT_OPTION(column_starts, late, ARGUMENT, "options.column_starts[0] = 1: expected 0");
    SPOILT_OPTION(column_starts, falling, ARGUMENT,
                  "options.column_starts[2] = 6 is less than options.column_starts[1] = 7");
    SPOILT_OPTION(column_starts, brief, ARGUMENT, "options.column_starts[2] = 5: expected S.cols = 6");
    SPOILT_OPTION(reserved[5], 9, UNSUPPORTED, "options.reserved[5] = 0x9");
}

TEST(refuses_matrices) {
    tamis_shard_options o = good_options();
    tamis_sparse S = good_matrix();
    tamis_shard *shard;
    REFUSED(ARGUMENT, "S = NULL", tamis_shard_create(NULL, &o, &shard));
    REFUSED(ARGUMENT, "options = NULL", tamis_shard_create(&S, NULL, &shard));
    REFUSED(ARGUMENT, "shard = NULL", tamis_shard_create(&S, &o, NULL));
    SPOILT_MADE(shard, S.columns, bad_columns, PATTERN, "columns[1] = 6", tamis_shard_create(&S, &o, &shard));
    SPOILT_MADE(shard, S.location, TAMIS_DEVICE, ARGUMENT, "S.location = device", tamis_shard_create(&S, &o, &shard));
    S = (tamis_sparse){.format = TAMIS_COO, .rows = 2, .cols = 6, .nnz = 2, .row_indices = offsets, .columns = columns};
    REFUSED(ARGUMENT, "S.format = coo: expected csr", tamis_shard_create(&S, &o, &shard));
}

TEST(refuses_requests) {
    static const int64_t counts[] = {2, 0}, own[] = {1, 1}, negative[] = {-1, 0}, huge[] = {INT64_MAX, 0},
                         rows[] = {2, 1}, good[] = {2, 5};
    const tamis_shard_options o = good_options();
    const tamis_sparse S = good_matrix();
    tamis_shard_description is;
    OWN(tamis_shard) *shard;
    works(tamis_shard_create(&S, &o, &shard));
    REFUSED(ARGUMENT, "shard = NULL", tamis_shard_set_requests(NULL, counts, rows));
    REFUSED(ARGUMENT, "counts = NULL: expected 2", tamis_shard_set_requests(shard, NULL, rows));
    REFUSED(ARGUMENT, "rows = NULL: expected 2", tamis_shard_set_requests(shard, counts, NULL));
    REFUSED(ARGUMENT, "counts[1] = 1: expected 0", tamis_shard_set_requests(shard, own, rows));
    REFUSED(ARGUMENT, "counts[0] = -1", tamis_shard_set_requests(shard, negative, rows));
    REFUSED(ARGUMENT, "rows = NULL", tamis_shard_set_requests(shard, huge, NULL));
    REFUSED(ARGUMENT, "rows[1] = 1, for rank 0, is not one of the rows 2 .. 5 of rank 1",
            tamis_shard_set_requests(shard, counts, rows));
    works(tamis_shard_describe(shard, &is));
    assert_null(is.sends); /* none of them was taken */
    works(tamis_shard_set_requests(shard, counts, good));
    REFUSED(ARGUMENT, "counts[0] = -1", tamis_shard_set_requests(shard, negative, rows));
    works(tamis_shard_describe(shard, &is));
    assert_true(is.send_rows == 2 && is.sends[1] == 3 && is.targets == 1);
    REFUSED(ARGUMENT, "shard = NULL", tamis_shard_describe(NULL, &is));
    REFUSED(ARGUMENT, "description = NULL", tamis_shard_describe(shard, NULL));
    tamis_shard_destroy(NULL);
}

TEST(refuses_surveys) {
    static const int64_t rows[] = {0, 1, 3};
    tamis_sparse S = good_matrix();
    tamis_shard_volume volume;
    REFUSED(ARGUMENT, "ranks = 0", tamis_shard_survey(&S, 0, NULL, NULL, &volume));
    REFUSED(ARGUMENT, "volume = NULL", tamis_shard_survey(&S, 2, NULL, NULL, NULL));
    REFUSED(ARGUMENT, "first_rows[2] = 3: expected S.rows = 2", tamis_shard_survey(&S, 2, rows, NULL, &volume));
    REFUSED(ARGUMENT, "column_starts[2] = 3: expected S.cols = 6", tamis_shard_survey(&S, 2, NULL, rows, &volume));
    S.format = TAMIS_COO;
    REFUSED(ARGUMENT, "S.row_indices = NULL", tamis_shard_survey(&S, 2, NULL, NULL, &volume));
}

/* ------------------------------------------------------------------------------------------ memory */

static tamis_status make_one(const tamis_sparse *S) {
    const int64_t half[] = {0, S->cols / 2, S->cols}, counts[] = {1, 0};
    const tamis_shard_options o = {.rank = 1, .ranks = 2, .column_starts = half, .split = true};
    tamis_shard *shard;
    tamis_status status = tamis_shard_create(S, &o, &shard);
    if (status != TAMIS_OK) {
        assert_null(shard);
        return status;
    }
    status = tamis_shard_set_requests(shard, counts, &half[1]);
    tamis_shard_destroy(shard);
    return status;
}

static tamis_status survey(const tamis_sparse *S) {
    tamis_shard_volume volume;
    return tamis_shard_survey(S, 3, NULL, NULL, &volume);
}

TEST(survives_failing_allocations) {
    tamis_status (*const calls[])(const tamis_sparse *) = {make_one, survey};
    OWN(sample) s = sample_draw(3, 40, 900, 1500);
    order_entries(&s, by_row);
    sample_build(&s, TAMIS_CSR, TAMIS_I32, TAMIS_I32, TAMIS_F32, true);
    for (int i = 0; i < 2; i++) {
        /* the shard's arrays; with a table that grew twice */
        EACH_FAULT_OF(w, .least = i == 0 ? 14 : 5) FAULTY(w, calls[i](&s.view));
    }
}
