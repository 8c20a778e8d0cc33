/* Attention on graphs and segments: each argument in its turn is wrong. The error names it, its value and what to
   write, and outputs stay as they are. */
#include "support/test.h"

#include <string.h>
#include <tamis/graph_attention.h>

#include "cpu_device.h"
#include "small.h"
#include "support/faults.h"
#include "support/refusals.h"

enum { ROWS = SMALL_ROWS, COLS = SMALL_COLS, NNZ = SMALL_NNZ, WIDTH = 2, HEADS = 2, ALL = HEADS * WIDTH };

/* A valid call of each function, which a test spoils in one place. */
static small s;
static struct {
    int32_t argument[ROWS * HEADS];
    float q[ROWS * ALL], k[COLS * ALL], v[COLS * ALL], e[NNZ * ALL], b[NNZ * HEADS], out[ROWS * ALL],
        log_sums[ROWS * HEADS], d_out[ROWS * ALL], dq[ROWS * ALL], dk[COLS * ALL], dv[COLS * ALL], de[NNZ * ALL],
        db[NNZ * HEADS], x[NNZ * HEADS], y[ROWS * HEADS];
    _Alignas(16) float workspace[NNZ * HEADS * 2];
    tamis_dense Q, K, V, E, B, Out, L, dOut, dQ, dK, dV, dE, dB, X, Y;
    tamis_graph_attention_options options;
    tamis_graph_attention_matrices matrices, gradients;
    tamis_segment_options segment;
    tamis_graph *graph;
} c;

static int set_up_all(void **state) {
    small_make(&s);
    memset(&c, 0x5a, sizeof c);
    c.options = (tamis_graph_attention_options){.heads = HEADS, .width = WIDTH, .scale = 1};
    c.segment = (tamis_segment_options){.op = TAMIS_SEGMENT_MAX, .heads = HEADS};
    c.Q = dense_of(c.q, ROWS, ALL);
    c.K = dense_of(c.k, COLS, ALL);
    c.V = dense_of(c.v, COLS, ALL);
    c.E = dense_of(c.e, NNZ, ALL);
    c.B = dense_of(c.b, NNZ, HEADS);
    c.Out = dense_of(c.out, ROWS, ALL);
    c.L = dense_of(c.log_sums, ROWS, HEADS);
    c.dOut = dense_of(c.d_out, ROWS, ALL);
    c.dQ = dense_of(c.dq, ROWS, ALL);
    c.dK = dense_of(c.dk, COLS, ALL);
    c.dV = dense_of(c.dv, COLS, ALL);
    c.dE = dense_of(c.de, NNZ, ALL);
    c.dB = dense_of(c.db, NNZ, HEADS);
    c.X = dense_of(c.x, NNZ, HEADS);
    c.Y = dense_of(c.y, ROWS, HEADS);
    c.matrices = (tamis_graph_attention_matrices){.Q = &c.Q, .K = &c.K, .V = &c.V, .E = &c.E, .B = &c.B};
    c.gradients = (tamis_graph_attention_matrices){.Q = &c.dQ, .K = &c.dK, .V = &c.dV, .E = &c.dE, .B = &c.dB};
    refusals_watch(&c, sizeof c);
    return set_up(state) || tamis_graph_create(device, &s.S, NULL, &c.graph) != TAMIS_OK;
}

static int tear_down_all(void **state) {
    tamis_graph_destroy(c.graph);
    return tear_down(state);
}

static tamis_status pass(void) { return tamis_graph_attention(c.graph, &c.options, &c.matrices, &c.Out, &c.L, NULL); }

static tamis_status back_with(const tamis_dense *dOut, const tamis_dense *L,
                              const tamis_graph_attention_matrices *gradients, void *workspace) {
    return tamis_graph_attention_backward(c.graph, &c.options, &c.matrices, dOut, &c.Out, L, gradients, workspace,
                                          NULL);
}

static tamis_status back(void) { return back_with(&c.dOut, &c.L, &c.gradients, c.workspace); }

static tamis_status segment(void) {
    return tamis_segment(c.graph, &c.segment, &c.X, &c.Y, c.segment.op >= TAMIS_SEGMENT_MAX ? c.argument : NULL, NULL);
}

static tamis_status segment_back(void) {
    return tamis_segment_backward(c.graph, &c.segment, &c.Y, NULL,
                                  c.segment.op >= TAMIS_SEGMENT_MAX ? c.argument : NULL, &c.X, NULL);
}

TEST(attention) {
    REFUSED(ARGUMENT, "graph = NULL: make one",
            tamis_graph_attention(NULL, &c.options, &c.matrices, &c.Out, NULL, NULL));
    REFUSED(ARGUMENT, "options = NULL", tamis_graph_attention(c.graph, NULL, &c.matrices, &c.Out, NULL, NULL));
    REFUSED(ARGUMENT, "matrices = NULL: expected Q, K and V",
            tamis_graph_attention(c.graph, &c.options, NULL, &c.Out, NULL, NULL));
    REFUSED(ARGUMENT, "out = NULL: expected a matrix of 3 x 4",
            tamis_graph_attention(c.graph, &c.options, &c.matrices, NULL, &c.L, NULL));
    REFUSED(ARGUMENT, "stream = ", tamis_graph_attention(c.graph, &c.options, &c.matrices, &c.Out, NULL, &c));
    SPOILT(c.options.type, (tamis_type)4, ARGUMENT, "options.type = 4", pass());
    SPOILT(c.options.heads, -1, ARGUMENT, "options.heads = -1", pass());
    SPOILT(c.options.width, INT64_MAX, OVERFLOW, "options.width = 9223372036854775807", pass());
    SPOILT_BY(c, (c.options.width = INT64_C(1) << 54, c.options.heads = 1 << 20), OVERFLOW, "options.heads = 1048576",
              pass());
    SPOILT(c.options.reserved[1], 7, UNSUPPORTED, "options.reserved[1] = 0x7", back());
    SPOILT(c.matrices.reserved[2], 7, UNSUPPORTED, "matrices.reserved[2] = 0x7", pass());
    SPOILT(c.gradients.reserved[0], 7, UNSUPPORTED, "gradients.reserved[0] = 0x7", back());
    SPOILT(c.matrices.K, NULL, ARGUMENT, "K = NULL: expected a matrix of 4 x 4, which the call reads", pass());
    SPOILT(c.matrices.V, NULL, ARGUMENT, "V = NULL: expected a matrix of 4 x 4", back());
    SPOILT(c.matrices.E, NULL, ARGUMENT, "dE is not NULL, but E is NULL", back());
    SPOILT(c.matrices.B, NULL, ARGUMENT, "dB is not NULL, but B is NULL", back());
    REFUSED(ARGUMENT, "log_sums = NULL: expected a matrix of 3 x 2",
            back_with(&c.dOut, NULL, &c.gradients, c.workspace));
    REFUSED(ARGUMENT, "dOut = NULL", back_with(NULL, &c.L, &c.gradients, c.workspace));
    REFUSED(ARGUMENT, "gradients = NULL", back_with(&c.dOut, &c.L, NULL, c.workspace));
    REFUSED(ARGUMENT, "workspace = NULL: expected 80 bytes", back_with(&c.dOut, &c.L, &c.gradients, NULL));
    REFUSED(ARGUMENT, "is not aligned to 16 bytes", back_with(&c.dOut, &c.L, &c.gradients, c.workspace + 1));
    REFUSED(ARGUMENT, "bytes = NULL", tamis_graph_attention_workspace_size(c.graph, &c.options, NULL));
    SPOILT(c.Q.rows, 4, ARGUMENT, "Q.rows = 4: expected 3", pass());
    SPOILT(c.E.cols, 2, ARGUMENT, "E.cols = 2: expected 4", pass());
    SPOILT(c.B.cols, 1, ARGUMENT, "B.cols = 1: expected 2", pass());
    SPOILT(c.L.type, TAMIS_F16, ARGUMENT, "log_sums", pass());
    SPOILT(c.K.layout, TAMIS_COLUMN_MAJOR, UNSUPPORTED, "K.layout = column-major", pass());
    SPOILT_BY(c.Out, (c.Out.type = TAMIS_F64, c.Out.data = (char *)c.out + 2), ARGUMENT,
              "out.data = 0x...expected an address that is a multiple of 8", pass());
    SPOILT(c.Out.data, c.v, ARGUMENT, "out.data = V.data", pass());
    SPOILT(c.dE.data, c.e, ARGUMENT, "dE.data = E.data", back());
    SPOILT(c.dK.data, c.dv, ARGUMENT, "dK.data = dV.data", back());
}

TEST(segments) {
    SPOILT(c.segment.op, (tamis_segment_op)5, ARGUMENT, "options.op = 5: expected 0 .. 4", segment());
    SPOILT(c.segment.order, (tamis_entry_order)3, ARGUMENT, "options.order = 3", segment());
    SPOILT(c.segment.order, TAMIS_ENTRIES_BY_COLUMN, ARGUMENT, "options.column_places", segment());
    SPOILT(c.segment.argument_type, (tamis_index_type)2, ARGUMENT, "options.argument_type = 2", segment());
    SPOILT(c.segment.heads, -2, ARGUMENT, "options.heads = -2", segment());
    SPOILT(c.segment.reserved[5], 1, UNSUPPORTED, "options.reserved[5] = 0x1", segment_back());
    SPOILT(c.segment.op, TAMIS_SEGMENT_SUM, ARGUMENT, "argument is not NULL",
           tamis_segment(c.graph, &c.segment, &c.X, &c.Y, c.argument, NULL));
    SPOILT(c.segment.op, TAMIS_SEGMENT_SUM, ARGUMENT, "Y is not NULL",
           tamis_segment_backward(c.graph, &c.segment, &c.Y, &c.B, NULL, &c.X, NULL));
    SPOILT(c.segment.op, TAMIS_SEGMENT_SOFTMAX, ARGUMENT, "out.rows = 3: expected 5", segment());
    REFUSED(ARGUMENT, "argument = NULL", tamis_segment_backward(c.graph, &c.segment, &c.Y, NULL, NULL, &c.X, NULL));
    REFUSED(ARGUMENT, "X = NULL: expected a matrix of 5 x 2",
            tamis_segment(c.graph, &c.segment, NULL, &c.Y, NULL, NULL));
    SPOILT(c.X.cols, 3, ARGUMENT, "X.cols = 3: expected 2", segment());
    SPOILT(c.Y.type, TAMIS_F64, ARGUMENT, "out", segment());
    SPOILT(c.Y.data, c.x, ARGUMENT, "out.data = X.data", segment());
    const tamis_graph_options both = {.forward_only = true, .column_places = true};
    tamis_graph *graph;
    REFUSED_MADE(graph, ARGUMENT, "options.column_places and forward_only",
                 tamis_graph_create(device, &s.S, &both, &graph));
}

TEST(no_memory) {
    const tamis_graph_options options = {.column_places = true};
    EACH_FAULT(w) {
        tamis_graph *graph;
        if (FAULTY(w, tamis_graph_create(device, &s.coo, &options, &graph)) != TAMIS_OK) assert_null(graph);
        tamis_graph_destroy(graph);
    }
}

TEST_FIXTURE(set_up_all, tear_down_all)
