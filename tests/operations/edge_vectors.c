/* Vectors on edges, of the vectors of their ends, and their gradients: sums of quarters are exact. */
#include "support/operation.h"

enum { U, V, OUT, D_OUT, D_U, D_V };

typedef struct own {
    tamis_pair_options o;
} own;

static void draw(operation_case *c) {
    tamis_pair_options *const o = &OPERATION_OWN(c)->o;
    operation_pattern(c);
    o->op = (tamis_pair_op)operation_pick(c, 4);
    o->type = c->type;
    const int64_t *const shape = c->small ? operation_shapes[OPERATION_SMALL] : operation_shapes[operation_pick(c, 10)];
    o->heads = shape[0], o->width = shape[1];
    const int64_t all = o->heads * o->width, edges = o->op == TAMIS_PAIR_DOT ? o->heads : all;
    operation_says(c, ", op %d, heads %lld", o->op, (long long)o->heads);
    operand_add(c, U, OPERAND_IN, -1, "U", c->S.rows, all);
    operand_add(c, V, OPERAND_IN, -1, "V", c->S.cols, all);
    operand_add(c, OUT, OPERAND_OUT, -1, "out", c->S.nnz, edges);
    operand_add(c, D_OUT, OPERAND_SEED, OUT, "dOut", c->S.nnz, edges);
    operand_add(c, D_U, OPERAND_GRADIENT, U, "dU", c->S.rows, all)->optional = true;
    operand_add(c, D_V, OPERAND_GRADIENT, V, "dV", c->S.cols, all)->optional = true;
    operation_default_heads(c, &o->heads);
}

static tamis_status pass(operation_case *c) {
    const own *const x = c->own;
    return tamis_edge_vectors(c->graph, &x->o, operand_there(c, U), operand_there(c, V), operand_there(c, OUT),
                              c->stream);
}

static tamis_status back(operation_case *c) {
    const own *const x = c->own;
    const bool reads = x->o.op >= TAMIS_PAIR_MUL;
    return tamis_edge_vectors_backward(c->graph, &x->o, operand_there(c, D_OUT), reads ? operand_there(c, U) : NULL,
                                       reads ? operand_there(c, V) : NULL, operand_there(c, D_U), operand_there(c, D_V),
                                       c->stream);
}

static void evaluate(operation_case *c, double *const to[OPERANDS]) {
    const tamis_pair_options *const o = &OPERATION_OWN(c)->o;
    test_must(tamis_reference_edge_vectors(&c->S, o, operand_here(c, U), operand_here(c, V), to[OUT]));
    if (to[D_U] || to[D_V])
        test_must(tamis_reference_edge_vectors_backward(&c->S, o, operand_here(c, D_OUT), operand_here(c, U),
                                                        operand_here(c, V), to[D_U], to[D_V]));
}

static void reference(operation_case *c) { operation_expect(c, evaluate, 0); }

static const operation_refusal refusals[] = {
    SPOILS(own, o.op, 4, ARGUMENT, "options.op = 4: expected 0 .. 3"),
    SPOILS(own, o.type, 4, ARGUMENT, "options.type = 4"),
    SPOILS(own, o.heads, -1, ARGUMENT, "options.heads = -1"),
    SPOILS(own, o.width, -3, ARGUMENT, "options.width = -3"),
    SPOILS(own, o.reserved[0], 1, UNSUPPORTED, "options.reserved[0] = 0x1"),
};

static const operation_row row = {.name = "edge vectors",
                                  .own = sizeof(own),
                                  .tables = TEST_MESSAGES,
                                  .cases = 4 * OPERATION_PATTERNS * 4 * 10,
                                  .draw = draw,
                                  .open = operation_open_graph,
                                  .close = operation_close_graph,
                                  .pass = pass,
                                  .back = back,
                                  .reference = reference,
                                  OPERATION_REFUSES(refusals)};

OPERATION_WITH_GRADIENT(row)
