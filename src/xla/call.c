/* Reads a frame: attributes by name, buffers by their place. Nothing in it is trusted: what XLA has compiled may come
   from another version of the Python package. */
#include "xla/call.h"
#include "base/edges.h"
#include "base/status.h"
#include <string.h>

/* ---------------------------------------------------------------------------------------------- attributes */

static const xla_scalar *scalar(const xla_attributes *attributes, const char *name, int type) {
    for (int64_t i = 0; i < attributes->count; i++)
        if (attributes->kinds[i] == XLA_SCALAR && attributes->names[i]->length == strlen(name) &&
            memcmp(attributes->names[i]->data, name, strlen(name)) == 0) {
            const xla_scalar *found = attributes->values[i];
            return found->type == type ? found : NULL;
        }
    return NULL;
}

static tamis_status integer(const xla_frame *frame, const char *name, int64_t least, int64_t most, int64_t *value) {
    const xla_scalar *found = scalar(&frame->attributes, name, XLA_S64);
    if (!found) return tamis_fail(TAMIS_ERROR_ARGUMENT, "the call has no attribute %s of 64 bits", name);
    *value = *(const int64_t *)found->value;
    if (*value < least || *value > most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = %lld: expected %lld to %lld", name, (long long)*value,
                          (long long)least, (long long)most);
    return TAMIS_OK;
}

static tamis_status real(const xla_frame *frame, const char *name, double *value) {
    const xla_scalar *found = scalar(&frame->attributes, name, XLA_F64);
    if (!found) return tamis_fail(TAMIS_ERROR_ARGUMENT, "the call has no attribute %s of fp64", name);
    *value = *(const double *)found->value;
    return TAMIS_OK;
}

/* ---------------------------------------------------------------------------------------------- buffers */

/* Where in a frame's buffers reading is. */
typedef struct reader {
    const xla_buffers *buffers;
    int64_t next;
    const char *what; /* "argument", "result" */
} reader;

static tamis_status next_buffer(reader *r, const char *name, int64_t least_rank, const xla_buffer **buffer) {
    if (r->next >= r->buffers->count || r->buffers->kinds[r->next] != XLA_BUFFER)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s: the call has no %s %lld", name, r->what, (long long)r->next);
    *buffer = r->buffers->buffers[r->next++];
    if ((*buffer)->rank < least_rank)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s has %lld dimensions: expected at least %lld", name,
                          (long long)(*buffer)->rank, (long long)least_rank);
    return TAMIS_OK;
}

/* The address of a buffer. XLA has none for a buffer of no elements; the library takes NULL for values that are not
   there. */
static void *address(const xla_buffer *buffer) {
    static double none[8];
    return buffer->data ? buffer->data : none;
}

static tamis_status indices(reader *r, const char *name, tamis_index_type *type, const void **data, int64_t *count) {
    const xla_buffer *b = NULL;
    TRY(next_buffer(r, name, 1, &b));
    for (int64_t i = 0; i + 1 < b->rank; i++)
        if (b->dimensions[i] != 1)
            return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                              "vmap over %s: all members share one pattern; use jax.lax.map for several", name);
    if (b->type != XLA_S32 && b->type != XLA_S64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s have XLA's type %d: expected int32 or int64", name, b->type);
    *type = b->type == XLA_S32 ? TAMIS_I32 : TAMIS_I64;
    *data = address(b);
    *count = b->dimensions[b->rank - 1];
    return TAMIS_OK;
}

static bool type_of(int type, tamis_type *found) {
    static const struct {
        int theirs;
        tamis_type ours;
    } types[] = {{XLA_F32, TAMIS_F32}, {XLA_F64, TAMIS_F64}, {XLA_F16, TAMIS_F16}, {XLA_BF16, TAMIS_BF16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].theirs == type) {
            *found = types[i].ours;
            return true;
        }
    return false;
}

/* A matrix (own = 2), or a vector that is taken for a matrix of one column (own = 1). */
static tamis_status operand(reader *r, const char *name, int own, bool device, call_operand *x, int *leading) {
    const xla_buffer *b = NULL;
    TRY(next_buffer(r, name, own, &b));
    if (b->rank - own > CALL_MOST_LEADING)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s has %lld dimensions: expected at most %d", name,
                          (long long)b->rank, CALL_MOST_LEADING + own);
    const int lead = (int)(b->rank - own);
    if (*leading >= 0 && lead != *leading)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s has %d leading dimensions, the output %d", name, lead, *leading);
    *leading = lead;
    tamis_dense *view = &x->view;
    view->data = address(b);
    view->rows = b->dimensions[lead];
    view->cols = own == 2 ? b->dimensions[lead + 1] : 1;
    view->location = device ? TAMIS_DEVICE : TAMIS_HOST;
    if (!type_of(b->type, &view->type))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s has XLA's type %d: expected fp32, fp64, fp16 or bf16", name,
                          b->type);
    x->size = tamis_type_size(view->type);
    int64_t step = view->rows * view->cols;
    for (int i = lead - 1; i >= 0; i--) {
        x->lengths[i] = b->dimensions[i];
        x->steps[i] = b->dimensions[i] == 1 ? 0 : step;
        step *= b->dimensions[i];
    }
    return TAMIS_OK;
}

/* ---------------------------------------------------------------------------------------------- the batch */

static int all_operands(call *c, call_operand *all[2 * CALL_MOST_OPERANDS + 2]) {
    const int given = c->matrices + (int)c->form.has_values;
    int count = 0;
    all[count++] = &c->output;
    for (int i = 0; i < given; i++) all[count++] = &c->operands[i];
    for (int i = 0; i < given; i++)
        if (c->wanted[i]) all[count++] = &c->gradients[i];
    if (c->form.keep) all[count++] = &c->statistics;
    return count;
}

/* The innermost leading dimensions in which every operand is either full or shared are one batch of the library; the
   others are gone through one by one. */
static tamis_status find_batch(call *c) {
    call_operand *all[2 * CALL_MOST_OPERANDS + 2];
    const int count = all_operands(c, all);
    int64_t batch = 1;
    for (int i = 0; i < c->leading; i++) c->lengths[i] = c->output.lengths[i];
    for (int k = 0; k < count; k++)
        for (int i = 0; i < c->leading; i++)
            if (all[k]->lengths[i] != c->lengths[i] && all[k]->lengths[i] != 1)
                return tamis_fail(TAMIS_ERROR_ARGUMENT,
                                  "a leading dimension is %lld, that of the output %lld: expected the same, or 1",
                                  (long long)all[k]->lengths[i], (long long)c->lengths[i]);
    c->outer = c->leading;
    while (c->outer > 0) {
        const int at = c->outer - 1;
        if (c->lengths[at] > 1) {
            for (int k = 0; k < count && batch > 1; k++)
                if ((all[k]->lengths[at] > 1) != all[k]->in_batch) goto done;
            for (int k = 0; k < count; k++) all[k]->in_batch = all[k]->lengths[at] > 1;
        }
        batch *= c->lengths[at];
        c->outer = at;
    }
done:
    for (int k = 0; k < count; k++) {
        const int64_t elements = all[k]->view.rows * all[k]->view.cols;
        if (all[k]->in_batch) all[k]->view.batch_stride = elements > 0 ? elements : 1;
    }
    c->form.batch = batch;
    return TAMIS_OK;
}

tamis_dense tamis_xla_member(const call *c, const call_operand *x, const int64_t at[CALL_MOST_LEADING]) {
    tamis_dense view = x->view;
    int64_t elements = 0;
    for (int i = 0; i < c->outer; i++) elements += at[i] * x->steps[i];
    view.data = (char *)view.data + (size_t)elements * x->size;
    return view;
}

/* ---------------------------------------------------------------------------------------------- a frame */

static tamis_status read_attributes(const xla_frame *frame, call *c, int64_t *wanted) {
    call_form *f = &c->form;
    TRY(integer(frame, "operation", TAMIS_OP_SDDMM, TAMIS_OP_FUSED, &f->operation));
    TRY(integer(frame, "backward", 0, 1, &f->backward));
    TRY(integer(frame, "edge", TAMIS_EDGE_SCALE, TAMIS_EDGE_COUNT - 1, &f->edge));
    TRY(integer(frame, "math", TAMIS_MATH_EXACT, TAMIS_MATH_TF32, &f->math));
    TRY(integer(frame, "transpose", 0, 1, &f->transpose));
    TRY(integer(frame, "keep", 0, 1, &f->keep));
    TRY(integer(frame, "has_values", 0, 1, &f->has_values));
    TRY(integer(frame, "rows", 0, INT64_MAX, &c->pattern.rows));
    TRY(integer(frame, "cols", 0, INT64_MAX, &c->pattern.cols));
    TRY(integer(frame, "wanted", 0, (1 << CALL_MOST_OPERANDS) - 1, wanted));
    TRY(real(frame, "scale", &f->scale));
    TRY(real(frame, "slope", &f->slope));
    return real(frame, "epsilon", &f->epsilon);
}

/* Argument names of each operation, as the header has them; the output and its gradient are vectors for SDDMM. */
static const struct {
    int matrices;
    const char *names[3], *output;
    int output_own;
} operations[] = {
    [TAMIS_OP_SDDMM] = {2, {"A", "B"}, "P", 1},
    [TAMIS_OP_SPMM] = {1, {"B"}, "C", 2},
    [TAMIS_OP_FUSED] = {3, {"A", "B", "D"}, "E", 2},
};

tamis_status tamis_xla_read(const xla_frame *frame, bool device, call *c) {
    memset(c, 0, sizeof *c);
    int64_t wanted = 0, count = 0;
    TRY(read_attributes(frame, c, &wanted));
    const bool backward = c->form.backward;
    const int own = operations[c->form.operation].output_own;
    const char *output = operations[c->form.operation].output;
    reader arguments = {&frame->arguments, 0, "argument"}, results = {&frame->results, 0, "result"};
    c->leading = -1;
    if (backward)
        TRY(operand(&arguments, "the gradient", own, device, &c->output, &c->leading));
    else
        TRY(operand(&results, output, own, device, &c->output, &c->leading));

    call_pattern *p = &c->pattern;
    TRY(indices(&arguments, "offsets", &p->offset_type, &p->offsets, &count));
    TRY(indices(&arguments, "columns", &p->index_type, &p->columns, &p->nnz));
    if (count - 1 != p->rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "offsets has %lld elements: expected rows + 1 = %lld", (long long)count,
                          (long long)p->rows + 1);
    c->matrices = operations[c->form.operation].matrices;
    for (int i = 0; i < c->matrices; i++)
        TRY(operand(&arguments, operations[c->form.operation].names[i], 2, device, &c->operands[i], &c->leading));
    if (c->form.has_values) TRY(operand(&arguments, "values", 1, device, &c->operands[c->matrices], &c->leading));
    if (c->form.keep)
        TRY(operand(backward ? &arguments : &results, "statistics", 2, device, &c->statistics, &c->leading));
    for (int i = 0; i < c->matrices + (int)c->form.has_values && backward; i++) {
        c->wanted[i] = wanted >> i & 1;
        if (c->wanted[i])
            TRY(operand(&results, "a gradient", i < c->matrices ? 2 : 1, device, &c->gradients[i], &c->leading));
    }
    if (c->form.has_values && c->operands[c->matrices].view.rows != p->nnz)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "values has %lld elements: expected %lld",
                          (long long)c->operands[c->matrices].view.rows, (long long)p->nnz);
    c->form.type = c->operands[0].view.type;
    c->form.inner = c->operands[0].view.cols;
    c->form.width = c->operands[c->matrices - 1].view.cols;
    if (c->form.keep &&
        (c->statistics.view.rows != (c->form.transpose ? p->cols : p->rows) || c->statistics.view.cols != 2 ||
         c->statistics.view.type != (c->form.type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32)))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "statistics has %lld rows and %lld columns",
                          (long long)c->statistics.view.rows, (long long)c->statistics.view.cols);
    for (int i = 0; c->form.keep && i < c->leading; i++) /* the library reads those of each member */
        if (c->statistics.lengths[i] != c->output.lengths[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "a leading dimension of statistics is %lld, that of the output %lld",
                              (long long)c->statistics.lengths[i], (long long)c->output.lengths[i]);
    return find_batch(c);
}
