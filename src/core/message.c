/*
 * Message passing: checks, and the passes of each call. Gradients are passes of the same kinds: by U over the columns,
 * by V over the rows, by E over the entries.
 */
#include "core/message.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "sparse/check.h"

/* ------------------------------------------------------------------------------------------ graphs */

static tamis_message_order order_of(const tamis_sparse *S, bool transpose, const tamis_row_order *order) {
    return (tamis_message_order){.rows = transpose ? S->cols : S->rows,
                                 .cols = transpose ? S->rows : S->cols,
                                 .nnz = S->nnz,
                                 .offset_type = order->offset_type,
                                 .column_type = S->index_type,
                                 .offsets = order->offsets,
                                 .columns = order->columns,
                                 .entries = order->permutation,
                                 .over_entries = !transpose};
}

static tamis_status prepare(const tamis_device *device, void *stream, tamis_message_order *order) {
    const tamis_message_functions *const messages = device->backend->messages;
    return messages->prepare ? messages->prepare(device->handle, stream, order, &order->plan) : TAMIS_OK;
}

static tamis_status make(tamis_graph *g, const tamis_sparse *S, const tamis_graph_options *options) {
    const tamis_backend *const backend = g->device->backend;
    const int threads = options->threads ? options->threads : g->device->description.threads;
    tamis_problem problem = {.device = g->device->handle, .threads = threads, .stream = options->stream};
    g->threads = options->threads;
    g->forward_only = options->forward_only;
    problem.unchecked = !options->trust_input && S->format == TAMIS_COO && backend->checks_while_profiling;
    if (!options->trust_input && !problem.unchecked)
        TRY(backend->validate(g->device->handle, options->stream, threads, S));
    if (S->format == TAMIS_CSR && S->offset_base == 0) {
        const tamis_row_order as_it_is = {.offset_type = S->offset_type};
        g->rows = order_of(S, false, &as_it_is);
        g->rows.offsets = S->offsets;
        g->rows.columns = S->columns;
    } else {
        TRY(backend->order_rows(&problem, S, false, &g->row_order));
        problem.unchecked = false;
        problem.columns_rise = g->row_order.columns_rise;
        g->rows = order_of(S, false, &g->row_order);
    }
    TRY(prepare(g->device, options->stream, &g->rows));
    if (!options->forward_only) {
        TRY(backend->order_rows(&problem, S, true, &g->column_order));
        g->columns = order_of(S, true, &g->column_order);
        TRY(prepare(g->device, options->stream, &g->columns));
    }
    if (options->column_places)
        TRY(backend->attention->column_places(&problem, &g->rows, &g->columns, &g->column_places));
    return backend->finish(g->device->handle, options->stream); /* any stream may use it */
}

static void release_order(const tamis_device *device, const tamis_row_order *order, void *plan) {
    if (plan) device->backend->messages->release(device->handle, plan);
    tamis_row_order_release(device, TAMIS_ALL_STREAMS, order);
}

void tamis_graph_destroy(tamis_graph *graph) {
    if (!graph) return;
    tamis_graph_passes_release(atomic_load(&graph->planned));
    release_order(graph->device, &graph->row_order, graph->rows.plan);
    release_order(graph->device, &graph->column_order, graph->columns.plan);
    graph->device->backend->release_memory(graph->device->handle, TAMIS_ALL_STREAMS, graph->column_places);
    tamis_release(graph);
}

tamis_status tamis_graph_create(tamis_device *device, const tamis_sparse *S, const tamis_graph_options *options,
                                tamis_graph **graph) {
    const tamis_graph_options defaults = {.threads = 0};
    const tamis_graph_options *const given = options ? options : &defaults;
    tamis_status status = TAMIS_OK;
    tamis_graph *made = NULL;
    tamis_clear_error();
    if (!graph) return tamis_fail(TAMIS_ERROR_ARGUMENT, "graph = NULL: expected an address for the result");
    *graph = NULL;
    TRY(tamis_device_check_stream(device, given->stream));
    TRY(TAMIS_RESERVED(given, "options"));
    if (given->threads < 0 || given->threads > 1024)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.threads = %d is not in 0 .. 1024", given->threads);
    if (given->column_places && given->forward_only)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.column_places and forward_only are set: expected one of them");
    if (given->column_places && !(device->backend->attention && device->backend->attention->column_places))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.column_places = true: %s takes no edge values in the order of columns; expected "
                          "false, or the device \"cpu\"",
                          device->description.name);
    TRY(tamis_sparse_check(S, "S"));
    TRY(tamis_device_check_location(device, S->location, "S"));
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a graph", (void **)&made));
    made->device = device;
    TRY_GOTO(failed, make(made, S, given));
    *graph = made;
    return TAMIS_OK;
failed:
    tamis_graph_destroy(made);
    return status;
}

/* ------------------------------------------------------------------------------------------ checks */

tamis_status tamis_message_check_graph(const tamis_graph *graph, const void *stream) {
    if (!graph) return tamis_fail(TAMIS_ERROR_ARGUMENT, "graph = NULL: make one with tamis_graph_create");
    return tamis_device_check_stream(graph->device, stream);
}

tamis_status tamis_message_check_backward(const tamis_graph *graph) {
    if (!graph->forward_only) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "graph was made with options.forward_only: it has no order of columns, "
                                            "which gradients need");
}

tamis_status tamis_message_check_number(const char *name, int64_t value, int64_t most) {
    return tamis_ranges_check("options", &(tamis_range){name, value, 0, most}, 1);
}

/* Checks the type and the sizes common to both kinds of options; heads = 0 becomes 1. */
tamis_status tamis_message_check_sizes(tamis_type type, int64_t *heads, int64_t width) {
    int64_t all;
    TRY(tamis_message_check_number("type", (int64_t)type, TAMIS_BF16));
    TRY(tamis_size_check("options", "heads", *heads));
    TRY(tamis_size_check("options", "width", width));
    if (*heads == 0) *heads = 1;
    if (!__builtin_mul_overflow(*heads, width, &all)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "options.heads = %lld times width = %lld does not fit 64 bits",
                      (long long)*heads, (long long)width);
}

tamis_status tamis_message_check_unread(const char *name, const void *given, const char *why) {
    if (!given) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is not NULL, but %s: expected NULL", name, why);
}

tamis_status tamis_message_check_argument_type(const tamis_graph *graph, tamis_index_type type) {
    if (tamis_index_spans(type, graph->rows.nnz)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW,
                      "options.argument_type = %s cannot hold 0 .. %lld, the numbers of entries: expected int64",
                      tamis_index_type_name(type), (long long)(graph->rows.nnz - 1));
}

tamis_status tamis_message_check_argument(const void *argument, tamis_index_type type, bool extreme, bool needed) {
    if (!extreme) return tamis_message_check_unread("argument", argument, "only max and min have one");
    if (needed && !argument)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "argument = NULL: expected that of the forward call, which the "
                                                "gradients of max and min read");
    if ((uintptr_t)argument % tamis_index_size(type))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "argument = %p is not aligned to one index of %s", argument,
                          tamis_index_type_name(type));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ passes */

int tamis_message_threads(const tamis_graph *graph) {
    return graph->threads ? graph->threads : graph->device->description.threads;
}

tamis_message_job tamis_message_job_of(const tamis_graph *g, void *stream, tamis_message_pass_kind kind,
                                       const tamis_message_order *order, tamis_type type, int64_t heads,
                                       int64_t width) {
    return (tamis_message_job){.device = g->device->handle,
                               .stream = stream,
                               .threads = tamis_message_threads(g),
                               .kind = kind,
                               .type = type,
                               .order = *order,
                               .heads = heads,
                               .width = width,
                               .sign = 1,
                               .factor = 1};
}

tamis_status tamis_message_run(const tamis_graph *g, const tamis_message_job *job) {
    const bool empty =
        job->kind == TAMIS_PASS_ENTRIES ? job->order.nnz == 0 : job->order.rows == 0 || job->heads * job->width == 0;
    const tamis_graph_pass *const planned = atomic_load_explicit(&g->planned, memory_order_acquire);
    bool done = empty;
    if (planned && !empty) TRY(tamis_graph_pass_run(planned, job, &done));
    return done ? TAMIS_OK : g->device->backend->messages->run(job);
}

/* Where a matrix of a call has its rows. */
enum { AT_COLUMNS, AT_ROWS, AT_ENTRIES };

/* The common sizes of the matrices of a call: columns of a matrix of nodes, and of one of entries. */
typedef struct shape {
    const tamis_graph *graph;
    tamis_type type;
    int64_t all, edges;
} shape;

/* A matrix of nodes or entries. why: what reads it; NULL: it may be absent. */
static tamis_operand operand_of(const shape *s, const char *name, const tamis_dense *view, int at, const char *why) {
    const tamis_message_order *const rows = &s->graph->rows;
    return (tamis_operand){.name = name,
                           .view = view,
                           .rows = at == AT_COLUMNS ? rows->cols
                                   : at == AT_ROWS  ? rows->rows
                                                    : rows->nnz,
                           .cols = at == AT_ENTRIES ? s->edges : s->all,
                           .type = s->type,
                           .why = why,
                           .optional = !why,
                           .rows_only = true};
}

static tamis_operand output_of(const shape *s, const char *name, const tamis_dense *view, int at, const char *why) {
    tamis_operand x = operand_of(s, name, view, at, why);
    x.output = true;
    return x;
}

/* ------------------------------------------------------------------------------------------ messages */

static bool is_extreme(const tamis_message_options *o) {
    return o->reduce == TAMIS_REDUCE_MAX || o->reduce == TAMIS_REDUCE_MIN;
}

static int64_t edge_columns(const tamis_message_options *o) {
    if (o->edge_data == TAMIS_E_VECTOR) return o->heads * o->width;
    return o->edge_data == TAMIS_E_HEAD ? o->heads : 1;
}

/* An operation: its name, the operands that it reads, its term, and the term that gradients apply to dOut. */
typedef struct operation_row {
    const char *name;
    bool reads_u, reads_e;
    tamis_message_term term, back;
    int sign;
} operation_row;

static const operation_row operations[] = {
    [TAMIS_MESSAGE_COPY_U] = {"copy_u", true, false, TAMIS_TERM_X, TAMIS_TERM_X, 1},
    [TAMIS_MESSAGE_ADD] = {"add", true, true, TAMIS_TERM_ADD, TAMIS_TERM_X, 1},
    [TAMIS_MESSAGE_SUB] = {"sub", true, true, TAMIS_TERM_ADD, TAMIS_TERM_X, -1},
    [TAMIS_MESSAGE_MUL] = {"mul", true, true, TAMIS_TERM_MUL, TAMIS_TERM_MUL, 1},
    [TAMIS_MESSAGE_COPY_E] = {"copy_e", false, true, TAMIS_TERM_Y, TAMIS_TERM_X, 1},
    [TAMIS_MESSAGE_ADD_RELU] = {"add_relu", true, true, TAMIS_TERM_RELU, TAMIS_TERM_GATE, 1},
    [TAMIS_MESSAGE_TEXT] = {"the text", true, true, TAMIS_TERM_TEXT, TAMIS_TERM_TEXT, 1},
};

/* A call: its options, its operation, and what the message reads. */
typedef struct message_call {
    const tamis_graph *graph;
    void *stream;
    tamis_message_options o;
    operation_row op;
    bool reads_v;
    const tamis_dense *U, *E, *dOut;
    const void *argument;
    tamis_message_text text;             /* of TAMIS_MESSAGE_TEXT */
    tamis_message_text by_u, by_v, by_e; /* its derivatives that the backward call needs */
} message_call;

/* Finds the operation, and what it reads. */
static tamis_status read_operation(message_call *c) {
    const tamis_message_options *const o = &c->o;
    c->op = operations[o->op];
    c->reads_v = false;
    c->text.program.leaves = 0;
    if (o->op != TAMIS_MESSAGE_TEXT) {
        if (!o->text && !o->numbers && o->number_count == 0) return TAMIS_OK;
        return tamis_fail(
            TAMIS_ERROR_ARGUMENT,
            "options.text or its numbers are set, but options.op = %d: set TAMIS_MESSAGE_TEXT = %d for an "
            "expression",
            (int)o->op, (int)TAMIS_MESSAGE_TEXT);
    }
    TRY(tamis_message_text_make(o, &c->text));
    c->op.reads_u = tamis_message_text_reads(&c->text, TAMIS_STEP_X);
    c->op.reads_e = tamis_message_text_reads(&c->text, TAMIS_STEP_S);
    c->reads_v = tamis_message_text_reads(&c->text, TAMIS_STEP_V);
    return TAMIS_OK;
}

static tamis_status read_options(const tamis_graph *g, const tamis_message_options *options, void *stream,
                                 message_call *c) {
    tamis_message_options *const o = &c->o;
    if (!options)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the operation, the sizes and the type");
    c->graph = g;
    c->stream = stream;
    *o = *options;
    TRY(TAMIS_RESERVED(o, "options"));
    TRY(tamis_message_check_number("op", (int64_t)o->op, TAMIS_MESSAGE_TEXT));
    TRY(tamis_message_check_number("reduce", (int64_t)o->reduce, TAMIS_REDUCE_MIN));
    TRY(tamis_message_check_number("edge_data", (int64_t)o->edge_data, TAMIS_E_VECTOR));
    TRY(tamis_message_check_number("argument_type", (int64_t)o->argument_type, TAMIS_I64));
    TRY(tamis_message_check_sizes(o->type, &o->heads, o->width));
    TRY(read_operation(c));
    if (c->op.reads_e != (o->edge_data != TAMIS_E_NONE))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.edge_data = %d: expected %s%s%s", (int)o->edge_data,
                          c->op.reads_e ? "a number, a number for each head, or a vector, since the message reads E"
                                        : "TAMIS_E_NONE, since ",
                          c->op.reads_e ? "" : c->op.name, c->op.reads_e ? "" : " reads no E");
    return is_extreme(o) ? tamis_message_check_argument_type(g, o->argument_type) : TAMIS_OK;
}

/* Refuses a matrix that belongs to an operand which the message does not read. */
static tamis_status check_unread(const message_call *c, const char *name, const void *given, bool reads,
                                 const char *what) {
    char why[48];
    if (reads) return TAMIS_OK;
    snprintf(why, sizeof why, "%s does not read %s", c->op.name, what);
    return tamis_message_check_unread(name, given, why);
}

static tamis_message_job message_job(const message_call *c, tamis_message_pass_kind kind,
                                     const tamis_message_order *order) {
    const tamis_message_options *const o = &c->o;
    tamis_message_job job = tamis_message_job_of(c->graph, c->stream, kind, order, o->type, o->heads, o->width);
    job.edge_data = o->edge_data;
    job.argument_type = o->argument_type;
    return job;
}

/* A pass over a text or a derivative of it. */
static void set_text(const message_call *c, const tamis_message_text *text, bool turned, tamis_message_job *job) {
    const tamis_matrix u = tamis_matrix_of(c->U), v = tamis_matrix_of(c->o.V);
    job->term = TAMIS_TERM_TEXT;
    job->text = text;
    job->turned = turned;
    job->x = turned ? v : u;
    job->z = turned ? u : v;
    job->y = tamis_matrix_of(c->E);
    job->w = tamis_matrix_of(c->dOut);
}

static tamis_message_job forward_job(const message_call *c) {
    const tamis_message_options *const o = &c->o;
    tamis_message_job job = message_job(c, is_extreme(o) ? TAMIS_PASS_LARGEST : TAMIS_PASS_SUM, &c->graph->rows);
    job.term = c->op.term;
    job.sign = c->op.sign;
    job.factor = o->reduce == TAMIS_REDUCE_MIN ? -1 : 1;
    job.mean = o->reduce == TAMIS_REDUCE_MEAN;
    job.x = tamis_matrix_of(c->U);
    job.y = tamis_matrix_of(c->E);
    return job;
}

tamis_status tamis_message_pass(const tamis_graph *graph, const tamis_message_options *options, const tamis_dense *U,
                                const tamis_dense *E, const tamis_dense *out, void *argument, void *stream) {
    message_call c;
    tamis_clear_error();
    TRY(tamis_message_check_graph(graph, stream));
    TRY(read_options(graph, options, stream, &c));
    const tamis_message_options *const o = &c.o;
    TRY(check_unread(&c, "U", U, c.op.reads_u, "it"));
    TRY(check_unread(&c, "E", E, c.op.reads_e, "it"));
    TRY(check_unread(&c, "options.V", o->V, c.reads_v, "it"));
    TRY(tamis_message_check_unread("options.dV", o->dV, "only the backward call has gradients"));
    c.U = U;
    c.E = E;
    c.dOut = NULL;
    const shape s = {graph, o->type, o->heads * o->width, edge_columns(o)};
    const tamis_operand u = operand_of(&s, "U", U, AT_COLUMNS, c.op.reads_u ? "the message reads" : NULL);
    const tamis_operand e = operand_of(&s, "E", E, AT_ENTRIES, c.op.reads_e ? "the message reads" : NULL);
    const tamis_operand v = operand_of(&s, "options.V", o->V, AT_ROWS, c.reads_v ? "the message reads" : NULL);
    const tamis_operand result = output_of(&s, "out", out, AT_ROWS, "gets the result");
    TRY(tamis_operands_check(graph->device, (const tamis_operand *const[]){&u, &e, &v, &result}, 4));
    TRY(tamis_message_check_argument(argument, o->argument_type, is_extreme(o), false));
    tamis_message_job job = forward_job(&c);
    job.out = tamis_matrix_of(out);
    job.argument = (tamis_place){argument, 0};
    if (o->op == TAMIS_MESSAGE_TEXT) set_text(&c, &c.text, false, &job);
    return tamis_message_run(graph, &job);
}

/* The pass of the gradient by U, over the columns. */
static tamis_message_job nodes_job(const message_call *c) {
    const tamis_graph *const g = c->graph;
    tamis_message_job job = message_job(c, is_extreme(&c->o) ? TAMIS_PASS_TAKEN : TAMIS_PASS_SUM, &g->columns);
    job.term = c->op.back;
    job.x = tamis_matrix_of(c->dOut);
    if (job.term == TAMIS_TERM_X)
        job.edge_data = TAMIS_E_NONE;
    else
        job.y = tamis_matrix_of(c->E);
    if (job.term == TAMIS_TERM_GATE) job.z = tamis_matrix_of(c->U);
    job.argument = tamis_place_at(c->argument, 0);
    if (c->o.reduce == TAMIS_REDUCE_MEAN) {
        job.other_offsets = g->rows.offsets;
        job.other_offset_type = g->rows.offset_type;
    }
    return job;
}

static tamis_status back_to_nodes(const message_call *c, const tamis_dense *dU) {
    tamis_message_job job = nodes_job(c);
    job.out = tamis_matrix_of(dU);
    if (job.term == TAMIS_TERM_TEXT) set_text(c, &c->by_u, true, &job);
    return tamis_message_run(c->graph, &job);
}

/* The gradient by V, over the rows, where dOut and the arguments are. */
static tamis_status back_to_rows(const message_call *c, const tamis_dense *dV) {
    tamis_message_job job = message_job(c, is_extreme(&c->o) ? TAMIS_PASS_TAKEN : TAMIS_PASS_SUM, &c->graph->rows);
    job.here = true;
    job.mean = c->o.reduce == TAMIS_REDUCE_MEAN;
    job.out = tamis_matrix_of(dV);
    job.argument = tamis_place_at(c->argument, 0);
    set_text(c, &c->by_v, false, &job);
    return tamis_message_run(c->graph, &job);
}

/* The pass of the gradient by E, over the entries. */
static tamis_message_job edges_job(const message_call *c) {
    tamis_message_job job = message_job(c, TAMIS_PASS_ENTRIES, &c->graph->rows);
    job.term = c->op.back;
    job.factor = c->op.sign;
    job.mean = c->o.reduce == TAMIS_REDUCE_MEAN;
    job.z = tamis_matrix_of(c->dOut);
    if (job.term != TAMIS_TERM_X) job.x = tamis_matrix_of(c->U);
    if (job.term == TAMIS_TERM_GATE) job.y = tamis_matrix_of(c->E);
    job.argument = tamis_place_at(c->argument, 0);
    return job;
}

static tamis_status back_to_edges(const message_call *c, const tamis_dense *dE) {
    tamis_message_job job = edges_job(c);
    job.out = tamis_matrix_of(dE);
    if (job.term == TAMIS_TERM_TEXT) {
        set_text(c, &c->by_e, false, &job);
        job.here = true;
    }
    return tamis_message_run(c->graph, &job);
}

/* Makes the derivatives before anything is written: they may have too many steps. */
static tamis_status derive(message_call *c, bool by_u, bool by_e, bool by_v) {
    if (c->op.back != TAMIS_TERM_TEXT) return TAMIS_OK;
    if (by_u) TRY(tamis_message_text_by(&c->text, TAMIS_STEP_X, &c->by_u));
    if (by_v) TRY(tamis_message_text_by(&c->text, TAMIS_STEP_V, &c->by_v));
    return by_e ? tamis_message_text_by(&c->text, TAMIS_STEP_S, &c->by_e) : TAMIS_OK;
}

/* Checks the matrices. Gradients read of a product the other factor, of a ReLU and of a text all that the message
   reads. */
static tamis_status check_back(const message_call *c, const tamis_dense *dU, const tamis_dense *dE) {
    const tamis_message_options *const o = &c->o;
    const bool mul = c->op.back == TAMIS_TERM_MUL;
    const bool all = (dU || dE || o->dV) && (c->op.back == TAMIS_TERM_GATE || c->op.back == TAMIS_TERM_TEXT);
    const shape s = {c->graph, o->type, o->heads * o->width, edge_columns(o)};
    const char *const by_e = mul ? "the gradient by E reads" : "the gradient reads";
    const char *const by_u = mul ? "the gradient by U reads" : "the gradient reads";
    const tamis_operand u = operand_of(&s, "U", c->U, AT_COLUMNS, (dE && mul) || (all && c->op.reads_u) ? by_e : NULL);
    const tamis_operand e = operand_of(&s, "E", c->E, AT_ENTRIES, (dU && mul) || (all && c->op.reads_e) ? by_u : NULL);
    const tamis_operand v = operand_of(&s, "options.V", o->V, AT_ROWS, all && c->reads_v ? "the gradient reads" : NULL);
    const tamis_operand d_out = operand_of(&s, "dOut", c->dOut, AT_ROWS, "is the gradient of the result");
    const tamis_operand d_u = output_of(&s, "dU", dU, AT_COLUMNS, NULL);
    const tamis_operand d_e = output_of(&s, "dE", dE, AT_ENTRIES, NULL);
    const tamis_operand d_v = output_of(&s, "options.dV", o->dV, AT_ROWS, NULL);
    return tamis_operands_check(c->graph->device, (const tamis_operand *const[]){&d_out, &u, &e, &v, &d_u, &d_e, &d_v},
                                7);
}

tamis_status tamis_message_backward(const tamis_graph *graph, const tamis_message_options *options,
                                    const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *E,
                                    const void *argument, const tamis_dense *dU, const tamis_dense *dE, void *stream) {
    message_call c;
    tamis_clear_error();
    TRY(tamis_message_check_graph(graph, stream));
    TRY(tamis_message_check_backward(graph));
    TRY(read_options(graph, options, stream, &c));
    const tamis_message_options *const o = &c.o;
    const bool text = o->op == TAMIS_MESSAGE_TEXT;
    TRY(check_unread(&c, "U", U, !text || c.op.reads_u, "it"));
    TRY(check_unread(&c, "E", E, !text || c.op.reads_e, "it"));
    TRY(check_unread(&c, "options.V", o->V, c.reads_v, "it"));
    TRY(check_unread(&c, "dU", dU, c.op.reads_u, "U"));
    TRY(check_unread(&c, "dE", dE, c.op.reads_e, "E"));
    TRY(check_unread(&c, "options.dV", o->dV, c.reads_v, "V"));
    c.U = U;
    c.E = E;
    c.dOut = dOut;
    c.argument = argument;
    TRY(check_back(&c, dU, dE));
    TRY(tamis_message_check_argument(argument, o->argument_type, is_extreme(o), graph->rows.rows && o->width > 0));
    TRY(derive(&c, dU, dE, o->dV));
    if (dU) TRY(back_to_nodes(&c, dU));
    if (o->dV) TRY(back_to_rows(&c, o->dV));
    return dE ? back_to_edges(&c, dE) : TAMIS_OK;
}

tamis_status tamis_message_passes(const tamis_graph *g, const tamis_message_options *options, void *stream,
                                  tamis_message_job jobs[TAMIS_MESSAGE_PASSES], int *count) {
    message_call c = {.graph = g};
    TRY(read_options(g, options, stream, &c));
    *count = 0;
    jobs[(*count)++] = forward_job(&c);
    if (g->forward_only || c.o.op == TAMIS_MESSAGE_TEXT) return TAMIS_OK;
    if (c.op.reads_u) jobs[(*count)++] = nodes_job(&c);
    /* of a maximum, entries that were not taken get nothing: the call's own argument says which */
    if (c.op.reads_e && !is_extreme(&c.o)) jobs[(*count)++] = edges_job(&c);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ edge vectors */

static tamis_status read_pair(const tamis_pair_options *options, tamis_pair_options *o) {
    if (!options)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the operation, the sizes and the type");
    *o = *options;
    TRY(TAMIS_RESERVED(o, "options"));
    TRY(tamis_message_check_number("op", (int64_t)o->op, TAMIS_PAIR_DOT));
    return tamis_message_check_sizes(o->type, &o->heads, o->width);
}

static bool multiplies(const tamis_pair_options *o) { return o->op == TAMIS_PAIR_MUL || o->op == TAMIS_PAIR_DOT; }

static tamis_edge_data data_of(const tamis_pair_options *o) {
    return o->op == TAMIS_PAIR_DOT ? TAMIS_E_HEAD : TAMIS_E_VECTOR;
}

static shape shape_of(const tamis_graph *g, const tamis_pair_options *o) {
    const int64_t all = o->heads * o->width;
    return (shape){g, o->type, all, o->op == TAMIS_PAIR_DOT ? o->heads : all};
}

tamis_status tamis_edge_vectors(const tamis_graph *graph, const tamis_pair_options *options, const tamis_dense *U,
                                const tamis_dense *V, const tamis_dense *out, void *stream) {
    tamis_pair_options o;
    tamis_clear_error();
    TRY(tamis_message_check_graph(graph, stream));
    TRY(read_pair(options, &o));
    const shape s = shape_of(graph, &o);
    const tamis_operand u = operand_of(&s, "U", U, AT_ROWS, "edges read");
    const tamis_operand v = operand_of(&s, "V", V, AT_COLUMNS, "edges read");
    const tamis_operand result = output_of(&s, "out", out, AT_ENTRIES, "gets the result");
    TRY(tamis_operands_check(graph->device, (const tamis_operand *const[]){&u, &v, &result}, 3));
    tamis_message_job job =
        tamis_message_job_of(graph, stream, TAMIS_PASS_ENTRIES, &graph->rows, o.type, o.heads, o.width);
    job.term = multiplies(&o) ? TAMIS_TERM_MUL : TAMIS_TERM_ADD;
    job.edge_data = data_of(&o);
    job.sign = o.op == TAMIS_PAIR_SUB ? -1 : 1;
    job.z = tamis_matrix_of(U);
    job.x = tamis_matrix_of(V);
    job.out = tamis_matrix_of(out);
    return tamis_message_run(graph, &job);
}

/* The gradient of the rows at one end; `other`: the rows at the other end. */
static tamis_status back_to_end(const tamis_graph *g, const tamis_pair_options *o, const tamis_message_order *order,
                                const tamis_dense *dOut, const tamis_dense *other, double factor,
                                const tamis_dense *result, void *stream) {
    tamis_message_job job = tamis_message_job_of(g, stream, TAMIS_PASS_SUM, order, o->type, o->heads, o->width);
    job.term = multiplies(o) ? TAMIS_TERM_MUL : TAMIS_TERM_Y;
    job.edge_data = data_of(o);
    job.factor = factor;
    if (multiplies(o)) job.x = tamis_matrix_of(other);
    job.y = tamis_matrix_of(dOut);
    job.out = tamis_matrix_of(result);
    return tamis_message_run(g, &job);
}

tamis_status tamis_edge_vectors_backward(const tamis_graph *graph, const tamis_pair_options *options,
                                         const tamis_dense *dOut, const tamis_dense *U, const tamis_dense *V,
                                         const tamis_dense *dU, const tamis_dense *dV, void *stream) {
    tamis_pair_options o;
    tamis_clear_error();
    TRY(tamis_message_check_graph(graph, stream));
    TRY(tamis_message_check_backward(graph));
    TRY(read_pair(options, &o));
    const bool mul = multiplies(&o);
    const shape s = shape_of(graph, &o);
    const tamis_operand d_out = operand_of(&s, "dOut", dOut, AT_ENTRIES, "is the gradient of the result");
    const tamis_operand u = operand_of(&s, "U", U, AT_ROWS, dV && mul ? "the gradient by V reads" : NULL);
    const tamis_operand v = operand_of(&s, "V", V, AT_COLUMNS, dU && mul ? "the gradient by U reads" : NULL);
    const tamis_operand d_u = output_of(&s, "dU", dU, AT_ROWS, NULL);
    const tamis_operand d_v = output_of(&s, "dV", dV, AT_COLUMNS, NULL);
    TRY(tamis_operands_check(graph->device, (const tamis_operand *const[]){&d_out, &u, &v, &d_u, &d_v}, 5));
    if (dU) TRY(back_to_end(graph, &o, &graph->rows, dOut, V, 1, dU, stream));
    return dV ? back_to_end(graph, &o, &graph->columns, dOut, U, o.op == TAMIS_PAIR_SUB ? -1 : 1, dV, stream)
              : TAMIS_OK;
}
