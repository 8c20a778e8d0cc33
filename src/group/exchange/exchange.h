/*
 * The exchange of rows between the ranks of a group. A plan, a gradient and tamis_group_rows each hold one. Rows of
 * matrices go from their owners to the ranks that need them (a fetch, or gather). Partial sums of rows go back along
 * the same lists to their owners, which add them (a scatter-add).
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
    int64_t ghosts;                        /* total of the rows that ranks receive */
    int64_t needed_rows;                   /* rows that this rank's nonzeros need from other ranks */
    int needed_sources;                    /* number of ranks that own them */
    int64_t row_bytes, back_bytes;         /* bytes of the largest row fetched, and sent back */
    int64_t *send_starts, *receive_starts; /* of the current exchange, in bytes */

    int64_t copied[2][2]; /* ranges from .. to - 1 of own rows that are copied to X, which has room for all */
    bool in_place;        /* the local plan reads own rows from the caller's memory; X has only ghost rows */
    bool gives;           /* the local plan writes partial sums, and this rank sends or receives some */
    bool apart;           /* another local plan computes the partial sums of ghost rows */
    int64_t own_sums;     /* own rows in `partial`; 0: the output already has their sums */

    /* buffers in the device's memory; on the CPU the host's */
    void *sends; /* copy of shard.sends; NULL on the CPU, which reads shard.sends itself */
    void *send;  /* packed rows for the others, in the order of shard.sends */
    /*
     * The matrix X: own and ghost rows in the order of ranks. A row of X is the concatenation of the first matrix's
     * rows, one per member of the batch, and the second's. So the ghost rows from one rank are contiguous and are
     * received in place.
     */
    void *rows;
    /* partial: sums that this rank computes, in the order of X, or own rows before ghost rows (if apart). received:
       sums from others, in the order of shard.sends. pairs: tamis_execution.softmax_rows of `partial`, for a softmax.
       sum_starts, sum_places: CSR lists of the received rows to add to each own row. */
    void *partial, *received, *pairs;
    void *sum_starts, *sum_places;
    size_t buffer_bytes;

    /* GPUs only */
    void *stream;                    /* stream of the exchange */
    void *called, *arrived;          /* events: the caller's position in its stream, and the arrival of the rows */
    void *host_send, *host_received; /* pinned buffers, if rows pass through the host */

    uint64_t generation;           /* generation of the rows in X; 0: none */
    int64_t kept[TAMIS_EXCHANGED]; /* members of each matrix in X */
} tamis_row_exchange;

static inline const tamis_shard_description *tamis_row_lists(const tamis_row_exchange *e) { return &e->shard->is; }

/* Returns the number of own rows in X; they follow the first is.ghosts_before ghost rows. */
static inline int64_t tamis_own_rows_of_x(const tamis_row_exchange *e) {
    return e->in_place ? 0 : tamis_row_lists(e)->own_rows;
}

/* Sets row_bytes and back_bytes. fetched, back: the most elements of a row, per member of the batch, in each
   direction. */
void tamis_row_exchange_set_widths(tamis_row_exchange *e, int64_t fetched, int64_t back);

/* Allocates the buffers, by the widths, in_place and gives; with `pairs` also the buffers of a softmax. */
tamis_status tamis_row_exchange_make_buffers(tamis_row_exchange *e, bool pairs);
void tamis_row_exchange_release_buffers(tamis_row_exchange *e);

/* A matrix whose rows are distributed like S's columns: as the caller passes it, and as the exchange holds it. */
typedef struct tamis_shared_rows {
    tamis_operand given;       /* own rows; NULL view: not requested */
    const tamis_dense **local; /* the local plan's operand, set to the exchange's matrix; NULL: not changed */
    int64_t *skip;             /* set to the elements before it in a row of X */
} tamis_shared_rows;

#endif
