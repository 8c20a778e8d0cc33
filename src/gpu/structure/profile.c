/* Profiles patterns: host side of profile.simt and profile_panels.simt, and of the entry check in order.simt. */
#include "gpu/structure/profile.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/requests.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/profile_host.h"
#include "gpu/structure/workspace.h"
#include "sparse/index.h"
#include "sparse/locality.h"
#include "sparse/structure.h"

enum { FACTS = TAMIS_GPU_PROFILE_FACTS, WINDOWS = TAMIS_GPU_PROFILE_WINDOWS, SLOTS = TAMIS_GPU_PROFILE_SLOTS };
enum {
    PANELS = TAMIS_GPU_PROFILE_PANELS,
    PANEL_SLOTS = TAMIS_GPU_PROFILE_PANEL_SLOTS,
    PANEL_MOST = TAMIS_GPU_PROFILE_PANEL_MOST
};
enum { GROUPS_MOST = 1024 };
_Static_assert(((GROUPS_MOST + WINDOWS) * FACTS + 6 * PANELS) * sizeof(int64_t) <= TAMIS_GPU_WORKSPACE_BYTES,
               "the facts fit a workspace");

static tamis_place place_of(const void *memory) { return (tamis_place){(void *)(uintptr_t)memory, 0}; }

/* ------------------------------------------------------------------------------------------ checking */

/* S is invalid. Checks a copy on the host, to report the error in the same words for every device. */
static tamis_status say_what(tamis_gpu_device *device, void *stream, const tamis_sparse *S) {
    tamis_status status = TAMIS_OK;
    void *offsets = NULL, *rows = NULL, *columns = NULL;
    tamis_sparse copy = *S;
    const bool csr = S->format == TAMIS_CSR;
    const int64_t index_bytes = (int64_t)tamis_bytes(S->nnz, tamis_index_size(S->index_type));
    const int64_t offset_bytes = csr ? (int64_t)tamis_bytes(S->rows + 1, tamis_index_size(S->offset_type)) : 0;
    TRY_GOTO(done, tamis_allocate(offset_bytes, 1, "a copy of the offsets", &offsets));
    TRY_GOTO(done, tamis_allocate(csr ? 0 : index_bytes, 1, "a copy of the row indices", &rows));
    TRY_GOTO(done, tamis_allocate(index_bytes, 1, "a copy of the columns", &columns));
    TRY_GOTO(done, device->runtime->read(device, stream, offsets, place_of(S->offsets), (size_t)offset_bytes));
    if (!csr)
        TRY_GOTO(done, device->runtime->read(device, stream, rows, place_of(S->row_indices), (size_t)index_bytes));
    TRY_GOTO(done, device->runtime->read(device, stream, columns, place_of(S->columns), (size_t)index_bytes));
    copy.offsets = offsets;
    copy.row_indices = rows;
    copy.columns = columns;
    copy.location = TAMIS_HOST;
    copy.values = NULL;
    status = tamis_validate_threads(&copy, 0);
    if (status == TAMIS_OK)
        status = tamis_fail(TAMIS_ERROR_INTERNAL, "%s found a broken pattern, the host did not", device->limits.name);
done:
    tamis_release(offsets);
    tamis_release(rows);
    tamis_release(columns);
    return status;
}

static tamis_status say_what_csr(const tamis_problem *p) {
    const tamis_sparse S = {.format = TAMIS_CSR,
                            .location = TAMIS_DEVICE,
                            .rows = p->rows,
                            .cols = p->cols,
                            .nnz = p->nnz,
                            .index_type = p->index_type,
                            .offset_type = p->offset_type,
                            .value_type = p->type,
                            .offsets = p->offsets,
                            .columns = p->columns};
    return say_what(p->device, p->stream, &S);
}

/* ------------------------------------------------------------------------------------------ rows */

static void add_up(tamis_evidence *evidence, const int64_t *facts, int64_t groups, bool *wrong) {
    tamis_profile *const profile = &evidence->profile;
    int64_t spans = 0, falls = 0, repeats = 0, alike = 0;
    double squares = 0;
    profile->min = INT64_MAX;
    *wrong = false;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t *const f = facts + g * FACTS;
        if (f[0] > profile->max) profile->max = f[0];
        if (f[1] < profile->min) profile->min = f[1];
        profile->empty_rows += f[2];
        if (f[3] > profile->bandwidth) profile->bandwidth = f[3];
        spans += f[4];
        squares += (double)f[5];
        falls += f[6];
        *wrong = *wrong || f[7];
        repeats += f[8];
        alike += f[9];
    }
    const double variance = squares / (double)profile->rows - profile->mean * profile->mean;
    profile->variation = profile->mean > 0 && variance > 0 ? sqrt(variance) / profile->mean : 0;
    const int64_t filled = profile->rows - profile->empty_rows;
    profile->mean_span = filled > 0 ? (double)spans / (double)filled : 0;
    profile->sorted = falls == 0;
    profile->duplicates = profile->sorted ? repeats : -1;
    if (alike > 0) evidence->row_fresh = 1 - (double)alike / (double)profile->nnz;
}

/* ------------------------------------------------------------------------------------------ columns */

/* Estimates the number of distinct columns from the hit slots of a hash table (linear counting: this many columns
   collide). */
static double distinct_of(int64_t hit, int64_t slots, int64_t count) {
    const double all = (double)slots;
    const double distinct = hit < slots ? -all * log1p(-(double)hit / all) : (double)count;
    return fmin(fmax(distinct, 1), (double)count);
}

static double fresh_share_of(const tamis_problem *p, const int64_t *facts) {
    int64_t begin, end, seen = 0;
    double fresh = 0;
    for (int w = 0; tamis_fresh_window(p->nnz, TAMIS_LOCALITY_MOST, w, &begin, &end); w++) {
        seen += end - begin;
        fresh += distinct_of(facts[w * FACTS + 4], SLOTS, end - begin);
    }
    return seen ? fresh / (double)seen : 1;
}

/* Estimates the distinct columns of `count` nonzeros, given that a sample of `read` has `distinct`; assumes that all
   columns have equally many nonzeros. */
static double distinct_of_all(double distinct, int64_t read, int64_t count, int64_t cols) {
    double low = distinct, high = (double)(count < cols ? count : cols);
    if (read == count) return distinct;
    for (int i = 0; i < 40; i++) {
        const double middle = (low + high) / 2;
        *(middle * -expm1(-(double)read / middle) < distinct ? &low : &high) = middle;
    }
    return high;
}

/* Estimates how much neighbouring rows share columns, from a few panels spread over the matrix. `ends`: begin and end
   of panels of 128 and of 256 rows, then the table hits of the nonzeros that were read. */
static void compare_panels(const tamis_problem *p, const int64_t *ends, tamis_evidence *evidence) {
    double total[2] = {0, 0}, distinct[2] = {0, 0};
    for (int i = 0; i < 2 * PANELS; i++) {
        const int64_t count = ends[2 * i + 1] - ends[2 * i], hit = ends[4 * PANELS + i];
        if (count <= 0) continue;
        const int64_t read = count / tamis_gpu_profile_apart(count);
        const double seen = p->cols <= PANEL_SLOTS ? (double)hit : distinct_of(hit, PANEL_SLOTS, read);
        total[i % 2] += (double)count;
        distinct[i % 2] += distinct_of_all(seen, read, count, p->cols);
    }
    for (int wide = 0; wide < 2; wide++)
        evidence->panel_fresh[wide] = total[wide] > 0 ? distinct[wide] / total[wide] : 1;
}

/* ------------------------------------------------------------------------------------------ all of it */

/* Guesses from the sizes alone. Few nonzeros are assumed to be spread over the rows: if they are not, the loss is
   bounded by their number. With many, all might be in one row, and the chosen method must tolerate that. */
static void guess(const tamis_problem *p, tamis_evidence *evidence) {
    tamis_profile *const profile = &evidence->profile;
    enum { FEW = 1 << 14 };
    const int64_t even = 2 * (p->nnz / p->rows + 1);
    profile->max = p->nnz > FEW || even > p->nnz ? p->nnz : even;
    profile->bandwidth = p->cols;
    profile->mean_span = (double)p->cols;
    profile->variation = 0.5;
    profile->sorted = false; /* unknown */
    evidence->fresh_share = 0.5;
}

/* Only plans prepare panels. */
static bool profiles_panels(const tamis_problem *p) { return !p->once && p->nnz > 0 && p->rows > 0; }

/* Derives the evidence from the facts of `groups` groups. */
static tamis_status conclude(const tamis_problem *p, const int64_t *facts, int64_t groups, tamis_evidence *evidence) {
    bool wrong = facts[7] != 0;
    if (p->rows > 0) add_up(evidence, facts, groups, &wrong);
    if (wrong && p->unchecked) TRY(say_what_csr(p));
    evidence->fresh_share = fresh_share_of(p, facts + groups * FACTS);
    if (profiles_panels(p)) compare_panels(p, facts + (groups + WINDOWS) * FACTS, evidence);
    return TAMIS_OK;
}

/* --- by the device */

static const char rows_file[] = "profile.simt", panels_file[] = "profile_panels.simt",
                  panels_kernel[] = "profile_panels";

static tamis_gpu_kinds kinds_of(const tamis_problem *p) {
    return (tamis_gpu_kinds){TAMIS_F32, p->index_type, p->offset_type};
}

static tamis_status launch_rows(const tamis_problem *p, int64_t groups, const tamis_gpu_workspace *workspace) {
    return tamis_gpu_utility(
        p->device, p->stream, rows_file, "profile_rows", kinds_of(p), groups + WINDOWS + 1,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", p->rows), tamis_gpu_integer("cols", p->cols),
                            tamis_gpu_integer("nnz", p->nnz), tamis_gpu_integer("groups", groups),
                            tamis_gpu_integer("window", TAMIS_LOCALITY_MOST), tamis_gpu_memory("offsets", p->offsets),
                            tamis_gpu_memory("columns", p->columns), tamis_gpu_memory("facts", workspace->memory)));
}

static tamis_status launch_panels(const tamis_problem *p, int64_t ends, const tamis_gpu_workspace *workspace) {
    return tamis_gpu_utility(
        p->device, p->stream, panels_file, panels_kernel, kinds_of(p), 2LL * PANELS,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("cols", p->cols), tamis_gpu_integer("nnz", p->nnz),
                            tamis_gpu_integer("most", PANEL_MOST), tamis_gpu_memory("columns", p->columns),
                            tamis_gpu_place("ends", (tamis_place){workspace->memory, ends * 8}),
                            tamis_gpu_place("hit", (tamis_place){workspace->memory, (ends + 4 * PANELS) * 8})));
}

/* Launches both kernels; compiles them in parallel if neither is compiled. */
static tamis_status launch_both(const tamis_problem *p, int64_t groups, const tamis_gpu_workspace *workspace) {
    tamis_gpu_kernel *early = NULL;
    TRY(tamis_gpu_utility_early(p->device, panels_file, panels_kernel, kinds_of(p), &early));
    const tamis_status status = launch_rows(p, groups, workspace), waited = tamis_gpu_await_requests();
    tamis_gpu_kernel_release(early);
    if (status != TAMIS_OK || waited != TAMIS_OK) return status != TAMIS_OK ? status : waited;
    return launch_panels(p, (groups + WINDOWS) * FACTS, workspace);
}

static tamis_status profile_on_device(const tamis_problem *p, tamis_evidence *evidence) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_device *const device = p->device;
    tamis_gpu_workspace *workspace = NULL;
    int64_t groups = tamis_gpu_groups(p->rows + 1 > p->nnz ? p->rows + 1 : p->nnz);
    if (groups > GROUPS_MOST) groups = GROUPS_MOST;
    const size_t bytes = (size_t)((groups + WINDOWS) * FACTS + 6 * PANELS) * sizeof(int64_t);
    TRY(tamis_gpu_workspace_acquire(device, &workspace));
    TRY_GOTO(done, profiles_panels(p) ? launch_both(p, groups, workspace) : launch_rows(p, groups, workspace));
    TRY_GOTO(done, device->runtime->read(device, p->stream, workspace->host, place_of(workspace->memory), bytes));
    TRY_GOTO(done, conclude(p, workspace->host, groups, evidence));
done:
    tamis_gpu_workspace_release(workspace, p->stream, status);
    return status;
}

/* --- by the host */

static tamis_status profile_on_host(const tamis_problem *p, tamis_evidence *evidence) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_device *const device = p->device;
    int64_t facts[TAMIS_GPU_PROFILE_NUMBERS];
    tamis_problem copy = *p;
    void *offsets = NULL, *columns = NULL;
    const int64_t offset_bytes = (int64_t)tamis_bytes(p->rows + 1, tamis_index_size(p->offset_type));
    const int64_t column_bytes = (int64_t)tamis_bytes(p->nnz, tamis_index_size(p->index_type));
    TRY_GOTO(done, tamis_allocate(offset_bytes, 1, "a copy of the offsets", &offsets));
    TRY_GOTO(done, tamis_allocate(column_bytes, 1, "a copy of the columns", &columns));
    TRY_GOTO(done, device->runtime->read(device, p->stream, offsets, place_of(p->offsets), (size_t)offset_bytes));
    TRY_GOTO(done, device->runtime->read(device, p->stream, columns, place_of(p->columns), (size_t)column_bytes));
    copy.offsets = offsets;
    copy.columns = columns;
    tamis_gpu_profile_host(&copy, profiles_panels(p), facts);
    TRY_GOTO(done, conclude(p, facts, 1, evidence));
done:
    tamis_release(offsets);
    tamis_release(columns);
    return status;
}

/* Copies the lengths of a mask's members to the host. */
static tamis_status read_lengths(const tamis_problem *p, const void *from, const char *what, void **copy) {
    tamis_gpu_device *const device = p->device;
    const int64_t bytes = (int64_t)tamis_bytes(p->mask->members, tamis_index_size(p->mask->length_type));
    if (!from) return TAMIS_OK;
    TRY(tamis_allocate(bytes, 1, what, copy));
    return device->runtime->read(device, p->stream, *copy, place_of(from), (size_t)bytes);
}

/* Reads the runs of a mask without a list of columns, which takes nanoseconds a row. */
static tamis_status profile_by_runs(const tamis_problem *p, tamis_evidence *evidence) {
    tamis_status status = TAMIS_OK;
    int64_t facts[TAMIS_GPU_PROFILE_NUMBERS], nnz = 0;
    void *lengths = NULL, *row_lengths = NULL;
    tamis_mask mask = *p->mask;
    tamis_problem copy = *p;
    TRY_GOTO(done, read_lengths(p, mask.lengths, "a copy of lengths", &lengths));
    TRY_GOTO(done, read_lengths(p, mask.row_lengths, "a copy of the rows' lengths", &row_lengths));
    mask.lengths = lengths;
    mask.row_lengths = row_lengths;
    copy.mask = &mask;
    TRY_GOTO(done, tamis_gpu_profile_runs(&copy, facts, evidence->panel_fresh, &nnz));
    if (nnz == p->nnz) {
        const double fresh[2] = {evidence->panel_fresh[0], evidence->panel_fresh[1]};
        TRY_GOTO(done, conclude(p, facts, 1, evidence));
        memcpy(evidence->panel_fresh, fresh, sizeof fresh);
    } else {
        status = tamis_fail(TAMIS_ERROR_PATTERN, "S.nnz = %lld: its mask keeps %lld columns", (long long)p->nnz,
                            (long long)nnz);
    }
done:
    tamis_release(lengths);
    tamis_release(row_lengths);
    return status;
}

/*
 * True if the host should profile a copy of S: a plan whose profile kernels are neither compiled nor cached on disk,
 * until such profiling has taken about as long as the compilation. Never for a single call, which waits for one copy
 * only.
 */
static tamis_status host_profiles(const tamis_problem *p, bool *host) {
    enum { ONE_MOST = 1 << 23, ALL_MOST = 1 << 24 }; /* rows and nonzeros, at 2 ns each and a copy */
    tamis_gpu_device *const device = p->device;
    const int64_t seen = __atomic_load_n(&device->profiled, __ATOMIC_RELAXED);
    bool known = false;
    *host = false;
    if (p->once || p->rows > ONE_MOST || p->nnz > ONE_MOST - p->rows || seen > ALL_MOST) return TAMIS_OK;
    /* the disk is only asked once */
    TRY(tamis_gpu_utility_known(device, rows_file, kinds_of(p), seen == 0, &known));
    if (known && profiles_panels(p)) TRY(tamis_gpu_utility_known(device, panels_file, kinds_of(p), seen == 0, &known));
    if (known) return TAMIS_OK;
    __atomic_add_fetch(&device->profiled, p->rows + p->nnz + 1, __ATOMIC_RELAXED);
    *host = true;
    return TAMIS_OK;
}

/* --- by either */

tamis_status tamis_gpu_profile_by(const tamis_problem *p, bool host, tamis_evidence *evidence) {
    tamis_profile *const profile = &evidence->profile;
    *profile = (tamis_profile){.rows = p->rows, .cols = p->cols, .nnz = p->nnz, .duplicates = -1, .sorted = true};
    evidence->fresh_share = evidence->panel_fresh[0] = evidence->panel_fresh[1] = evidence->row_fresh = 1;
    if (p->rows > 0) profile->mean = (double)p->nnz / (double)p->rows;
    if (p->cols > 0) profile->density = profile->mean / (double)p->cols;
    if (!p->unchecked && p->rows == 0) return TAMIS_OK;
    if (p->mask) return profile_by_runs(p, evidence);
    if (!p->unchecked && p->may_guess) {
        guess(p, evidence);
        return TAMIS_OK;
    }
    return host ? profile_on_host(p, evidence) : profile_on_device(p, evidence);
}

tamis_status tamis_gpu_profile(const tamis_problem *p, tamis_evidence *evidence) {
    bool host = true;
    if (!p->mask) TRY(host_profiles(p, &host));
    return tamis_gpu_profile_by(p, host, evidence);
}

/* ------------------------------------------------------------------------------------------ COO */

tamis_status tamis_gpu_check_entries(const tamis_problem *p, const tamis_sparse *S, tamis_gpu_rising *rise) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_device *const device = p->device;
    const tamis_gpu_kinds kinds = {TAMIS_F32, S->index_type, TAMIS_I32};
    tamis_gpu_workspace *workspace = NULL;
    TRY(tamis_gpu_workspace_acquire(device, &workspace));
    const int32_t *const flags = workspace->host;
    TRY_GOTO(done, device->runtime->fill(device, p->stream, place_of(workspace->memory), 0, 3 * sizeof *flags));
    TRY_GOTO(done, tamis_gpu_utility(
                       device, p->stream, "order.simt", "check_entries", kinds, tamis_gpu_groups((S->nnz + 7) / 8),
                       TAMIS_GPU_ARGUMENTS(
                           tamis_gpu_integer("rows", S->rows), tamis_gpu_integer("cols", S->cols),
                           tamis_gpu_integer("nnz", S->nnz), tamis_gpu_memory("row_indices", S->row_indices),
                           tamis_gpu_memory("columns", S->columns), tamis_gpu_memory("flags", workspace->memory))));
    TRY_GOTO(done,
             device->runtime->read(device, p->stream, workspace->host, place_of(workspace->memory), 3 * sizeof *flags));
    *rise = (tamis_gpu_rising){.rows = !flags[1], .columns = !flags[2]};
    if (flags[0] && p->unchecked) TRY_GOTO(done, say_what(device, p->stream, S));
done:
    tamis_gpu_workspace_release(workspace, p->stream, status);
    return status;
}
