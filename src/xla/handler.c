#include "xla/handler.h"
#include "base/status.h"
#include "xla/kept.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 64 };

static tamis_device *cpu;
static int version = XLA_MINOR;
static tamis_device *cuda[MOST_DEVICES]; /* opened at their first call, for the life of the process */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tamis_xla_start(tamis_device *device, int minor) {
    cpu = device;
    version = minor < XLA_MINOR ? minor : XLA_MINOR;
}

/* ---------------------------------------------------------------------------------------------- XLA's side */

static xla_error *error_of(const xla_frame *frame, tamis_status status) {
    if (status == TAMIS_OK) return NULL;
    int code = XLA_INTERNAL;
    if (status == TAMIS_ERROR_ARGUMENT || status == TAMIS_ERROR_PATTERN || status == TAMIS_ERROR_OVERFLOW)
        code = XLA_INVALID_ARGUMENT;
    else if (status == TAMIS_ERROR_MEMORY)
        code = XLA_RESOURCE_EXHAUSTED;
    else if (status == TAMIS_ERROR_UNSUPPORTED)
        code = XLA_UNIMPLEMENTED;
    xla_error_arguments arguments = {sizeof arguments, NULL, tamis_last_error(), code};
    return frame->functions->create_error(&arguments);
}

/* Answers a call that asks what the handler is; true if it did. */
static bool describes(const xla_frame *frame) {
    if (!frame->extensions || frame->extensions->kind != XLA_EXTENSION_METADATA) return false;
    xla_metadata *metadata = ((const xla_metadata_extension *)(const void *)frame->extensions)->metadata;
    metadata->version.struct_size = sizeof metadata->version;
    metadata->version.extensions = NULL;
    metadata->version.major = XLA_MAJOR;
    metadata->version.minor = version;
    metadata->traits = 0;
    if (metadata->struct_size >= offsetof(xla_metadata, state_type) + sizeof metadata->state_type)
        metadata->state_type = 0;
    return true;
}

/* An error that XLA hands out becomes the library's. */
static tamis_status taken(const xla_frame *frame, xla_error *error, const char *what) {
    if (!error) return TAMIS_OK;
    xla_destroy_arguments arguments = {sizeof arguments, NULL, error};
    frame->functions->destroy_error(&arguments);
    return tamis_fail(TAMIS_ERROR_DEVICE, "XLA does not give %s", what);
}

/* The stream of the call, and the number of its GPU. */
static tamis_status where(const xla_frame *frame, void **stream, int32_t *ordinal) {
    xla_stream_arguments s = {sizeof s, NULL, frame->context, NULL};
    TRY(taken(frame, frame->functions->get_stream(&s), "the stream of the call"));
    *stream = s.stream;
    xla_ordinal_arguments o = {sizeof o, NULL, frame->context, 0};
    if (frame->functions->struct_size < sizeof *frame->functions)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "this version of XLA does not say which GPU a call is for: use a newer jaxlib");
    TRY(taken(frame, frame->functions->get_ordinal(&o), "the number of the GPU"));
    *ordinal = o.ordinal;
    return TAMIS_OK;
}

static tamis_status cuda_device(int32_t ordinal, tamis_device **device) {
    if (ordinal < 0 || ordinal >= MOST_DEVICES)
        return tamis_fail(TAMIS_ERROR_DEVICE, "GPU %d: expected 0 to %d", (int)ordinal, MOST_DEVICES - 1);
    char name[32];
    snprintf(name, sizeof name, "cuda:%d", (int)ordinal);
    pthread_mutex_lock(&lock);
    const tamis_status status = cuda[ordinal] ? TAMIS_OK : tamis_device_open(name, &cuda[ordinal]);
    pthread_mutex_unlock(&lock);
    *device = cuda[ordinal];
    return status;
}

/* ---------------------------------------------------------------------------------------------- the library's side */

/* The operands of one member of the outer dimensions. */
typedef struct member {
    tamis_dense output, operands[3], gradients[CALL_MOST_OPERANDS];
    tamis_execution execution;
} member;

static member member_of(const call *c, const int64_t at[CALL_MOST_LEADING], void *stream) {
    member m = {.output = tamis_xla_member(c, &c->output, at), .execution = TAMIS_EXECUTION_INIT};
    for (int i = 0; i < c->matrices; i++) m.operands[i] = tamis_xla_member(c, &c->operands[i], at);
    for (int i = 0; i < CALL_MOST_OPERANDS; i++)
        if (c->wanted[i]) m.gradients[i] = tamis_xla_member(c, &c->gradients[i], at);
    m.execution.stream = stream;
    if (c->form.has_values) {
        const tamis_dense values = tamis_xla_member(c, &c->operands[c->matrices], at);
        m.execution.values = values.data;
        m.execution.values_stride = values.batch_stride;
    }
    if (c->form.keep) m.execution.softmax_rows = tamis_xla_member(c, &c->statistics, at).data;
    return m;
}

static tamis_status forward(const tamis_plan *plan, const call *c, const member *m) {
    const tamis_dense *x = m->operands;
    switch (c->form.operation) {
    case TAMIS_OP_SDDMM: return tamis_plan_sddmm(plan, &x[0], &x[1], &m->output, &m->execution);
    case TAMIS_OP_SPMM: return tamis_plan_spmm(plan, &x[0], &m->output, &m->execution);
    default: return tamis_plan_fused(plan, &x[0], &x[1], &x[2], &m->output, &m->execution);
    }
}

static tamis_status backward(const tamis_gradient *gradient, const call *c, const member *m) {
    const tamis_dense *x = m->operands, *d[CALL_MOST_OPERANDS];
    for (int i = 0; i < CALL_MOST_OPERANDS; i++) d[i] = c->wanted[i] ? &m->gradients[i] : NULL;
    switch (c->form.operation) {
    case TAMIS_OP_SDDMM:
        return tamis_sddmm_backward(gradient, &m->output, &x[0], &x[1], d[0], d[1], d[2], &m->execution);
    case TAMIS_OP_SPMM: return tamis_spmm_backward(gradient, &m->output, &x[0], d[0], d[1], &m->execution);
    default:
        return tamis_fused_backward(gradient, &m->output, &x[0], &x[1], &x[2], d[0], d[1], d[2], d[3], &m->execution);
    }
}

/* Calls for each member of the outer dimensions: mostly there are none, and one call. */
static tamis_status all_members(const call *c, const tamis_plan *plan, const tamis_gradient *gradient, void *stream) {
    int64_t at[CALL_MOST_LEADING] = {0}, members = 1;
    for (int i = 0; i < c->outer; i++) members *= c->lengths[i];
    for (int64_t number = 0; number < members; number++) {
        const member m = member_of(c, at, stream);
        TRY(gradient ? backward(gradient, c, &m) : forward(plan, c, &m));
        for (int i = c->outer - 1; i >= 0 && ++at[i] == c->lengths[i]; i--) at[i] = 0;
    }
    return TAMIS_OK;
}

static tamis_status on_cpu(const call *c) {
    kept_pattern *pattern = NULL;
    const kept_plan *plan = NULL;
    TRY(tamis_xla_keep(cpu, c, &pattern, &plan));
    const tamis_status status = all_members(c, plan->plan, plan->gradient, NULL);
    tamis_xla_let_go(pattern);
    return status;
}

/* The content of arrays on a GPU cannot be compared here, so plans are made for one call, in the call's stream. */
static tamis_status on_cuda(const xla_frame *frame, const call *c) {
    tamis_device *device = NULL;
    tamis_plan *plan = NULL;
    tamis_gradient *gradient = NULL;
    void *stream = NULL;
    int32_t ordinal = 0;
    TRY(where(frame, &stream, &ordinal));
    TRY(cuda_device(ordinal, &device));
    const tamis_sparse S = tamis_xla_sparse(c);
    tamis_options options = tamis_xla_options(c);
    options.stream = stream;
    TRY(c->form.backward ? tamis_gradient_create(device, &S, &options, &gradient)
                         : tamis_plan_create(device, &S, &options, &plan));
    const tamis_status status = all_members(c, plan, gradient, stream);
    if (plan) tamis_plan_destroy_async(plan, stream);
    if (gradient) tamis_gradient_destroy_async(gradient, stream);
    return status;
}

static xla_error *handle(xla_frame *frame, bool device) {
    if (describes(frame) || frame->stage != XLA_EXECUTE) return NULL;
    call c;
    tamis_status status = tamis_xla_read(frame, device, &c);
    if (status == TAMIS_OK) status = device ? on_cuda(frame, &c) : on_cpu(&c);
    return error_of(frame, status);
}

xla_error *tamis_xla_cpu(xla_frame *frame) { return handle(frame, false); }
xla_error *tamis_xla_cuda(xla_frame *frame) { return handle(frame, true); }
