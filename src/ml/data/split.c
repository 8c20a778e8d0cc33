/*
 * Splits data into a part to fit and a held-out part. It first draws how much of each entry is held out (`taken`), then
 * makes the two matrices. Every draw comes from Philox with the seed and the number of a row or entry, and is used as
 * an integer or in one rounded operation, so results do not depend on threads, machine or compiler.
 *
 *   entries    of a row of n, share * n rounded up or down at random so that the mean is share * n, but at most n - 1;
 *              each choice of that many is equally likely
 *   leave-one  one of each row of two or more, each equally likely
 *   rows       share * rows rounded, but at least one, and not all if there are two rows or more
 *   tokens     each occurrence by itself with probability `share`: of a count c, Binomial(c, share) are held out
 */
#include <math.h>
#include <string.h>
#include <tamis/data.h>
#include <tamis/structure.h>

#include "base/random.h"
#include "base/reserved.h"
#include "base/scope.h"
#include "base/status.h"
#include "ml/data/host.h"
#include "ml/numbers.h"
#include "sparse/element.h"

/* Streams of draws: a row's or an entry's number, and one that no row has. */
#define ROWS_STREAM UINT64_MAX
#define COUNT_MOST  ((int64_t)INT32_MAX) /* largest count of an entry: fits `taken`, and is drawn in seconds */

typedef struct splitter {
    const tamis_sparse *S; /* CSR */
    const tamis_split_options *options;
    int32_t *taken; /* by entry: 0 or 1; tokens: number held out */
} splitter;

/* ---- reading S */

static double value_at(const tamis_sparse *S, int64_t t) {
    return S->values ? tamis_element_load(S->values, S->value_type, t) : 1;
}

/* Returns the limit up to which the type represents every integer, so that kept and held-out counts add up to the
   count. */
static int64_t count_limit(tamis_type type) {
    switch (type) {
    case TAMIS_F32: return (int64_t)1 << 24;
    case TAMIS_F64: return COUNT_MOST;
    case TAMIS_F16: return 1 << 11;
    case TAMIS_BF16: return 1 << 8;
    }
    return 0;
}

/* ---- drawing */

/* Returns the rounded product. Without the barrier a compiler might fuse it with the next operation (FMA), and results
   would depend on the machine. */
static double share_of(double share, int64_t count) {
    const volatile double product = share * (double)count;
    return product;
}

/* Chooses `requested` of the entries `begin` to `end`, every subset with equal probability: selection sampling (Knuth,
   volume 2, algorithm S). */
static void choose(const splitter *split, tamis_random *random, int64_t begin, int64_t end, int64_t requested) {
    for (int64_t t = begin; t < end; t++) {
        const bool chosen = requested > 0 && tamis_random_below(random, end - t) < requested;
        split->taken[t] = chosen;
        requested -= chosen;
    }
}

static void draw_entries(const splitter *split) {
    const bool one = split->options->kind == TAMIS_SPLIT_LEAVE_ONE;
    for (int64_t row = 0; row < split->S->rows; row++) {
        const int64_t begin = ml_offset(split->S, row), end = ml_offset(split->S, row + 1), count = end - begin;
        tamis_random random = tamis_random_start(split->options->seed, (uint64_t)row);
        int64_t requested = 1;
        if (!one) {
            const double mean = share_of(split->options->share, count), whole = floor(mean);
            requested = (int64_t)whole + (tamis_random_uniform(&random) < mean - whole);
        }
        if (requested > count - 1) requested = count - 1;
        choose(split, &random, begin, end, requested);
    }
}

static void draw_rows(const splitter *split) {
    const int64_t rows = split->S->rows;
    int64_t requested = (int64_t)floor(share_of(split->options->share, rows) + 0.5);
    if (requested < 1) requested = 1;
    if (requested > rows - 1) requested = rows - 1;
    tamis_random random = tamis_random_start(split->options->seed, ROWS_STREAM);
    for (int64_t row = 0; row < rows; row++) {
        const bool chosen = requested > 0 && tamis_random_below(&random, rows - row) < requested;
        requested -= chosen;
        for (int64_t t = ml_offset(split->S, row); t < ml_offset(split->S, row + 1); t++) split->taken[t] = chosen;
    }
}

/* Counts how many of `count` uniform numbers are less than `share` / 2^64. This draws 64 numbers at a time, bit by bit
   from the highest, and stops when no number's bits still equal the share's: a number is less if the first bit that
   differs is 0 in it and 1 in the share. */
static int32_t draw_binomial(uint64_t seed, uint64_t stream, uint64_t share, int64_t count) {
    tamis_random random = tamis_random_start(seed, stream);
    int32_t less = 0;
    for (int64_t done = 0; done < count; done += 64) {
        uint64_t open = count - done >= 64 ? UINT64_MAX : ((uint64_t)1 << (count - done)) - 1;
        for (int bit = 63; bit >= 0 && open != 0; bit--) {
            const uint64_t drawn = tamis_random_next(&random);
            if (share >> bit & 1) {
                less += __builtin_popcountll(open & ~drawn);
                open &= drawn;
            } else {
                open &= ~drawn;
            }
        }
    }
    return less;
}

static tamis_status draw_tokens(const splitter *split) {
    const tamis_sparse *const S = split->S;
    const int64_t most = S->values ? count_limit(S->value_type) : 1;
    const uint64_t share = (uint64_t)ldexp(split->options->share, 64); /* exact, or the bits below 2^-64 are dropped */
    for (int64_t row = 0; row < S->rows; row++)
        for (int64_t t = ml_offset(S, row); t < ml_offset(S, row + 1); t++) {
            const double count = value_at(S, t);
            if (!(count >= 0 && count <= (double)most && floor(count) == count))
                return tamis_fail(TAMIS_ERROR_ARGUMENT,
                                  "S.values[%lld] = %g (row %lld), expected a whole number from 0 to %lld",
                                  (long long)t, count, (long long)row, (long long)most);
            split->taken[t] = draw_binomial(split->options->seed, (uint64_t)t, share, (int64_t)count);
        }
    return TAMIS_OK;
}

/* ---- making */

/* Sets *count to the part of entry t in one of the two matrices. Returns false if it has none. */
static bool has_entry(const splitter *split, int64_t t, bool held, double *count) {
    if (split->options->kind != TAMIS_SPLIT_TOKENS) return (split->taken[t] != 0) == held;
    const double all = value_at(split->S, t), out = (double)split->taken[t];
    *count = held ? out : all - out;
    return *count > 0 || (!held && all == 0); /* a stored zero is kept */
}

static tamis_status make(const splitter *split, bool held, tamis_owned_sparse **matrix) {
    const tamis_sparse *const S = split->S;
    const size_t index_size = tamis_index_size(S->index_type), value_size = tamis_type_size(S->value_type);
    int64_t *offsets, nnz = 0;
    void *columns, *values = NULL;
    double count = 0;
    TAMIS_SCOPE;
    for (int64_t t = 0; t < S->nnz; t++) nnz += has_entry(split, t, held, &count);
    TRY(tamis_allocate_array(S->rows + 1, "a split's offsets", offsets));
    TRY(tamis_scope_allocate(nnz, index_size, "a split's columns", &columns));
    if (S->values) TRY(tamis_scope_allocate(nnz, value_size, "a split's values", &values));
    int64_t used = 0;
    offsets[0] = 0;
    for (int64_t row = 0; row < S->rows; row++) {
        for (int64_t t = ml_offset(S, row); t < ml_offset(S, row + 1); t++) {
            if (!has_entry(split, t, held, &count)) continue;
            memcpy((char *)columns + (size_t)used * index_size, (const char *)S->columns + (size_t)t * index_size,
                   index_size);
            if (S->values && split->options->kind == TAMIS_SPLIT_TOKENS)
                tamis_element_store(values, S->value_type, used, count);
            else if (S->values)
                memcpy((char *)values + (size_t)used * value_size, (const char *)S->values + (size_t)t * value_size,
                       value_size);
            used++;
        }
        offsets[row + 1] = used;
    }
    tamis_sparse view = *S;
    view.nnz = nnz;
    view.offset_type = TAMIS_I64;
    view.offsets = offsets;
    view.columns = columns;
    view.values = values;
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.index_type = S->index_type;
    options.offset_type = S->offset_type;
    options.value_type = S->value_type;
    return tamis_convert(&view, &options, matrix);
}

/* ---- public */

static tamis_status take_options(const tamis_split_options *given, tamis_split_options *options) {
    *options = (tamis_split_options)TAMIS_SPLIT_OPTIONS_INIT;
    if (!given) return TAMIS_OK;
    TRY(TAMIS_RESERVED(given, "options"));
    *options = *given;
    if ((int)options->kind < TAMIS_SPLIT_ENTRIES || (int)options->kind > TAMIS_SPLIT_TOKENS)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.kind = %d, expected 0 to %d", (int)options->kind,
                          (int)TAMIS_SPLIT_TOKENS);
    if (options->kind != TAMIS_SPLIT_LEAVE_ONE && !(options->share > 0 && options->share < 1))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.share = %g, expected between 0 and 1", options->share);
    return TAMIS_OK;
}

static tamis_status draw(const splitter *split) {
    switch (split->options->kind) {
    case TAMIS_SPLIT_ROWS: draw_rows(split); return TAMIS_OK;
    case TAMIS_SPLIT_TOKENS: return draw_tokens(split);
    case TAMIS_SPLIT_ENTRIES:
    case TAMIS_SPLIT_LEAVE_ONE: draw_entries(split); return TAMIS_OK;
    }
    return tamis_fail(TAMIS_ERROR_INTERNAL, "a kind of split without a row here");
}

/* Converts COO to rows, and makes the offsets of a slice begin at 0, in S's types. */
static tamis_status group(const tamis_sparse *S, tamis_sparse *grouped) {
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.index_type = S->index_type;
    options.offset_type = S->nnz > INT32_MAX ? TAMIS_I64 : S->offset_type;
    options.value_type = S->value_type;
    return ml_converted(S, &options, grouped);
}

tamis_status tamis_split(const tamis_sparse *S, const tamis_split_options *options, tamis_owned_sparse **kept,
                         tamis_owned_sparse **held_out) {
    tamis_clear_error();
    if (!kept || !held_out)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected an address for the result",
                          kept ? "held_out" : "kept");
    *kept = *held_out = NULL;
    tamis_split_options taken_options;
    TRY(take_options(options, &taken_options));
    TRY(tamis_validate(S));
    tamis_sparse grouped;
    tamis_owned_sparse *rest, *held;
    splitter split = {.S = S, .options = &taken_options};
    TAMIS_SCOPE;
    if (S->format == TAMIS_COO || S->offset_base != 0) {
        TRY(group(S, &grouped));
        split.S = &grouped;
    }
    TRY(tamis_allocate_array(S->nnz, "a split", split.taken));
    TRY(draw(&split));
    TRY(make(&split, false, &rest));
    const tamis_status status = make(&split, true, &held);
    if (status != TAMIS_OK) {
        tamis_owned_sparse_free(rest);
        return status;
    }
    *kept = rest;
    *held_out = held;
    return TAMIS_OK;
}
