/* Internals of a shard. */
#ifndef TAMIS_GROUP_SHARD_H
#define TAMIS_GROUP_SHARD_H

#include <tamis/shard.h>

enum { TAMIS_SPLIT_ARRAYS = 6 };

struct tamis_shard {
    tamis_shard_description is; /* its arrays are the shard's own, its values the caller's */
    void *offsets, *columns;    /* of is.local */
    int64_t *ghosts, *receive_starts, *sends, *send_starts;
    void *parts[TAMIS_SPLIT_ARRAYS]; /* with options.split */
};

/* Returns the ghost row of a column of `local`; negative: it is an own row. */
static inline int64_t tamis_ghost_of(const tamis_shard_description *is, int64_t column) {
    if (column < is->ghosts_before) return column;
    return column < is->ghosts_before + is->own_rows ? -1 : column - is->own_rows;
}

/* Checks starts[0 .. ranks]: from 0 to `end`, never decreasing. */
tamis_status tamis_starts_check(const char *name, const int64_t *starts, int ranks, const char *end_name, int64_t end);

/* Makes the own and the ghost part of the shard, is.own and is.ghost of is.local, as for options.split. */
tamis_status tamis_shard_split(tamis_shard *shard);

#endif
