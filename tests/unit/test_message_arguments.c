/* Message passing: each argument in its turn is wrong. The error names it, its value and what to write, and outputs
   stay as they are. */
#include "support/test.h"

#include <string.h>
#include <tamis/message.h>

#include "cpu_device.h"
#include "small.h"
#include "support/faults.h"
#include "support/refusals.h"
#include "support/works.h"

enum { ROWS = SMALL_ROWS, COLS = SMALL_COLS, NNZ = SMALL_NNZ, WIDTH = 2, HEADS = 2, ALL = HEADS * WIDTH };

/* A valid call of each function, which a test spoils in one place. */
static small s;
static struct {
    int32_t argument[ROWS * ALL];
    float u[COLS * ALL], v[COLS * ALL], e[NNZ * ALL], out[ROWS * ALL], du[COLS * ALL], de[NNZ * ALL];
    tamis_dense U, V, E, Out, dU, dE;
    tamis_message_options options;
    tamis_pair_options pair;
    tamis_graph *graph;
} c;

static int set_up_all(void **state) {
    small_make(&s);
    memset(&c, 0x5a, sizeof c);
    c.U = dense_of(c.u, COLS, ALL);
    c.V = dense_of(c.v, ROWS, ALL); /* the other end */
    c.E = dense_of(c.e, NNZ, ALL);
    c.Out = dense_of(c.out, ROWS, ALL);
    c.dU = dense_of(c.du, COLS, ALL);
    c.dE = dense_of(c.de, NNZ, ALL);
    c.options = (tamis_message_options){.op = TAMIS_MESSAGE_MUL,
                                        .reduce = TAMIS_REDUCE_MAX,
                                        .edge_data = TAMIS_E_VECTOR,
                                        .heads = HEADS,
                                        .width = WIDTH};
    c.pair = (tamis_pair_options){.op = TAMIS_PAIR_MUL, .heads = HEADS, .width = WIDTH};
    refusals_watch(&c, sizeof c);
    return set_up(state) || tamis_graph_create(device, &s.S, NULL, &c.graph) != TAMIS_OK;
}

static int tear_down_all(void **state) {
    tamis_graph_destroy(c.graph);
    return tear_down(state);
}

static tamis_status pass(void) { return tamis_message_pass(c.graph, &c.options, &c.U, &c.E, &c.Out, c.argument, NULL); }

static tamis_status back_with(const tamis_dense *U, const tamis_dense *E, const void *argument, const tamis_dense *dU,
                              const tamis_dense *dE) {
    return tamis_message_backward(c.graph, &c.options, &c.Out, U, E, argument, dU, dE, NULL);
}

static tamis_status back(void) { return back_with(&c.U, &c.E, c.argument, &c.dU, &c.dE); }

static tamis_status edges(void) { return tamis_edge_vectors(c.graph, &c.pair, &c.V, &c.U, &c.dE, NULL); }

TEST(graphs) {
    tamis_graph *graph;
    tamis_graph_options options = {.threads = 0};
    REFUSED_MADE(graph, ARGUMENT, "device = NULL", tamis_graph_create(NULL, &s.S, NULL, &graph));
    REFUSED_MADE(graph, ARGUMENT, "S = NULL", tamis_graph_create(device, NULL, NULL, &graph));
    REFUSED(ARGUMENT, "graph = NULL", tamis_graph_create(device, &s.S, NULL, NULL));
    SPOILT_MADE(graph, options.threads, -1, ARGUMENT, "options.threads = -1",
                tamis_graph_create(device, &s.S, &options, &graph));
    SPOILT_MADE(graph, options.reserved[1], 3, UNSUPPORTED, "options.reserved[1] = 0x3",
                tamis_graph_create(device, &s.S, &options, &graph));
    SPOILT_MADE(graph, s.columns[3], COLS, PATTERN, "columns[3] = 4", tamis_graph_create(device, &s.S, NULL, &graph));
    options = (tamis_graph_options){.forward_only = true, .trust_input = true};
    works(tamis_graph_create(device, &s.S, &options, &graph));
    tamis_graph *const both = c.graph;
    c.graph = graph;
    works(pass());
    REFUSED(ARGUMENT, "forward_only", back());
    tamis_graph_destroy(graph);
    c.graph = both;
    SPOILT(c.graph, NULL, ARGUMENT, "graph = NULL: make one with tamis_graph_create", pass());
    REFUSED(ARGUMENT, "stream = ", tamis_message_pass(both, &c.options, &c.U, &c.E, &c.Out, c.argument, &c));
    REFUSED(ARGUMENT, "options = NULL", tamis_message_pass(both, NULL, &c.U, &c.E, &c.Out, c.argument, NULL));
    REFUSED(ARGUMENT, "options = NULL", tamis_edge_vectors(both, NULL, &c.V, &c.U, &c.dE, NULL));
    tamis_graph_destroy(NULL);
}

TEST(no_memory) {
    EACH_FAULT(w) {
        tamis_graph *graph;
        if (FAULTY(w, tamis_graph_create(device, &s.coo, NULL, &graph)) != TAMIS_OK) assert_null(graph);
        tamis_graph_destroy(graph);
    }
}

TEST(options) {
    SPOILT(c.options.op, (tamis_message_op)6, ARGUMENT, "options.op = 6: expected 0 .. 5", pass());
    SPOILT(c.options.reduce, (tamis_reduce)4, ARGUMENT, "options.reduce = 4: expected 0 .. 3", back());
    SPOILT(c.options.edge_data, (tamis_edge_data)4, ARGUMENT, "options.edge_data = 4", pass());
    SPOILT(c.options.type, (tamis_type)4, ARGUMENT, "options.type = 4", pass());
    SPOILT(c.options.argument_type, (tamis_index_type)2, ARGUMENT, "options.argument_type = 2", pass());
    SPOILT(c.options.heads, -1, ARGUMENT, "options.heads = -1", pass());
    SPOILT(c.options.width, -1, ARGUMENT, "options.width = -1", back());
    SPOILT(c.options.width, INT64_MAX, OVERFLOW, "options.width = 9223372036854775807", pass());
    SPOILT_BY(c, (c.options.width = INT64_C(1) << 54, c.options.heads = 1 << 20), OVERFLOW, "options.heads = 1048576",
              pass());
    SPOILT(c.options.reserved[2], 9, UNSUPPORTED, "options.reserved[2] = 0x9", pass());
    SPOILT(c.options.op, TAMIS_MESSAGE_COPY_U, ARGUMENT, "since copy_u reads no E", pass());
    SPOILT(c.options.edge_data, TAMIS_E_NONE, ARGUMENT, "since the message reads E", pass());
    SPOILT(c.pair.op, (tamis_pair_op)4, ARGUMENT, "options.op = 4: expected 0 .. 3", edges());
    SPOILT(c.pair.width, -3, ARGUMENT, "options.width = -3", edges());
    SPOILT(c.pair.reserved[0], 1, UNSUPPORTED, "options.reserved[0] = 0x1", edges());
}

TEST(matrices) {
    SPOILT(c.options.reduce, TAMIS_REDUCE_SUM, ARGUMENT, "U = NULL: expected a matrix of 4 x 4",
           tamis_message_pass(c.graph, &c.options, NULL, &c.E, &c.Out, NULL, NULL));
    SPOILT(c.options.reduce, TAMIS_REDUCE_SUM, ARGUMENT, "E = NULL: expected a matrix of 5 x 4",
           tamis_message_pass(c.graph, &c.options, &c.U, NULL, &c.Out, NULL, NULL));
    REFUSED(ARGUMENT, "out = NULL: expected a matrix of 3 x 4",
            tamis_message_pass(c.graph, &c.options, &c.U, &c.E, NULL, NULL, NULL));
    SPOILT(c.options.op, TAMIS_MESSAGE_COPY_E, ARGUMENT, "U is not NULL, but copy_e", pass());
    SPOILT_BY(c, c.options.op = TAMIS_MESSAGE_COPY_U;
              c.options.edge_data = TAMIS_E_NONE, ARGUMENT, "E is not NULL, but copy_u", pass());
    SPOILT(c.options.op, TAMIS_MESSAGE_COPY_E, ARGUMENT, "dU is not NULL, but copy_e", back());
    SPOILT_BY(c, c.options.op = TAMIS_MESSAGE_COPY_U;
              c.options.edge_data = TAMIS_E_NONE, ARGUMENT, "dE is not NULL, but copy_u", back());
    SPOILT(c.options.reduce, TAMIS_REDUCE_SUM, ARGUMENT, "argument is not NULL, but only max and min", pass());
    REFUSED(ARGUMENT, "is not aligned to one index of int32",
            tamis_message_pass(c.graph, &c.options, &c.U, &c.E, &c.Out, (char *)c.argument + 2, NULL));
    REFUSED(ARGUMENT, "argument = NULL: expected that of the forward call", back_with(&c.U, &c.E, NULL, &c.dU, NULL));
    REFUSED(ARGUMENT, "U = NULL: expected a matrix of 4 x 4, which the gradient by E",
            back_with(NULL, &c.E, c.argument, NULL, &c.dE));
    REFUSED(ARGUMENT, "E = NULL: expected a matrix of 5 x 4, which the gradient by U",
            back_with(&c.U, NULL, c.argument, &c.dU, NULL));
    SPOILT(c.options.op, TAMIS_MESSAGE_ADD_RELU, ARGUMENT,
           "U = NULL: expected a matrix of 4 x 4, which the gradient reads",
           back_with(NULL, &c.E, c.argument, NULL, &c.dE));
    SPOILT(c.options.op, TAMIS_MESSAGE_ADD_RELU, ARGUMENT,
           "E = NULL: expected a matrix of 5 x 4, which the gradient reads",
           back_with(&c.U, NULL, c.argument, &c.dU, NULL));
    REFUSED(ARGUMENT, "dOut = NULL",
            tamis_message_backward(c.graph, &c.options, NULL, &c.U, &c.E, c.argument, &c.dU, NULL, NULL));
    SPOILT(c.U.rows, 3, ARGUMENT, "U.rows = 3: expected 4", pass());
    SPOILT(c.E.cols, 1, ARGUMENT, "E.cols = 1: expected 4", pass());
    SPOILT(c.dE.cols, 3, ARGUMENT, "dE.cols = 3: expected 4", back());
    SPOILT(c.Out.type, TAMIS_F64, ARGUMENT, "out", pass());
    SPOILT(c.U.layout, TAMIS_COLUMN_MAJOR, UNSUPPORTED, "U.layout = column-major: message passing", pass());
    SPOILT(c.U.location, TAMIS_DEVICE, ARGUMENT, "U.location = device", pass());
    SPOILT_BY(c.Out, (c.Out.type = TAMIS_F64, c.Out.data = (char *)c.out + 2), ARGUMENT,
              "out.data = 0x...expected an address that is a multiple of 8", pass());
    SPOILT(c.Out.data, c.U.data, ARGUMENT, "out.data = U.data", pass());
    SPOILT(c.dU.data, c.Out.data, ARGUMENT, "dU.data = dOut.data", back());
    SPOILT(c.dU.stride, 3, ARGUMENT, "dU.stride = 3", back());
    REFUSED(ARGUMENT, "V = NULL: expected a matrix of 4 x 4",
            tamis_edge_vectors(c.graph, &c.pair, &c.V, NULL, &c.dE, NULL));
    REFUSED(ARGUMENT, "V = NULL: expected a matrix of 4 x 4, which the gradient",
            tamis_edge_vectors_backward(c.graph, &c.pair, &c.E, &c.V, NULL, &c.Out, NULL, NULL));
    SPOILT(c.pair.op, TAMIS_PAIR_DOT, ARGUMENT, "out.cols = 4: expected 2", edges());
}

TEST_FIXTURE(set_up_all, tear_down_all)
