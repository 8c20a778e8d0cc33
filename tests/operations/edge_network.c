/* The network on edges, with all that its calls may leave out, and its gradients. */
#include "edge_network.h"

static const char *const names[] = {"E", "P", "Q", "W1", "b1", "W2", "b2", "W3", "b3", "gain", "shift"};
static const char *const gradients[] = {"dE", "dP", "dQ", "dW1", "db1", "dW2", "db2", "dW3", "db3", "dgain", "dshift"};

/* Widths of edges, hidden layers and results: one number, whole and ragged pieces of a register, and usual ones. */
static void draw_widths(operation_case *c, tamis_edge_network_options *o) {
    static const int64_t shapes[][3] = {{3, 4, 3},  {1, 1, 1},   {16, 16, 16}, {32, 64, 32}, {64, 32, 64},
                                        {7, 37, 5}, {4, 64, 20}, {33, 70, 66}, {64, 48, 64}, {128, 128, 128}};
    const int64_t most = c->small ? 1 : c->S.nnz > 3000 ? 5 : c->S.nnz > 250 ? 7 : c->S.nnz > 100 ? 9 : 10;
    const int64_t *const shape = shapes[operation_pick(c, 10) % most];
    o->residual = operation_once_in(c, 2);
    o->edge_width = operation_once_in(c, 6) ? 0 : o->residual ? shape[2] : shape[0];
    if (o->edge_width == 0) o->residual = false;
    o->hidden = shape[1];
    o->width = shape[2];
}

static void draw_options(operation_case *c, tamis_edge_network_options *o) {
    *o = (tamis_edge_network_options){.type = c->type,
                                      .reduce = (tamis_reduce)operation_pick(c, 4),
                                      .activation = (tamis_activation)operation_pick(c, 4),
                                      .argument_type = (tamis_index_type)operation_below(c, 2),
                                      .hidden_layers = (int)operation_below(c, 3),
                                      .normalise = !operation_once_in(c, 3),
                                      .reduce_update = operation_once_in(c, 3),
                                      .epsilon = operation_once_in(c, 2) ? 0 : 0.01};
    if (c->small) { /* differences of functions without kinks */
        o->epsilon = 0.25;
        if (o->activation == TAMIS_ACTIVATION_RELU) o->activation = TAMIS_ACTIVATION_TANH;
    }
    draw_widths(c, o);
    operation_says(c, ", activation %d, reduce %d, %d layers, normalise %d, residual %d", o->activation, o->reduce,
                   o->hidden_layers, o->normalise, o->residual);
}

static void draw(operation_case *c) {
    tamis_edge_network_options *const o = &OPERATION_OWN(c)->o;
    operation_pattern(c);
    draw_options(c, o);
    const int64_t d = o->edge_width, h = o->hidden, w = o->width;
    const int64_t shapes[INPUTS][2] = {{c->S.nnz, d}, {c->S.rows, h}, {c->S.cols, h}, {h, d}, {1, h}, {h, h},
                                       {1, h},        {w, h},         {1, w},         {1, w}, {1, w}};
    for (int k = 0; k < INPUTS; k++) {
        const bool given = k == E || k == W1 ? d > 0 : k == W2 ? o->hidden_layers == 2 : k == W3;
        const bool may = k == P || k == Q || k == B1 || k == B3 || (k == B2 && o->hidden_layers == 2) ||
                         ((k == GAIN || k == SHIFT) && o->normalise);
        if (!given && !(may && !operation_once_in(c, 4))) continue;
        operand_add(c, k, OPERAND_IN, -1, names[k], shapes[k][0], shapes[k][1])->optional = may;
        operand_add(c, D_E + k, OPERAND_GRADIENT, k, gradients[k], shapes[k][0], shapes[k][1])->optional = true;
    }
    const bool has_out = !operation_once_in(c, 5), has_edges = !has_out || operation_once_in(c, 2);
    const bool both = has_out && has_edges, extreme = o->reduce >= TAMIS_REDUCE_MAX;
    if (has_edges) {
        operand_add(c, EDGES, OPERAND_OUT, -1, "edges", c->S.nnz, w)->optional = both;
        operand_add(c, D_EDGES, OPERAND_SEED, EDGES, "dEdges", c->S.nnz, w)->optional = both;
    }
    if (!has_out) return;
    operand_add(c, OUT, OPERAND_OUT, -1, "out", c->S.rows, w)->optional = both && !extreme;
    operand_add(c, D_OUT, OPERAND_SEED, OUT, "dOut", c->S.rows, w)->optional = both && !extreme;
    if (extreme) operand_indices(c, ARGUMENT, OPERAND_OUT, "argument", c->S.rows * w, o->argument_type)->kept = true;
}

static void shrink(operation_case *c, int k, double factor) {
    matrix *const m = &c->of[k].m;
    if (!c->of[k].name) return;
    for (int64_t i = 0; i < m->here.rows * m->here.cols; i++)
        matrix_set(m, i / m->here.cols, i % m->here.cols, matrix_get(m, i / m->here.cols, i % m->here.cols) * factor);
}

/* Weights that keep the layers' sizes, and gradients whose sums do not overflow. */
static void fill(operation_case *c) {
    const tamis_edge_network_options *const o = &OPERATION_OWN(c)->o;
    if (c->small) return;
    shrink(c, W1, exp2(-ceil(log2((double)o->edge_width + 1) / 2)));
    shrink(c, W2, exp2(-ceil(log2((double)o->hidden) / 2)));
    shrink(c, W3, exp2(-ceil(log2((double)o->hidden) / 2)));
    shrink(c, D_EDGES, 0x1p-6);
    shrink(c, D_OUT, 0x1p-6);
}

static tamis_status open_all(operation_case *c) {
    own *const x = c->own;
    size_t bytes = 0, back_bytes = 0;
    tamis_status status = operation_open_graph(c);
    if (status == TAMIS_OK) status = tamis_edge_network_workspace_size(c->graph, &x->o, false, &bytes);
    if (status == TAMIS_OK) status = tamis_edge_network_workspace_size(c->graph, &x->o, true, &back_bytes);
    if (status != TAMIS_OK) return status;
    x->forward = twin_make(bytes + 16, 0); /* aligned by 16 bytes, as every block is */
    x->backward = twin_make(back_bytes + 16, 0);
    twin_send(&x->forward, c->device);
    twin_send(&x->backward, c->device);
    return TAMIS_OK;
}

static void close_all(operation_case *c) {
    twin_free(&OPERATION_OWN(c)->forward);
    twin_free(&OPERATION_OWN(c)->backward);
    operation_close_graph(c);
}

static tamis_edge_network_matrices given(const operation_case *c,
                                         const tamis_dense *(*of)(const operation_case *c, int k), int from) {
    return (tamis_edge_network_matrices){.E = of(c, from + E),
                                         .P = of(c, from + P),
                                         .Q = of(c, from + Q),
                                         .W1 = of(c, from + W1),
                                         .b1 = of(c, from + B1),
                                         .W2 = of(c, from + W2),
                                         .b2 = of(c, from + B2),
                                         .W3 = of(c, from + W3),
                                         .b3 = of(c, from + B3),
                                         .gain = of(c, from + GAIN),
                                         .shift = of(c, from + SHIFT)};
}

static tamis_status pass(operation_case *c) {
    const tamis_edge_network_matrices m = given(c, operand_there, 0);
    const bool both = c->of[EDGES].name && c->of[OUT].name;
    if (both && !operand_there(c, EDGES) && !operand_there(c, OUT)) return TAMIS_OK; /* the harness left both out */
    return tamis_edge_network(c->graph, &OPERATION_OWN(c)->o, &m, operand_there(c, EDGES), operand_there(c, OUT),
                              operand_array(c, ARGUMENT), twin_there(&OPERATION_OWN(c)->forward), c->stream);
}

static tamis_status back(operation_case *c) {
    const tamis_edge_network_matrices m = given(c, operand_there, 0), to = given(c, operand_there, D_E);
    return tamis_edge_network_backward(c->graph, &OPERATION_OWN(c)->o, &m, operand_there(c, D_EDGES),
                                       operand_there(c, D_OUT), operand_array(c, ARGUMENT), &to,
                                       twin_there(&OPERATION_OWN(c)->backward), c->stream);
}

static void differentiate(operation_case *c, double *const to[OPERANDS], const int64_t *argument) {
    const tamis_edge_network_matrices m = given(c, operand_here, 0);
    const tamis_edge_network_gradients d = {.e = to[D_E + E],
                                            .p = to[D_E + P],
                                            .q = to[D_E + Q],
                                            .w1 = to[D_E + W1],
                                            .b1 = to[D_E + B1],
                                            .w2 = to[D_E + W2],
                                            .b2 = to[D_E + B2],
                                            .w3 = to[D_E + W3],
                                            .b3 = to[D_E + B3],
                                            .gain = to[D_E + GAIN],
                                            .shift = to[D_E + SHIFT]};
    if (c->forward_only) return;
    test_must(tamis_reference_edge_network_backward(&c->S, &OPERATION_OWN(c)->o, &m, operand_here(c, D_EDGES),
                                                    operand_here(c, D_OUT), argument, &d));
}

void network_gradients(operation_case *c) {
    double *to[OPERANDS] = {NULL};
    const int64_t count = c->of[ARGUMENT].name ? operand_count(c, ARGUMENT) : 0;
    OWN(int64_t) *const argument = test_room(count, sizeof *argument);
    for (int k = D_E; k < OPERANDS; k++) to[k] = c->of[k].name ? operand_want(c, k) : NULL;
    for (int64_t i = 0; i < count && c->of[ARGUMENT].want; i++) argument[i] = (int64_t)c->of[ARGUMENT].want[i];
    differentiate(c, to, c->of[ARGUMENT].want ? argument : NULL);
}

static void evaluate(operation_case *c, double *const to[OPERANDS]) {
    const tamis_edge_network_matrices m = given(c, operand_here, 0);
    OWN(int64_t) *const argument = test_room(c->S.rows * OPERATION_OWN(c)->o.width, sizeof *argument);
    test_must(
        tamis_reference_edge_network(&c->S, &OPERATION_OWN(c)->o, &m, to[EDGES], to[OUT], to[OUT] ? argument : NULL));
    for (int64_t i = 0; to[ARGUMENT] && i < operand_count(c, ARGUMENT); i++) to[ARGUMENT][i] = (double)argument[i];
    differentiate(c, to, NULL);
}

static void reference(operation_case *c) {
    operation_expect(c, evaluate, 0);
    if (!c->small) network_bounds(c);
}

static const operation_refusal refusals[] = {
    SPOILS(own, o.type, 4, ARGUMENT, "options.type = 4"),
    SPOILS(own, o.math, 2, ARGUMENT, "options.math = 2"),
    SPOILS(own, o.activation, 4, ARGUMENT, "options.activation = 4"),
    SPOILS(own, o.reduce, 4, ARGUMENT, "options.reduce = 4"),
    SPOILS(own, o.argument_type, 2, ARGUMENT, "options.argument_type = 2"),
    SPOILS(own, o.hidden_layers, 3, ARGUMENT, "options.hidden_layers = 3"),
    SPOILS(own, o.edge_width, -1, ARGUMENT, "options.edge_width = -1"),
    SPOILS(own, o.hidden, 0, ARGUMENT, "options.hidden = 0"),
    SPOILS(own, o.width, 0, ARGUMENT, "options.width = 0"),
    SPOILS_NUMBER(own, o.epsilon, -1, ARGUMENT, "options.epsilon = -1"),
    SPOILS(own, o.reserved[5], 1, UNSUPPORTED, "options.reserved[5] = 0x1"),
};

static const operation_row row = {.name = "network on edges",
                                  .own = sizeof(own),
                                  .tables = TEST_MESSAGES,
                                  .cases = 4 * OPERATION_PATTERNS * 4 * 4 * 3,
                                  .any_values = true,
                                  .back_reads = true,
                                  .draw = draw,
                                  .fill = fill,
                                  .open = open_all,
                                  .close = close_all,
                                  .pass = pass,
                                  .back = back,
                                  .reference = reference,
                                  OPERATION_REFUSES(refusals)};

OPERATION_WITH_GRADIENT(row)
