/* Calls on graphs: what depends on an operation, and is refused or promised; tests/operations has all else. */
#include "support/test.h"

#include <tamis/edge_network.h>

#include "cpu_device.h"
#include "small.h"

enum { ROWS = SMALL_ROWS, COLS = SMALL_COLS, NNZ = SMALL_NNZ, WIDTH = 2, HEADS = 2, ALL = HEADS * WIDTH };

/* A valid call of each function, which a test spoils in one place. */
static small s;
static struct {
    int32_t argument[ROWS * ALL];
    float rows[4][ROWS * ALL], cols[4][COLS * ALL], entries[2][NNZ * ALL], heads[2][NNZ * HEADS],
        log_sums[ROWS * HEADS];
    _Alignas(16) float workspace[NNZ * HEADS * 2];
    float weights[2][ALL * ALL];
    tamis_dense R[4], C[4], E[2], B[2], L, W, dW;
    tamis_message_options options;
    tamis_pair_options pair;
    tamis_graph_attention_options attention;
    tamis_graph_attention_matrices matrices, gradients;
    tamis_segment_options segment;
    tamis_edge_network_options network;
    tamis_edge_network_matrices layers, by_layers;
    _Alignas(16) char room[1 << 20];
    tamis_graph *graph;
} c;

static int set_up_all(void **state) {
    small_make(&s);
    memset(&c, 0x5a, sizeof c);
    for (int i = 0; i < 4; i++) c.R[i] = dense_of(c.rows[i], ROWS, ALL), c.C[i] = dense_of(c.cols[i], COLS, ALL);
    for (int i = 0; i < 2; i++) c.E[i] = dense_of(c.entries[i], NNZ, ALL), c.B[i] = dense_of(c.heads[i], NNZ, HEADS);
    c.L = dense_of(c.log_sums, ROWS, HEADS);
    c.options = (tamis_message_options){.op = TAMIS_MESSAGE_MUL,
                                        .reduce = TAMIS_REDUCE_MAX,
                                        .edge_data = TAMIS_E_VECTOR,
                                        .heads = HEADS,
                                        .width = WIDTH};
    c.pair = (tamis_pair_options){.op = TAMIS_PAIR_MUL, .heads = HEADS, .width = WIDTH};
    c.attention = (tamis_graph_attention_options){.heads = HEADS, .width = WIDTH, .scale = 1};
    c.segment = (tamis_segment_options){.op = TAMIS_SEGMENT_MAX, .heads = HEADS};
    c.matrices = (tamis_graph_attention_matrices){.Q = &c.R[0], .K = &c.C[0], .V = &c.C[1], .E = &c.E[0], .B = &c.B[0]};
    c.gradients =
        (tamis_graph_attention_matrices){.Q = &c.R[1], .K = &c.C[2], .V = &c.C[3], .E = &c.E[1], .B = &c.B[1]};
    c.network =
        (tamis_edge_network_options){.edge_width = ALL, .hidden = ALL, .width = ALL, .reduce = TAMIS_REDUCE_MAX};
    c.W = dense_of(c.weights[0], ALL, ALL);
    c.dW = dense_of(c.weights[1], ALL, ALL);
    c.layers = (tamis_edge_network_matrices){.E = &c.E[0], .P = &c.R[0], .Q = &c.C[0], .W1 = &c.W, .W3 = &c.W};
    c.by_layers = (tamis_edge_network_matrices){.E = &c.E[1], .P = &c.R[1], .Q = &c.C[2], .W3 = &c.dW};
    refusals_watch(&c, sizeof c);
    return set_up(state) || tamis_graph_create(device, &s.S, NULL, &c.graph) != TAMIS_OK;
}

static int tear_down_all(void **state) {
    tamis_graph_destroy(c.graph);
    return tear_down(state);
}

static tamis_status pass_with(const tamis_dense *U, const tamis_dense *E, void *argument) {
    return tamis_message_pass(c.graph, &c.options, U, E, &c.R[0], argument, NULL);
}
static tamis_status pass(void) { return pass_with(&c.C[0], &c.E[0], c.argument); }

static tamis_status back_with(const tamis_dense *U, const tamis_dense *E, const tamis_dense *dU,
                              const tamis_dense *dE) {
    return tamis_message_backward(c.graph, &c.options, &c.R[1], U, E, c.argument, dU, dE, NULL);
}
static tamis_status back(void) { return back_with(&c.C[0], &c.E[0], &c.C[1], &c.E[1]); }

TEST(graphs_explain_themselves) {
    char text[1024], cut[40];
    size_t needed = 0, again = 0;
    works(tamis_graph_explain(c.graph, text, sizeof text, &needed));
    assert_int_equal(needed, strlen(text) + 1);
    assert_int_equal(strncmp(text, "graph        ", 13), 0);
    assert_non_null(strstr(text, "\nby rows      S's own arrays; no row has 1024 entries"));
    assert_non_null(strstr(text, "\nby columns   "));
    assert_non_null(strstr(text, "\ntexts        a message that is an expression runs step by step"));
    works(tamis_graph_explain(c.graph, cut, sizeof cut, &again));
    assert_int_equal(again, needed);
    assert_int_equal(strncmp(cut, text, sizeof cut - 1), 0);
    works(tamis_graph_explain(c.graph, NULL, 0, NULL));
    REFUSED(ARGUMENT, "graph = NULL", tamis_graph_explain(NULL, text, sizeof text, NULL));
    REFUSED(ARGUMENT, "text = NULL, but bytes = 4", tamis_graph_explain(c.graph, NULL, 4, NULL));
}

TEST(graphs) {
    tamis_graph_options options = {.threads = 1};
    tamis_graph *graph;
    REFUSED_MADE(graph, ARGUMENT, "device = NULL", tamis_graph_create(NULL, &s.S, NULL, &graph));
    REFUSED_MADE(graph, ARGUMENT, "S = NULL", tamis_graph_create(device, NULL, NULL, &graph));
    REFUSED(ARGUMENT, "graph = NULL", tamis_graph_create(device, &s.S, NULL, NULL));
    SPOILT_MADE(graph, options.threads, -1, ARGUMENT, "options.threads = -1",
                tamis_graph_create(device, &s.S, &options, &graph));
    SPOILT_MADE(graph, options.reserved[1], 3, UNSUPPORTED, "options.reserved[1] = 0x3",
                tamis_graph_create(device, &s.S, &options, &graph));
    SPOILT_MADE(graph, s.columns[3], COLS, PATTERN, "columns[3] = 4", tamis_graph_create(device, &s.S, NULL, &graph));
    options = (tamis_graph_options){.forward_only = true, .column_places = true};
    REFUSED_MADE(graph, ARGUMENT, "options.column_places and forward_only",
                 tamis_graph_create(device, &s.S, &options, &graph));
    options = (tamis_graph_options){.forward_only = true, .trust_input = true};
    works(tamis_graph_create(device, &s.S, &options, &graph));
    tamis_graph *const both = c.graph;
    c.graph = graph;
    works(pass());
    REFUSED(ARGUMENT, "forward_only", back());
    tamis_graph_destroy(graph);
    c.graph = both;
    tamis_graph_destroy(NULL);
}

TEST(no_memory) {
    const tamis_graph_options options = {.column_places = true};
    EACH_FAULT(w) {
        tamis_graph *graph;
        if (FAULTY(w, tamis_graph_create(device, &s.coo, &options, &graph)) != TAMIS_OK) assert_null(graph);
        tamis_graph_destroy(graph);
    }
}

TEST(messages) {
    SPOILT(c.graph, NULL, ARGUMENT, "graph = NULL: make one with tamis_graph_create", pass());
    REFUSED(ARGUMENT, "stream = ", tamis_message_pass(c.graph, &c.options, &c.C[0], &c.E[0], &c.R[0], c.argument, &c));
    REFUSED(ARGUMENT, "options = NULL", tamis_message_pass(c.graph, NULL, &c.C[0], &c.E[0], &c.R[0], c.argument, NULL));
    REFUSED(ARGUMENT, "options = NULL", tamis_edge_vectors(c.graph, NULL, &c.R[1], &c.C[0], &c.E[0], NULL));
    SPOILT_BY(c, (c.options.width = INT64_C(1) << 54, c.options.heads = 1 << 20), OVERFLOW, "options.heads = 1048576",
              pass());
    SPOILT(c.options.op, TAMIS_MESSAGE_COPY_U, ARGUMENT, "since copy_u reads no E", pass());
    SPOILT(c.options.edge_data, TAMIS_E_NONE, ARGUMENT, "since the message reads E", pass());
    SPOILT(c.options.op, TAMIS_MESSAGE_COPY_E, ARGUMENT, "U is not NULL, but copy_e", pass());
    SPOILT_BY(c, c.options.op = TAMIS_MESSAGE_COPY_U;
              c.options.edge_data = TAMIS_E_NONE, ARGUMENT, "E is not NULL, but copy_u", pass());
    SPOILT(c.options.op, TAMIS_MESSAGE_COPY_E, ARGUMENT, "dU is not NULL, but copy_e", back());
    SPOILT_BY(c, c.options.op = TAMIS_MESSAGE_COPY_U;
              c.options.edge_data = TAMIS_E_NONE, ARGUMENT, "dE is not NULL, but copy_u", back());
    SPOILT(c.options.reduce, TAMIS_REDUCE_SUM, ARGUMENT, "argument is not NULL, but only max and min", pass());
    REFUSED(ARGUMENT, "is not aligned to one index of int32", pass_with(&c.C[0], &c.E[0], (char *)c.argument + 2));
    REFUSED(ARGUMENT, "U = NULL: expected a matrix of 4 x 4, which the gradient by E",
            back_with(NULL, &c.E[0], NULL, &c.E[1]));
    REFUSED(ARGUMENT, "E = NULL: expected a matrix of 5 x 4, which the gradient by U",
            back_with(&c.C[0], NULL, &c.C[1], NULL));
    SPOILT(c.options.op, TAMIS_MESSAGE_ADD_RELU, ARGUMENT,
           "U = NULL: expected a matrix of 4 x 4, which the gradient reads", back_with(NULL, &c.E[0], NULL, &c.E[1]));
    SPOILT(c.options.op, TAMIS_MESSAGE_ADD_RELU, ARGUMENT,
           "E = NULL: expected a matrix of 5 x 4, which the gradient reads", back_with(&c.C[0], NULL, &c.C[1], NULL));
    REFUSED(ARGUMENT, "V = NULL: expected a matrix of 4 x 4, which the gradient",
            tamis_edge_vectors_backward(c.graph, &c.pair, &c.E[0], &c.R[1], NULL, &c.R[0], NULL, NULL));
    SPOILT(c.pair.op, TAMIS_PAIR_DOT, ARGUMENT, "out.cols = 4: expected 2",
           tamis_edge_vectors(c.graph, &c.pair, &c.R[1], &c.C[0], &c.E[0], NULL));
}

static tamis_status say(const char *text, const tamis_dense *U, const tamis_dense *V, const tamis_dense *E) {
    const tamis_message_options o = {.op = TAMIS_MESSAGE_TEXT,
                                     .edge_data = E ? TAMIS_E_VECTOR : TAMIS_E_NONE,
                                     .heads = HEADS,
                                     .width = WIDTH,
                                     .text = text,
                                     .V = V};
    return tamis_message_pass(c.graph, &o, U, E, &c.R[0], NULL, NULL);
}

TEST(texts) {
    const tamis_dense *const U = &c.C[0], *const V = &c.R[1], *const E = &c.E[0];
    const tamis_edge_number twice[] = {{"a", 1}, {"a", 2}}, endless[] = {{"a", INFINITY}}, taken[] = {{"v", 1}};
    works(say("leaky_relu(u + v + e)", U, V, E));
    works(say("i - 2 * j", NULL, NULL, NULL));
    REFUSED(ARGUMENT, "message: its text is NULL: expected an expression of u, v, e, i, j, h",
            say(NULL, U, NULL, NULL));
    REFUSED(ARGUMENT, "^message:1:9: unknown name 'w'; names are u, v, e, i, j, h, functions and",
            say("relu(u +w)", U, V, E));
    REFUSED(ARGUMENT, "^message:1:1: unknown name 'tahn'; did you mean 'tanh'?", say("tahn(u)", U, NULL, NULL));
    REFUSED(ARGUMENT, "^message:1:1: leaky_relu takes 1 or 2 operands, not 3",
            say("leaky_relu(u, 1, 2)", U, NULL, NULL));
    REFUSED(ARGUMENT, "options.V = NULL: expected a matrix of 3 x 4, which the message reads",
            say("u * v", U, NULL, NULL));
    REFUSED(ARGUMENT, "options.edge_data = 0: expected a number", say("u * e", U, NULL, NULL));
    REFUSED(ARGUMENT, "U = NULL: expected a matrix of 4 x 4, which the message reads", say("u * v", NULL, V, NULL));
    REFUSED(ARGUMENT, "U is not NULL, but the text does not read it: expected NULL", say("v", U, V, NULL));
    REFUSED(ARGUMENT, "options.V is not NULL, but the text does not read it", say("u", U, V, NULL));
    REFUSED(ARGUMENT, "TAMIS_E_NONE, since the text reads no E", say("u", U, NULL, E));
    tamis_message_options o = c.options;
    o.text = "u";
    REFUSED(ARGUMENT, "options.text or its numbers are set, but options.op = 3: set TAMIS_MESSAGE_TEXT = 6",
            tamis_message_pass(c.graph, &o, U, E, &c.R[0], c.argument, NULL));
    o = c.options;
    o.V = V;
    REFUSED(ARGUMENT, "options.V is not NULL, but mul does not read it",
            tamis_message_pass(c.graph, &o, U, E, &c.R[0], c.argument, NULL));
    o.op = TAMIS_MESSAGE_TEXT;
    o.reduce = TAMIS_REDUCE_SUM;
    o.text = "u * v * e + a";
    o.number_count = 2;
    REFUSED(ARGUMENT, "options.numbers = NULL, but options.number_count = 2",
            tamis_message_pass(c.graph, &o, U, E, &c.R[0], NULL, NULL));
    o.numbers = twice;
    REFUSED(ARGUMENT, "message: two numbers have the name 'a'",
            tamis_message_pass(c.graph, &o, U, E, &c.R[0], NULL, NULL));
    o.number_count = 1;
    works(tamis_message_pass(c.graph, &o, U, E, &c.R[0], NULL, NULL));
    o.numbers = endless;
    REFUSED(ARGUMENT, "message: the number 'a' = inf is not finite",
            tamis_message_pass(c.graph, &o, U, E, &c.R[0], NULL, NULL));
    o.numbers = taken;
    REFUSED(ARGUMENT, "message: the name 'v' of a number is that of a variable",
            tamis_message_pass(c.graph, &o, U, E, &c.R[0], NULL, NULL));
    o.numbers = twice;
    o.dV = &c.R[2];
    REFUSED(ARGUMENT, "options.dV is not NULL, but only the backward call has gradients",
            tamis_message_pass(c.graph, &o, U, E, &c.R[0], NULL, NULL));
    REFUSED(ARGUMENT, "options.dV.data = 0x",
            tamis_message_backward(c.graph, &o, &c.R[2], U, E, NULL, NULL, NULL, NULL));
    REFUSED(ARGUMENT, "E = NULL: expected a matrix of 5 x 4, which the gradient reads",
            tamis_message_backward(c.graph, &o, &c.R[0], U, NULL, NULL, NULL, NULL, NULL));
    o.V = o.dV = NULL;
    o.text = "u * e";
    o.numbers = NULL;
    o.number_count = 0;
    works(tamis_message_backward(c.graph, &o, &c.R[0], U, E, NULL, &c.C[1], &c.E[1], NULL));
    o.dV = &c.R[2];
    REFUSED(ARGUMENT, "options.dV is not NULL, but the text does not read V",
            tamis_message_backward(c.graph, &o, &c.R[0], U, E, NULL, NULL, NULL, NULL));
}

static tamis_status attend(void) {
    return tamis_graph_attention(c.graph, &c.attention, &c.matrices, &c.R[2], &c.L, NULL);
}

static tamis_status attend_back(const tamis_graph_attention_matrices *gradients, void *workspace) {
    return tamis_graph_attention_backward(c.graph, &c.attention, &c.matrices, &c.R[3], &c.R[2], &c.L, gradients,
                                          workspace, NULL);
}

TEST(attention) {
    REFUSED(ARGUMENT, "graph = NULL: make one",
            tamis_graph_attention(NULL, &c.attention, &c.matrices, &c.R[2], NULL, NULL));
    REFUSED(ARGUMENT, "options = NULL", tamis_graph_attention(c.graph, NULL, &c.matrices, &c.R[2], NULL, NULL));
    REFUSED(ARGUMENT, "matrices = NULL: expected Q, K and V",
            tamis_graph_attention(c.graph, &c.attention, NULL, &c.R[2], NULL, NULL));
    REFUSED(ARGUMENT, "stream = ", tamis_graph_attention(c.graph, &c.attention, &c.matrices, &c.R[2], NULL, &c));
    SPOILT_BY(c, (c.attention.width = INT64_C(1) << 54, c.attention.heads = 1 << 20), OVERFLOW,
              "options.heads = 1048576", attend());
    SPOILT(c.matrices.reserved[2], 7, UNSUPPORTED, "matrices.reserved[2] = 0x7", attend());
    SPOILT(c.gradients.reserved[0], 7, UNSUPPORTED, "gradients.reserved[0] = 0x7",
           attend_back(&c.gradients, c.workspace));
    SPOILT(c.matrices.V, NULL, ARGUMENT, "V = NULL: expected a matrix of 4 x 4",
           attend_back(&c.gradients, c.workspace));
    SPOILT(c.matrices.E, NULL, ARGUMENT, "dE is not NULL, but E is NULL", attend_back(&c.gradients, c.workspace));
    SPOILT(c.matrices.B, NULL, ARGUMENT, "dB is not NULL, but B is NULL", attend_back(&c.gradients, c.workspace));
    REFUSED(ARGUMENT, "gradients = NULL", attend_back(NULL, c.workspace));
    REFUSED(ARGUMENT, "workspace = NULL: expected 80 bytes", attend_back(&c.gradients, NULL));
    REFUSED(ARGUMENT, "is not aligned to 16 bytes", attend_back(&c.gradients, c.workspace + 1));
    REFUSED(ARGUMENT, "bytes = NULL", tamis_graph_attention_workspace_size(c.graph, &c.attention, NULL));
}

static tamis_status network(const tamis_dense *edges, const tamis_dense *out, void *argument, void *workspace) {
    return tamis_edge_network(c.graph, &c.network, &c.layers, edges, out, argument, workspace, NULL);
}

static tamis_status network_back(const tamis_dense *dEdges, const tamis_dense *dOut, const void *argument,
                                 const tamis_edge_network_matrices *gradients) {
    return tamis_edge_network_backward(c.graph, &c.network, &c.layers, dEdges, dOut, argument, gradients, c.room, NULL);
}

static tamis_status network_call(void) { return network(NULL, &c.R[2], c.argument, c.room); }
static tamis_status network_gradients(void) { return network_back(NULL, &c.R[3], c.argument, &c.by_layers); }

TEST(networks_on_edges) {
    size_t bytes = 0, back_bytes = 0;
    works(tamis_edge_network_workspace_size(c.graph, &c.network, false, &bytes));
    works(tamis_edge_network_workspace_size(c.graph, &c.network, true, &back_bytes));
    assert_true(bytes > 0 && back_bytes > bytes && back_bytes <= sizeof c.room);
    works(network_call());
    works(network_gradients());
    refusals_watch(&c, sizeof c);
    REFUSED(ARGUMENT, "graph = NULL: make one", tamis_edge_network_workspace_size(NULL, &c.network, true, &bytes));
    REFUSED(ARGUMENT, "options = NULL", tamis_edge_network_workspace_size(c.graph, NULL, true, &bytes));
    REFUSED(ARGUMENT, "bytes = NULL", tamis_edge_network_workspace_size(c.graph, &c.network, true, NULL));
    REFUSED(ARGUMENT, "matrices = NULL: expected W3",
            tamis_edge_network(c.graph, &c.network, NULL, NULL, &c.R[2], NULL, c.room, NULL));
    REFUSED(ARGUMENT, "edges = NULL and out = NULL", network(NULL, NULL, NULL, c.room));
    REFUSED(ARGUMENT, "out = NULL, but argument is not", network(&c.E[1], NULL, c.argument, c.room));
    REFUSED(ARGUMENT, "workspace = NULL: expected the", network(NULL, &c.R[2], NULL, NULL));
    REFUSED(ARGUMENT, "is not aligned to 16 bytes", network(NULL, &c.R[2], NULL, c.room + 4));
    SPOILT(c.network.reduce, TAMIS_REDUCE_SUM, ARGUMENT, "argument is not NULL", network_call());
    SPOILT(c.network.hidden, INT64_C(1) << 54, OVERFLOW, "options.hidden = 18014398509481984",
           tamis_edge_network_workspace_size(c.graph, &c.network, true, &bytes));
    SPOILT_BY(c, (c.network.residual = true, c.network.width = 3), ARGUMENT,
              "options.residual = true with edge_width = 4 and width = 3", network_call());
    SPOILT(c.network.hidden_layers, 2, ARGUMENT, "W2 = NULL: expected a matrix of 4 x 4", network_call());
    SPOILT(c.network.edge_width, 0, ARGUMENT, "E is not NULL, but options.edge_width = 0", network_call());
    SPOILT(c.layers.E, NULL, ARGUMENT, "E = NULL: expected a matrix of 5 x 4", network_call());
    SPOILT(c.layers.W2, &c.W, ARGUMENT, "W2 is not NULL, but options.hidden_layers is not 2", network_call());
    SPOILT(c.layers.gain, &c.W, ARGUMENT, "gain is not NULL, but options.normalise is false", network_call());
    SPOILT(c.layers.W3, NULL, ARGUMENT, "W3 = NULL: expected a matrix of 4 x 4", network_call());
    SPOILT(c.layers.P, NULL, ARGUMENT, "dP is not NULL, but P is NULL", network_gradients());
    SPOILT(c.layers.reserved[3], 7, UNSUPPORTED, "matrices.reserved[3] = 0x7", network_gradients());
    SPOILT(c.by_layers.reserved[0], 7, UNSUPPORTED, "gradients.reserved[0] = 0x7", network_gradients());
    REFUSED(ARGUMENT, "gradients = NULL", network_back(NULL, &c.R[3], c.argument, NULL));
    REFUSED(ARGUMENT, "dEdges = NULL and dOut = NULL", network_back(NULL, NULL, NULL, &c.by_layers));
    REFUSED(ARGUMENT, "dOut = NULL, but argument is not", network_back(&c.E[0], NULL, c.argument, &c.by_layers));
    REFUSED(ARGUMENT, "argument = NULL: expected that of the forward call",
            network_back(NULL, &c.R[3], NULL, &c.by_layers));
}

TEST(segments) {
    const tamis_dense X = c.B[0], Y = c.L;
    SPOILT(c.segment.order, TAMIS_ENTRIES_BY_COLUMN, ARGUMENT, "options.column_places",
           tamis_segment(c.graph, &c.segment, &X, &Y, c.argument, NULL));
    SPOILT(c.segment.op, TAMIS_SEGMENT_SUM, ARGUMENT, "argument is not NULL",
           tamis_segment(c.graph, &c.segment, &X, &Y, c.argument, NULL));
    SPOILT(c.segment.op, TAMIS_SEGMENT_SUM, ARGUMENT, "Y is not NULL",
           tamis_segment_backward(c.graph, &c.segment, &Y, &c.B[1], NULL, &X, NULL));
}

/* The oracle, by hand. Of equal messages the first counts; the first NaN wins against everything; a row without entries
   gives 0 and -1. */
TEST(ties_and_nan) {
    enum { ENTRIES = 8 };
    int32_t rows[ENTRIES] = {2, 0, 2, 0, 3, 3, 3, 2}, columns[ENTRIES] = {0, 1, 2, 3, 4, 5, 6, 7};
    double u[ENTRIES] = {1, -0.0, 5, 0, 2, NAN, NAN, 5};
    const double results[2][4] = {{0, 0, 5, NAN}, {0, 0, 1, NAN}};
    const int64_t wanted[2][4] = {{1, -1, 2, 5}, {1, -1, 0, 5}};
    const tamis_sparse S = {
        .format = TAMIS_COO, .rows = 4, .cols = ENTRIES, .nnz = ENTRIES, .row_indices = rows, .columns = columns};
    const tamis_dense U = {.data = u, .rows = ENTRIES, .cols = 1, .type = TAMIS_F64};
    for (int i = 0; i < 4; i++) {
        const tamis_message_options o = {
            .reduce = i % 2 ? TAMIS_REDUCE_MIN : TAMIS_REDUCE_MAX, .type = TAMIS_F64, .width = 1};
        const tamis_segment_options segment = {
            .op = i % 2 ? TAMIS_SEGMENT_MIN : TAMIS_SEGMENT_MAX, .type = TAMIS_F64, .heads = 1};
        double out[4];
        int64_t argument[4];
        if (i < 2)
            works(tamis_reference_message(&S, &o, &U, NULL, out, argument));
        else
            works(tamis_reference_segment(&S, &segment, &U, out, argument));
        for (int j = 0; j < 4; j++) {
            assert_true(out[j] == results[i % 2][j] || (isnan(out[j]) && isnan(results[i % 2][j])));
            assert_int_equal(argument[j], wanted[i % 2][j]);
        }
    }
}

/* The oracle, by hand: -infinity leaves entries out; a row of nothing else gives 0, as an empty row does. */
TEST(masks) {
    int32_t offsets[] = {0, 3, 3, 4}, columns[] = {0, 1, 2, 3};
    double q[] = {1, 2, 3}, v[] = {5, 6, 7, 8}, b[] = {-INFINITY, 2, -INFINITY, -INFINITY}, out[3], sums[3];
    const tamis_sparse S = {.rows = 3, .cols = 4, .nnz = 4, .offsets = offsets, .columns = columns};
    const tamis_dense Q = {.data = q, .rows = 3, .cols = 1, .type = TAMIS_F64};
    const tamis_dense V = {.data = v, .rows = 4, .cols = 1, .type = TAMIS_F64};
    tamis_dense B = V;
    B.data = b;
    const tamis_graph_attention_matrices m = {.Q = &Q, .K = &V, .V = &V, .B = &B};
    const tamis_graph_attention_options o = {.type = TAMIS_F64, .heads = 1, .width = 1};
    works(tamis_reference_graph_attention(&S, &o, &m, out, sums));
    assert_true(out[0] == 6 && out[1] == 0 && out[2] == 0);
    assert_true(sums[0] == 2 && sums[1] == -INFINITY && sums[2] == -INFINITY);
}

/* Attention to a row of a graph: the same bits as with no other row beside it, wherever a kernel ends what it computes
   together. */
static void attend_csr(int64_t rows, const int64_t *offsets, const int32_t *columns, float *q, float *k, float *out,
                       float *sums) {
    enum { COLUMNS = 400 };
    const tamis_graph_attention_options o = {.heads = HEADS, .width = 3, .scale = 0.5};
    const tamis_sparse S = CSR(rows, COLUMNS, offsets, columns, (const float *)NULL);
    const tamis_dense Q = dense_of(q, rows, 3 * HEADS), K = dense_of(k, COLUMNS, 3 * HEADS),
                      to = dense_of(out, rows, 3 * HEADS), L = dense_of(sums, rows, HEADS);
    const tamis_graph_attention_matrices m = {.Q = &Q, .K = &K, .V = &K};
    tamis_graph *graph = NULL;
    works(tamis_graph_create(device, &S, NULL, &graph));
    works(tamis_graph_attention(graph, &o, &m, &to, &L, NULL));
    tamis_graph_destroy(graph);
}

TEST(rows_alone_and_together) {
    enum { TOGETHER = 300, LONGEST = 7000, ALL_ENTRIES = 200000, NUMBERS = 3 * HEADS, COLUMNS = 400 };
    static float q[TOGETHER * NUMBERS], k[COLUMNS * NUMBERS], out[TOGETHER * NUMBERS], sums[TOGETHER * HEADS];
    static int32_t columns[ALL_ENTRIES];
    int64_t offsets[TOGETHER + 1] = {0};
    for (int i = 0; i < TOGETHER; i++)
        offsets[i + 1] = offsets[i] + (i % 90 == 4 ? LONGEST - 10 * i : i % 7 ? 57 * i % 900 : 0);
    assert_true(offsets[TOGETHER] <= ALL_ENTRIES);
    for (int64_t t = 0; t < offsets[TOGETHER]; t++) columns[t] = (int32_t)(t * 37 % COLUMNS);
    for (int i = 0; i < TOGETHER * NUMBERS; i++) q[i] = sinf((float)i);
    for (int i = 0; i < COLUMNS * NUMBERS; i++) k[i] = cosf((float)(3 * i));
    attend_csr(TOGETHER, offsets, columns, q, k, out, sums);
    for (int i = 0; i < TOGETHER; i++) {
        const int64_t own[] = {0, offsets[i + 1] - offsets[i]};
        float alone[NUMBERS], sum[HEADS];
        attend_csr(1, own, columns + offsets[i], q + i * NUMBERS, k, alone, sum);
        assert_memory_equal(alone, out + i * NUMBERS, sizeof alone);
        assert_memory_equal(sum, sums + i * HEADS, sizeof sum);
    }
}

TEST_FIXTURE(set_up_all, tear_down_all)
