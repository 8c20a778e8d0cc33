/* Attention on graphs, and segments: checks, and the passes of each call. */
#include "base/reserved.h"
#include "base/status.h"
#include "core/message.h"
#include "sparse/check.h"

static tamis_status check_device(const tamis_graph *g, bool segments) {
    const tamis_attention_functions *const functions = g->device->backend->attention;
    if (functions && (!segments || functions->segment)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "device = %s: it has no %s; open \"cpu\" and copy the graph there",
                      g->device->description.name, segments ? "segments" : "graph attention");
}

static tamis_type type_of_sums(tamis_type type) { return type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32; }

/* ------------------------------------------------------------------------------------------ attention */

static tamis_status read_attention(const tamis_graph_attention_options *options,
                                   const tamis_graph_attention_matrices *matrices, tamis_graph_attention_options *o) {
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the sizes, the type and the scale");
    if (!matrices) return tamis_fail(TAMIS_ERROR_ARGUMENT, "matrices = NULL: expected Q, K and V");
    *o = *options;
    TRY(TAMIS_RESERVED(o, "options"));
    TRY(TAMIS_RESERVED(matrices, "matrices"));
    return tamis_message_check_sizes(o->type, &o->heads, o->width);
}

/* The matrices of both calls; q to b are inputs. */
enum { Q, K, V, E, B, OUT, LOG_SUMS, D_OUT, DQ, DK, DV, DE, DB, MATRICES };

typedef struct call {
    tamis_graph_attention_options o;
    tamis_operand of[MATRICES];
} call;

static void place(call *c, const tamis_graph *g, int which, const char *name, const tamis_dense *view, bool output) {
    const int64_t all = c->o.heads * c->o.width;
    const bool edges = which == E || which == B || which == DE || which == DB;
    const bool columns = which == K || which == V || which == DK || which == DV;
    const bool narrow = which == B || which == DB || which == LOG_SUMS;
    c->of[which] =
        (tamis_operand){.name = name,
                        .view = view,
                        .rows = edges     ? g->rows.nnz
                                : columns ? g->rows.cols
                                          : g->rows.rows,
                        .cols = narrow ? c->o.heads : all,
                        .type = which == LOG_SUMS ? type_of_sums(c->o.type) : c->o.type,
                        .why = which == OUT || which == LOG_SUMS ? "the forward call writes" : "the call reads",
                        .output = output,
                        .rows_only = true};
}

/* Places the inputs, from Q on, or their gradients, from DQ on. */
static void place_all(call *c, const tamis_graph *g, int first, const char *const names[],
                      const tamis_graph_attention_matrices *given) {
    const tamis_dense *const views[] = {given->Q, given->K, given->V, given->E, given->B};
    for (int i = 0; i < 5; i++) place(c, g, first + i, names[i], views[i], first == DQ);
}

static const char *const input_names[] = {"Q", "K", "V", "E", "B"};
static const char *const gradient_names[] = {"dQ", "dK", "dV", "dE", "dB"};

static tamis_status check_matrices(const tamis_graph *g, call *c) {
    const tamis_operand *all[MATRICES];
    for (int i = 0; i < MATRICES; i++) {
        const bool needed = i < E || i == OUT || ((i == D_OUT || i == LOG_SUMS) && c->of[D_OUT].name);
        c->of[i].optional = !needed;
        all[i] = &c->of[i];
    }
    return tamis_operands_check(g->device, all, MATRICES);
}

static tamis_attention_job job_of(const tamis_graph *g, void *stream, tamis_attention_pass pass, const call *c) {
    return (tamis_attention_job){.device = g->device->handle,
                                 .stream = stream,
                                 .threads = tamis_message_threads(g),
                                 .pass = pass,
                                 .type = c->o.type,
                                 .order = pass == TAMIS_ATTENTION_BACK_COLUMNS ? g->columns : g->rows,
                                 .heads = c->o.heads,
                                 .width = c->o.width,
                                 .scale = c->o.scale,
                                 .q = tamis_matrix_of(c->of[Q].view),
                                 .k = tamis_matrix_of(c->of[K].view),
                                 .v = tamis_matrix_of(c->of[V].view),
                                 .e = tamis_matrix_of(c->of[E].view),
                                 .b = tamis_matrix_of(c->of[B].view),
                                 .out = tamis_matrix_of(c->of[OUT].view),
                                 .log_sums = tamis_matrix_of(c->of[LOG_SUMS].view),
                                 .d_out = tamis_matrix_of(c->of[D_OUT].view),
                                 .dq = tamis_matrix_of(c->of[DQ].view),
                                 .dk = tamis_matrix_of(c->of[DK].view),
                                 .dv = tamis_matrix_of(c->of[DV].view),
                                 .de = tamis_matrix_of(c->of[DE].view),
                                 .db = tamis_matrix_of(c->of[DB].view)};
}

/* Runs a pass. Without heads nothing is written; without width there are still the sums of scores. */
static tamis_status attend(const tamis_graph *g, const tamis_attention_job *job) {
    const bool empty = job->order.rows == 0 || (job->width == 0 && !job->log_sums.at.base);
    return empty ? TAMIS_OK : g->device->backend->attention->attend(job);
}

tamis_status tamis_graph_attention(const tamis_graph *graph, const tamis_graph_attention_options *options,
                                   const tamis_graph_attention_matrices *matrices, const tamis_dense *out,
                                   const tamis_dense *log_sums, void *stream) {
    call c = {.of = {{.name = NULL}}};
    tamis_clear_error();
    TRY(tamis_message_check_graph(graph, stream));
    TRY(check_device(graph, false));
    TRY(read_attention(options, matrices, &c.o));
    place_all(&c, graph, Q, input_names, matrices);
    place(&c, graph, OUT, "out", out, true);
    place(&c, graph, LOG_SUMS, "log_sums", log_sums, true);
    TRY(check_matrices(graph, &c));
    const tamis_attention_job job = job_of(graph, stream, TAMIS_ATTENTION_FORWARD, &c);
    return attend(graph, &job);
}

static tamis_status workspace_bytes(const tamis_graph *g, const tamis_graph_attention_options *o, size_t *bytes) {
    const size_t element = o->type == TAMIS_F64 ? 8 : 4;
    if (!__builtin_mul_overflow((size_t)g->rows.nnz, 2 * element, bytes) &&
        !__builtin_mul_overflow(*bytes, (size_t)o->heads, bytes))
        return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "options.heads = %lld: the workspace for %lld entries does not fit 64 bits",
                      (long long)o->heads, (long long)g->rows.nnz);
}

tamis_status tamis_graph_attention_workspace_size(const tamis_graph *graph,
                                                  const tamis_graph_attention_options *options, size_t *bytes) {
    const tamis_graph_attention_matrices none = {.Q = NULL};
    tamis_graph_attention_options o;
    tamis_clear_error();
    if (!bytes) return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = NULL: expected an address for the result");
    TRY(tamis_message_check_graph(graph, NULL));
    TRY(read_attention(options, &none, &o));
    return workspace_bytes(graph, &o, bytes);
}

static tamis_status check_workspace(const tamis_graph *g, const call *c, const void *workspace) {
    size_t bytes;
    TRY(workspace_bytes(g, &c->o, &bytes));
    if (!workspace && bytes && (c->of[DK].view || c->of[DV].view))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace = NULL: expected %zu bytes for the gradients of K and V",
                          bytes);
    if ((uintptr_t)workspace % 16)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace = %p is not aligned to 16 bytes", workspace);
    return TAMIS_OK;
}

tamis_status tamis_graph_attention_backward(const tamis_graph *graph, const tamis_graph_attention_options *options,
                                            const tamis_graph_attention_matrices *matrices, const tamis_dense *dOut,
                                            const tamis_dense *out, const tamis_dense *log_sums,
                                            const tamis_graph_attention_matrices *gradients, void *workspace,
                                            void *stream) {
    call c = {.of = {{.name = NULL}}};
    tamis_clear_error();
    TRY(tamis_message_check_graph(graph, stream));
    TRY(check_device(graph, false));
    TRY(tamis_message_check_backward(graph));
    TRY(read_attention(options, matrices, &c.o));
    if (!gradients) return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradients = NULL: expected those that are wanted");
    TRY(TAMIS_RESERVED(gradients, "gradients"));
    if (!matrices->E) TRY(tamis_message_check_unread("dE", gradients->E, "E is NULL"));
    if (!matrices->B) TRY(tamis_message_check_unread("dB", gradients->B, "B is NULL"));
    place_all(&c, graph, Q, input_names, matrices);
    place(&c, graph, OUT, "out", out, false);
    place(&c, graph, LOG_SUMS, "log_sums", log_sums, false);
    place(&c, graph, D_OUT, "dOut", dOut, false);
    place_all(&c, graph, DQ, gradient_names, gradients);
    TRY(check_matrices(graph, &c));
    TRY(check_workspace(graph, &c, workspace));
    const bool columns = gradients->K || gradients->V;
    tamis_attention_job job = job_of(graph, stream, TAMIS_ATTENTION_BACK_ROWS, &c);
    if (columns) job.weights = tamis_place_at(workspace, 0);
    if (columns || gradients->Q || gradients->E || gradients->B) TRY(attend(graph, &job));
    if (!columns) return TAMIS_OK;
    job.pass = TAMIS_ATTENTION_BACK_COLUMNS;
    job.order = graph->columns;
    return attend(graph, &job);
}

/* ------------------------------------------------------------------------------------------ segments */

static bool is_extreme(const tamis_segment_options *o) {
    return o->op == TAMIS_SEGMENT_MAX || o->op == TAMIS_SEGMENT_MIN;
}

static tamis_status read_segment(const tamis_graph *g, const tamis_segment_options *options, tamis_segment_options *o) {
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the operation and the type");
    *o = *options;
    TRY(TAMIS_RESERVED(o, "options"));
    TRY(tamis_message_check_number("op", (int64_t)o->op, TAMIS_SEGMENT_MIN));
    TRY(tamis_message_check_number("order", (int64_t)o->order, TAMIS_ENTRIES_BY_COLUMN));
    TRY(tamis_message_check_number("argument_type", (int64_t)o->argument_type, TAMIS_I64));
    TRY(tamis_message_check_sizes(o->type, &o->heads, 1));
    if (o->order == TAMIS_ENTRIES_BY_COLUMN && !g->column_places)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "options.order = %d, by column: make the graph with "
                          "options.column_places",
                          (int)o->order);
    return is_extreme(o) ? tamis_message_check_argument_type(g, o->argument_type) : TAMIS_OK;
}

/* A matrix of either layout: heads are members of one column. */
static tamis_matrix segment_matrix(const tamis_dense *X) {
    const int64_t stride = tamis_dense_stride(X);
    const bool last = X->layout == TAMIS_ROW_MAJOR;
    return (tamis_matrix){{X->data, 0}, last ? stride : 1, last ? 1 : stride};
}

static tamis_segment_job segment_job(const tamis_graph *g, const tamis_segment_options *o, const void *argument,
                                     void *stream) {
    tamis_segment_job job = {.device = g->device->handle,
                             .stream = stream,
                             .threads = tamis_message_threads(g),
                             .op = o->op,
                             .type = o->type,
                             .order = g->rows,
                             .heads = o->heads,
                             .argument = tamis_place_at(argument, 0),
                             .argument_type = o->argument_type};
    if (o->order == TAMIS_ENTRIES_BY_ROW) job.order.entries = NULL;
    if (o->order == TAMIS_ENTRIES_BY_COLUMN) job.order.entries = g->column_places;
    return job;
}

static tamis_status run_segments(const tamis_graph *g, const tamis_segment_job *job) {
    const bool empty = job->order.rows == 0 || (job->order.nnz == 0 && (job->back || job->op == TAMIS_SEGMENT_SOFTMAX));
    return empty ? TAMIS_OK : g->device->backend->attention->segment(job);
}

tamis_status tamis_segment(const tamis_graph *graph, const tamis_segment_options *options, const tamis_dense *X,
                           const tamis_dense *out, void *argument, void *stream) {
    tamis_segment_options o;
    tamis_clear_error();
    TRY(tamis_message_check_graph(graph, stream));
    TRY(check_device(graph, true));
    TRY(read_segment(graph, options, &o));
    const int64_t nnz = graph->rows.nnz;
    const int64_t rows = o.op == TAMIS_SEGMENT_SOFTMAX ? nnz : graph->rows.rows;
    const tamis_operand x = {"X", X, nnz, o.heads, .type = o.type, .why = "the call uses"};
    const tamis_operand result = {"out", out, rows, o.heads, .type = o.type, .why = "the call uses", .output = true};
    TRY(tamis_operands_check(graph->device, (const tamis_operand *const[]){&x, &result}, 2));
    TRY(tamis_message_check_argument(argument, o.argument_type, is_extreme(&o), false));
    tamis_segment_job job = segment_job(graph, &o, argument, stream);
    job.x = segment_matrix(X);
    job.out = segment_matrix(out);
    return run_segments(graph, &job);
}

tamis_status tamis_segment_backward(const tamis_graph *graph, const tamis_segment_options *options,
                                    const tamis_dense *dOut, const tamis_dense *Y, const void *argument,
                                    const tamis_dense *dX, void *stream) {
    tamis_segment_options o;
    tamis_clear_error();
    TRY(tamis_message_check_graph(graph, stream));
    TRY(check_device(graph, true));
    TRY(read_segment(graph, options, &o));
    const int64_t nnz = graph->rows.nnz;
    const bool softmax = o.op == TAMIS_SEGMENT_SOFTMAX;
    const tamis_operand d_out = {"dOut", dOut, softmax ? nnz : graph->rows.rows, o.heads, .type = o.type};
    const tamis_operand y = {"Y", Y, nnz, o.heads, .type = o.type, .optional = !softmax};
    const tamis_operand d_x = {"dX", dX, nnz, o.heads, .type = o.type, .output = true};
    if (!softmax) TRY(tamis_message_check_unread("Y", Y, "only softmax reads its result"));
    TRY(tamis_operands_check(graph->device, (const tamis_operand *const[]){&d_out, &d_x, &y}, 3));
    TRY(tamis_message_check_argument(argument, o.argument_type, is_extreme(&o), graph->rows.rows > 0));
    tamis_segment_job job = segment_job(graph, &o, argument, stream);
    job.back = true;
    job.d_out = segment_matrix(dOut);
    job.out = segment_matrix(dX);
    if (softmax) job.x = segment_matrix(Y);
    return run_segments(graph, &job);
}
