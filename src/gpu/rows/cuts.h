/*
 * Tasks for kernels that give each team a row. Rows of more than `limit` nonzeros are cut into pieces, which come
 * first; the other rows follow, if asked for by decreasing length. rows.simt makes the lists on the device. Two numbers
 * are copied to the host; for a one-shot call none, since it would have to wait for them.
 */
#ifndef TAMIS_GPU_ROWS_CUTS_H
#define TAMIS_GPU_ROWS_CUTS_H

#include "gpu/method.h"

typedef struct tamis_gpu_cuts {
    int64_t limit;
    int64_t count, pieces;       /* of cut rows; for one call: as many as there could be */
    void *rows;                  /* int64, two a cut row: it, and its first piece */
    void *piece_cut;             /* int64: the cut row of each piece */
    void *order;                 /* int64: rows by falling length; NULL: as they come */
    void *cut_sums, *piece_sums; /* for one call: where the counts lie, behind rows numbers */
} tamis_gpu_cuts;

/* A row is cut where it is longer than a team's part of the whole; the usual rows are not, unless they are so few that
   their number leaves teams of `lanes` without any. A multiple of 32. */
int64_t tamis_gpu_cuts_limit(const tamis_problem *problem, int64_t lanes);

/* Whether rows by falling length are worth more than neighbours are: not where these share rows of B. */
bool tamis_gpu_cuts_ordered(const tamis_problem *problem);

/* Whether some row is cut, as far as is known; and whether the device alone knows how many (the kernels' COUNTED). */
bool tamis_gpu_cuts_any(const tamis_prepared *p, int64_t limit);
bool tamis_gpu_cuts_counted(const tamis_prepared *p, int64_t limit);

/* Pieces that there could be: for scratch. */
int64_t tamis_gpu_cuts_pieces_most(const tamis_prepared *p, int64_t limit);

/* Bytes that a single call allocates for cut rows whose pieces have `width` sums each. */
tamis_call_bytes tamis_gpu_cuts_call_bytes(const tamis_problem *problem, int64_t width);

/* Rows in the order of their classes, numbers below `classes`, which kernel `name` of that file writes to its argument
   `keys`: arguments[0]. *order: int64, of stream `kept`. */
tamis_status tamis_gpu_sort_rows(const tamis_prepared *p, const char *file, const char *name, int64_t classes,
                                 tamis_gpu_named *arguments, void **order, void *kept);

/* Makes the lists of cut rows if there are any, and the order. */
tamis_status tamis_gpu_cuts_make(tamis_prepared *p, int64_t limit, bool ordered, tamis_gpu_cuts *cuts);

/* Arguments of kernels: where the device has counted cut rows and pieces. */
tamis_place tamis_gpu_cuts_counted_rows(const tamis_prepared *p, const tamis_gpu_cuts *cuts);
tamis_place tamis_gpu_cuts_counted_pieces(const tamis_prepared *p, const tamis_gpu_cuts *cuts);

#endif
