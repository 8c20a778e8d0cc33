/* Message passing: each argument in its turn is wrong. The error names it, its value and what to write, and outputs
   stay as they are. */
#include "support/test.h"

#include <string.h>
#include <tamis/message.h>

#include "cpu_device.h"
#include "support/works.h"

enum { ROWS = 3, COLS = 4, NNZ = 5, WIDTH = 2, HEADS = 2, ALL = HEADS * WIDTH };

/* A valid call of each function, which a test spoils in one place. */
typedef struct call {
    int32_t offsets[ROWS + 1], columns[NNZ], argument[ROWS * ALL];
    float u[COLS * ALL], v[COLS * ALL], e[NNZ * ALL], out[ROWS * ALL], du[COLS * ALL], de[NNZ * ALL];
    tamis_sparse S;
    tamis_dense U, V, E, Out, dU, dE;
    tamis_message_options options;
    tamis_pair_options pair;
    tamis_graph *graph;
} call;

static call valid(void) {
    call c = {.offsets = {0, 2, 2, 5}, .columns = {1, 3, 0, 2, 3}};
    c.S = (tamis_sparse){.rows = ROWS, .cols = COLS, .nnz = NNZ};
    c.options = (tamis_message_options){.op = TAMIS_MESSAGE_MUL,
                                        .reduce = TAMIS_REDUCE_MAX,
                                        .edge_data = TAMIS_E_VECTOR,
                                        .heads = HEADS,
                                        .width = WIDTH};
    c.pair = (tamis_pair_options){.op = TAMIS_PAIR_MUL, .heads = HEADS, .width = WIDTH};
    return c;
}

/* Addresses are those of where the call lies now. */
static void place(call *c) {
    c->S.offsets = c->offsets;
    c->S.columns = c->columns;
    c->U = (tamis_dense){.data = c->u, .rows = COLS, .cols = ALL};
    c->V = (tamis_dense){.data = c->v, .rows = ROWS, .cols = ALL}; /* the other end */
    c->E = (tamis_dense){.data = c->e, .rows = NNZ, .cols = ALL};
    c->Out = (tamis_dense){.data = c->out, .rows = ROWS, .cols = ALL};
    c->dU = (tamis_dense){.data = c->du, .rows = COLS, .cols = ALL};
    c->dE = (tamis_dense){.data = c->de, .rows = NNZ, .cols = ALL};
    works(tamis_graph_create(device, &c->S, NULL, &c->graph));
}

static tamis_status pass(const call *c) {
    return tamis_message_pass(c->graph, &c->options, &c->U, &c->E, &c->Out, (void *)(uintptr_t)c->argument, NULL);
}

static tamis_status back(const call *c) {
    return tamis_message_backward(c->graph, &c->options, &c->Out, &c->U, &c->E, c->argument, &c->dU, &c->dE, NULL);
}

static tamis_status edges(const call *c) { return tamis_edge_vectors(c->graph, &c->pair, &c->V, &c->U, &c->dE, NULL); }

TEST(graphs) {
    call c = valid();
    place(&c);
    tamis_graph *graph = NULL;
    tamis_graph_options options = {.threads = -1};
    is_refused(tamis_graph_create(NULL, &c.S, NULL, &graph), TAMIS_ERROR_ARGUMENT, "device = NULL");
    is_refused(tamis_graph_create(device, NULL, NULL, &graph), TAMIS_ERROR_ARGUMENT, "S = NULL");
    is_refused(tamis_graph_create(device, &c.S, NULL, NULL), TAMIS_ERROR_ARGUMENT, "graph = NULL");
    is_refused(tamis_graph_create(device, &c.S, &options, &graph), TAMIS_ERROR_ARGUMENT, "options.threads = -1");
    options = (tamis_graph_options){.reserved = {0, 3}};
    is_refused(tamis_graph_create(device, &c.S, &options, &graph), TAMIS_ERROR_UNSUPPORTED,
               "options.reserved[1] = 0x3");
    c.columns[3] = COLS;
    is_refused(tamis_graph_create(device, &c.S, NULL, &graph), TAMIS_ERROR_PATTERN, "columns[3] = 4");
    assert_null(graph);
    c.columns[3] = 2;
    options = (tamis_graph_options){.forward_only = true, .trust_input = true};
    works(tamis_graph_create(device, &c.S, &options, &graph));
    tamis_graph *const both = c.graph;
    c.graph = graph;
    works(pass(&c));
    is_refused(back(&c), TAMIS_ERROR_ARGUMENT, "forward_only");
    tamis_graph_destroy(graph);
    c.graph = NULL;
    is_refused(pass(&c), TAMIS_ERROR_ARGUMENT, "graph = NULL: make one with tamis_graph_create");
    is_refused(tamis_message_pass(both, &c.options, &c.U, &c.E, &c.Out, c.argument, &c), TAMIS_ERROR_ARGUMENT,
               "stream = ");
    is_refused(tamis_message_pass(both, NULL, &c.U, &c.E, &c.Out, c.argument, NULL), TAMIS_ERROR_ARGUMENT,
               "options = NULL");
    is_refused(tamis_edge_vectors(both, NULL, &c.V, &c.U, &c.dE, NULL), TAMIS_ERROR_ARGUMENT, "options = NULL");
    tamis_graph_destroy(both);
    tamis_graph_destroy(NULL);
}

/* Each allocation fails in its turn, and nothing is left behind (tear_down). */
TEST(no_memory) {
    int32_t rows[NNZ] = {2, 0, 1, 0, 2}, columns[NNZ] = {0, 1, 2, 3, 3};
    const tamis_sparse S = {
        .format = TAMIS_COO, .rows = ROWS, .cols = COLS, .nnz = NNZ, .row_indices = rows, .columns = columns};
    tamis_graph *graph = NULL;
    tamis_status status = TAMIS_ERROR_MEMORY;
    for (int64_t n = 1; status != TAMIS_OK; n++) {
        tamis_memory_fail_at(n);
        status = tamis_graph_create(device, &S, NULL, &graph);
        tamis_memory_fail_at(0);
        assert_true(status == TAMIS_OK || (status == TAMIS_ERROR_MEMORY && !graph));
        assert_true(n < 100);
    }
    tamis_graph_destroy(graph);
}

/* Spoils a valid call by `change`: `run` must fail with that status and text, and leave the outputs as they are. */
#define SPOILT(change, run, status, text)                                                                              \
    do {                                                                                                               \
        call c = valid();                                                                                              \
        place(&c);                                                                                                     \
        change;                                                                                                        \
        memset(c.out, 0x5a, sizeof c.out);                                                                             \
        memset(c.de, 0x5a, sizeof c.de);                                                                               \
        memset(c.du, 0x5a, sizeof c.du);                                                                               \
        is_refused(run(&c), status, text);                                                                             \
        for (size_t i = 0; i < sizeof c.out; i++) assert_int_equal(((unsigned char *)c.out)[i], 0x5a);                 \
        for (size_t i = 0; i < sizeof c.de; i++) assert_int_equal(((unsigned char *)c.de)[i], 0x5a);                   \
        for (size_t i = 0; i < sizeof c.du; i++) assert_int_equal(((unsigned char *)c.du)[i], 0x5a);                   \
        tamis_graph_destroy(c.graph);                                                                                  \
    } while (0)

static tamis_status pass_without_u(const call *c) {
    return tamis_message_pass(c->graph, &c->options, NULL, &c->E, &c->Out, NULL, NULL);
}

static tamis_status pass_without_e(const call *c) {
    return tamis_message_pass(c->graph, &c->options, &c->U, NULL, &c->Out, NULL, NULL);
}

static tamis_status pass_without_out(const call *c) {
    return tamis_message_pass(c->graph, &c->options, &c->U, &c->E, NULL, NULL, NULL);
}

static tamis_status pass_apart(const call *c) {
    return tamis_message_pass(c->graph, &c->options, &c->U, &c->E, &c->Out, (char *)(uintptr_t)c->argument + 2, NULL);
}

static tamis_status back_without_argument(const call *c) {
    return tamis_message_backward(c->graph, &c->options, &c->Out, &c->U, &c->E, NULL, &c->dU, NULL, NULL);
}

static tamis_status back_without_u(const call *c) {
    return tamis_message_backward(c->graph, &c->options, &c->Out, NULL, &c->E, c->argument, NULL, &c->dE, NULL);
}

static tamis_status back_without_e(const call *c) {
    return tamis_message_backward(c->graph, &c->options, &c->Out, &c->U, NULL, c->argument, &c->dU, NULL, NULL);
}

static tamis_status back_without_gradient(const call *c) {
    return tamis_message_backward(c->graph, &c->options, NULL, &c->U, &c->E, c->argument, &c->dU, NULL, NULL);
}

static tamis_status edges_back_without_v(const call *c) {
    return tamis_edge_vectors_backward(c->graph, &c->pair, &c->E, &c->V, NULL, &c->Out, NULL, NULL);
}

static tamis_status edges_without_v(const call *c) {
    return tamis_edge_vectors(c->graph, &c->pair, &c->V, NULL, &c->dE, NULL);
}

TEST(options) {
    SPOILT(c.options.op = (tamis_message_op)6, pass, TAMIS_ERROR_ARGUMENT, "options.op = 6: expected 0 .. 5");
    SPOILT(c.options.reduce = (tamis_reduce)4, back, TAMIS_ERROR_ARGUMENT, "options.reduce = 4: expected 0 .. 3");
    SPOILT(c.options.edge_data = (tamis_edge_data)4, pass, TAMIS_ERROR_ARGUMENT, "options.edge_data = 4");
    SPOILT(c.options.type = (tamis_type)4, pass, TAMIS_ERROR_ARGUMENT, "options.type = 4");
    SPOILT(c.options.argument_type = (tamis_index_type)2, pass, TAMIS_ERROR_ARGUMENT, "options.argument_type = 2");
    SPOILT(c.options.heads = -1, pass, TAMIS_ERROR_ARGUMENT, "options.heads = -1");
    SPOILT(c.options.width = -1, back, TAMIS_ERROR_ARGUMENT, "options.width = -1");
    SPOILT(c.options.width = INT64_MAX, pass, TAMIS_ERROR_OVERFLOW, "options.width = 9223372036854775807");
    SPOILT((c.options.width = INT64_C(1) << 54, c.options.heads = 1 << 20), pass, TAMIS_ERROR_OVERFLOW,
           "options.heads = 1048576");
    SPOILT(c.options.reserved[2] = 9, pass, TAMIS_ERROR_UNSUPPORTED, "options.reserved[2] = 0x9");
    SPOILT(c.options.op = TAMIS_MESSAGE_COPY_U, pass, TAMIS_ERROR_ARGUMENT, "since copy_u reads no E");
    SPOILT(c.options.edge_data = TAMIS_E_NONE, pass, TAMIS_ERROR_ARGUMENT, "since the message reads E");
    SPOILT(c.pair.op = (tamis_pair_op)4, edges, TAMIS_ERROR_ARGUMENT, "options.op = 4: expected 0 .. 3");
    SPOILT(c.pair.width = -3, edges, TAMIS_ERROR_ARGUMENT, "options.width = -3");
    SPOILT(c.pair.reserved[0] = 1, edges, TAMIS_ERROR_UNSUPPORTED, "options.reserved[0] = 0x1");
}

TEST(matrices) {
    SPOILT(c.options.reduce = TAMIS_REDUCE_SUM, pass_without_u, TAMIS_ERROR_ARGUMENT,
           "U = NULL: expected a matrix of 4 x 4");
    SPOILT(c.options.reduce = TAMIS_REDUCE_SUM, pass_without_e, TAMIS_ERROR_ARGUMENT,
           "E = NULL: expected a matrix of 5 x 4");
    SPOILT((void)0, pass_without_out, TAMIS_ERROR_ARGUMENT, "out = NULL: expected a matrix of 3 x 4");
    SPOILT(c.options.op = TAMIS_MESSAGE_COPY_E, pass, TAMIS_ERROR_ARGUMENT, "U is not NULL, but copy_e");
    SPOILT(c.options.op = TAMIS_MESSAGE_COPY_U;
           c.options.edge_data = TAMIS_E_NONE, pass, TAMIS_ERROR_ARGUMENT, "E is not NULL, but copy_u");
    SPOILT(c.options.op = TAMIS_MESSAGE_COPY_E, back, TAMIS_ERROR_ARGUMENT, "dU is not NULL, but copy_e");
    SPOILT(c.options.op = TAMIS_MESSAGE_COPY_U;
           c.options.edge_data = TAMIS_E_NONE, back, TAMIS_ERROR_ARGUMENT, "dE is not NULL, but copy_u");
    SPOILT(c.options.reduce = TAMIS_REDUCE_SUM, pass, TAMIS_ERROR_ARGUMENT,
           "argument is not NULL, but only max and min");
    SPOILT((void)0, pass_apart, TAMIS_ERROR_ARGUMENT, "is not aligned to one index of int32");
    SPOILT((void)0, back_without_argument, TAMIS_ERROR_ARGUMENT, "argument = NULL: expected that of the forward call");
    SPOILT((void)0, back_without_u, TAMIS_ERROR_ARGUMENT,
           "U = NULL: expected a matrix of 4 x 4, which the gradient by E");
    SPOILT((void)0, back_without_e, TAMIS_ERROR_ARGUMENT,
           "E = NULL: expected a matrix of 5 x 4, which the gradient by U");
    SPOILT(c.options.op = TAMIS_MESSAGE_ADD_RELU, back_without_u, TAMIS_ERROR_ARGUMENT,
           "U = NULL: expected a matrix of 4 x 4, which the gradient reads");
    SPOILT(c.options.op = TAMIS_MESSAGE_ADD_RELU, back_without_e, TAMIS_ERROR_ARGUMENT,
           "E = NULL: expected a matrix of 5 x 4, which the gradient reads");
    SPOILT((void)0, back_without_gradient, TAMIS_ERROR_ARGUMENT, "dOut = NULL");
    SPOILT(c.U.rows = 3, pass, TAMIS_ERROR_ARGUMENT, "U.rows = 3: expected 4");
    SPOILT(c.E.cols = 1, pass, TAMIS_ERROR_ARGUMENT, "E.cols = 1: expected 4");
    SPOILT(c.dE.cols = 3, back, TAMIS_ERROR_ARGUMENT, "dE.cols = 3: expected 4");
    SPOILT(c.Out.type = TAMIS_F64, pass, TAMIS_ERROR_ARGUMENT, "out");
    SPOILT(c.U.layout = TAMIS_COLUMN_MAJOR, pass, TAMIS_ERROR_UNSUPPORTED, "U.layout = column-major: message passing");
    SPOILT(c.U.location = TAMIS_DEVICE, pass, TAMIS_ERROR_ARGUMENT, "U.location = device");
    SPOILT(c.Out.data = c.U.data, pass, TAMIS_ERROR_ARGUMENT, "out.data = U.data");
    SPOILT(c.dU.data = c.Out.data, back, TAMIS_ERROR_ARGUMENT, "dU.data = dOut.data");
    SPOILT(c.dU.stride = 3, back, TAMIS_ERROR_ARGUMENT, "dU.stride = 3");
    SPOILT((void)0, edges_without_v, TAMIS_ERROR_ARGUMENT, "V = NULL: expected a matrix of 4 x 4");
    SPOILT((void)0, edges_back_without_v, TAMIS_ERROR_ARGUMENT,
           "V = NULL: expected a matrix of 4 x 4, which the gradient");
    SPOILT(c.pair.op = TAMIS_PAIR_DOT, edges, TAMIS_ERROR_ARGUMENT, "out.cols = 4: expected 2");
}

TEST_FIXTURE(set_up, tear_down)
