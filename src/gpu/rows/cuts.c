/* Host side of the lists of rows.simt, and the row order of gpu-rows, gpu-teams and gpu-one-pass. */
#include "gpu/rows/cuts.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/sort.h"
#include "gpu/structure/workspace.h"

enum { LEAST = 96 /* the shortest row that may be cut */ };

/* ------------------------------------------------------------------------------------------ choosing */

/* Concurrent teams of a device, if registers allow half of the maximal occupancy. */
static int64_t teams_of(const tamis_gpu_device *device, int64_t lanes) {
    const int64_t threads = device->limits.threads_most > 0 ? device->limits.threads_most : 2048;
    const int64_t teams = device->limits.multiprocessors * threads / 2 / lanes;
    return teams > 1 ? teams : 1;
}

int64_t tamis_gpu_cuts_limit(const tamis_problem *problem, int64_t lanes) {
    enum { MOST = 2048, FEWEST = 4 /* teams per row */, WARP = 32 };
    const int64_t teams = problem->device ? teams_of(problem->device, lanes) : 1;
    const double share = (double)problem->nnz / (double)teams, usual = 1.05 * problem->evidence->profile.mean;
    const double limit = fmin(fmax(share, fmin(usual, FEWEST * share)), fmax(usual, MOST));
    return ((int64_t)fmax(limit, LEAST) + WARP - 1) / WARP * WARP;
}

/* The list of an order does. */
static bool counts_in_32_bits(const tamis_problem *problem) {
    return problem->nnz <= INT32_MAX && problem->rows <= INT32_MAX;
}

bool tamis_gpu_cuts_uneven(const tamis_problem *problem) {
    return problem->evidence->profile.variation > 0.5 && counts_in_32_bits(problem);
}

bool tamis_gpu_cuts_neighbours(const tamis_problem *problem) { return problem->evidence->fresh_share <= 0.6; }

bool tamis_gpu_cuts_ordered(const tamis_problem *problem) {
    return !problem->once && tamis_gpu_cuts_uneven(problem) && !tamis_gpu_cuts_neighbours(problem);
}

/* ------------------------------------------------------------------------------------------ lists */

static tamis_gpu_kinds kinds_of(const tamis_prepared *p) {
    return (tamis_gpu_kinds){TAMIS_F32, p->problem.index_type, p->problem.offset_type};
}

static tamis_status launch(const tamis_prepared *p, const char *kernel, int64_t items,
                           const tamis_gpu_named *arguments) {
    return tamis_gpu_utility(p->device, p->problem.stream, "rows.simt", kernel, kinds_of(p), tamis_gpu_groups(items),
                             arguments);
}

static tamis_status total_of(const tamis_prepared *p, tamis_place sums, int64_t *total) {
    sums.bytes += p->problem.rows * 8;
    return p->device->runtime->read(p->device, p->problem.stream, total, sums, sizeof *total);
}

/* Prefix sums of marks of cut rows, and of counts of their pieces: rows + 1 numbers each. */
typedef struct sums_of_rows {
    tamis_place is_cut, pieces;
} sums_of_rows;

/* Upper bound of the number of cut rows. */
static int64_t cuts_most(const tamis_prepared *p, int64_t limit) {
    return p->problem.rows < p->problem.nnz / limit ? p->problem.rows : p->problem.nnz / limit;
}

/* Upper bound of the number of pieces: full ones, and one short piece per cut row. */
int64_t tamis_gpu_cuts_pieces_most(const tamis_prepared *p, int64_t limit) {
    return p->problem.nnz / limit + cuts_most(p, limit);
}

/* Flags and counts of rows, and the sums of their tiles; a cut row has at least LEAST nonzeros and two pieces. */
tamis_call_bytes tamis_gpu_cuts_call_bytes(const tamis_problem *problem, int64_t width) {
    const int64_t piece = width * (int64_t)tamis_gpu_real_size(problem->type) + 2 * 8;
    return (tamis_call_bytes){.row = 2 * 8 + 1, .entry = (2 * piece + 2 * 8 + LEAST - 1) / LEAST};
}

static tamis_status count_cuts(const tamis_prepared *p, int64_t limit, const sums_of_rows *to, tamis_place scratch) {
    const int64_t rows = p->problem.rows;
    void *const stream = p->problem.stream;
    TRY(launch(p, "rows_count", rows + 1,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", rows), tamis_gpu_integer("limit", limit),
                                   tamis_gpu_memory("offsets", p->problem.offsets),
                                   tamis_gpu_place("is_cut", to->is_cut), tamis_gpu_place("pieces", to->pieces))));
    TRY(tamis_gpu_scan(p->device, stream, to->is_cut, rows + 1, scratch));
    return tamis_gpu_scan(p->device, stream, to->pieces, rows + 1, scratch);
}

/* Lists the cut rows, and the row of each piece. */
static tamis_status fill_lists(tamis_prepared *p, tamis_gpu_cuts *s, const sums_of_rows *sums) {
    TRY(tamis_gpu_add_kept(p, &s->rows, 2 * s->count, 8, "rows that are cut"));
    TRY(tamis_gpu_add_kept(p, &s->piece_rows, 2 * s->pieces, 8, "pieces of rows"));
    return launch(p, "rows_list", p->problem.rows * 32,
                  TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", p->problem.rows),
                                      tamis_gpu_place("is_cut", sums->is_cut), tamis_gpu_place("pieces", sums->pieces),
                                      tamis_gpu_memory("cuts", s->rows),
                                      tamis_gpu_memory("piece_rows", s->piece_rows)));
}

bool tamis_gpu_cuts_any(const tamis_prepared *p, int64_t limit) { return p->profile.max > limit; }

bool tamis_gpu_cuts_counted(const tamis_prepared *p, int64_t limit) {
    return p->problem.once && tamis_gpu_cuts_any(p, limit) && cuts_most(p, limit) > 0;
}

/* For a single call, which does not wait for the counts: the lists have room for the maximum, and kernels read the
   counts on the device. */
static tamis_status list_unseen(tamis_prepared *p, tamis_gpu_cuts *s, tamis_place scratch) {
    s->count = cuts_most(p, s->limit);
    s->pieces = tamis_gpu_cuts_pieces_most(p, s->limit);
    if (s->count == 0) return TAMIS_OK;
    TRY(tamis_gpu_add_kept(p, &s->cut_sums, p->problem.rows + 1, 8, "marks of rows that are cut"));
    TRY(tamis_gpu_add_kept(p, &s->piece_sums, p->problem.rows + 1, 8, "counts of pieces"));
    const sums_of_rows sums = {{s->cut_sums, 0}, {s->piece_sums, 0}};
    TRY(count_cuts(p, s->limit, &sums, scratch));
    return fill_lists(p, s, &sums);
}

/* Counts the rows of more than s->limit nonzeros and their pieces, and fills the lists. The sums are behind scratch. */
static tamis_status list_cuts(tamis_prepared *p, tamis_gpu_cuts *s, tamis_place scratch, const sums_of_rows *sums) {
    TRY(count_cuts(p, s->limit, sums, scratch));
    TRY(total_of(p, sums->is_cut, &s->count));
    TRY(total_of(p, sums->pieces, &s->pieces));
    return s->count > 0 ? fill_lists(p, s, sums) : TAMIS_OK;
}

/* One block of memory for all that goes again: allocations take most of the time of small graphs. */
static tamis_status list(tamis_prepared *p, tamis_gpu_cuts *s) {
    const int64_t sums = (p->problem.rows + 1) * 8, scratch = (int64_t)tamis_gpu_scan_scratch(p->problem.rows + 1);
    void *memory = NULL, *const stream = p->problem.stream;
    TRY(tamis_gpu_allocate(p->device, stream, (size_t)(scratch + (p->problem.once ? 0 : 2 * sums)), "cut rows",
                           &memory));
    const tamis_status status =
        p->problem.once
            ? list_unseen(p, s, (tamis_place){memory, 0})
            : list_cuts(p, s, (tamis_place){memory, 0}, &(sums_of_rows){{memory, scratch}, {memory, scratch + sums}});
    tamis_gpu_release(p->device, stream, memory);
    return status;
}

tamis_status tamis_gpu_sort_rows(const tamis_prepared *p, const char *file, const char *name, int64_t classes,
                                 tamis_gpu_named *arguments, void **order) {
    tamis_status status = TAMIS_OK;
    const int64_t rows = p->problem.rows;
    const tamis_index_type type = p->problem.index_type;
    void *keys = NULL, *const stream = p->problem.stream;
    TRY(tamis_gpu_allocate(p->device, stream, tamis_bytes(rows, tamis_index_size(type)), "lengths of rows", &keys));
    const tamis_gpu_sorting what = {
        .count = rows, .of = keys, .by = 1, .limit = classes, .index_type = type, .order_type = TAMIS_I64};
    arguments[0] = tamis_gpu_memory("keys", keys);
    TRY_GOTO(done, tamis_gpu_utility(p->device, stream, file, name, kinds_of(p), tamis_gpu_groups(rows), arguments));
    TRY_GOTO(done, tamis_gpu_sort(p->device, stream, &what, order, stream));
done:
    tamis_gpu_release(p->device, stream, keys);
    return status;
}

/* Sorts the rows by falling length. */
static tamis_status list_order(tamis_prepared *p, tamis_gpu_cuts *s) {
    enum { CLASSES = 64, TASK_BYTES = 16 };
    void *sorted = NULL, *const stream = p->problem.stream;
    tamis_status status = TAMIS_OK;
    tamis_gpu_named arguments[] = {{.name = NULL},
                                   tamis_gpu_integer("rows", p->problem.rows),
                                   tamis_gpu_memory("offsets", p->problem.offsets),
                                   {.name = NULL}};
    TRY(tamis_gpu_sort_rows(p, "rows.simt", "rows_classes", CLASSES, arguments, &sorted));
    TRY_GOTO(done, tamis_gpu_add_kept(p, &s->order, p->problem.rows, TASK_BYTES, "rows by length"));
    TRY_GOTO(done,
             launch(p, "rows_tasks", p->problem.rows,
                    TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", p->problem.rows),
                                        tamis_gpu_memory("offsets", p->problem.offsets),
                                        tamis_gpu_memory("sorted", sorted), tamis_gpu_memory("order", s->order))));
done:
    tamis_gpu_release(p->device, stream, sorted);
    return status;
}

tamis_status tamis_gpu_cuts_longer(const tamis_prepared *p, const tamis_gpu_cuts *cuts, int64_t *longer) {
    const size_t bytes = TAMIS_GPU_CUTS_POWERS * sizeof *longer;
    tamis_gpu_workspace *workspace = NULL;
    tamis_status status = TAMIS_OK;
    TRY(tamis_gpu_workspace_acquire(p->device, &workspace));
    const tamis_place counts = {workspace->memory, 0};
    TRY_GOTO(done,
             launch(p, "rows_longer", TAMIS_GPU_CUTS_POWERS,
                    TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", p->problem.rows),
                                        tamis_gpu_integer("powers", TAMIS_GPU_CUTS_POWERS),
                                        tamis_gpu_memory("order", cuts->order), tamis_gpu_place("counts", counts))));
    TRY_GOTO(done, p->device->runtime->read(p->device, p->problem.stream, workspace->host, counts, bytes));
    memcpy(longer, workspace->host, bytes);
done:
    tamis_gpu_workspace_release(workspace, p->problem.stream, status);
    return status;
}

tamis_status tamis_gpu_cuts_make(tamis_prepared *p, int64_t limit, bool ordered, tamis_gpu_cuts *cuts) {
    *cuts = (tamis_gpu_cuts){.limit = limit};
    if (ordered && !counts_in_32_bits(&p->problem))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "rows by length are counted in 32 bits: %lld rows, %lld nonzeros",
                          (long long)p->problem.rows, (long long)p->problem.nnz);
    if (tamis_gpu_cuts_any(p, limit)) TRY(list(p, cuts));
    return ordered ? list_order(p, cuts) : TAMIS_OK;
}

tamis_place tamis_gpu_cuts_counted_rows(const tamis_prepared *p, const tamis_gpu_cuts *cuts) {
    return (tamis_place){cuts->cut_sums, p->problem.rows * 8};
}

tamis_place tamis_gpu_cuts_counted_pieces(const tamis_prepared *p, const tamis_gpu_cuts *cuts) {
    return (tamis_place){cuts->piece_sums, p->problem.rows * 8};
}

/* ------------------------------------------------------------------------------------------ merging */

int64_t tamis_gpu_merge_groups(const tamis_gpu_device *device, int64_t rows, int64_t team, int64_t slices) {
    enum { RESIDENT = 6 /* groups of a multiprocessor */ };
    const int64_t at_once = tamis_gpu_max(RESIDENT * device->limits.multiprocessors / tamis_gpu_max(slices, 1), 1);
    const int64_t shared = tamis_gpu_ceiling(rows, TAMIS_GPU_MERGE_GROUP / team);
    return tamis_gpu_min(tamis_gpu_max(shared, tamis_gpu_min(rows, at_once)), device->limits.groups_most[0]);
}

tamis_status tamis_gpu_cuts_add_merge(tamis_prepared *p, int number, const tamis_gpu_cuts *cuts, bool softmax,
                                      int lead) {
    tamis_gpu_definitions definitions = {.used = 0};
    if (cuts->count == 0) return TAMIS_OK;
    tamis_gpu_define_problem(&definitions, p, TAMIS_GPU_MERGE_GROUP, TAMIS_GPU_MERGE_TEAM);
    tamis_gpu_define(&definitions, "EACH",
                     tamis_gpu_merge_each(p->problem.width, tamis_gpu_real_size(p->problem.type)));
    tamis_gpu_define(&definitions, "SOFTMAX", softmax);
    tamis_gpu_define(&definitions, "LEAD", lead);
    if (p->problem.keep_softmax) tamis_gpu_define(&definitions, "KEEP_SOFTMAX", 1);
    if (cuts->chains) {
        tamis_gpu_define(&definitions, "CHAINS", 1);
        tamis_gpu_define(&definitions, "APART", cuts->apart);
    } else if (tamis_gpu_cuts_counted(p, cuts->limit)) {
        tamis_gpu_define(&definitions, "COUNTED", 1);
    }
    return tamis_gpu_add_kernel(p, number, "merge.simt", "merge_cuts", &definitions, 0);
}

tamis_status tamis_gpu_cuts_merge(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                  const tamis_gpu_cuts *cuts, tamis_place partials) {
    const int64_t each = tamis_gpu_merge_each(p->problem.width, tamis_gpu_real_size(p->problem.type));
    const int64_t slices = tamis_gpu_ceiling(common->width, TAMIS_GPU_MERGE_TEAM * each);
    const tamis_gpu_launch launch = {
        .groups = {tamis_gpu_merge_groups(p->device, cuts->count, TAMIS_GPU_MERGE_TEAM, slices), slices},
        .group_size = TAMIS_GPU_MERGE_GROUP};
    if (cuts->count == 0) return TAMIS_OK;
    return tamis_gpu_launch_kernel(
        p, stream, number, launch, common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("cut_count", cuts->count),
                            tamis_gpu_place("cuts_counted", tamis_gpu_cuts_counted_rows(p, cuts)),
                            tamis_gpu_integer("pieces", cuts->pieces),
                            tamis_gpu_place("pieces_counted", tamis_gpu_cuts_counted_pieces(p, cuts)),
                            tamis_gpu_memory("cuts", cuts->rows), tamis_gpu_place("partials", partials)));
}
