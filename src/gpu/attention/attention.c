/* Host side of attention*.simt: maps the heads of rows to teams, and passes the arguments of each launch. */
#include "gpu/attention/attention.h"

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/attention/segments.h"
#include "gpu/compile/definitions.h"
#include "gpu/messages/messages.h"
#include "gpu/messages/variants.h"
#include "gpu/method.h"
#include "gpu/runtime/memory.h"

enum { ARGUMENTS_MOST = 48, GROUP = 128, MERGE_TEAM = 32, MERGE_GROUP = 256 };

/* A job, and how its kernel maps heads to lanes. */
typedef struct pass {
    const tamis_attention_job *job;
    tamis_gpu_device *device;
    tamis_gpu_message_variant variant;
    int64_t slice;              /* elements of a head that a team takes at once */
    const tamis_gpu_cuts *cuts; /* of the order */
    tamis_place partials;       /* of the pieces of cut rows */
} pass;

/* ------------------------------------------------------------------------------------------ choosing */

/* True if the matrices are aligned for vectors of `unit` elements: those that are read, or those that are written. The
   results' alignment must not decide how sums are shared out, for an optional result changes no other one's bits. */
static bool fits_unit(const pass *p, int64_t unit, bool results) {
    const tamis_attention_job *const job = p->job;
    const bool forward = job->pass == TAMIS_ATTENTION_FORWARD;
    enum { COUNT = 6 };
    const tamis_message_operand none = {.at = {.base = NULL}};
    const tamis_message_operand *const read[COUNT] = {&job->q, &job->k,     &job->v,
                                                      &job->e, &job->d_out, forward ? &none : &job->out};
    const tamis_message_operand *const written[COUNT] = {&job->dq, &job->dk, &job->dv,
                                                         &job->de, &none,    forward ? &job->out : &none};
    const size_t size = tamis_type_size(job->type);
    for (size_t i = 0; i < COUNT; i++) {
        const tamis_message_operand *const x = results ? written[i] : read[i];
        if (x->at.base && !tamis_gpu_aligned(p->device, x->at, x->stride, 0, size, (size_t)unit * size)) return false;
    }
    return job->width % unit == 0;
}

/* Lanes of a head: the fewest that give each lane one unit, or two if there are many. Slow compilers get few
   variants. */
static void share_head(pass *p, bool quick) {
    enum { LANES_MOST = 32, LANES_OF_ONE = 16, SLOW_TEAM = 4 };
    tamis_gpu_message_variant *const v = &p->variant;
    int64_t unit = 16 / (int64_t)tamis_type_size(p->job->type);
    while (unit > 1 && (p->job->width == 0 || !fits_unit(p, unit, false))) unit = quick ? unit / 2 : 1;
    const int64_t across = tamis_gpu_ceiling(p->job->width, unit);
    v->unit = (int32_t)unit;
    v->stores = unit > 1 && !fits_unit(p, unit, true);
    v->units = across > LANES_OF_ONE || !quick ? 2 : 1;
    v->team = quick ? 1 : SLOW_TEAM;
    while (quick && v->team < LANES_MOST && v->team * v->units < across) v->team *= 2;
    v->group = quick ? GROUP : SLOW_TEAM; /* ONE_TEAM of simt.h */
    p->slice = v->team * v->units * unit;
    v->full = quick && p->job->width > 0 && p->job->width % p->slice == 0;
    v->whole = quick ? p->job->width <= p->slice : 0;
}

/* Entries whose rows are loaded at once: as many as fit in registers. */
static int32_t loads_of(const pass *p) {
    enum { REGISTERS = 64, MOST = 4 };
    const int64_t reals = p->variant.units * p->variant.unit,
                  matrices = p->job->pass == TAMIS_ATTENTION_BACK_COLUMNS ? 2 : 3;
    int32_t loads = MOST;
    while (loads > 1 && loads * matrices * reals * (int64_t)(tamis_gpu_real_size(p->job->type) / 4) > REGISTERS)
        loads /= 2;
    return loads;
}

static int32_t bits_of(tamis_index_type type) { return type == TAMIS_I64 ? 64 : 32; }

static void choose(pass *p) {
    static const tamis_gpu_message_kernel kernels[] = {[TAMIS_ATTENTION_FORWARD] = TAMIS_ATTENTION_KERNEL,
                                                       [TAMIS_ATTENTION_BACK_ROWS] = TAMIS_ATTENTION_ROWS_KERNEL,
                                                       [TAMIS_ATTENTION_BACK_COLUMNS] = TAMIS_ATTENTION_COLUMNS_KERNEL};
    const tamis_attention_job *const job = p->job;
    const bool quick = p->device->limits.subgroup == 32;
    const int64_t near = INT32_MAX / (int64_t)tamis_type_size(job->type);
    tamis_gpu_message_variant *const v = &p->variant;
    v->kernel = (int32_t)kernels[job->pass];
    v->element = tamis_gpu_element(job->type);
    v->index = bits_of(job->order.column_type);
    v->offset = bits_of(job->order.offset_type);
    share_head(p, quick);
    v->loads = quick ? loads_of(p) : 4;
    v->near = job->q.stride <= near && job->k.stride <= near && job->v.stride <= near && job->d_out.stride <= near;
    v->permuted = quick ? job->order.entries != NULL : -1;
    v->has_e = quick ? job->e.at.base != NULL : -1;
}

/* ------------------------------------------------------------------------------------------ launching */

/* A list of arguments. */
typedef struct list {
    tamis_gpu_named of[ARGUMENTS_MOST];
    int count;
} list;

static void add(list *to, tamis_gpu_named argument) { to->of[to->count++] = argument; }

/* OpenCL needs a buffer for every argument, even an absent one. */
static void add_place(const pass *p, list *to, const char *name, tamis_place place) {
    add(to, place.base ? tamis_gpu_place(name, place) : tamis_gpu_memory(name, p->job->order.offsets));
}

static void add_matrix(const pass *p, list *to, const char *name, const char *stride, const tamis_message_operand *x) {
    add_place(p, to, name, x->at);
    add(to, tamis_gpu_integer(stride, x->stride));
}

static void add_optional(const pass *p, list *to, const char *name, const char *stride, const char *has,
                         const tamis_message_operand *x) {
    add_matrix(p, to, name, stride, x);
    add(to, tamis_gpu_integer(has, x->at.base != NULL));
}

static void add_order(const pass *p, list *to) {
    const tamis_message_order *const order = &p->job->order;
    add(to, tamis_gpu_integer("rows", order->rows));
    add(to, tamis_gpu_integer("pieces", p->cuts->pieces));
    add(to, tamis_gpu_integer("limit", p->cuts->limit));
    add_place(p, to, "piece_rows", (tamis_place){p->cuts->piece_rows, 0});
    add(to, tamis_gpu_integer("heads", p->job->heads));
    add(to, tamis_gpu_integer("width", p->job->width));
    add(to, tamis_gpu_integer("slice", p->slice));
    add(to, tamis_gpu_real("scale", p->job->scale));
    add(to, tamis_gpu_memory("offsets", order->offsets));
    add_place(p, to, "columns", (tamis_place){(void *)(uintptr_t)order->columns, 0});
    add_place(p, to, "entries", (tamis_place){(void *)(uintptr_t)order->entries, 0});
    add(to, tamis_gpu_integer("permuted", order->entries != NULL));
    add_place(p, to, "partials", p->partials);
    add_matrix(p, to, "q", "q_stride", &p->job->q);
}

static void add_inputs(const pass *p, list *to) {
    const tamis_attention_job *const job = p->job;
    add_matrix(p, to, "k", "k_stride", &job->k);
    add_matrix(p, to, "v", "v_stride", &job->v);
    add_optional(p, to, "e", "e_stride", "has_e", &job->e);
    add_optional(p, to, "b", "b_stride", "has_b", &job->b);
    add_matrix(p, to, "out", "out_stride", &job->out);
    add_matrix(p, to, "log_sums", "log_sums_stride", &job->log_sums);
}

static void add_gradients(const pass *p, list *to) {
    const tamis_attention_job *const job = p->job;
    add_matrix(p, to, "d_out", "d_out_stride", &job->d_out);
    add_place(p, to, "weights", job->weights);
    if (job->pass == TAMIS_ATTENTION_BACK_COLUMNS) {
        add_optional(p, to, "dk", "dk_stride", "has_dk", &job->dk);
        add_optional(p, to, "dv", "dv_stride", "has_dv", &job->dv);
        return;
    }
    add_optional(p, to, "dq", "dq_stride", "has_dq", &job->dq);
    add_optional(p, to, "de", "de_stride", "has_de", &job->de);
    add_optional(p, to, "db", "db_stride", "has_db", &job->db);
    add(to, tamis_gpu_integer("has_weights", job->weights.base != NULL));
}

static tamis_status check(const pass *p, int64_t slices) {
    if (p->job->type == TAMIS_F64 && !p->device->limits.has_fp64)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "type = %s: %s has no fp64 arithmetic",
                          tamis_type_name(p->job->type), p->device->limits.name);
    if (slices <= p->device->limits.groups_most[1] && p->job->heads <= INT32_MAX / tamis_gpu_max(p->job->width, 1) / 2)
        return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                      "heads = %lld, width = %lld: %s takes up to %lld slices of %lld elements",
                      (long long)p->job->heads, (long long)p->job->width, p->device->limits.name,
                      (long long)p->device->limits.groups_most[1], (long long)p->slice);
}

/* Without a width the kernels still load something, and ignore it: log_sums, which is aligned. */
static tamis_attention_job without_width(const tamis_attention_job *job) {
    const tamis_message_operand any = {.at = job->log_sums.at}, none = {.at = {.base = NULL}};
    tamis_attention_job made = *job;
    made.q = made.k = made.v = made.out = made.d_out = any;
    made.e = made.dq = made.dk = made.dv = made.de = none;
    return made;
}

/* Without a width there are only the sums and the gradients of b. */
static bool writes(const tamis_attention_job *job) {
    if (job->width > 0) return true;
    return job->pass == TAMIS_ATTENTION_FORWARD ? job->log_sums.at.base != NULL
                                                : job->pass == TAMIS_ATTENTION_BACK_ROWS && job->db.at.base;
}

static tamis_status launch(pass *p) {
    const tamis_attention_job *const job = p->job;
    list arguments = {.count = 0};
    const int64_t slices = tamis_gpu_max(tamis_gpu_ceiling(job->width, p->slice), 1);
    TRY(check(p, slices));
    add_order(p, &arguments);
    if (job->pass != TAMIS_ATTENTION_BACK_COLUMNS) add_inputs(p, &arguments);
    if (job->pass == TAMIS_ATTENTION_FORWARD)
        add(&arguments, tamis_gpu_integer("has_log_sums", job->log_sums.at.base != NULL));
    else
        add_gradients(p, &arguments);
    add(&arguments, (tamis_gpu_named){.name = NULL});
    const int64_t rows = job->order.rows + p->cuts->pieces;
    const int64_t groups = tamis_gpu_ceiling(rows * job->heads, p->variant.group / p->variant.team);
    return tamis_gpu_message_launch(p->device, job->stream, &p->variant,
                                    (int64_t[]){tamis_gpu_min(groups, p->device->limits.groups_most[0]), slices},
                                    arguments.of);
}

/* Joins the partial results of cut rows, which begin `before` reals into `partials`. */
static tamis_status merge(const pass *p, const tamis_message_operand *out, int64_t before) {
    const tamis_attention_job *const job = p->job;
    const bool softmax = job->pass == TAMIS_ATTENTION_FORWARD;
    const tamis_gpu_message_variant variant = {.kernel = TAMIS_ATTENTION_MERGE,
                                               .element = p->variant.element,
                                               .index = 32,
                                               .offset = 32,
                                               .group = MERGE_GROUP,
                                               .team = MERGE_TEAM,
                                               .softmax = softmax};
    const int64_t groups[2] = {tamis_gpu_min(p->cuts->count * job->heads, p->device->limits.groups_most[0]),
                               tamis_gpu_max(tamis_gpu_ceiling(job->width, MERGE_TEAM), 1)};
    const tamis_place from = {p->partials.base, p->partials.bytes + before * (int64_t)tamis_gpu_real_size(job->type)};
    list arguments = {.count = 0};
    TRY(check(p, groups[1]));
    add(&arguments, tamis_gpu_integer("cut_count", p->cuts->count));
    add(&arguments, tamis_gpu_integer("pieces", p->cuts->pieces));
    add(&arguments, tamis_gpu_memory("cuts", p->cuts->rows));
    add(&arguments, tamis_gpu_integer("heads", job->heads));
    add(&arguments, tamis_gpu_integer("width", job->width));
    add(&arguments, tamis_gpu_place("partials", from));
    add_matrix(p, &arguments, "out", "out_stride", out);
    add_optional(p, &arguments, "log_sums", "log_sums_stride", "has_log_sums", &job->log_sums);
    add(&arguments, (tamis_gpu_named){.name = NULL});
    return tamis_gpu_message_launch(p->device, job->stream, &variant, groups, arguments.of);
}

static tamis_status merge_all(const pass *p) {
    const tamis_attention_job *const job = p->job;
    const tamis_message_operand *const outs[] = {&job->out, &job->dq, &job->dk, &job->dv};
    const int first = job->pass == TAMIS_ATTENTION_FORWARD ? 0 : job->pass == TAMIS_ATTENTION_BACK_ROWS ? 1 : 2;
    const int last = job->pass == TAMIS_ATTENTION_BACK_COLUMNS ? 3 : first;
    int64_t before = 0;
    for (int i = first; i <= last; i++)
        if (outs[i]->at.base) {
            TRY(merge(p, outs[i], before));
            before += p->cuts->pieces * job->heads * job->width;
        }
    return TAMIS_OK;
}

/* Cut rows store their parts in memory allocated for this call. */
static tamis_status attend_in_parts(pass *p) {
    tamis_status status = TAMIS_OK;
    const int64_t numbers = p->job->pass == TAMIS_ATTENTION_FORWARD ? p->job->width + 2 : 2 * p->job->width + 1;
    const int64_t count = tamis_times(p->cuts->pieces, tamis_times(p->job->heads, numbers));
    void *memory = NULL;
    TRY(tamis_gpu_allocate(p->device, p->job->stream, tamis_bytes(count, tamis_gpu_real_size(p->job->type)),
                           "parts of long rows", &memory));
    p->partials = (tamis_place){memory, 0};
    TRY_GOTO(done, launch(p));
    TRY_GOTO(done, merge_all(p));
done:
    tamis_gpu_release(p->device, p->job->stream, memory);
    return status;
}

static tamis_status attend(const tamis_attention_job *given) {
    enum { BUSY = 1 << 18 }; /* entries */
    if (!writes(given)) return TAMIS_OK;
    const tamis_attention_job job = given->width ? *given : without_width(given);
    const bool only_long = job.order.nnz > BUSY;
    pass p = {.job = &job, .device = job.device, .cuts = tamis_gpu_message_cuts(&job.order, only_long)};
    choose(&p);
    return p.cuts->pieces > 0 ? attend_in_parts(&p) : launch(&p);
}

const tamis_attention_functions tamis_gpu_attention_functions = {.attend = attend, .segment = tamis_gpu_segment};
