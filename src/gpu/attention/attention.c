/* Host side of attention*.simt: maps the heads of rows to teams, and passes the arguments of each launch. */
#include "gpu/attention/attention.h"

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/attention/segments.h"
#include "gpu/compile/definitions.h"
#include "gpu/compile/utility.h"
#include "gpu/messages/messages.h"
#include "gpu/messages/order_call.h"

enum { GROUP = 128 };

/* A job, and how its kernel maps heads to lanes. */
typedef struct pass {
    const tamis_attention_job *job;
    tamis_gpu_order_call call;
    int64_t slice; /* elements of a head that a team takes at once */
} pass;

/* ------------------------------------------------------------------------------------------ choosing */

/* True if the matrices are aligned for vectors of `unit` elements: those that are read, or those that are written. The
   results' alignment must not decide how sums are shared out, for an optional result changes no other one's bits. */
static bool fits_unit(const pass *p, int64_t unit, bool results) {
    const tamis_attention_job *const job = p->job;
    const bool forward = job->pass == TAMIS_ATTENTION_FORWARD;
    enum { COUNT = 6 };
    const tamis_matrix none = {.at = {.base = NULL}};
    const tamis_matrix *const read[COUNT] = {&job->q, &job->k,     &job->v,
                                             &job->e, &job->d_out, forward ? &none : &job->out};
    const tamis_matrix *const written[COUNT] = {&job->dq, &job->dk, &job->dv,
                                                &job->de, &none,    forward ? &job->out : &none};
    const size_t size = tamis_type_size(job->type);
    for (size_t i = 0; i < COUNT; i++) {
        const tamis_matrix *const x = results ? written[i] : read[i];
        if (x->at.base && !tamis_gpu_aligned(p->call.device, x, size, (size_t)unit * size)) return false;
    }
    return job->width % unit == 0;
}

/* Lanes of a head: the fewest that give each lane one unit, or two if there are many. Slow compilers get few
   variants. */
static void share_head(pass *p, bool quick) {
    enum { LANES_MOST = 32, LANES_OF_ONE = 16, SLOW_TEAM = 4 };
    tamis_gpu_message_variant *const v = &p->call.variant;
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

/* Entries whose rows are loaded at once: as many as fit in registers, and as rows have, since past a row's end its last
   entry is loaded again. The numbers were measured: lab/notes/messages.md. */
static int32_t loads_of(const pass *p) {
    enum { REGISTERS = 64, FEW = 6, SOME = 12, MANY = 24, MOST = 4 };
    const tamis_attention_job *const job = p->job;
    const bool forward = job->pass == TAMIS_ATTENTION_FORWARD, columns = job->pass == TAMIS_ATTENTION_BACK_COLUMNS;
    const int64_t degree = job->order.nnz / tamis_gpu_max(job->order.rows, 1);
    const int64_t reals = p->call.variant.units * p->call.variant.unit, matrices = columns ? 2 : 3;
    const int64_t room = forward && job->type == TAMIS_F16 ? REGISTERS * 3 / 2 : REGISTERS;
    int32_t loads = degree < FEW || (degree < SOME && !columns && job->type != TAMIS_BF16) ? 1
                    : degree < MANY                                                        ? 2
                                                                                           : MOST;
    while (loads > 1 && loads * matrices * reals * (int64_t)(tamis_gpu_real_size(job->type) / 4) > room) loads /= 2;
    return loads;
}

static void choose(pass *p) {
    static const tamis_gpu_message_kernel kernels[] = {[TAMIS_ATTENTION_FORWARD] = TAMIS_ATTENTION_KERNEL,
                                                       [TAMIS_ATTENTION_BACK_ROWS] = TAMIS_ATTENTION_ROWS_KERNEL,
                                                       [TAMIS_ATTENTION_BACK_COLUMNS] = TAMIS_ATTENTION_COLUMNS_KERNEL};
    const tamis_attention_job *const job = p->job;
    const bool quick = p->call.device->limits.subgroup == 32;
    const int64_t near = INT32_MAX / (int64_t)tamis_type_size(job->type);
    tamis_gpu_message_variant *const v = &p->call.variant;
    v->kernel = (int32_t)kernels[job->pass];
    v->element = tamis_gpu_element(job->type);
    v->index = tamis_gpu_index_bits(job->order.column_type);
    v->offset = tamis_gpu_index_bits(job->order.offset_type);
    share_head(p, quick);
    v->loads = quick ? loads_of(p) : 4;
    v->near = job->q.stride <= near && job->k.stride <= near && job->v.stride <= near && job->d_out.stride <= near;
    v->permuted = quick ? job->order.entries != NULL : -1;
    v->ordered = quick ? p->call.cuts->order != NULL : -1;
    v->has_e = quick ? job->e.at.base != NULL : -1;
}

/* ------------------------------------------------------------------------------------------ launching */

static void add_optional(const pass *p, tamis_gpu_list *to, const char *name, const char *stride, const char *has,
                         const tamis_matrix *x) {
    tamis_gpu_list_matrix(to, &p->call, name, stride, x);
    tamis_gpu_list_add(to, tamis_gpu_integer(has, x->at.base != NULL));
}

static void add_order(const pass *p, tamis_gpu_list *to) {
    const tamis_attention_job *const job = p->job;
    tamis_gpu_list_rows(to, &p->call);
    tamis_gpu_list_array(to, &p->call, "columns", job->order.columns);
    tamis_gpu_list_add(to, tamis_gpu_integer("heads", job->heads));
    tamis_gpu_list_add(to, tamis_gpu_integer("width", job->width));
    tamis_gpu_list_add(to, tamis_gpu_integer("slice", p->slice));
    tamis_gpu_list_add(to, tamis_gpu_real("scale", job->scale));
    tamis_gpu_list_place(to, &p->call, "partials", p->call.parts);
    tamis_gpu_list_matrix(to, &p->call, "q", "q_stride", &job->q);
}

static void add_inputs(const pass *p, tamis_gpu_list *to) {
    const tamis_attention_job *const job = p->job;
    tamis_gpu_list_matrix(to, &p->call, "k", "k_stride", &job->k);
    tamis_gpu_list_matrix(to, &p->call, "v", "v_stride", &job->v);
    add_optional(p, to, "e", "e_stride", "has_e", &job->e);
    add_optional(p, to, "b", "b_stride", "has_b", &job->b);
    tamis_gpu_list_matrix(to, &p->call, "out", "out_stride", &job->out);
    tamis_gpu_list_matrix(to, &p->call, "log_sums", "log_sums_stride", &job->log_sums);
}

static void add_gradients(const pass *p, tamis_gpu_list *to) {
    const tamis_attention_job *const job = p->job;
    tamis_gpu_list_matrix(to, &p->call, "d_out", "d_out_stride", &job->d_out);
    tamis_gpu_list_place(to, &p->call, "weights", job->weights);
    if (job->pass == TAMIS_ATTENTION_BACK_COLUMNS) {
        add_optional(p, to, "dk", "dk_stride", "has_dk", &job->dk);
        add_optional(p, to, "dv", "dv_stride", "has_dv", &job->dv);
        return;
    }
    add_optional(p, to, "dq", "dq_stride", "has_dq", &job->dq);
    add_optional(p, to, "de", "de_stride", "has_de", &job->de);
    add_optional(p, to, "db", "db_stride", "has_db", &job->db);
    tamis_gpu_list_add(to, tamis_gpu_integer("has_weights", job->weights.base != NULL));
}

static tamis_status check(const pass *p, int64_t slices) {
    TRY(tamis_gpu_check_type(p->call.device, p->job->type));
    if (slices <= p->call.device->limits.groups_most[1] &&
        p->job->heads <= INT32_MAX / tamis_gpu_max(p->job->width, 1) / 2)
        return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                      "heads = %lld, width = %lld: %s takes up to %lld slices of %lld elements",
                      (long long)p->job->heads, (long long)p->job->width, p->call.device->limits.name,
                      (long long)p->call.device->limits.groups_most[1], (long long)p->slice);
}

/* Without a width the kernels still load something, and ignore it: log_sums, which is aligned. */
static tamis_attention_job without_width(const tamis_attention_job *job) {
    const tamis_matrix any = {.at = job->log_sums.at}, none = {.at = {.base = NULL}};
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
    tamis_gpu_list arguments = {.count = 0};
    const int64_t slices = tamis_gpu_max(tamis_gpu_ceiling(job->width, p->slice), 1);
    TRY(check(p, slices));
    add_order(p, &arguments);
    if (job->pass != TAMIS_ATTENTION_BACK_COLUMNS) add_inputs(p, &arguments);
    if (job->pass == TAMIS_ATTENTION_FORWARD)
        tamis_gpu_list_add(&arguments, tamis_gpu_integer("has_log_sums", job->log_sums.at.base != NULL));
    else
        add_gradients(p, &arguments);
    return tamis_gpu_order_launch(&p->call, &p->call.variant, (job->order.rows + p->call.cuts->pieces) * job->heads,
                                  slices, &arguments);
}

/* Joins the partial results of cut rows, which begin `before` reals into `partials`. */
static tamis_status merge(const pass *p, const tamis_matrix *out, int64_t before) {
    const tamis_attention_job *const job = p->job;
    const bool softmax = job->pass == TAMIS_ATTENTION_FORWARD;
    tamis_gpu_merge to = {.kind = softmax ? TAMIS_MERGE_SOFTMAX : TAMIS_MERGE_SUM,
                          .heads = job->heads,
                          .width = job->width,
                          .before = before,
                          .factor = 1,
                          .out = out->at,
                          .out_row = out->stride,
                          .out_head = job->width};
    if (softmax) to.log_sums = job->log_sums;
    return tamis_gpu_order_merge(&p->call, &to);
}

static tamis_status merge_all(const pass *p) {
    const tamis_attention_job *const job = p->job;
    const tamis_matrix *const outs[] = {&job->out, &job->dq, &job->dk, &job->dv};
    const int first = job->pass == TAMIS_ATTENTION_FORWARD ? 0 : job->pass == TAMIS_ATTENTION_BACK_ROWS ? 1 : 2;
    const int last = job->pass == TAMIS_ATTENTION_BACK_COLUMNS ? 3 : first;
    int64_t before = 0;
    for (int i = first; i <= last; i++)
        if (outs[i]->at.base) {
            TRY(merge(p, outs[i], before));
            before += p->call.cuts->pieces * job->heads * job->width;
        }
    return TAMIS_OK;
}

static tamis_status run_and_merge(void *of) {
    pass *const p = of;
    TRY(launch(p));
    return merge_all(p);
}

static tamis_status attend(const tamis_attention_job *given) {
    enum { BUSY = 1 << 18 }; /* entries */
    if (!writes(given)) return TAMIS_OK;
    const tamis_attention_job job = given->width ? *given : without_width(given);
    const int64_t row = job.heads * job.width * (int64_t)tamis_type_size(job.type);
    pass p = {.job = &job,
              .call = {.device = job.device,
                       .stream = job.stream,
                       .order = &job.order,
                       .cuts = tamis_gpu_message_cuts(job.device, &job.order, job.order.nnz > BUSY, row)}};
    choose(&p);
    if (p.call.cuts->pieces == 0) return launch(&p);
    const int64_t numbers = job.pass == TAMIS_ATTENTION_FORWARD ? job.width + 2 : 2 * job.width + 1;
    const int64_t count = tamis_times(p.call.cuts->pieces, tamis_times(job.heads, numbers));
    return tamis_gpu_order_in_parts(&p.call, tamis_bytes(count, tamis_gpu_real_size(job.type)), 0, run_and_merge, &p);
}

const tamis_attention_functions tamis_gpu_attention_functions = {.attend = attend, .segment = tamis_gpu_segment};
