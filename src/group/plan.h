/* A plan of a group. */
#ifndef TAMIS_GROUP_PLAN_H
#define TAMIS_GROUP_PLAN_H

#include "core/execute.h"
#include "core/gradient.h"
#include "core/options.h"
#include "group/group.h"
#include "group/shard.h"

/* Entries of this rank's rows that one local plan computes, and their arrays where the device reads them. */
typedef struct tamis_piece {
    tamis_plan *plan;
    tamis_sparse S;
    void *memory[3]; /* offsets, columns and values in the device's memory; none on the CPU */
} tamis_piece;

/* The first piece: all entries, or of a plan that overlaps those with own columns. */
enum { TAMIS_PIECE_FIRST, TAMIS_PIECE_GHOST, TAMIS_PIECES };

/* What an algorithm would have this rank receive, and take. */
typedef struct tamis_group_scheme {
    const char *name;
    char state[96];          /* "used", or why not */
    int64_t words, messages; /* that this rank receives */
    double seconds;          /* to receive them; 0: not known */
    double efficiency;       /* of one execution against the same on one rank, over the ranks; 0: not known */
} tamis_group_scheme;

enum { TAMIS_GROUP_SCHEMES = 3 };

/* A plan; a tamis_group_gradient, which has no pieces but a gradient; tamis_group_rows, which has X and no pieces. */
typedef enum tamis_group_kind { TAMIS_GROUP_PLAN, TAMIS_GROUP_GRADIENT, TAMIS_GROUP_ROWS } tamis_group_kind;

struct tamis_group_plan {
    tamis_group *group;
    tamis_options options; /* defaults filled in; the caller's layouts. Its pointers to strings are not kept */
    tamis_shard *shard;
    tamis_group_kind kind;
    bool overlaps;                    /* two pieces: the first is computed while the ghost rows are on their way */
    tamis_piece pieces[TAMIS_PIECES]; /* of a gradient, the first has the pattern alone */
    tamis_gradient *gradient;
    int divided;         /* among so many ranks the device's threads have been: one alone has them all */
    int64_t values_skip; /* elements of an execution's values before the first: S was a slice of rows */
    int64_t *send_starts, *receive_starts; /* in bytes, of the exchange under way */

    /* in the device's memory; on the CPU the host's */
    void *sends; /* shard.sends; on the CPU NULL, for they are read where they are */
    void *send;  /* rows for the others, in the order of shard.sends */
    /*
     * The matrix X that a piece reads: own rows, then ghost rows; of a plan that overlaps, only the ghost rows. A row
     * holds those of B, one member of the batch after another, then those of D. So the ghost rows of a rank are one
     * block, which is received in place. Without ghost rows there is no X: the piece reads the caller's B and D.
     */
    void *rows;
    /* where partial sums go back to their owners: those that this rank computes, own rows before ghost rows; what
       comes, in the order of shard.sends; and for each own row the numbers of those that are for it. Of a softmax also
       the pairs (tamis_execution.softmax_rows) of what this rank computes. See group/trade.h. */
    void *partial, *received, *pairs;
    void *sum_starts, *sum_places;

    /* of GPUs */
    void *stream;                    /* of the exchange */
    void *called, *arrived;          /* events: where the caller's stream was, and that the rows are there */
    void *host_send, *host_received; /* pinned, where rows pass through the host */

    uint64_t generation; /* of the rows in X; 0: of none */
    int64_t kept[2];     /* members of the matrices in them */
    int64_t needed_rows; /* rows of B that this rank's nonzeros need and that it does not have */
    int needed_sources;  /* ranks that have them */
    tamis_group_report report;
    tamis_group_scheme schemes[TAMIS_GROUP_SCHEMES];
};

/* Whether the first piece reads the caller's B and D. */
static inline bool tamis_group_in_place(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    /* a gradient's outputs have the layouts of its inputs, and those that go back are row-major */
    return plan->overlaps || (is->ghost_rows == 0 && !(plan->kind == TAMIS_GROUP_GRADIENT && is->send_rows > 0));
}

/* Rows of X before the ghost rows. */
static inline int64_t tamis_group_own_rows_of_x(const tamis_group_plan *plan) {
    return tamis_group_in_place(plan) ? 0 : tamis_shard_is(plan->shard)->own_rows;
}

/* plan.c: what tamis_group_plan_create does, and those of gradients and rows. */
tamis_status tamis_group_plan_make(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                   const tamis_options *options, tamis_group_kind kind, tamis_group_plan **plan);

/* place.c: the local plans and the buffers, in the device's memory. `algorithm` and the like as the caller's options
   have them. */
tamis_status tamis_group_make_pieces(tamis_group_plan *plan, const tamis_options *options);
tamis_status tamis_group_make_buffers(tamis_group_plan *plan);
void tamis_group_release_places(tamis_group_plan *plan);

/* transposed.c: an execution of a plan with options.transpose. */
tamis_status tamis_group_run_transposed(tamis_group_plan *plan, tamis_operation operation, const tamis_views *views,
                                        const tamis_execution *execution);

/* price.c: whether a rank computes its own part while rows are on their way. */
bool tamis_group_overlaps(const tamis_group_plan *plan);

/* What a rank is predicted to take, in seconds; 0: not known. */
typedef struct tamis_group_price {
    double local, exchange, replicated, together;
    double alone; /* local, with the threads that one rank alone has */
} tamis_group_price;
tamis_group_price tamis_group_price_of(const tamis_group_plan *plan);

/* Seconds to receive so many bytes in so many steps, each of which waits for the one before; 0: not known. */
double tamis_group_seconds(const tamis_group_plan *plan, double bytes, int64_t steps);
/* The same for so many rows of B and D, and so many partial sums of rows. */
double tamis_group_seconds_of_rows(const tamis_group_plan *plan, int64_t rows, int64_t sums);

/* schemes.c: fills plan->schemes, by the report. */
void tamis_group_price_schemes(tamis_group_plan *plan);

#endif
