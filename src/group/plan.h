/* A plan of a group. */
#ifndef TAMIS_GROUP_PLAN_H
#define TAMIS_GROUP_PLAN_H

#include "core/plan.h"
#include "group/group.h"
#include "group/shard.h"

struct tamis_group_plan {
    tamis_group *group;
    tamis_options options; /* defaults filled in; the caller's layouts. Its pointers to strings are not kept */
    tamis_shard *shard;
    tamis_plan *local;   /* over shard.local, with B and D row-major */
    int64_t values_skip; /* elements of an execution's values before the first: S was a slice of rows */
    size_t value_size;
    int64_t *send_starts, *receive_starts; /* in bytes, of the exchange under way */
    char *send;                            /* rows for the others, in the order of shard.sends */
    /*
     * The matrix X that the local plan reads: own rows, then ghost rows. A row holds those of B, one member of the
     * batch after another, then those of D. So the ghost rows of a rank are one block, which is received in place.
     * Without ghost rows there is no X: the local plan reads the caller's B and D.
     */
    char *rows;
    tamis_group_report report;
};

/* Whether the local plan reads the caller's B and D. */
static inline bool tamis_group_in_place(const tamis_group_plan *plan) { return plan->shard->is.ghost_rows == 0; }

/* pack.c: copies rows of a matrix, all members of a batch, into lines `apart` bytes after each other. `rows` has the
   number of each; NULL: all rows in order. */
typedef struct tamis_packing {
    const tamis_dense *view;
    int64_t members; /* of the batch */
    const int64_t *rows;
    int64_t count;
    char *to;
    int64_t apart;
    int threads;
} tamis_packing;
void tamis_group_pack(const tamis_packing *packing);

#endif
