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

/* ------------------------------------------------------------------------------------------ moving rows */

/* One exchange under way. */
typedef struct tamis_move {
    tamis_row_exchange *exchange;
    void *stream; /* the caller's */
    void *send, *receive;
    int64_t send_first;                          /* bytes before the first row */
    int64_t send_gap, receive_gap;               /* gap in bytes before the rows of the ranks after this one */
    const int64_t *send_starts, *receive_starts; /* by rank, in rows */
    int64_t row_bytes;
    tamis_transfer transfer;
} tamis_move;

/* `begin` sends the rows that the exchange's stream has written, `arrive` makes the received rows usable in the
   caller's stream, `end` waits until the others have theirs. `end` must follow each successful `begin`, so that no
   rank's memory is in use afterwards. It returns the status of the steps in between, with its message, unless that is
   TAMIS_OK. */
tamis_status tamis_move_begin(tamis_move *m);
tamis_status tamis_move_arrive(const tamis_move *m);
tamis_status tamis_move_end(const tamis_move *m, tamis_status status);

/* tamis_move_follow makes the exchange's stream wait for the caller's; tamis_move_lead makes the caller's wait for the
   exchange's. No effect on the CPU. */
tamis_status tamis_move_follow(const tamis_move *m);
tamis_status tamis_move_lead(const tamis_move *m);

/* ------------------------------------------------------------------------------------------ fetching rows */

/* A fetch: rows of one or two matrices come from their owners and become rows of X. */
typedef struct tamis_fetch {
    tamis_row_exchange *exchange;
    void *stream; /* the caller's */
    tamis_shared_rows from[TAMIS_EXCHANGED];
    tamis_dense held[TAMIS_EXCHANGED]; /* in X */
    int count;
    bool second_is_first;             /* options.d_is_b promises it */
    int64_t members[TAMIS_EXCHANGED]; /* members exchanged; 0 for the second: it is the first */
    int64_t row_bytes;                /* of X */
    bool needs;                       /* some rank reads X */
    bool exchanges;                   /* X does not have these rows yet */
    tamis_move move;
} tamis_fetch;

/* Arguments of a call that must be equal on all ranks. */
typedef struct tamis_agreed {
    double alpha, beta;
    uint64_t requested; /* bit mask of the outputs whose sums go back */
} tamis_agreed;

/* Lays out X for these numbers of members, and sets the local plan's operands to it. */
void tamis_fetch_lay_out(tamis_fetch *f, int64_t first_members, int64_t second_members);

/*
 * Agrees with the other ranks on what is exchanged, and lays it out. mine: this rank's error so far, with its message.
 * generation: as in tamis_execution, for the first fetch; the rows of other fetches always count as changed. f->needs:
 * this rank reads X; the ranks exchange if one of them does.
 */
enum { TAMIS_FETCHES = 3 };
tamis_status tamis_fetch_agree(tamis_fetch *fetches, int count, tamis_status mine, uint64_t generation,
                               const tamis_agreed *agreed);

/* Packs the rows that others need and sends them; copies own rows in front of the ghost rows. After success the caller
   must call tamis_move_arrive and tamis_move_end of f->move. */
tamis_status tamis_fetch_begin(tamis_fetch *f);

/* Records, after a successful call, that X has the rows of this generation. */
void tamis_fetch_keep(const tamis_fetch *f, uint64_t generation);

/* ------------------------------------------------------------------------------------------ giving sums back */

/*
 * Partial sums in exchange.partial, in the type of sums. A row holds the members of the first output, one after
 * another, then the members of the second; for a softmax each member's pair follows (see tamis_row_sum).
 */
typedef struct tamis_giving {
    tamis_row_exchange *exchange;
    void *stream; /* the caller's */
    tamis_shared_rows to[TAMIS_EXCHANGED];
    tamis_dense held[TAMIS_EXCHANGED]; /* partial sums */
    int count;
    double factor, keep;
    bool weighted;      /* by the pairs of a softmax */
    void *softmax_rows; /* NULL: not requested */
} tamis_giving;

/* Lays out the partial sums, which the local plan writes. */
void tamis_give_back_lay_out(tamis_giving *g);

/* Sends partial sums to their owners and adds the received ones: own sums first, then the other ranks' in order. Waits
   for other ranks. */
tamis_status tamis_give_back(tamis_giving *g);

/* ------------------------------------------------------------------------------------------ a whole call */

/* A whole call of a group: it fetches rows, computes, and gives partial sums back. The caller fills in from, count and
   needs of each fetch; to, count, factor and weighted of the giving; and the fields below except `execution` and
   `gives_back`. */
typedef struct tamis_call {
    tamis_row_exchange *exchange;
    tamis_fetch fetches[TAMIS_FETCHES]; /* the first uses `exchange`, and overlaps compute_own */
    int more;            /* number of further fetches, with their own exchanges, which end before the first */
    tamis_giving giving; /* its exchange may be set; default: `exchange` */
    tamis_status mine;   /* the caller's error so far, with its message */
    const tamis_execution *given;
    tamis_execution execution;                  /* `given` with defaults filled in; set before `check` */
    bool gives_back;                            /* sums go back */
    void *context;                              /* first argument of the callbacks, each of which may be NULL */
    tamis_status (*check)(void *context);       /* checks the operands of the local plan */
    tamis_status (*compute_own)(void *context); /* computes while rows arrive */
    tamis_status (*compute)(void *context);     /* computes when they have arrived */
} tamis_call;

tamis_status tamis_call_run(tamis_call *c);

#endif
