/*
 * Walking a range: fills lists of segments, chunk by chunk, in the order of the nonzeros or tile by tile. It prefetches
 * the cache lines of S for the next chunk long before they are read.
 */
#ifndef TAMIS_CPU_KERNELS_WALK_H
#define TAMIS_CPU_KERNELS_WALK_H

#include "cpu/kernels/segment.h"

enum { WALK_SEGMENTS = 256 };

/* Where a row's partial sum goes if this range does not finish the row; NULL if the row lies within the range. */
INLINE real *cut_row_partial(const tamis_cpu_range *range, int64_t row) {
    if (range->head_cut && row == range->row_begin) return range->head;
    if (range->tail_cut && row == range->row_end - 1) return range->tail;
    return NULL;
}

typedef struct walk {
    const tamis_cpu_job *job;
    const tamis_cpu_range *range;
    int64_t row, position;      /* the next row; the nonzero to continue at, -1 for the row's first */
    int64_t tile;               /* by tiles: the current tile */
    int64_t row_begin, row_end; /* rows of the current block; row by row: of the range */
    int64_t next_block;         /* by tiles: the first row of the block after it */
    int with_empty;             /* rows without nonzeros get a segment too */
    int64_t most;               /* capacity of a list, in segments */
    int64_t size;               /* bytes of a stored value */
} walk;

static walk walk_start(const tamis_cpu_job *job, const tamis_cpu_range *range, int with_empty, int64_t size) {
    return (walk){
        job,           range, range->row_begin, -1, 0, range->row_begin, range->row_end, range->row_begin, with_empty,
        WALK_SEGMENTS, size};
}

/* Advances to the next block of rows (row by row: the whole range is one block); false if there is none. */
static bool walk_next_block(walk *w) {
    if (w->next_block >= w->range->row_end) return false;
    w->row_begin = w->row = w->next_block;
    if (w->job->tiles) {
        const int64_t end = (w->row_begin / w->job->tiles->block_rows + 1) * w->job->tiles->block_rows;
        w->row_end = end < w->range->row_end ? end : w->range->row_end;
    }
    w->next_block = w->row_end;
    w->tile = 0;
    return true;
}

INLINE int64_t walk_clip_begin(const walk *w, int64_t z) {
    return z < w->range->nonzero_begin ? w->range->nonzero_begin : z;
}
INLINE int64_t walk_clip_end(const walk *w, int64_t z) { return z > w->range->nonzero_end ? w->range->nonzero_end : z; }

/* Row by row: adds rows that fit, from segment `count` on. Nearly all rows do, and listing them costs as much as the
   products of short narrow rows, so they have their own loop. Returns the number of segments. */
INLINE int walk_fill_whole_rows(walk *w, segment *segments, int64_t count, int64_t *left, int wide_offsets) {
    const char *const offsets = w->job->offsets; /* read as columns are: 32 or 64 bits */
    const int64_t most = w->most, end_row = w->row_end;
    int64_t row = w->row, rest = *left;
    int64_t begin = row < end_row ? walk_clip_begin(w, column_at(offsets, row, wide_offsets)) : 0;
    for (; row < end_row && count < most && rest > 0; row++) {
        const int64_t end = walk_clip_end(w, column_at(offsets, row + 1, wide_offsets));
        const int64_t n = end > begin ? end - begin : 0;
        if (n > rest) break;
        segments[count] = (segment){.row = row,
                                    .begin = begin,
                                    .count = n,
                                    .accumulator = (real *)w->range->carry,
                                    .load_scale = 1,
                                    .final_scale = 1};
        count += n > 0 || w->with_empty;
        rest -= n;
        begin = end > begin ? end : begin;
    }
    w->row = row;
    *left = rest;
    return (int)count;
}

/* Row by row: lists up to `limit` nonzeros. The next call continues a row that does not fit. */
static int walk_fill_rows(walk *w, segment *segments, int64_t limit, int64_t *nonzeros) {
    int count = 0;
    int64_t left = limit;
    while (w->row < w->row_end && count < w->most && left > 0) {
        if (w->position < 0) {
            count = w->job->wide_offsets ? walk_fill_whole_rows(w, segments, count, &left, 1)
                                         : walk_fill_whole_rows(w, segments, count, &left, 0);
            if (w->row == w->row_end || count == w->most || left == 0) break;
        }
        const int64_t row_begin = walk_clip_begin(w, offset_at(w->job, w->row));
        const int64_t row_end = walk_clip_end(w, offset_at(w->job, w->row + 1));
        const int64_t begin = w->position < 0 ? row_begin : w->position;
        int64_t end = row_end;
        int flags = 0;
        if (w->position >= 0) flags |= SEGMENT_CONTINUE;
        if (end - begin > left) {
            end = begin + left;
            flags |= SEGMENT_KEEP;
        }
        if (end > begin || w->with_empty)
            segments[count++] = (segment){.row = w->row,
                                          .begin = begin,
                                          .count = end > begin ? end - begin : 0,
                                          .accumulator = (real *)w->range->carry,
                                          .load_scale = 1,
                                          .final_scale = 1,
                                          .flags = flags};
        left -= end > begin ? end - begin : 0;
        if (flags & SEGMENT_KEEP) {
            w->position = end;
        } else {
            w->position = -1;
            w->row++;
        }
    }
    *nonzeros = limit - left;
    return count;
}

/* Tile by tile within the current block of rows. */
static int walk_fill_tiles(walk *w, segment *segments, int64_t limit, int64_t *nonzeros) {
    const tamis_cpu_tiles *const tiles = w->job->tiles;
    const int64_t block = w->row_begin / tiles->block_rows * tiles->block_rows;
    const int64_t height = w->job->rows - block < tiles->block_rows ? w->job->rows - block : tiles->block_rows;
    const uint32_t *const starts = tiles->starts + block * (tiles->tiles + 1);
    const int64_t column_bytes = w->job->wide_columns ? 8 : 4;
    int count = 0;
    int64_t left = limit;
    while (w->tile < tiles->tiles && count < w->most && left > 0) {
        const uint32_t *const here = starts + w->tile * height + (w->row - block);
        const int64_t offset = offset_at(w->job, w->row);
        int64_t begin = walk_clip_begin(w, offset + here[0]);
        const int64_t tile_end = walk_clip_end(w, offset + here[height]);
        if (w->position >= 0) begin = w->position;
        const int64_t end = tile_end - begin > left ? begin + left : tile_end;
        if (end > begin) {
            __builtin_prefetch((const char *)w->job->columns + begin * column_bytes);
            __builtin_prefetch((const char *)w->job->columns + begin * column_bytes + 64);
            if (w->job->values) {
                __builtin_prefetch(w->job->values + begin * w->size);
                __builtin_prefetch(w->job->values + begin * w->size + 64);
            }
            segments[count++] = (segment){.row = w->row,
                                          .begin = begin,
                                          .count = end - begin,
                                          .accumulator = NULL,
                                          .load_scale = 1,
                                          .final_scale = 1,
                                          .flags = SEGMENT_CONTINUE | SEGMENT_KEEP};
            left -= end - begin;
        }
        if (end < tile_end) {
            w->position = end;
            break;
        }
        w->position = -1;
        if (++w->row == w->row_end) {
            w->row = w->row_begin;
            w->tile++;
        }
    }
    *nonzeros = limit - left;
    return count;
}

static int walk_fill(walk *w, segment *segments, int64_t limit, int64_t *nonzeros) {
    return w->job->tiles ? walk_fill_tiles(w, segments, limit, nonzeros) : walk_fill_rows(w, segments, limit, nonzeros);
}

/* Returns the end of a run: segments from s that are consecutive in S, so their values and samples are contiguous,
 *length of them. */
static int run_end(const segment *segments, int count, int s, int64_t *length) {
    int64_t end = segments[s].begin + segments[s].count;
    int e = s + 1;
    for (; e < count && segments[e].begin == end; e++) end += segments[e].count;
    *length = end - segments[s].begin;
    return e;
}

#endif
