/*
 * The exchange of rows between the ranks of a group. A plan, a gradient and tamis_group_rows each hold one. Rows of
 * matrices go from their owners to the ranks that need them (a fetch), and partial sums of rows go back along the same
 * lists to their owners, which add them.
 */
#ifndef TAMIS_GROUP_EXCHANGE_EXCHANGE_H
#define TAMIS_GROUP_EXCHANGE_EXCHANGE_H

#include "core/execute.h"
#include "group/rank.h"
#include "group/shard.h"

/* Matrices that travel in one exchange. */
enum { TAMIS_EXCHANGED = 2 };

typedef struct tamis_row_exchange {
    tamis_group *group;
    tamis_shard *shard; /* this rank's pattern, and the lists of rows to send and to receive */
    tamis_type type;    /* of the rows; partial sums have its tamis_sum_type */
    int64_t batch;
    int threads;
    int64_t ghosts;                        /* rows that all ranks receive together */
    int64_t needed_rows;                   /* rows that this rank's nonzeros need and that it does not have */
    int needed_sources;                    /* ranks that have them */
    int64_t row_bytes, back_bytes;         /* of the largest row that is fetched, and that goes back */
    int64_t *send_starts, *receive_starts; /* in bytes, of the exchange under way */

    int64_t copied[2][2]; /* ranges of own rows that X gets: from .. to - 1; it has room for all of them */
    bool in_place;        /* the local plan reads the caller's own rows where they are: X has the ghost rows alone */
    bool gives;           /* the local plan writes partial sums, of which some go to other ranks or others' come */
    bool apart;           /* a plan of their own computes the ghost rows' */
    int64_t own_sums;     /* own rows in `partial`; 0: their sums are in the output already */

    /* buffers in the device's memory; on the CPU the host's */
    void *sends; /* shard.sends; on the CPU NULL, for they are read where they are */
    void *send;  /* rows for the others, in the order of shard.sends */
    /*
     * The matrix X: own and ghost rows in the order of ranks. A row holds those of the first matrix, one member of the
     * batch after another, then those of the second. So the ghost rows of a rank are one block, which is received in
     * place.
     */
    void *rows;
    /* Partial sums: those that this rank computes, in the order of X, or own before ghost rows (apart); what comes, in
       the order of shard.sends; and for each own row the numbers of those that are for it. Of a softmax also the pairs
       (tamis_execution.softmax_rows) of what this rank computes. */
    void *partial, *received, *pairs;
    void *sum_starts, *sum_places;
    size_t buffer_bytes;

    /* of GPUs */
    void *stream;                    /* of the exchange */
    void *called, *arrived;          /* events: where the caller's stream was, and that the rows are there */
    void *host_send, *host_received; /* pinned, where rows pass through the host */

    uint64_t generation;           /* of the rows in X; 0: of none */
    int64_t kept[TAMIS_EXCHANGED]; /* members of the matrices in them */
} tamis_row_exchange;

static inline const tamis_shard_description *tamis_row_lists(const tamis_row_exchange *e) {
    return tamis_shard_is(e->shard);
}

/* Own rows in X: behind is.ghosts_before of the ghost rows. */
static inline int64_t tamis_own_rows_of_x(const tamis_row_exchange *e) {
    return e->in_place ? 0 : tamis_row_lists(e)->own_rows;
}

/* A matrix whose rows are distributed like S's columns: as the caller passes it, and as the exchange holds it. */
typedef struct tamis_shared_rows {
    tamis_operand given;       /* own rows; its view NULL: not requested */
    const tamis_dense **local; /* the local plan's operand, which the exchange holds; NULL: it stays as it is */
    int64_t *skip;             /* becomes the number of elements before it in a row */
} tamis_shared_rows;

#endif
