/*
 * Rows on their way between the ranks of a plan, in two directions along the same lists: rows of matrices go from their
 * owners to the ranks that need them (a fetch), and partial sums of rows go back to their owners, which add them
 * (a giving).
 */
#ifndef TAMIS_GROUP_TRADE_H
#define TAMIS_GROUP_TRADE_H

#include "group/plan.h"

enum { TAMIS_TRADED = 2 };

/* One exchange under way. */
typedef struct tamis_move {
    tamis_group_plan *plan;
    void *stream; /* the caller's */
    void *send, *receive;
    int64_t send_first, receive_first;           /* bytes before the first row */
    const int64_t *send_starts, *receive_starts; /* by rank, in rows */
    int64_t row_bytes;
    tamis_transfer transfer;
} tamis_move;

/*
 * What comes from the owners: rows of one or two matrices. They become rows of plan->rows, X, each of which holds those
 * of the first matrix, one member of the batch after another, then those of the second.
 */
typedef struct tamis_fetch {
    tamis_group_plan *plan;
    void *stream;
    const tamis_dense *given[TAMIS_TRADED]; /* own rows; NULL: none */
    int64_t cols[TAMIS_TRADED];
    int64_t members[TAMIS_TRADED]; /* that are exchanged; of the second, 0: it is the first */
    int64_t row_bytes;             /* of X */
    bool needs;                    /* some rank reads X */
    bool exchanges;                /* X does not have these rows yet */
    unsigned wanted;               /* what this rank asks for, which must be the same on all */
    double alpha, beta;            /* of the execution: the same on all */
    tamis_move move;
} tamis_fetch;

/* Sets row_bytes for so many members. */
void tamis_fetch_lay_out(tamis_fetch *fetch, int64_t first_members, int64_t second_members);

/* A matrix as X has it, and the elements of X before it. */
tamis_dense tamis_fetch_view(const tamis_fetch *fetch, int which, int64_t *skip);

/*
 * Agrees with the other ranks on what is exchanged, and lays it out. `mine` is what this rank has found wrong, with its
 * message; generation as in tamis_execution. With `needs` X is read at all; the ranks exchange if one of them needs it.
 */
tamis_status tamis_fetch_agree(tamis_fetch *fetch, tamis_status mine, uint64_t generation, bool needs);

/* `begin` sends, `arrive` makes the rows usable in the caller's stream, `end` says that the others have theirs. What
   has been begun is ended in any case. */
tamis_status tamis_fetch_begin(tamis_fetch *fetch);
tamis_status tamis_fetch_arrive(const tamis_fetch *fetch);
tamis_status tamis_fetch_end(const tamis_fetch *fetch);

/* The call has succeeded: X has the rows of this generation. */
void tamis_fetch_keep(const tamis_fetch *fetch, uint64_t generation);

/*
 * What goes back to the owners: plan->partial, own rows before those of others, in what sums are kept in. A row holds
 * the members of the first output, one after another, then those of the second, then of a softmax the pair of each
 * member (see tamis_row_sum).
 */
typedef struct tamis_giving {
    tamis_group_plan *plan;
    void *stream;
    const tamis_dense *to[TAMIS_TRADED]; /* own rows; NULL: none, or not wanted */
    int64_t cols[TAMIS_TRADED];
    double factor, keep;
    bool weighted;
    void *softmax_rows; /* NULL: not wanted */
} tamis_giving;

/* An output as plan->partial has it, and the elements before it. */
tamis_dense tamis_giving_view(const tamis_giving *giving, int which, int64_t *skip);

/* Sends partial sums to their owners and adds what comes: own sums first, then those of rank 0, of rank 1, ... Waits
   for other ranks. */
tamis_status tamis_give(tamis_giving *giving);

/*
 * A whole call after the ranks have agreed: fetches what X does not have, computes, gives back (giving NULL: nothing is
 * given). An error breaks the group, since the other ranks do not ask this one again.
 */
tamis_status tamis_trade(tamis_fetch *fetch, tamis_giving *giving, tamis_status (*compute)(void *context),
                         void *context);

/* Whether partial sums of this rank go anywhere, or any come. Otherwise outputs are computed in place. */
static inline bool tamis_group_gives(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const bool transpose = plan->options.transpose, spmm = plan->options.operation == TAMIS_OP_SPMM;
    const bool sums = plan->kind == TAMIS_GROUP_GRADIENT ? !(transpose && spmm) : transpose;
    return sums && (is->ghost_rows > 0 || is->send_rows > 0);
}

#endif
