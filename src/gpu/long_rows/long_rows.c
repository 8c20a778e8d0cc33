/* Host side of long_rows.simt: softmax attention of few long rows, each cut over all groups of the device. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/long_rows/alike.h"
#include "gpu/long_rows/form.h"
#include "gpu/methods.h"
#include "gpu/model.h"

enum { TEAM_LANES, ROWS, POSITIONS, GROUP, PARTS };
enum { SUMS, MERGE };               /* kernels */
enum { TASK_SUMS = 1, TASK_MERGE }; /* tasks of long_rows.simt */
enum { MERGE_COLUMNS = 64, MERGE_GROUP = 256 };

typedef struct long_rows_state {
    void *rows; /* int64, ROWS for each block */
    int64_t blocks;
} long_rows_state;

/* ------------------------------------------------------------------------------------------ choosing */

static bool also(const tamis_problem *problem, char *reason, size_t bytes) {
    const tamis_profile *const profile = &problem->evidence->profile;
    const char *why = NULL;
    if (problem->edge != TAMIS_EDGE_SOFTMAX)
        why = "it merges parts of softmax alone";
    else if (problem->width == 0)
        why = "width = 0: it has nothing to sum";
    else if (!tamis_gpu_long_rows_fits(problem->type, problem->inner, problem->width))
        why = "K or L: registers hold rows of up to 512 numbers, of fp64 256";
    else if (problem->rows > TAMIS_ALIKE_ROWS_MOST)
        why = "it is for few rows, which the host lists";
    else if (profile->max > INT32_MAX / 2)
        why = "it counts the columns of a row in 32 bits";
    if (why) snprintf(reason, bytes, "%s", why);
    return !why;
}

/* True if all rows have about the same number of nonzeros. */
static bool is_even(const tamis_profile *profile) { return (double)profile->max < 1.1 * profile->mean; }

static int merge_group(const tamis_gpu_device *device) {
    return device->limits.group_most < MERGE_GROUP ? device->limits.group_most : MERGE_GROUP;
}

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    (void)problem;
    v[TEAM_LANES] = v[ROWS] = v[POSITIONS] = v[PARTS] = 0; /* 0: form_of chooses */
    v[GROUP] = device->limits.is_cpu ? 64 : TAMIS_LONG_ROWS_GROUP;
}

/* Chooses the parameters that the user did not name; `alike`: number of rows with the same columns. */
static tamis_long_rows_form form_of(tamis_prepared *p, int64_t alike) {
    int64_t *const v = p->parameters;
    tamis_long_rows_form form = {.team = v[TEAM_LANES], .rows = v[ROWS], .positions = v[POSITIONS], .group = v[GROUP]};
    tamis_gpu_long_rows_form(p->device, p->problem.type, p->problem.inner, p->problem.width, p->unit, alike, &form);
    v[TEAM_LANES] = form.team;
    v[ROWS] = form.rows;
    v[POSITIONS] = form.positions;
    v[GROUP] = form.group;
    p->unit = form.unit;
    return form;
}

/* ------------------------------------------------------------------------------------------ preparing */

static void define(tamis_gpu_definitions *definitions, const tamis_prepared *p, int task) {
    tamis_gpu_define(definitions, "TASK", task);
    if (p->problem.keep_softmax) tamis_gpu_define(definitions, "KEEP_SOFTMAX", 1);
}

static tamis_status compile(tamis_prepared *p, const tamis_long_rows_form *form) {
    tamis_gpu_definitions sums = {.used = 0}, merge = {.used = 0};
    tamis_gpu_define_problem(&sums, p, (int)form->group, (int)form->team);
    tamis_gpu_long_rows_define(&sums, form, p->problem.inner, p->problem.width, tamis_gpu_compiles_fast(p));
    define(&sums, p, TASK_SUMS);
    TRY(tamis_gpu_add_split_kernel(p, SUMS, "long_rows.simt", "long_rows_sums", &sums, 0));
    if (p->parameters[PARTS] == 1) return TAMIS_OK;
    tamis_gpu_define_problem(&merge, p, merge_group(p->device), 1);
    tamis_gpu_define(&merge, "COLUMNS", tamis_gpu_min(MERGE_COLUMNS, merge_group(p->device)));
    tamis_gpu_define(&merge, "PARTS_MOST", TAMIS_LONG_ROWS_PARTS);
    define(&merge, p, TASK_MERGE);
    return tamis_gpu_add_kernel(p, MERGE, "long_rows.simt", "long_rows_merge", &merge, 0);
}

static tamis_status prepare(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    int64_t *const v = p->parameters, alike = 1;
    long_rows_state *const s = p->state;
    tamis_gpu_alike_row *rows = NULL;
    TRY(tamis_gpu_check_powers(p, TEAM_LANES, GROUP));
    if (problem->rows == 0) return TAMIS_OK;
    TRY(tamis_gpu_alike_rows(p, &rows, &alike));
    const tamis_long_rows_form form = form_of(p, alike);
    TRY_GOTO(done, tamis_gpu_alike_blocks(p, rows, v[ROWS], &s->rows, &s->blocks));
    if (v[PARTS] == 0)
        v[PARTS] = tamis_gpu_long_rows_parts(p->device, &form, problem->type, s->blocks * problem->batch,
                                             p->profile.max, is_even(&p->profile));
    if (v[PARTS] > 1)
        p->scratch_bytes = tamis_bytes(tamis_times(s->blocks * v[ROWS] * v[PARTS], problem->width + 2),
                                       tamis_gpu_real_size(problem->type));
    TRY_GOTO(done, compile(p, &form));
done:
    tamis_release(rows);
    return status;
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status merge(const tamis_prepared *p, void *stream, const tamis_gpu_common *common, tamis_place partials) {
    const int64_t *const v = p->parameters;
    const long_rows_state *const s = p->state;
    const int64_t columns = tamis_gpu_min(MERGE_COLUMNS, merge_group(p->device));
    const tamis_gpu_launch launch = {.groups = {s->blocks * v[ROWS], tamis_gpu_ceiling(p->problem.width, columns)},
                                     .group_size = merge_group(p->device)};
    return tamis_gpu_launch_kernel(
        p, stream, MERGE, launch, common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("parts", v[PARTS]), tamis_gpu_integer("rows_each", v[ROWS]),
                            tamis_gpu_memory("block_rows", s->rows), tamis_gpu_place("partials", partials)));
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t *const v = p->parameters;
    const long_rows_state *const s = p->state;
    const tamis_gpu_launch launch = {.groups = {s->blocks * v[PARTS], 1}, .group_size = (int)v[GROUP]};
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    TRY(tamis_gpu_launch_kernel(p, stream, SUMS, launch, &common,
                                TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("parts", v[PARTS]),
                                                    tamis_gpu_memory("block_rows", s->rows),
                                                    tamis_gpu_place("partials", x->scratch))));
    return v[PARTS] > 1 ? merge(p, stream, &common, x->scratch) : TAMIS_OK;
}

static const tamis_gpu_method method = {
    .name = "gpu-long-rows",
    .parameters =
        {{"team", 4, 32}, {"rows", 1, 8}, {"positions", 1, 8}, {"group", 32, 512}, {"parts", 1, TAMIS_LONG_ROWS_PARTS}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(long_rows_state),
    .batches = true,
    .widens = true,
    .keeps = true,
};

/* ------------------------------------------------------------------------------------------ the table's row */

/* Estimated number of rows with the same columns. Partial overlap, as in a window, does not count: rows share reads
   only if all their columns are equal. */
static double alike_of(const tamis_problem *p) {
    const double fresh = p->evidence->row_fresh;
    return fresh > 0 && fresh < 1 ? 1 / fresh : 1;
}

/* All members together fill the device, so their time is computed at once, then a member's share: reading the rows of B
   and D once for each set of rows, or the instructions if these take longer; at least the steps of the longest part, in
   sequence; then storing and merging the parts. The first launch is counted alone, see tamis_gpu_predict. The
   instructions are counted, 13 of a warp for an entry and 15 for a column of 256 numbers, 900 in a nanosecond: an
   entry, and a column that several rows share, each with its numbers. */
static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    static const double row_ps = 2, row_number_ps = 0.048, column_ps = 3, number_ps = 0.054;
    static const double memory = 1.15; /* factor of reading rows */
    static const double step = 0.9e-6; /* seconds of a team's step */
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const tamis_profile *const profile = &p->evidence->profile;
    const double same = alike_of(p), numbers = (double)(p->inner + p->width), members = (double)p->batch;
    const int64_t unit = 16 / (int64_t)tamis_type_size(p->type);
    tamis_long_rows_form form = {.group = TAMIS_LONG_ROWS_GROUP};
    tamis_gpu_long_rows_form(p->device, p->type, p->inner, p->width, unit, (int64_t)(same + 0.5), &form);
    const double alike = fmin(same, (double)form.rows); /* rows that share reads */
    const int64_t blocks = (int64_t)ceil((double)p->rows / alike);
    const int64_t parts = tamis_gpu_long_rows_parts(p->device, &form, p->type, tamis_gpu_max(blocks, 1) * p->batch,
                                                    profile->max, is_even(profile));
    const double nonzeros = (double)p->nnz * members, columns = nonzeros / alike;
    const double bytes = columns * (numbers * (double)tamis_type_size(p->type) + 4);
    const double issue =
        tamis_gpu_issue(p, nonzeros * (row_ps + row_number_ps * numbers) + columns * (column_ps + number_ps * numbers));
    const int64_t at_once = (int64_t)form.group / form.team * form.positions; /* columns of a group's step */
    const double steps = (double)profile->max / (double)parts / (double)at_once;
    const double left = parts > 1 ? 2 * (double)(p->rows * p->batch * parts) * (double)(p->width + 2) * 4 : 0;
    const double reading = fmax(memory * tamis_gpu_streamed(p, bytes), issue);
    const double adding = parts > 1 ? f->begin + tamis_gpu_streamed(p, left) : 0;
    prediction->call_seconds = f->launch + (fmax(reading, steps * step) + adding) / members;
    prediction->setup_seconds = f->order;
    snprintf(
        prediction->reason, sizeof prediction->reason,
        "about %.3g rows with the same columns at once, %.3g MB of B and D; each row of up to %lld nonzeros in %lld "
        "parts",
        alike, 1e-6 * bytes / members, (long long)profile->max, (long long)parts);
}

const tamis_gpu_algorithm tamis_gpu_long_rows = {
    .common.description =
        {
            .name = "gpu-long-rows",
            .device = "gpu",
            .operations = TAMIS_GPU_FUSED,
            .source = "ours",
            .needs =
                "a plan; the edge softmax; up to 4096 rows; K and L up to 512, fp64 256; lists of rows with the same columns, built by the plan; scratch for the sums of parts",
            .when =
                "few rows of many nonzeros each, as in decoding: the columns of a row are cut over the whole device, and rows with the same columns share what is read",
            .parameters =
                "team (4 to 32): lanes per row; rows (1 to 8): rows with the same columns at once; positions (1 to 8): columns at once; group (32 to 512): work-items; parts (1 to 1024): of each row's columns",
        },
    .common.needs_preparation = true,
    .methods = {[TAMIS_OP_FUSED] = &method},
    .predict = predict,
    .also = also,
};
