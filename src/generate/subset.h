/* Random subsets: `count` different numbers of 0 .. bound - 1. Every subset is equally likely. */
#ifndef TAMIS_GENERATE_SUBSET_H
#define TAMIS_GENERATE_SUBSET_H

#include <tamis/tamis.h>

/* A thread's scratch for subsets of up to `most` numbers below `bound`. */
typedef struct tamis_subset_room {
    uint64_t seed;
    uint64_t *marks; /* a bitmap of the numbers, clear between calls */
    int64_t *spare;
} tamis_subset_room;

tamis_status tamis_subset_room_create(uint64_t seed, int64_t bound, int64_t most, tamis_subset_room *room);
void tamis_subset_room_free(tamis_subset_room *room);

/* Writes the subset of random stream `stream`, sorted. count <= bound; neither may exceed the room's. */
void tamis_draw_subset(const tamis_subset_room *room, uint64_t stream, int64_t bound, int64_t count, int64_t *chosen);

#endif
