/* Attention on graphs and segments: each argument in its turn is wrong. The error names it, its value and what to
   write, and outputs stay as they are. */
#include "support/test.h"

#include <string.h>
#include <tamis/graph_attention.h>

#include "cpu_device.h"
#include "support/works.h"

enum { ROWS = 3, COLS = 4, NNZ = 5, WIDTH = 2, HEADS = 2, ALL = HEADS * WIDTH };

/* A valid call of each function, which a test spoils in one place. */
typedef struct call {
    int32_t offsets[ROWS + 1], columns[NNZ], argument[ROWS * HEADS];
    float q[ROWS * ALL], k[COLS * ALL], v[COLS * ALL], e[NNZ * ALL], b[NNZ * HEADS], out[ROWS * ALL],
        log_sums[ROWS * HEADS], d_out[ROWS * ALL], dq[ROWS * ALL], dk[COLS * ALL], dv[COLS * ALL], de[NNZ * ALL],
        db[NNZ * HEADS], x[NNZ * HEADS], y[ROWS * HEADS];
    _Alignas(16) float workspace[NNZ * HEADS * 2];
    tamis_sparse S;
    tamis_dense Q, K, V, E, B, Out, L, dOut, dQ, dK, dV, dE, dB, X, Y;
    tamis_graph_attention_options options;
    tamis_graph_attention_matrices matrices, gradients;
    tamis_segment_options segment;
    tamis_graph *graph;
} call;

static tamis_dense dense_of(float *data, int64_t rows, int64_t cols) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols};
}

static void make(call *c) {
    *c = (call){.offsets = {0, 2, 2, 5}, .columns = {1, 3, 0, 2, 3}};
    c->S = (tamis_sparse){.rows = ROWS, .cols = COLS, .nnz = NNZ, .offsets = c->offsets, .columns = c->columns};
    c->options = (tamis_graph_attention_options){.heads = HEADS, .width = WIDTH, .scale = 1};
    c->segment = (tamis_segment_options){.op = TAMIS_SEGMENT_MAX, .heads = HEADS};
    c->Q = dense_of(c->q, ROWS, ALL);
    c->K = dense_of(c->k, COLS, ALL);
    c->V = dense_of(c->v, COLS, ALL);
    c->E = dense_of(c->e, NNZ, ALL);
    c->B = dense_of(c->b, NNZ, HEADS);
    c->Out = dense_of(c->out, ROWS, ALL);
    c->L = dense_of(c->log_sums, ROWS, HEADS);
    c->dOut = dense_of(c->d_out, ROWS, ALL);
    c->dQ = dense_of(c->dq, ROWS, ALL);
    c->dK = dense_of(c->dk, COLS, ALL);
    c->dV = dense_of(c->dv, COLS, ALL);
    c->dE = dense_of(c->de, NNZ, ALL);
    c->dB = dense_of(c->db, NNZ, HEADS);
    c->X = dense_of(c->x, NNZ, HEADS);
    c->Y = dense_of(c->y, ROWS, HEADS);
    c->matrices = (tamis_graph_attention_matrices){.Q = &c->Q, .K = &c->K, .V = &c->V, .E = &c->E, .B = &c->B};
    c->gradients = (tamis_graph_attention_matrices){.Q = &c->dQ, .K = &c->dK, .V = &c->dV, .E = &c->dE, .B = &c->dB};
    works(tamis_graph_create(device, &c->S, NULL, &c->graph));
}

static tamis_status pass(call *c) {
    return tamis_graph_attention(c->graph, &c->options, &c->matrices, &c->Out, &c->L, NULL);
}

static tamis_status back(call *c) {
    return tamis_graph_attention_backward(c->graph, &c->options, &c->matrices, &c->dOut, &c->Out, &c->L, &c->gradients,
                                          c->workspace, NULL);
}

static tamis_status segment(call *c) {
    return tamis_segment(c->graph, &c->segment, &c->X, &c->Y, c->segment.op >= TAMIS_SEGMENT_MAX ? c->argument : NULL,
                         NULL);
}

static tamis_status segment_back(call *c) {
    return tamis_segment_backward(c->graph, &c->segment, &c->Y, NULL,
                                  c->segment.op >= TAMIS_SEGMENT_MAX ? c->argument : NULL, &c->X, NULL);
}

/* Spoils a valid call by `change`: `run` must fail with that status and text, and leave all matrices as they are. */
#define SPOILT(change, run, status, text)                                                                              \
    do {                                                                                                               \
        call c, before;                                                                                                \
        make(&c);                                                                                                      \
        change;                                                                                                        \
        memset(c.out, 0x5a, sizeof c.out);                                                                             \
        memset(c.dq, 0x5a, sizeof c.dq);                                                                               \
        memset(c.x, 0x5a, sizeof c.x);                                                                                 \
        memcpy(&before, &c, sizeof c);                                                                                 \
        is_refused(run(&c), status, text);                                                                             \
        assert_memory_equal(&before, &c, sizeof c);                                                                    \
        tamis_graph_destroy(c.graph);                                                                                  \
    } while (0)

static tamis_status pass_without_out(call *c) {
    return tamis_graph_attention(c->graph, &c->options, &c->matrices, NULL, &c->L, NULL);
}

static tamis_status pass_without_options(call *c) {
    return tamis_graph_attention(c->graph, NULL, &c->matrices, &c->Out, NULL, NULL);
}

static tamis_status pass_without_matrices(call *c) {
    return tamis_graph_attention(c->graph, &c->options, NULL, &c->Out, NULL, NULL);
}

static tamis_status pass_without_graph(call *c) {
    return tamis_graph_attention(NULL, &c->options, &c->matrices, &c->Out, NULL, NULL);
}

static tamis_status pass_stream(call *c) {
    return tamis_graph_attention(c->graph, &c->options, &c->matrices, &c->Out, NULL, c);
}

static tamis_status back_without_sums(call *c) {
    return tamis_graph_attention_backward(c->graph, &c->options, &c->matrices, &c->dOut, &c->Out, NULL, &c->gradients,
                                          c->workspace, NULL);
}

static tamis_status back_without_gradient(call *c) {
    return tamis_graph_attention_backward(c->graph, &c->options, &c->matrices, NULL, &c->Out, &c->L, &c->gradients,
                                          c->workspace, NULL);
}

static tamis_status back_without_gradients(call *c) {
    return tamis_graph_attention_backward(c->graph, &c->options, &c->matrices, &c->dOut, &c->Out, &c->L, NULL,
                                          c->workspace, NULL);
}

static tamis_status back_without_workspace(call *c) {
    return tamis_graph_attention_backward(c->graph, &c->options, &c->matrices, &c->dOut, &c->Out, &c->L, &c->gradients,
                                          NULL, NULL);
}

static tamis_status back_apart(call *c) {
    return tamis_graph_attention_backward(c->graph, &c->options, &c->matrices, &c->dOut, &c->Out, &c->L, &c->gradients,
                                          c->workspace + 1, NULL);
}

static tamis_status bytes_nowhere(call *c) { return tamis_graph_attention_workspace_size(c->graph, &c->options, NULL); }

TEST(attention) {
    SPOILT((void)0, pass_without_graph, TAMIS_ERROR_ARGUMENT, "graph = NULL: make one");
    SPOILT((void)0, pass_without_options, TAMIS_ERROR_ARGUMENT, "options = NULL");
    SPOILT((void)0, pass_without_matrices, TAMIS_ERROR_ARGUMENT, "matrices = NULL: expected Q, K and V");
    SPOILT((void)0, pass_without_out, TAMIS_ERROR_ARGUMENT, "out = NULL: expected a matrix of 3 x 4");
    SPOILT((void)0, pass_stream, TAMIS_ERROR_ARGUMENT, "stream = ");
    SPOILT(c.options.type = (tamis_type)4, pass, TAMIS_ERROR_ARGUMENT, "options.type = 4");
    SPOILT(c.options.heads = -1, pass, TAMIS_ERROR_ARGUMENT, "options.heads = -1");
    SPOILT(c.options.width = INT64_MAX, pass, TAMIS_ERROR_OVERFLOW, "options.width = 9223372036854775807");
    SPOILT((c.options.width = INT64_C(1) << 54, c.options.heads = 1 << 20), pass, TAMIS_ERROR_OVERFLOW,
           "options.heads = 1048576");
    SPOILT(c.options.reserved[1] = 7, back, TAMIS_ERROR_UNSUPPORTED, "options.reserved[1] = 0x7");
    SPOILT(c.matrices.reserved[2] = 7, pass, TAMIS_ERROR_UNSUPPORTED, "matrices.reserved[2] = 0x7");
    SPOILT(c.gradients.reserved[0] = 7, back, TAMIS_ERROR_UNSUPPORTED, "gradients.reserved[0] = 0x7");
    SPOILT(c.matrices.K = NULL, pass, TAMIS_ERROR_ARGUMENT,
           "K = NULL: expected a matrix of 4 x 4, which the call reads");
    SPOILT(c.matrices.V = NULL, back, TAMIS_ERROR_ARGUMENT, "V = NULL: expected a matrix of 4 x 4");
    SPOILT(c.matrices.E = NULL, back, TAMIS_ERROR_ARGUMENT, "dE is not NULL, but E is NULL");
    SPOILT(c.matrices.B = NULL, back, TAMIS_ERROR_ARGUMENT, "dB is not NULL, but B is NULL");
    SPOILT((void)0, back_without_sums, TAMIS_ERROR_ARGUMENT, "log_sums = NULL: expected a matrix of 3 x 2");
    SPOILT((void)0, back_without_gradient, TAMIS_ERROR_ARGUMENT, "dOut = NULL");
    SPOILT((void)0, back_without_gradients, TAMIS_ERROR_ARGUMENT, "gradients = NULL");
    SPOILT((void)0, back_without_workspace, TAMIS_ERROR_ARGUMENT, "workspace = NULL: expected 80 bytes");
    SPOILT((void)0, back_apart, TAMIS_ERROR_ARGUMENT, "is not aligned to 16 bytes");
    SPOILT((void)0, bytes_nowhere, TAMIS_ERROR_ARGUMENT, "bytes = NULL");
    SPOILT(c.Q.rows = 4, pass, TAMIS_ERROR_ARGUMENT, "Q.rows = 4: expected 3");
    SPOILT(c.E.cols = 2, pass, TAMIS_ERROR_ARGUMENT, "E.cols = 2: expected 4");
    SPOILT(c.B.cols = 1, pass, TAMIS_ERROR_ARGUMENT, "B.cols = 1: expected 2");
    SPOILT(c.L.type = TAMIS_F16, pass, TAMIS_ERROR_ARGUMENT, "log_sums");
    SPOILT(c.K.layout = TAMIS_COLUMN_MAJOR, pass, TAMIS_ERROR_UNSUPPORTED, "K.layout = column-major");
    SPOILT(c.Out.data = c.v, pass, TAMIS_ERROR_ARGUMENT, "out.data = V.data");
    SPOILT(c.dE.data = c.e, back, TAMIS_ERROR_ARGUMENT, "dE.data = E.data");
    SPOILT(c.dK.data = c.dv, back, TAMIS_ERROR_ARGUMENT, "dK.data = dV.data");
}

static tamis_status segment_without_x(call *c) { return tamis_segment(c->graph, &c->segment, NULL, &c->Y, NULL, NULL); }

static tamis_status segment_with_argument(call *c) {
    return tamis_segment(c->graph, &c->segment, &c->X, &c->Y, c->argument, NULL);
}

static tamis_status segment_back_without_argument(call *c) {
    return tamis_segment_backward(c->graph, &c->segment, &c->Y, NULL, NULL, &c->X, NULL);
}

static tamis_status segment_back_with_y(call *c) {
    return tamis_segment_backward(c->graph, &c->segment, &c->Y, &c->B, NULL, &c->X, NULL);
}

static tamis_status make_both(call *c) {
    const tamis_graph_options options = {.forward_only = true, .column_places = true};
    tamis_graph *graph;
    return tamis_graph_create(device, &c->S, &options, &graph);
}

TEST(segments) {
    SPOILT(c.segment.op = (tamis_segment_op)5, segment, TAMIS_ERROR_ARGUMENT, "options.op = 5: expected 0 .. 4");
    SPOILT(c.segment.order = (tamis_entry_order)3, segment, TAMIS_ERROR_ARGUMENT, "options.order = 3");
    SPOILT(c.segment.order = TAMIS_ENTRIES_BY_COLUMN, segment, TAMIS_ERROR_ARGUMENT, "options.column_places");
    SPOILT(c.segment.argument_type = (tamis_index_type)2, segment, TAMIS_ERROR_ARGUMENT, "options.argument_type = 2");
    SPOILT(c.segment.heads = -2, segment, TAMIS_ERROR_ARGUMENT, "options.heads = -2");
    SPOILT(c.segment.reserved[5] = 1, segment_back, TAMIS_ERROR_UNSUPPORTED, "options.reserved[5] = 0x1");
    SPOILT(c.segment.op = TAMIS_SEGMENT_SUM, segment_with_argument, TAMIS_ERROR_ARGUMENT, "argument is not NULL");
    SPOILT(c.segment.op = TAMIS_SEGMENT_SUM, segment_back_with_y, TAMIS_ERROR_ARGUMENT, "Y is not NULL");
    SPOILT(c.segment.op = TAMIS_SEGMENT_SOFTMAX, segment, TAMIS_ERROR_ARGUMENT, "out.rows = 3: expected 5");
    SPOILT((void)0, segment_back_without_argument, TAMIS_ERROR_ARGUMENT, "argument = NULL");
    SPOILT((void)0, segment_without_x, TAMIS_ERROR_ARGUMENT, "X = NULL: expected a matrix of 5 x 2");
    SPOILT(c.X.cols = 3, segment, TAMIS_ERROR_ARGUMENT, "X.cols = 3: expected 2");
    SPOILT(c.Y.type = TAMIS_F64, segment, TAMIS_ERROR_ARGUMENT, "out");
    SPOILT(c.Y.data = c.x, segment, TAMIS_ERROR_ARGUMENT, "out.data = X.data");
    SPOILT((void)0, make_both, TAMIS_ERROR_ARGUMENT, "options.column_places and forward_only");
}

/* Each allocation fails in its turn, and nothing is left behind (tear_down). */
TEST(no_memory) {
    int32_t rows[NNZ] = {2, 0, 1, 0, 2}, columns[NNZ] = {0, 1, 2, 3, 3};
    const tamis_sparse S = {
        .format = TAMIS_COO, .rows = ROWS, .cols = COLS, .nnz = NNZ, .row_indices = rows, .columns = columns};
    const tamis_graph_options options = {.column_places = true};
    tamis_graph *graph = NULL;
    tamis_status status = TAMIS_ERROR_MEMORY;
    for (int64_t n = 1; status != TAMIS_OK; n++) {
        tamis_memory_fail_at(n);
        status = tamis_graph_create(device, &S, &options, &graph);
        tamis_memory_fail_at(0);
        assert_true(status == TAMIS_OK || (status == TAMIS_ERROR_MEMORY && !graph));
        assert_true(n < 100);
    }
    tamis_graph_destroy(graph);
}

TEST_FIXTURE(set_up, tear_down)
