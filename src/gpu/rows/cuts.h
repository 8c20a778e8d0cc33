/*
 * Tasks for kernels that give each team a row. Rows of more than `limit` nonzeros are cut into pieces, which come
 * first; the other rows follow, optionally sorted by decreasing length. rows.simt builds the lists on the device. Two
 * numbers are copied to the host; none for a single call, which would have to wait for them.
 */
#ifndef TAMIS_GPU_ROWS_CUTS_H
#define TAMIS_GPU_ROWS_CUTS_H

#include "gpu/method.h"

typedef struct tamis_gpu_cuts {
    int64_t limit;
    int64_t count, pieces; /* of cut rows; for a single call, upper bounds */
    void *rows;            /* int64, two per cut row: the row, and its first piece; with `chains` see merge.simt */
    bool apart;            /* with `chains`: many have many pieces */
    bool chains;           /* rows are cut by chunks.simt: there is no other list */
    void *piece_rows;      /* int64, two per piece: its row, and the row's first piece */
    void *order;           /* {row, first nonzero, end, 0}, 32 bits each: rows by falling length; NULL: natural order */
    void *cut_sums, *piece_sums; /* single call: the prefix sums, whose last entries are the counts */
} tamis_gpu_cuts;

/* The length above which rows are cut: a team's share of all nonzeros. Rows of usual length are not cut, unless there
   are too few of them to give all teams of `lanes` work. A multiple of 32. */
int64_t tamis_gpu_cuts_limit(const tamis_problem *problem, int64_t lanes);

/* True if the lengths of rows vary much, and a list of them is possible. */
bool tamis_gpu_cuts_uneven(const tamis_problem *problem);

/* True if rows find many of their columns among their neighbours'. */
bool tamis_gpu_cuts_neighbours(const tamis_problem *problem);

/* True if sorting rows by length gains more than keeping neighbours together; it does not if neighbours share rows of
   B. */
bool tamis_gpu_cuts_ordered(const tamis_problem *problem);

/* True if some row is cut, as far as is known; true if only the device knows how many (COUNTED in the kernels). */
bool tamis_gpu_cuts_any(const tamis_prepared *p, int64_t limit);
bool tamis_gpu_cuts_counted(const tamis_prepared *p, int64_t limit);

/* Upper bound of the number of pieces, for scratch. */
int64_t tamis_gpu_cuts_pieces_most(const tamis_prepared *p, int64_t limit);

/* Bytes that a single call allocates for cut rows; their pieces have `width` sums each. */
tamis_call_bytes tamis_gpu_cuts_call_bytes(const tamis_problem *problem, int64_t width);

/* Sorts rows by class, a number below `classes`, which kernel `name` of that file writes to its argument `keys`:
   arguments[0]. *order: int64, which the caller must release. */
tamis_status tamis_gpu_sort_rows(const tamis_prepared *p, const char *file, const char *name, int64_t classes,
                                 tamis_gpu_named *arguments, void **order);

/* Builds the lists of cut rows, if there are any, and the order, which has at most 2^31 - 1 rows and nonzeros. */
tamis_status tamis_gpu_cuts_make(tamis_prepared *p, int64_t limit, bool ordered, tamis_gpu_cuts *cuts);

/* Counts rows by length: longer[k] gets the number of rows of at least 2^k nonzeros, which are the first of the order
   that cuts->order has. */
enum { TAMIS_GPU_CUTS_POWERS = 31 };
tamis_status tamis_gpu_cuts_longer(const tamis_prepared *p, const tamis_gpu_cuts *cuts, int64_t *longer);

/* Work-items of a group of merge.simt, and of a team; columns of each of a row of `width` (EACH, within the registers);
   and groups for `rows` cut rows of so many slices: one for each row if all are resident at once, else teams share. */
enum { TAMIS_GPU_MERGE_GROUP = 256, TAMIS_GPU_MERGE_TEAM = 32 };
static inline int64_t tamis_gpu_merge_each(int64_t width, size_t real_size) {
    return width > 2 * TAMIS_GPU_MERGE_TEAM && real_size == 4 ? 4 : width > TAMIS_GPU_MERGE_TEAM ? 2 : 1;
}
int64_t tamis_gpu_merge_groups(const tamis_gpu_device *device, int64_t rows, int64_t team, int64_t slices);

/* The kernel that merges the rows of `cuts`, as the plan's kernel `number`, and its launch. Pieces have `width` sums;
   if `softmax`, their largest score and sum of exponentials come first: `lead` numbers. */
tamis_status tamis_gpu_cuts_add_merge(tamis_prepared *p, int number, const tamis_gpu_cuts *cuts, bool softmax,
                                      int lead);
tamis_status tamis_gpu_cuts_merge(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                  const tamis_gpu_cuts *cuts, tamis_place partials);

/* Arguments of COUNTED kernels: where the device has the numbers of cut rows and pieces. */
tamis_place tamis_gpu_cuts_counted_rows(const tamis_prepared *p, const tamis_gpu_cuts *cuts);
tamis_place tamis_gpu_cuts_counted_pieces(const tamis_prepared *p, const tamis_gpu_cuts *cuts);

#endif
