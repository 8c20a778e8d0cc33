/*
 * Host side of message_*.simt. A team computes a row of the pattern; several teams share long rows of small graphs.
 * Other long rows are cut by the lists of rows.simt, which are built once per order of a graph.
 */
#include "gpu/messages/messages.h"

#include <math.h>

#include "base/memory.h"
#include "base/sizes.h"
#include "base/status.h"
#include "base/text_buffer.h"
#include "gpu/compile/definitions.h"
#include "gpu/compile/utility.h"
#include "gpu/messages/order_call.h"
#include "gpu/runtime/memory.h"
#include "gpu/structure/order.h"
#include "gpu/structure/profile.h"

enum { SHORT_POWER = 5, SHORT_ROW = 1 << SHORT_POWER, LONG_ROW = 256, WARP = 32 };
enum { SHARED_ENTRIES = 1 << 18 }; /* of a graph, for each of the teams that share rows */

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

/* True if rows by falling length gain more than the sort costs: lanes of a warp wait for its longest row, and teams
   share rows only in this order. */
static bool is_ordered(const tamis_problem *problem) {
    enum { ENTRIES = 1 << 14 };
    return problem->nnz >= ENTRIES && tamis_gpu_cuts_uneven(problem);
}

static const tamis_gpu_cuts no_cuts = {.limit = INT64_MAX};

static tamis_status make_cuts(tamis_gpu_message_plan *plan, int64_t limit) {
    enum { WORTH = 64 }; /* as many entries take as long as the launch that merges */
    plan->cuts = plan->long_cuts = plan->natural = plan->whole = no_cuts;
    if (plan->base.profile.max <= limit && !is_ordered(&plan->base.problem)) return TAMIS_OK;
    TRY(tamis_gpu_cuts_make(&plan->base, limit, is_ordered(&plan->base.problem), &plan->cuts));
    const bool slight = plan->cuts.pieces == 2 * plan->cuts.count && 2 * limit <= WORTH;
    if (plan->cuts.count > 0 && limit < LONG_ROW)
        TRY(tamis_gpu_cuts_make(&plan->base, LONG_ROW, false, &plan->long_cuts));
    else
        plan->long_cuts = plan->cuts;
    plan->long_cuts.order = plan->cuts.order;
    plan->whole = (tamis_gpu_cuts){.limit = INT64_MAX, .order = plan->cuts.order};
    plan->natural = plan->long_cuts;
    plan->natural.order = NULL;
    plan->neighbours_share = tamis_gpu_cuts_neighbours(&plan->base.problem);
    if (plan->cuts.order && plan->base.device->limits.subgroup == WARP &&
        plan->base.problem.nnz <= (int64_t)SHARED_ENTRIES * WARP) {
        TRY(tamis_gpu_cuts_longer(&plan->base, &plan->cuts, plan->longer));
        plan->shares = true;
    }
    if (slight) plan->cuts = plan->whole;
    return TAMIS_OK;
}

static tamis_status list_rows(tamis_gpu_message_plan *plan) {
    const tamis_problem *const problem = &plan->base.problem;
    TRY(tamis_gpu_add_kept(&plan->base, &plan->row_indices, problem->nnz, tamis_index_size(problem->index_type),
                           "rows of a graph's entries"));
    return tamis_gpu_expand_rows(plan->base.device, problem->stream, problem, plan->row_indices);
}

static tamis_status prepare(void *device, void *stream, const tamis_message_order *order, void **made) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_message_plan *plan = NULL;
    tamis_evidence evidence = {.profile = {.rows = order->rows, .cols = order->cols, .nnz = order->nnz}};
    tamis_problem problem = {.rows = order->rows,
                             .cols = order->cols,
                             .nnz = order->nnz,
                             .offsets = order->offsets,
                             .columns = order->columns,
                             .offset_type = order->offset_type,
                             .index_type = order->column_type,
                             .device = device,
                             .stream = stream,
                             .evidence = &evidence,
                             .once = true}; /* no panels */
    *made = NULL;
    if (order->nnz <= LONG_ROW) return TAMIS_OK; /* too small to gain */
    TRY(tamis_gpu_profile(&problem, &evidence));
    problem.once = false;
    TRY(tamis_allocate_zeroed(1, sizeof *plan, "rows of a graph", (void **)&plan));
    plan->base.device = device;
    plan->base.problem = problem;
    plan->base.profile = evidence.profile;
    TRY_GOTO(failed, make_cuts(plan, limit_of(order)));
    if (order->over_entries && plan->cuts.order) TRY_GOTO(failed, list_rows(plan));
    plan->base.problem.evidence = NULL;
    if (plan->base.kept_count == 0) goto failed; /* rows are alike: nothing is listed */
    *made = plan;
    return TAMIS_OK;
failed:
    release(device, plan);
    return status;
}

/* True if L2 holds the rows at the other end, of `bytes` each, as far as its size is known. */
static bool is_held(const tamis_gpu_device *device, const tamis_message_order *order, int64_t bytes) {
    const double l2 = (double)device->limits.cache_l2;
    return l2 == 0 || (double)order->cols * (double)bytes <= l2;
}

const tamis_gpu_cuts *tamis_gpu_message_cuts(const tamis_gpu_device *device, const tamis_message_order *order,
                                             bool only_long, int64_t bytes) {
    enum { WIDE = 512 }; /* bytes of a row */
    const tamis_gpu_message_plan *const plan = order->plan;
    if (!plan) return &no_cuts;
    /* caches find the rows that neighbours share, if these follow each other */
    if (plan->neighbours_share && bytes >= WIDE && !is_held(device, order, bytes)) return &plan->natural;
    return only_long ? &plan->long_cuts : &plan->cuts;
}

/* ------------------------------------------------------------------------------------------ choosing */

/* A job, how its kernel divides rows, and its cut rows. */
typedef struct pass {
    const tamis_message_job *job;
    tamis_gpu_order_call call;
    int64_t all, span, slice; /* elements of a row, of what a team divides, and of what it takes at once */
    int64_t shared, grouped;  /* first tasks, which all teams of a warp share, and of these a group */
} pass;

/* True if ENTRIES computes numbers, a few per entry, instead of rows. */
static bool makes_numbers(const tamis_message_job *job) {
    return job->kind == TAMIS_PASS_ENTRIES && job->edge_data != TAMIS_E_VECTOR;
}

static int64_t numbers_made(const tamis_message_job *job) { return job->edge_data == TAMIS_E_HEAD ? job->heads : 1; }

static bool text_reads(const tamis_message_job *job, int leaf) {
    return job->text && tamis_message_text_reads(job->text, leaf);
}

static bool reads_x(const tamis_message_job *job) {
    if (job->text) return text_reads(job, tamis_message_leaf_there(job));
    return job->kind == TAMIS_PASS_ENTRIES ? job->term != TAMIS_TERM_X : job->term != TAMIS_TERM_Y;
}

static bool reads_y(const tamis_message_job *job) {
    if (job->text) return text_reads(job, TAMIS_STEP_S);
    return job->kind == TAMIS_PASS_ENTRIES ? job->term == TAMIS_TERM_GATE : job->term != TAMIS_TERM_X;
}

static bool reads_z(const tamis_message_job *job) {
    if (job->text) return text_reads(job, tamis_message_leaf_here(job));
    return job->kind == TAMIS_PASS_ENTRIES || job->term == TAMIS_TERM_GATE;
}

static bool reads_w(const tamis_message_job *job) { return job->w.at.base != NULL; }

static bool reads_arguments(const tamis_message_job *job) {
    return job->argument.base && job->kind != TAMIS_PASS_LARGEST;
}

static bool is_aligned(const pass *p, bool used, const tamis_matrix *x, int64_t unit) {
    const size_t size = tamis_type_size(p->job->type);
    return !used || tamis_gpu_aligned(p->call.device, x, size, (size_t)unit * size);
}

/* True if all rows are aligned for vector loads of `unit` elements and have a multiple of them. */
static bool fits_unit(const pass *p, int64_t unit) {
    const tamis_message_job *const job = p->job;
    const int64_t argument = unit * (int64_t)tamis_index_size(job->argument_type);
    const tamis_matrix arguments = {.at = job->argument};
    return (job->edge_data == TAMIS_E_HEAD ? job->width : p->all) % unit == 0 &&
           is_aligned(p, reads_x(job), &job->x, unit) &&
           is_aligned(p, reads_y(job) && job->edge_data == TAMIS_E_VECTOR, &job->y, unit) &&
           is_aligned(p, reads_z(job), &job->z, unit) && is_aligned(p, reads_w(job), &job->w, unit) &&
           is_aligned(p, !makes_numbers(job), &job->out, unit) &&
           (!job->argument.base ||
            tamis_gpu_aligned(p->call.device, &arguments, 1, (size_t)(argument < 16 ? argument : 16)));
}

static int64_t bytes_of_row(const tamis_message_job *job) {
    return job->heads * job->width * (int64_t)tamis_type_size(job->type);
}

/* True if slices of a row, one after the other, gain: where the vectors of entries are most of what is read, once, and
   where L2 then holds a slice of rows that it does not hold whole, unless the longest rows take most of the time. */
static bool gains_by_slices(const pass *p) {
    const tamis_message_job *const job = p->job;
    if (job->kind == TAMIS_PASS_ENTRIES || p->all / WARP > p->call.device->limits.groups_most[1]) return false;
    return (reads_y(job) && job->edge_data == TAMIS_E_VECTOR) ||
           (!p->call.cuts->order && !is_held(p->call.device, &job->order, bytes_of_row(job)));
}

/* Lanes of a row: the fewest that give each lane one unit, or two if there are many. Slow compilers get few variants,
   whose lanes go through the row in slices. */
static void share_row(pass *p, bool quick) {
    enum { LANES_MOST = 32, LANES_OF_ONE = 16, SLOW_TEAM = 4, GROUP = 128, UNROLLED = 2048 /* steps of a text */ };
    const int64_t steps = p->job->text ? p->job->text->program.count : 0;
    tamis_gpu_message_variant *const v = &p->call.variant;
    int64_t unit = 16 / (int64_t)tamis_type_size(p->job->type);
    while (unit > 1 && (!fits_unit(p, unit) || unit * steps > UNROLLED)) unit = quick ? unit / 2 : 1;
    const int64_t across = tamis_gpu_ceiling(p->span, unit);
    v->unit = (int32_t)unit;
    const bool two = across > LANES_OF_ONE && 2 * unit * steps <= UNROLLED;
    v->units = (two && (across <= LANES_MOST || !gains_by_slices(p))) || !quick ? 2 : 1;
    v->team = quick ? 1 : SLOW_TEAM;
    while (quick && v->team < LANES_MOST && v->team * v->units < across) v->team *= 2;
    v->group = quick ? GROUP : SLOW_TEAM; /* ONE_TEAM of simt.h */
    p->slice = v->team * v->units * unit;
    v->full = quick && p->span % p->slice == 0;
}

/* Entries whose rows are loaded at once: as many as fit in registers, and as short rows have. The numbers were
   measured: lab/notes/messages.md. A long text is not repeated as often: that takes the compiler's time. */
static int32_t loads_of(const pass *p) {
    enum { REGISTERS = 64, FEWEST = 2, USUAL = 4, MOST = 8, SHORT = 6, LONG = 16, WIDE_TEAM = 16, UNROLLED = 256 };
    const tamis_message_job *const job = p->job;
    const tamis_gpu_message_variant *const v = &p->call.variant;
    const bool rows = job->kind != TAMIS_PASS_ENTRIES;
    const bool slow =
        job->type == TAMIS_F16 || (job->type == TAMIS_BF16 && job->term == TAMIS_TERM_MUL && v->team >= WIDE_TEAM);
    const bool many = rows && !slow && v->units == 1 && job->order.nnz >= LONG * job->order.rows;
    const bool few = job->order.nnz < SHORT * job->order.rows && !p->call.cuts->order; /* in an order not all are */
    const int64_t matrices = reads_x(job) + (p->call.variant.by_entries && reads_z(job)) +
                             (reads_y(job) && job->edge_data == TAMIS_E_VECTOR) + reads_w(job) +
                             (reads_arguments(job) && !(job->text && job->here));
    const int64_t steps = job->text ? job->text->program.count : 0;
    const int64_t of_one =
        (matrices > 0 ? matrices : 1) * v->units * v->unit * (int64_t)(tamis_gpu_real_size(job->type) / sizeof(float));
    int32_t loads = many ? MOST : rows && few ? FEWEST : USUAL;
    while (loads > 1 && (loads * of_one > REGISTERS || loads * v->units * v->unit * steps > UNROLLED)) loads /= 2;
    return loads;
}

static tamis_gpu_message_kernel kernel_of(const tamis_message_job *job) {
    if (job->kind == TAMIS_PASS_ENTRIES) return makes_numbers(job) ? TAMIS_MESSAGE_NUMBERS : TAMIS_MESSAGE_VECTORS;
    return job->kind == TAMIS_PASS_LARGEST ? TAMIS_MESSAGE_LARGEST : TAMIS_MESSAGE_SUMS;
}

/* 0: y is a vector, or not read; 1: a number; 2: a number per head. */
static int32_t numbers_of(const tamis_message_job *job) {
    if (!reads_y(job) || job->edge_data == TAMIS_E_VECTOR) return 0;
    return job->edge_data == TAMIS_E_HEAD ? 2 : 1;
}

/* Teams share rows of at least 2^this entries: more than most rows have. */
static int shared_power(const tamis_message_order *order) {
    enum { FEW = 9 /* entries a row */ };
    return order->nnz < FEW * order->rows ? SHORT_POWER - 1 : SHORT_POWER;
}

/* True if groups of this size can share rows: they have a row of results for each warp in shared memory. */
static bool can_share(const pass *p, int64_t group) {
    enum { STATIC_MOST = 48 << 10, LARGE = 256, NUMBERS = 8 /* of a lane, for which large groups have registers */ };
    const tamis_gpu_message_variant *const v = &p->call.variant;
    const tamis_gpu_limits *const limits = &p->call.device->limits;
    const int64_t place = p->job->kind == TAMIS_PASS_LARGEST ? (int64_t)sizeof(int32_t) : 0;
    const int64_t bytes = group / v->share * v->units * v->unit * ((int64_t)tamis_gpu_real_size(p->job->type) + place);
    if (group > LARGE && v->units * v->unit > NUMBERS) return false;
    return group <= limits->group_most && bytes <= tamis_gpu_min(limits->shared_most, STATIC_MOST) &&
           !reads_w(p->job); /* gradients of texts have no registers left */
}

/* Lets all teams of a group share the longest rows, unless some row is too long for that: then none is cut, and nothing
   is merged. */
static void share_by_group(pass *p, const tamis_gpu_message_plan *plan) {
    enum { ENTRIES = 32, MOST = 64 }; /* of a team, in the longest row */
    enum { LEAST = 32, GROUP = 512 }; /* entries of a warp's team, for which more warps gain; work-items of a group */
    tamis_gpu_message_variant *const v = &p->call.variant;
    int32_t group = v->group;
    int power = shared_power(&p->job->order);
    if (p->call.cuts->pieces == 0) return;
    while (group < GROUP && can_share(p, 2 * group) && plan->base.profile.max * v->team > (int64_t)ENTRIES * group)
        group *= 2;
    if (!can_share(p, group) || plan->base.profile.max * v->team > (int64_t)MOST * group) return;
    while (1 << power < LEAST * v->share) power++;
    v->group = group;
    v->by_group = 1;
    p->call.cuts = &plan->whole;
    p->grouped = plan->longer[power];
}

/* Lets all teams of a warp share each long row of an order, if the graph is so small that whole rows leave the device
   waiting for the longest. They take long pieces, so fewer are merged. */
static void share_long(pass *p) {
    const tamis_gpu_message_plan *const plan = p->job->order.plan;
    tamis_gpu_message_variant *const v = &p->call.variant;
    const int32_t teams = WARP / v->team;
    const int64_t long_rows = plan->shares ? plan->longer[shared_power(&p->job->order)] : 0;
    if (p->job->order.nnz > (int64_t)SHARED_ENTRIES * teams || long_rows == 0) return;
    v->share = teams;
    if (teams * tamis_gpu_min(p->call.cuts->limit, LONG_ROW) >= LONG_ROW) p->call.cuts = &plan->long_cuts;
    share_by_group(p, plan);
    p->shared = p->call.cuts->pieces + long_rows;
}

/* Lets all teams of a warp, or of a group, share each row, if there are so few that the device waits for them. */
static void share_all(pass *p) {
    enum { ITEMS = 256, IN_GROUPS = 1024 /* of a multiprocessor */, LONG = 16 /* entries a row */ };
    const tamis_message_order *const order = &p->job->order;
    tamis_gpu_message_variant *const v = &p->call.variant;
    const int64_t multiprocessors = p->call.device->limits.multiprocessors;
    if (order->nnz < LONG * order->rows || order->rows * v->team > ITEMS * multiprocessors) return;
    v->share = WARP / v->team;
    v->by_group = order->rows * v->group <= IN_GROUPS * multiprocessors && can_share(p, v->group);
    p->shared = p->call.cuts->pieces + order->rows;
    p->grouped = v->by_group ? p->shared : 0;
}

static void choose_sharing(pass *p) {
    p->call.variant.share = 1;
    if (p->call.device->limits.subgroup != WARP || p->job->kind == TAMIS_PASS_ENTRIES) return;
    if (p->call.cuts->order)
        share_long(p);
    else
        share_all(p);
}

/* True if teams take blocks of entries, of whatever rows. On an H200 that was up to 3.5 times as fast where rows are
   uneven, but slower for many wide rows, which it reads more often. */
static bool goes_by_entries(const tamis_message_job *job) {
    enum { NARROW = 64, BYTES = 1 << 27 };
    const tamis_gpu_message_plan *const plan = job->order.plan;
    if (job->kind != TAMIS_PASS_ENTRIES || !plan || !plan->row_indices) return false;
    return bytes_of_row(job) <= NARROW || tamis_times(bytes_of_row(job), job->order.nnz) <= BYTES;
}

static void choose(pass *p) {
    const tamis_message_job *const job = p->job;
    const bool quick = p->call.device->limits.subgroup == 32;
    tamis_gpu_message_variant *const v = &p->call.variant;
    p->all = job->heads * job->width;
    p->span = makes_numbers(job) && job->edge_data == TAMIS_E_HEAD ? job->width : p->all;
    v->kernel = (int32_t)kernel_of(job);
    v->element = tamis_gpu_element(job->type);
    v->index = tamis_gpu_index_bits(job->order.column_type);
    v->offset = tamis_gpu_index_bits(job->order.offset_type);
    v->other = job->other_offsets ? tamis_gpu_index_bits(job->other_offset_type) : 32;
    v->argument = job->argument.base ? tamis_gpu_index_bits(job->argument_type) : 32;
    share_row(p, quick);
    v->by_entries = goes_by_entries(job);
    v->loads = quick ? loads_of(p) : 4;
    choose_sharing(p);
    v->near = (uint64_t)tamis_gpu_max(job->x.stride, job->w.stride) * tamis_type_size(job->type) <= INT32_MAX;
    v->text = job->text;
    v->reads = job->text ? reads_x(job) | reads_y(job) << 1 | reads_z(job) << 2 | reads_w(job) << 3 : 0;
    v->turned = job->turned;
    v->here = job->here;
    v->term = quick || job->text ? (int32_t)job->term : -1;
    v->numbers = quick ? numbers_of(job) : -1;
    v->taken = quick ? reads_arguments(job) : -1;
    v->permuted = quick ? job->order.entries != NULL : -1;
    v->ordered = quick ? p->call.cuts->order != NULL : -1;
    v->weighted = quick ? job->other_offsets != NULL : -1;
    v->mean = quick ? job->mean : -1;
}

/* ------------------------------------------------------------------------------------------ launching */

/* Adds the arguments that JOB_PARAMETERS of message_kernels.h names, and the arrays. */
static void add_job(const pass *p, tamis_gpu_list *to) {
    const tamis_message_job *const job = p->job;
    tamis_gpu_list_rows(to, &p->call);
    tamis_gpu_list_add(to, tamis_gpu_integer("grouped", p->grouped));
    tamis_gpu_list_add(to, tamis_gpu_integer("shared", p->shared));
    tamis_gpu_list_array(to, &p->call, "columns", job->order.columns);
    tamis_gpu_list_add(to, tamis_gpu_integer("all", p->all));
    tamis_gpu_list_add(to, tamis_gpu_integer("slice", p->slice));
    tamis_gpu_list_add(
        to, tamis_gpu_integer("width", p->call.variant.kernel == TAMIS_MESSAGE_NUMBERS ? p->span : job->width));
    tamis_gpu_list_add(to, tamis_gpu_integer("head_width", job->width > 0 ? job->width : 1));
    tamis_gpu_list_add(to, tamis_gpu_real("text_p0", job->text ? job->text->scalars[0] : 0));
    tamis_gpu_list_add(to, tamis_gpu_real("text_p1", job->text ? job->text->scalars[1] : 0));
    tamis_gpu_list_add(to, tamis_gpu_real("text_p2", job->text ? job->text->scalars[2] : 0));
    tamis_gpu_list_add(to, tamis_gpu_real("sign", job->sign));
    tamis_gpu_list_add(to, tamis_gpu_real("factor", job->factor));
    tamis_gpu_list_add(to, tamis_gpu_integer("term", job->term));
    tamis_gpu_list_add(to, tamis_gpu_integer("numbers", numbers_of(job)));
    tamis_gpu_list_add(to, tamis_gpu_integer("taken", reads_arguments(job)));
    tamis_gpu_list_add(to, tamis_gpu_integer("mean", job->mean));
    tamis_gpu_list_matrix(to, &p->call, "x", "x_stride", &job->x);
    tamis_gpu_list_matrix(to, &p->call, "y", "y_stride", &job->y);
    tamis_gpu_list_matrix(to, &p->call, "z", "z_stride", &job->z);
    tamis_gpu_list_place(to, &p->call, "argument", job->argument);
    tamis_gpu_list_matrix(to, &p->call, "out", "out_stride", &job->out);
}

/* Adds what kernels of rows take beside it, or kernels of entries. */
static void add_rest(const pass *p, tamis_gpu_list *to) {
    const tamis_message_job *const job = p->job;
    if (job->kind == TAMIS_PASS_LARGEST) {
        tamis_gpu_list_place(to, &p->call, "places", p->call.places);
        tamis_gpu_list_add(to, tamis_gpu_integer("has_argument", job->argument.base != NULL));
    } else {
        tamis_gpu_list_matrix(to, &p->call, "w", "w_stride", &job->w);
    }
    if (job->kind != TAMIS_PASS_ENTRIES) tamis_gpu_list_place(to, &p->call, "parts", p->call.parts);
    if (p->call.variant.kernel == TAMIS_MESSAGE_SUMS) {
        tamis_gpu_list_array(to, &p->call, "other_offsets", job->other_offsets);
        tamis_gpu_list_add(to, tamis_gpu_integer("weighted", job->other_offsets != NULL));
    }
    if (job->kind == TAMIS_PASS_ENTRIES) {
        const tamis_gpu_message_plan *const plan = job->order.plan;
        tamis_gpu_list_add(to, tamis_gpu_integer("nnz", job->order.nnz));
        tamis_gpu_list_array(to, &p->call, "row_indices", plan ? plan->row_indices : NULL);
    }
    if (p->call.variant.kernel == TAMIS_MESSAGE_NUMBERS)
        tamis_gpu_list_add(to, tamis_gpu_integer("count", numbers_made(job)));
}

static tamis_status check_slices(const pass *p, int64_t slices) {
    const int64_t most = p->call.device->limits.groups_most[1];
    if (slices <= most && p->all <= INT32_MAX) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "heads * width = %lld: %s takes up to %lld here", (long long)p->all,
                      p->call.device->limits.name,
                      (long long)tamis_gpu_min(INT32_MAX, p->all / tamis_gpu_max(slices, 1) * most));
}

static tamis_status launch(const pass *p) {
    const bool numbers = p->call.variant.kernel == TAMIS_MESSAGE_NUMBERS;
    const int64_t slices = numbers ? 1 : tamis_gpu_ceiling(p->span, p->slice);
    const tamis_gpu_message_variant *const v = &p->call.variant;
    const int64_t shared = p->shared * (v->share - 1) + p->grouped * (v->group / v->team - v->share); /* TASKS */
    const int64_t blocks =
        v->by_entries ? tamis_gpu_ceiling(p->job->order.nnz, v->loads) : p->job->order.rows + p->call.cuts->pieces;
    const int64_t tasks = blocks * (numbers ? numbers_made(p->job) : 1) + shared;
    tamis_gpu_list arguments = {.count = 0};
    add_job(p, &arguments);
    add_rest(p, &arguments);
    TRY(check_slices(p, slices));
    return tamis_gpu_order_launch(&p->call, &p->call.variant, tasks, slices, &arguments);
}

static tamis_status merge(const pass *p) {
    const tamis_message_job *const job = p->job;
    return tamis_gpu_order_merge(
        &p->call,
        &(tamis_gpu_merge){.kind = job->kind == TAMIS_PASS_LARGEST ? TAMIS_MERGE_LARGEST : TAMIS_MERGE_SUM,
                           .heads = 1,
                           .width = p->all,
                           .factor = job->factor,
                           .mean = job->mean,
                           .out = job->out.at,
                           .out_row = job->out.stride,
                           .argument = job->kind == TAMIS_PASS_LARGEST ? job->argument : (tamis_place){NULL, 0}});
}

static tamis_status run_and_merge(void *of) {
    const pass *const p = of;
    TRY(launch(p));
    return merge(p);
}

/* True if the call keeps the device busy for as long as its longest uncut row takes. */
static bool is_busy(const tamis_message_job *job) {
    enum { ENTRIES = 1 << 19, ROW_BYTES = 256 };
    return job->order.nnz > ENTRIES && bytes_of_row(job) >= ROW_BYTES;
}

static tamis_status run(const tamis_message_job *job) {
    pass p = {.job = job,
              .call = {.device = job->device,
                       .stream = job->stream,
                       .order = &job->order,
                       .cuts = tamis_gpu_message_cuts(job->device, &job->order, is_busy(job),
                                                      reads_x(job) ? bytes_of_row(job) : 0)}};
    TRY(tamis_gpu_check_type(p.call.device, job->type));
    choose(&p);
    if (p.call.cuts->pieces == 0 || job->kind == TAMIS_PASS_ENTRIES) return launch(&p);
    const int64_t count = tamis_times(p.call.cuts->pieces, p.all);
    return tamis_gpu_order_in_parts(&p.call, tamis_bytes(count, tamis_gpu_real_size(job->type)),
                                    job->kind == TAMIS_PASS_LARGEST ? tamis_bytes(count, 4) : 0, run_and_merge, &p);
}

/* ------------------------------------------------------------------------------------------ explaining */

static void add_cuts(tamis_text_buffer *text, const char *of, const tamis_gpu_cuts *cuts) {
    if (cuts->count > 0)
        tamis_text_add(text, "; %s rows of more than %lld entries (%lld) are computed in %lld pieces, which are merged",
                       of, (long long)cuts->limit, (long long)cuts->count, (long long)cuts->pieces);
}

static void explain(const tamis_message_order *order, tamis_text_buffer *text) {
    const tamis_gpu_message_plan *const plan = order->plan;
    if (!plan || (plan->cuts.count == 0 && plan->long_cuts.count == 0)) {
        tamis_text_add(text, "; no row is cut");
    } else if (plan->cuts.limit == plan->long_cuts.limit) {
        add_cuts(text, "in all calls", &plan->cuts);
    } else {
        add_cuts(text, plan->shares ? "in small calls that share none" : "in small calls", &plan->cuts);
        add_cuts(text, "in large calls", &plan->long_cuts);
    }
    if (plan && plan->cuts.order)
        tamis_text_add(text, "; rows come by falling length, since lengths vary%s",
                       plan->neighbours_share ? ", but not in calls of wide rows, since neighbours share columns" : "");
    if (plan && plan->shares && plan->longer[shared_power(order)] > 0)
        tamis_text_add(text,
                       "; in small calls several teams share each row of %d and more entries (%lld), all teams of a "
                       "group the longest, and none is cut if these can",
                       1 << shared_power(order), (long long)plan->longer[shared_power(order)]);
    if (plan) tamis_text_add(text, "; the lists take %zu bytes", plan->base.prepared_bytes);
}

const tamis_message_functions tamis_gpu_message_functions = {
    .prepare = prepare,
    .release = release,
    .run = run,
    .texts = "is compiled into the kernel, once for each text and kind of call",
    .explain = explain};
