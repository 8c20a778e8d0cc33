/* The network on the edges of a graph: checks, and the passes of each call. */
#include "backend/edge_network.h"

#include <stdio.h>

#include "base/reserved.h"
#include "base/sizes.h"
#include "base/status.h"
#include "core/message.h"
#include "sparse/check.h"

/* Operands, then the results of a forward call, or what a backward call reads and writes. */
enum {
    E,
    P,
    Q,
    W1,
    B1,
    W2,
    B2,
    W3,
    B3,
    GAIN,
    SHIFT,
    INPUTS,
    EDGES = INPUTS,
    OUT,
    GRADIENTS,
    MATRICES = GRADIENTS + INPUTS
};

typedef struct call {
    const tamis_graph *graph;
    tamis_edge_network_options o;
    tamis_operand of[MATRICES];
} call;

/* ------------------------------------------------------------------------------------------ options */

static tamis_status check_sizes(const tamis_edge_network_options *o) {
    const tamis_range ranges[] = {{"type", (int64_t)o->type, 0, TAMIS_BF16},
                                  {"math", (int64_t)o->math, 0, TAMIS_MATH_TF32},
                                  {"activation", (int64_t)o->activation, 0, TAMIS_ACTIVATION_TANH},
                                  {"reduce", (int64_t)o->reduce, 0, TAMIS_REDUCE_MIN},
                                  {"argument_type", (int64_t)o->argument_type, 0, TAMIS_I64},
                                  {"hidden_layers", o->hidden_layers, 1, 2},
                                  {"edge_width", o->edge_width, 0, TAMIS_SIZE_MOST},
                                  {"hidden", o->hidden, 1, TAMIS_SIZE_MOST},
                                  {"width", o->width, 1, TAMIS_SIZE_MOST}};
    return tamis_ranges_check("options", ranges, sizeof ranges / sizeof *ranges);
}

static tamis_status read_options(const tamis_graph *g, const tamis_edge_network_options *options,
                                 tamis_edge_network_options *o) {
    if (!g->device->backend->edge_network)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "device = %s: it has no network on edges; open \"cpu\" and copy the graph there",
                          g->device->description.name);
    if (!options)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the type, the widths and what to do");
    *o = *options;
    TRY(TAMIS_RESERVED(o, "options"));
    if (o->hidden_layers == 0) o->hidden_layers = 1;
    TRY(check_sizes(o));
    if (!(o->epsilon >= 0) || o->epsilon > 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.epsilon = %g is not in 0 .. 1", o->epsilon);
    if (o->epsilon == 0) o->epsilon = 1e-5;
    if (o->residual && o->edge_width != o->width)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "options.residual = true with edge_width = %lld and width = %lld: expected equal widths",
                          (long long)o->edge_width, (long long)o->width);
    return tamis_edge_network_is_extreme(o) ? tamis_message_check_argument_type(g, o->argument_type) : TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ matrices */

/* Where the rows of a matrix are. */
enum { AT_ENTRIES, AT_ROWS, AT_COLUMNS, AT_HIDDEN, AT_WIDTH, ALONE };

static int64_t size_of(const call *c, int what) {
    const tamis_message_order *const rows = &c->graph->rows;
    const int64_t sizes[] = {rows->nnz, rows->rows, rows->cols, c->o.hidden, c->o.width, 1};
    return sizes[what];
}

/* The name of a matrix, its rows, its columns, and which field of the structures has it. */
typedef struct input_row {
    const char *name, *gradient;
    int rows, cols; /* cols: AT_HIDDEN, AT_WIDTH, or AT_ENTRIES for edge_width */
} input_row;

static const input_row inputs[INPUTS] = {
    [E] = {"E", "dE", AT_ENTRIES, AT_ENTRIES},     [P] = {"P", "dP", AT_ROWS, AT_HIDDEN},
    [Q] = {"Q", "dQ", AT_COLUMNS, AT_HIDDEN},      [W1] = {"W1", "dW1", AT_HIDDEN, AT_ENTRIES},
    [B1] = {"b1", "db1", ALONE, AT_HIDDEN},        [W2] = {"W2", "dW2", AT_HIDDEN, AT_HIDDEN},
    [B2] = {"b2", "db2", ALONE, AT_HIDDEN},        [W3] = {"W3", "dW3", AT_WIDTH, AT_HIDDEN},
    [B3] = {"b3", "db3", ALONE, AT_WIDTH},         [GAIN] = {"gain", "dgain", ALONE, AT_WIDTH},
    [SHIFT] = {"shift", "dshift", ALONE, AT_WIDTH}};

static void place(call *c, int which, const char *name, const tamis_dense *view, int64_t rows, int64_t cols) {
    c->of[which] = (tamis_operand){.name = name,
                                   .view = view,
                                   .rows = rows,
                                   .cols = cols,
                                   .type = c->o.type,
                                   .why = "the call reads",
                                   .optional = true,
                                   .rows_only = true};
}

/* Places the operands, or their gradients. */
static void place_all(call *c, const tamis_edge_network_matrices *given, bool gradients) {
    const tamis_dense *const views[INPUTS] = {given->E,  given->P,  given->Q,  given->W1,   given->b1,   given->W2,
                                              given->b2, given->W3, given->b3, given->gain, given->shift};
    for (int i = 0; i < INPUTS; i++) {
        const input_row *const row = &inputs[i];
        const int which = gradients ? GRADIENTS + i : i;
        place(c, which, gradients ? row->gradient : row->name, views[i], size_of(c, row->rows),
              row->cols == AT_ENTRIES ? c->o.edge_width : size_of(c, row->cols));
        c->of[which].output = gradients;
    }
}

/* Refuses operands that the options exclude, and requires those that they name. */
static tamis_status check_presence(call *c) {
    const bool two = c->o.hidden_layers == 2, edges = c->o.edge_width > 0;
    c->of[W3].optional = false;
    c->of[W2].optional = !two;
    c->of[E].optional = c->of[W1].optional = !edges;
    for (int i = 0; i < INPUTS; i++) {
        const bool first = i == E || i == W1, second = i == W2 || i == B2, normal = i == GAIN || i == SHIFT;
        const char *const why = first && !edges             ? "options.edge_width = 0"
                                : second && !two            ? "options.hidden_layers is not 2"
                                : normal && !c->o.normalise ? "options.normalise is false"
                                                            : NULL;
        if (why) TRY(tamis_message_check_unread(inputs[i].name, c->of[i].view, why));
    }
    return TAMIS_OK;
}

static tamis_status check_gradients(const call *c) {
    char why[32];
    for (int i = 0; i < INPUTS; i++) {
        if (c->of[i].view) continue;
        snprintf(why, sizeof why, "%s is NULL", inputs[i].name);
        TRY(tamis_message_check_unread(inputs[i].gradient, c->of[GRADIENTS + i].view, why));
    }
    return TAMIS_OK;
}

static tamis_status check_matrices(const call *c, int count) {
    const tamis_operand *all[MATRICES];
    for (int i = 0; i < count; i++) all[i] = &c->of[i];
    return tamis_operands_check(c->graph->device, all, count);
}

static tamis_matrix matrix_of(const call *c, int which) { return tamis_matrix_of(c->of[which].view); }

/* ------------------------------------------------------------------------------------------ the workspace */

static tamis_edge_network_job job_of(const call *c, bool back, void *stream) {
    return (tamis_edge_network_job){.device = c->graph->device->handle,
                                    .stream = stream,
                                    .threads = tamis_message_threads(c->graph),
                                    .back = back,
                                    .o = c->o,
                                    .order = c->graph->rows};
}

/* True if a backward call keeps the gradient by a_t in dE. */
static bool shares(const call *c) {
    const tamis_edge_network_functions *const functions = c->graph->device->backend->edge_network;
    const tamis_edge_network_job job = job_of(c, true, NULL);
    return c->o.share_dE && functions->shares && functions->shares(&job);
}

/* Bytes of the gradient by a_t, with which a backward call's workspace begins: a multiple of 256. */
static size_t bytes_of_da(const call *c) {
    if (shares(c)) return 0;
    return (tamis_bytes(tamis_times(c->graph->rows.nnz, c->o.hidden), tamis_type_size(c->o.type)) + 255) / 256 * 256;
}

static tamis_status workspace_bytes(const call *c, bool back, size_t *bytes) {
    const tamis_edge_network_job job = job_of(c, back, NULL);
    const size_t da = back ? bytes_of_da(c) : 0;
    TRY(c->graph->device->backend->edge_network->workspace(&job, bytes));
    if (da < TAMIS_TOO_MANY && *bytes < TAMIS_TOO_MANY) {
        *bytes += da;
        return TAMIS_OK;
    }
    return tamis_fail(TAMIS_ERROR_OVERFLOW,
                      "options.hidden = %lld: the workspace for %lld entries does not fit 64 bits",
                      (long long)c->o.hidden, (long long)c->graph->rows.nnz);
}

tamis_status tamis_edge_network_workspace_size(const tamis_graph *graph, const tamis_edge_network_options *options,
                                               bool backward, size_t *bytes) {
    call c = {.graph = graph};
    tamis_clear_error();
    if (!bytes) return tamis_fail(TAMIS_ERROR_ARGUMENT, "bytes = NULL: expected an address for the result");
    TRY(tamis_message_check_graph(graph, NULL));
    TRY(read_options(graph, options, &c.o));
    return workspace_bytes(&c, backward, bytes);
}

static tamis_status check_workspace(const call *c, bool back, const void *workspace) {
    size_t bytes;
    TRY(workspace_bytes(c, back, &bytes));
    if (!workspace && bytes)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "workspace = NULL: expected the %zu bytes that tamis_edge_network_workspace_size names",
                          bytes);
    if ((uintptr_t)workspace % 16)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "workspace = %p is not aligned to 16 bytes", workspace);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ calls */

static tamis_status begin(call *c, const tamis_edge_network_options *options,
                          const tamis_edge_network_matrices *matrices, void *stream) {
    tamis_clear_error();
    TRY(tamis_message_check_graph(c->graph, stream));
    TRY(read_options(c->graph, options, &c->o));
    if (!matrices) return tamis_fail(TAMIS_ERROR_ARGUMENT, "matrices = NULL: expected W3 and what a_t consists of");
    TRY(TAMIS_RESERVED(matrices, "matrices"));
    place_all(c, matrices, false);
    return check_presence(c);
}

/* Places edges and out, or their gradients. */
static void place_ends(call *c, const char *edges_name, const tamis_dense *edges, const char *out_name,
                       const tamis_dense *out, bool output) {
    place(c, EDGES, edges_name, edges, c->graph->rows.nnz, c->o.width);
    place(c, OUT, out_name, out, c->graph->rows.rows, c->o.width);
    c->of[EDGES].output = c->of[OUT].output = output;
}

static tamis_status argument_alone(const char *name) {
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL, but argument is not: expected both, or no argument", name);
}

static void set_inputs(const call *c, tamis_edge_network_job *job) {
    job->e = matrix_of(c, E);
    job->p = matrix_of(c, P);
    job->q = matrix_of(c, Q);
    job->w1 = matrix_of(c, W1);
    job->b1 = matrix_of(c, B1);
    job->w2 = matrix_of(c, W2);
    job->b2 = matrix_of(c, B2);
    job->w3 = matrix_of(c, W3);
    job->b3 = matrix_of(c, B3);
    job->gain = matrix_of(c, GAIN);
    job->shift = matrix_of(c, SHIFT);
}

static void set_gradients(const call *c, tamis_edge_network_job *job) {
    job->d_edges = matrix_of(c, EDGES);
    job->d_out = matrix_of(c, OUT);
    job->de = matrix_of(c, GRADIENTS + E);
    job->dw1 = matrix_of(c, GRADIENTS + W1);
    job->db1 = matrix_of(c, GRADIENTS + B1);
    job->dw2 = matrix_of(c, GRADIENTS + W2);
    job->db2 = matrix_of(c, GRADIENTS + B2);
    job->dw3 = matrix_of(c, GRADIENTS + W3);
    job->db3 = matrix_of(c, GRADIENTS + B3);
    job->dgain = matrix_of(c, GRADIENTS + GAIN);
    job->dshift = matrix_of(c, GRADIENTS + SHIFT);
}

tamis_status tamis_edge_network(const tamis_graph *graph, const tamis_edge_network_options *options,
                                const tamis_edge_network_matrices *matrices, const tamis_dense *edges,
                                const tamis_dense *out, void *argument, void *workspace, void *stream) {
    call c = {.graph = graph};
    TRY(begin(&c, options, matrices, stream));
    if (!edges && !out) return tamis_fail(TAMIS_ERROR_ARGUMENT, "edges = NULL and out = NULL: expected one of them");
    place_ends(&c, "edges", edges, "out", out, true);
    TRY(check_matrices(&c, GRADIENTS));
    if (!out && argument) return argument_alone("out");
    TRY(tamis_message_check_argument(argument, c.o.argument_type, tamis_edge_network_is_extreme(&c.o), false));
    TRY(check_workspace(&c, false, workspace));
    tamis_edge_network_job job = job_of(&c, false, stream);
    set_inputs(&c, &job);
    job.edges = matrix_of(&c, EDGES);
    job.out = matrix_of(&c, OUT);
    job.argument = tamis_place_at(argument, 0);
    job.workspace = tamis_place_at(workspace, 0);
    return graph->device->backend->edge_network->run(&job);
}

/* The gradient of P or Q: the sums of da over the rows of an order. */
static tamis_status sum_da(const call *c, const tamis_message_order *order, const tamis_matrix *da, int which,
                           void *stream) {
    tamis_message_job job = tamis_message_job_of(c->graph, stream, TAMIS_PASS_SUM, order, c->o.type, 1, c->o.hidden);
    if (!c->of[which].view) return TAMIS_OK;
    job.term = TAMIS_TERM_Y;
    job.edge_data = TAMIS_E_VECTOR;
    job.y = *da;
    job.out = matrix_of(c, which);
    return tamis_message_run(c->graph, &job);
}

tamis_status tamis_edge_network_backward(const tamis_graph *graph, const tamis_edge_network_options *options,
                                         const tamis_edge_network_matrices *matrices, const tamis_dense *dEdges,
                                         const tamis_dense *dOut, const void *argument,
                                         const tamis_edge_network_matrices *gradients, void *workspace, void *stream) {
    const tamis_edge_network_functions *functions;
    call c = {.graph = graph};
    TRY(begin(&c, options, matrices, stream));
    TRY(tamis_message_check_backward(graph));
    if (!gradients) return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradients = NULL: expected those that are wanted");
    TRY(TAMIS_RESERVED(gradients, "gradients"));
    if (!dEdges && !dOut)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "dEdges = NULL and dOut = NULL: expected one of them");
    place_ends(&c, "dEdges", dEdges, "dOut", dOut, false);
    place_all(&c, gradients, true);
    TRY(check_gradients(&c));
    TRY(check_matrices(&c, MATRICES));
    if (!dOut && argument) return argument_alone("dOut");
    const bool extreme = tamis_edge_network_is_extreme(&c.o);
    TRY(tamis_message_check_argument(argument, c.o.argument_type, extreme, dOut && graph->rows.rows > 0));
    TRY(check_workspace(&c, true, workspace));
    tamis_edge_network_job job = job_of(&c, true, stream);
    functions = graph->device->backend->edge_network;
    set_inputs(&c, &job);
    set_gradients(&c, &job);
    job.argument = tamis_place_at(argument, 0);
    job.da = (tamis_matrix){.at = tamis_place_at(workspace, 0), .stride = c.o.hidden};
    job.workspace = tamis_place_at(workspace, bytes_of_da(&c));
    if (shares(&c)) {
        if (!job.de.at.base)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradients.E = NULL with options.share_dE: expected its memory");
        job.da = job.de;
    }
    TRY(functions->run(&job));
    TRY(sum_da(&c, &graph->rows, &job.da, GRADIENTS + P, stream));
    TRY(sum_da(&c, &graph->columns, &job.da, GRADIENTS + Q, stream));
    return functions->finish ? functions->finish(&job) : TAMIS_OK;
}
