/*
 * Host side of message_*.simt. A team computes a row of the pattern. Long rows are cut by the lists of rows.simt, which
 * are built once per order of a graph.
 */
#include "gpu/messages/messages.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/messages/variants.h"
#include "gpu/runtime/memory.h"

enum { SHORT_ROW = 32, LONG_ROW = 256, MERGE_TEAM = 32, MERGE_GROUP = 256, ARGUMENTS_MOST = 40 };

/* ------------------------------------------------------------------------------------------ orders */

static void release(void *device, void *made) {
    tamis_gpu_message_plan *const plan = made;
    if (!plan) return;
    for (int i = 0; i < plan->base.kept_count; i++) tamis_gpu_release(device, TAMIS_ALL_STREAMS, plan->base.kept[i]);
    tamis_release(plan);
}

/* The length above which rows are cut. A team takes the entries of a piece, and then the pieces of a row, one after the
   other: about the root of the entries of a graph with hubs, if both are to take as long. Usual rows are not cut. */
static int64_t limit_of(const tamis_message_order *order) {
    enum { STEP = 32, DEVIATIONS = 6 };
    const double mean = (double)order->nnz / (double)order->rows;
    const double usual = mean + DEVIATIONS * sqrt(mean), balanced = sqrt((double)order->nnz) / 8;
    const double limit = fmax(ceil(usual / STEP), round(balanced / STEP)) * STEP;
    return (int64_t)fmin(fmax(limit, SHORT_ROW), LONG_ROW);
}

static tamis_status make_cuts(tamis_gpu_message_plan *plan, int64_t limit) {
    enum { WORTH = 64 }; /* as many entries take as long as the launch that merges */
    TRY(tamis_gpu_cuts_make(&plan->base, limit, false, &plan->cuts));
    const bool slight = plan->cuts.pieces == 2 * plan->cuts.count && 2 * limit <= WORTH;
    if (plan->cuts.count > 0 && limit < LONG_ROW)
        TRY(tamis_gpu_cuts_make(&plan->base, LONG_ROW, false, &plan->long_cuts));
    else
        plan->long_cuts = plan->cuts;
    if (slight) plan->cuts = (tamis_gpu_cuts){.limit = INT64_MAX};
    return TAMIS_OK;
}

static tamis_status prepare(void *device, void *stream, const tamis_message_order *order, void **made) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_message_plan *plan = NULL;
    *made = NULL;
    if (order->nnz <= LONG_ROW) return TAMIS_OK; /* too small to gain */
    TRY(tamis_allocate_zeroed(1, sizeof *plan, "long rows of a graph", (void **)&plan));
    plan->base.device = device;
    plan->base.problem = (tamis_problem){.rows = order->rows,
                                         .nnz = order->nnz,
                                         .offsets = order->offsets,
                                         .offset_type = order->offset_type,
                                         .index_type = order->column_type,
                                         .device = device,
                                         .stream = stream};
    plan->base.profile.max = order->nnz; /* upper bound: not known yet */
    TRY_GOTO(failed, make_cuts(plan, limit_of(order)));
    *made = plan;
    return TAMIS_OK;
failed:
    release(device, plan);
    return status;
}

/* ------------------------------------------------------------------------------------------ choosing */

/* A job, how its kernel divides rows, and its cut rows. */
typedef struct pass {
    const tamis_message_job *job;
    tamis_gpu_device *device;
    tamis_gpu_message_variant variant;
    int64_t all, span, slice; /* elements of a row, of what a team divides, and of what it takes at once */
    const tamis_gpu_cuts *cuts;
    tamis_place parts, places;
} pass;

/* True if ENTRIES computes numbers, a few per entry, instead of rows. */
static bool makes_numbers(const tamis_message_job *job) {
    return job->kind == TAMIS_PASS_ENTRIES && job->edge_data != TAMIS_E_VECTOR;
}

static int64_t numbers_made(const tamis_message_job *job) { return job->edge_data == TAMIS_E_HEAD ? job->heads : 1; }

static bool reads_x(const tamis_message_job *job) {
    return job->kind == TAMIS_PASS_ENTRIES ? job->term != TAMIS_TERM_X : job->term != TAMIS_TERM_Y;
}

static bool reads_y(const tamis_message_job *job) {
    return job->kind == TAMIS_PASS_ENTRIES ? job->term == TAMIS_TERM_GATE : job->term != TAMIS_TERM_X;
}

static bool reads_z(const tamis_message_job *job) {
    return job->kind == TAMIS_PASS_ENTRIES || job->term == TAMIS_TERM_GATE;
}

static bool reads_arguments(const tamis_message_job *job) {
    return job->argument.base && job->kind != TAMIS_PASS_LARGEST;
}

static bool is_aligned(const pass *p, bool used, const tamis_message_operand *x, int64_t unit) {
    const size_t size = tamis_type_size(p->job->type);
    return !used || tamis_gpu_aligned(p->device, x->at, x->stride, 0, size, (size_t)unit * size);
}

/* True if all rows are aligned for vector loads of `unit` elements and have a multiple of them. */
static bool fits_unit(const pass *p, int64_t unit) {
    const tamis_message_job *const job = p->job;
    const int64_t argument = unit * (int64_t)tamis_index_size(job->argument_type);
    return (job->edge_data == TAMIS_E_HEAD ? job->width : p->all) % unit == 0 &&
           is_aligned(p, reads_x(job), &job->x, unit) &&
           is_aligned(p, reads_y(job) && job->edge_data == TAMIS_E_VECTOR, &job->y, unit) &&
           is_aligned(p, reads_z(job), &job->z, unit) && is_aligned(p, !makes_numbers(job), &job->out, unit) &&
           (!job->argument.base ||
            tamis_gpu_aligned(p->device, job->argument, 16, 0, 1, (size_t)(argument < 16 ? argument : 16)));
}

/* Lanes of a row: the fewest that give each lane one unit, or two if there are many. Slow compilers get few variants,
   whose lanes go through the row in slices. */
static void share_row(pass *p, bool quick) {
    enum { LANES_MOST = 32, LANES_OF_ONE = 16, SLOW_TEAM = 4, GROUP = 128 };
    tamis_gpu_message_variant *const v = &p->variant;
    int64_t unit = 16 / (int64_t)tamis_type_size(p->job->type);
    while (unit > 1 && !fits_unit(p, unit)) unit = quick ? unit / 2 : 1;
    const int64_t across = tamis_gpu_ceiling(p->span, unit);
    v->unit = (int32_t)unit;
    v->units = across > LANES_OF_ONE || !quick ? 2 : 1;
    v->team = quick ? 1 : SLOW_TEAM;
    while (quick && v->team < LANES_MOST && v->team * v->units < across) v->team *= 2;
    v->group = quick ? GROUP : SLOW_TEAM; /* ONE_TEAM of simt.h */
    p->slice = v->team * v->units * unit;
    v->full = quick && p->span % p->slice == 0;
}

/* Entries whose rows are loaded at once: as many as fit in registers, and as short rows have. */
static int32_t loads_of(const pass *p) {
    enum { REGISTERS = 64, USUAL = 4, MOST = 8, LONG = 16 };
    const tamis_message_job *const job = p->job;
    const bool many =
        job->kind != TAMIS_PASS_ENTRIES && p->variant.units == 1 && job->order.nnz >= LONG * job->order.rows;
    const int64_t matrices =
        reads_x(job) + (reads_y(job) && job->edge_data == TAMIS_E_VECTOR) + reads_arguments(job) * 1;
    const int64_t of_one = (matrices > 0 ? matrices : 1) * p->variant.units * p->variant.unit *
                           (int64_t)(tamis_gpu_real_size(job->type) / sizeof(float));
    int32_t loads = many ? MOST : USUAL;
    while (loads > 1 && loads * of_one > REGISTERS) loads /= 2;
    return loads;
}

static tamis_gpu_message_kernel kernel_of(const tamis_message_job *job) {
    if (job->kind == TAMIS_PASS_ENTRIES) return makes_numbers(job) ? TAMIS_MESSAGE_NUMBERS : TAMIS_MESSAGE_VECTORS;
    return job->kind == TAMIS_PASS_LARGEST ? TAMIS_MESSAGE_LARGEST : TAMIS_MESSAGE_SUMS;
}

static int32_t bits_of(tamis_index_type type) { return type == TAMIS_I64 ? 64 : 32; }

/* 0: y is a vector, or not read; 1: a number; 2: a number per head. */
static int32_t numbers_of(const tamis_message_job *job) {
    if (!reads_y(job) || job->edge_data == TAMIS_E_VECTOR) return 0;
    return job->edge_data == TAMIS_E_HEAD ? 2 : 1;
}

static void choose(pass *p) {
    const tamis_message_job *const job = p->job;
    const bool quick = p->device->limits.subgroup == 32;
    tamis_gpu_message_variant *const v = &p->variant;
    p->all = job->heads * job->width;
    p->span = makes_numbers(job) && job->edge_data == TAMIS_E_HEAD ? job->width : p->all;
    v->kernel = (int32_t)kernel_of(job);
    v->element = tamis_gpu_element(job->type);
    v->index = bits_of(job->order.column_type);
    v->offset = bits_of(job->order.offset_type);
    v->other = job->other_offsets ? bits_of(job->other_offset_type) : 32;
    v->argument = job->argument.base ? bits_of(job->argument_type) : 32;
    share_row(p, quick);
    v->loads = quick ? loads_of(p) : 4;
    v->near = (uint64_t)job->x.stride * tamis_type_size(job->type) <= INT32_MAX;
    v->term = quick ? (int32_t)job->term : -1;
    v->numbers = quick ? numbers_of(job) : -1;
    v->taken = quick ? reads_arguments(job) : -1;
    v->permuted = quick ? job->order.entries != NULL : -1;
    v->weighted = quick ? job->other_offsets != NULL : -1;
    v->mean = quick ? job->mean : -1;
}

/* ------------------------------------------------------------------------------------------ launching */

/* OpenCL needs a buffer for every argument, even an absent one. */
static tamis_place or_any(const pass *p, tamis_place place) {
    return place.base ? place : (tamis_place){(void *)(uintptr_t)p->job->order.offsets, 0};
}

static tamis_gpu_named array(const pass *p, const char *name, const void *memory) {
    return tamis_gpu_place(name, or_any(p, (tamis_place){(void *)(uintptr_t)memory, 0}));
}

/* Adds the arguments that JOB_PARAMETERS of message_kernels.h names, x and y. */
static int add_job(const pass *p, tamis_gpu_named *to) {
    const tamis_message_job *const job = p->job;
    int n = 0;
    to[n++] = tamis_gpu_integer("rows", job->order.rows);
    to[n++] = tamis_gpu_integer("pieces", p->cuts->pieces);
    to[n++] = tamis_gpu_integer("limit", p->cuts->limit);
    to[n++] = array(p, "piece_rows", p->cuts->piece_rows);
    to[n++] = array(p, "offsets", job->order.offsets);
    to[n++] = array(p, "columns", job->order.columns);
    to[n++] = array(p, "entries", job->order.entries);
    to[n++] = tamis_gpu_integer("all", p->all);
    to[n++] = tamis_gpu_integer("slice", p->slice);
    to[n++] = tamis_gpu_integer("width", p->variant.kernel == TAMIS_MESSAGE_NUMBERS ? p->span : job->width);
    to[n++] = tamis_gpu_real("sign", job->sign);
    to[n++] = tamis_gpu_real("factor", job->factor);
    to[n++] = tamis_gpu_integer("term", job->term);
    to[n++] = tamis_gpu_integer("numbers", numbers_of(job));
    to[n++] = tamis_gpu_integer("taken", reads_arguments(job));
    to[n++] = tamis_gpu_integer("permuted", job->order.entries != NULL);
    to[n++] = tamis_gpu_integer("mean", job->mean);
    to[n++] = tamis_gpu_place("x", or_any(p, job->x.at));
    to[n++] = tamis_gpu_integer("x_stride", job->x.stride);
    to[n++] = tamis_gpu_place("y", or_any(p, job->y.at));
    to[n++] = tamis_gpu_integer("y_stride", job->y.stride);
    to[n++] = tamis_gpu_place("argument", or_any(p, job->argument));
    to[n++] = tamis_gpu_place("out", job->out.at);
    to[n++] = tamis_gpu_integer("out_stride", job->out.stride);
    return n;
}

static int add_row_here(const pass *p, tamis_gpu_named *to, int n) {
    to[n++] = tamis_gpu_place("z", or_any(p, p->job->z.at));
    to[n++] = tamis_gpu_integer("z_stride", p->job->z.stride);
    return n;
}

static int add_rows(const pass *p, tamis_gpu_named *to, int n) {
    const tamis_message_job *const job = p->job;
    to[n++] = tamis_gpu_place("parts", or_any(p, p->parts));
    if (job->kind == TAMIS_PASS_LARGEST) {
        to[n++] = tamis_gpu_place("places", or_any(p, p->places));
        to[n++] = tamis_gpu_integer("has_argument", job->argument.base != NULL);
    } else {
        n = add_row_here(p, to, n);
        to[n++] = array(p, "other_offsets", job->other_offsets);
        to[n++] = tamis_gpu_integer("weighted", job->other_offsets != NULL);
    }
    return n;
}

static int add_ends(const pass *p, tamis_gpu_named *to, int n) {
    n = add_row_here(p, to, n);
    if (p->variant.kernel == TAMIS_MESSAGE_NUMBERS) to[n++] = tamis_gpu_integer("count", numbers_made(p->job));
    return n;
}

static tamis_status check_slices(const pass *p, int64_t slices) {
    const int64_t most = p->device->limits.groups_most[1];
    if (slices <= most && p->all <= INT32_MAX) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "heads * width = %lld: %s takes up to %lld here", (long long)p->all,
                      p->device->limits.name,
                      (long long)tamis_gpu_min(INT32_MAX, p->all / tamis_gpu_max(slices, 1) * most));
}

static int64_t groups_for(const pass *p, int64_t tasks) {
    const int64_t groups = tamis_gpu_ceiling(tasks, p->variant.group / p->variant.team);
    return tamis_gpu_min(groups, p->device->limits.groups_most[0]);
}

static tamis_status launch(const pass *p) {
    const bool numbers = p->variant.kernel == TAMIS_MESSAGE_NUMBERS;
    const int64_t slices = numbers ? 1 : tamis_gpu_ceiling(p->span, p->slice);
    const int64_t tasks = (p->job->order.rows + p->cuts->pieces) * (numbers ? numbers_made(p->job) : 1);
    tamis_gpu_named arguments[ARGUMENTS_MOST];
    int n = add_job(p, arguments);
    n = p->job->kind == TAMIS_PASS_ENTRIES ? add_ends(p, arguments, n) : add_rows(p, arguments, n);
    arguments[n] = (tamis_gpu_named){.name = NULL};
    TRY(check_slices(p, slices));
    return tamis_gpu_message_launch(p->device, p->job->stream, &p->variant, (int64_t[]){groups_for(p, tasks), slices},
                                    arguments);
}

static tamis_status merge(const pass *p) {
    const tamis_message_job *const job = p->job;
    const bool largest = job->kind == TAMIS_PASS_LARGEST;
    const tamis_gpu_message_variant variant = {.kernel = TAMIS_MESSAGE_MERGE,
                                               .element = p->variant.element,
                                               .index = 32,
                                               .offset = p->variant.offset,
                                               .argument = p->variant.argument,
                                               .group = MERGE_GROUP,
                                               .team = MERGE_TEAM};
    const int64_t groups[2] = {tamis_gpu_min(p->cuts->count, p->device->limits.groups_most[0]),
                               tamis_gpu_ceiling(p->all, MERGE_TEAM)};
    TRY(check_slices(p, groups[1]));
    return tamis_gpu_message_launch(
        p->device, job->stream, &variant, groups,
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("cut_count", p->cuts->count), tamis_gpu_integer("pieces", p->cuts->pieces),
            tamis_gpu_integer("limit", p->cuts->limit), tamis_gpu_memory("cuts", p->cuts->rows),
            tamis_gpu_memory("offsets", job->order.offsets), array(p, "entries", job->order.entries),
            tamis_gpu_integer("permuted", job->order.entries != NULL), tamis_gpu_integer("all", p->all),
            tamis_gpu_place("parts", p->parts), tamis_gpu_place("places", or_any(p, p->places)),
            tamis_gpu_integer("largest", largest), tamis_gpu_real("factor", job->factor),
            tamis_gpu_integer("mean", job->mean), tamis_gpu_place("out", job->out.at),
            tamis_gpu_integer("out_stride", job->out.stride), tamis_gpu_place("argument", or_any(p, job->argument)),
            tamis_gpu_integer("has_argument", largest && job->argument.base)));
}

/* Cut rows store their parts in memory allocated for this call. */
static tamis_status run_with_parts(pass *p) {
    tamis_status status = TAMIS_OK;
    const int64_t count = tamis_times(p->cuts->pieces, p->all);
    const int64_t bytes = tamis_gpu_round_up(count * (int64_t)tamis_gpu_real_size(p->job->type), 64);
    const bool largest = p->job->kind == TAMIS_PASS_LARGEST;
    void *memory = NULL;
    TRY(tamis_gpu_allocate(p->device, p->job->stream, (size_t)(bytes + (largest ? 4 * count : 0)), "parts of long rows",
                           &memory));
    p->parts = (tamis_place){memory, 0};
    if (largest) p->places = (tamis_place){memory, bytes};
    TRY_GOTO(done, launch(p));
    TRY_GOTO(done, merge(p));
done:
    tamis_gpu_release(p->device, p->job->stream, memory);
    return status;
}

/* True if the call keeps the device busy for as long as its longest uncut row takes. */
static bool is_busy(const tamis_message_job *job) {
    enum { ENTRIES = 1 << 19, ROW_BYTES = 256 };
    return job->order.nnz > ENTRIES && job->heads * job->width * (int64_t)tamis_type_size(job->type) >= ROW_BYTES;
}

static tamis_status run(const tamis_message_job *job) {
    pass p = {.job = job, .device = job->device, .cuts = tamis_gpu_message_cuts(&job->order, is_busy(job))};
    if (job->type == TAMIS_F64 && !p.device->limits.has_fp64)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "type = %s: %s has no fp64 arithmetic", tamis_type_name(job->type),
                          p.device->limits.name);
    choose(&p);
    return p.cuts->pieces && job->kind != TAMIS_PASS_ENTRIES ? run_with_parts(&p) : launch(&p);
}

const tamis_message_functions tamis_gpu_message_functions = {.prepare = prepare, .release = release, .run = run};
