/* Messages reduced by rows, and their gradients: sums of quarters are exact, only means have a bound. */
#include "support/operation.h"

enum { U, E, OUT, ARGUMENT, D_OUT, D_U, D_E };

typedef struct own {
    tamis_message_options o;
} own;

static int64_t edge_columns(const tamis_message_options *o) {
    return o->edge_data == TAMIS_E_VECTOR ? o->heads * o->width : o->edge_data == TAMIS_E_HEAD ? o->heads : 1;
}

static void draw(operation_case *c) {
    tamis_message_options *const o = &OPERATION_OWN(c)->o;
    operation_pattern(c);
    o->reduce = (tamis_reduce)operation_pick(c, 4);
    o->op = (tamis_message_op)operation_pick(c, 6);
    o->edge_data = o->op == TAMIS_MESSAGE_COPY_U ? TAMIS_E_NONE : (tamis_edge_data)(1 + operation_pick(c, 3));
    o->type = c->type;
    o->argument_type = (tamis_index_type)operation_below(c, 2);
    const int64_t *const shape = c->small ? operation_shapes[OPERATION_SMALL] : OPERATION_ONE_OF(c, operation_shapes);
    o->heads = shape[0], o->width = shape[1];
    const int64_t all = o->heads * o->width;
    operation_says(c, ", op %d, reduce %d, edge data %d, heads %lld", o->op, o->reduce, o->edge_data,
                   (long long)o->heads);
    operand_add(c, OUT, OPERAND_OUT, -1, "out", c->S.rows, all);
    operand_add(c, D_OUT, OPERAND_SEED, OUT, "dOut", c->S.rows, all);
    if (o->reduce >= TAMIS_REDUCE_MAX)
        operand_indices(c, ARGUMENT, OPERAND_OUT, "argument", c->S.rows * all, o->argument_type)->kept = true;
    if (o->op != TAMIS_MESSAGE_COPY_E) {
        operand_add(c, U, OPERAND_IN, -1, "U", c->S.cols, all);
        operand_add(c, D_U, OPERAND_GRADIENT, U, "dU", c->S.cols, all)->optional = true;
    }
    if (o->op != TAMIS_MESSAGE_COPY_U) {
        operand_add(c, E, OPERAND_IN, -1, "E", c->S.nnz, edge_columns(o));
        operand_add(c, D_E, OPERAND_GRADIENT, E, "dE", c->S.nnz, edge_columns(o))->optional = true;
    }
    operation_default_heads(c, &o->heads);
}

/* Of equal messages the first counts, and the first NaN before everything. */
static void fill(operation_case *c) {
    if (OPERATION_OWN(c)->o.reduce < TAMIS_REDUCE_MAX || c->small || operation_once_in(c, 2)) return;
    for (int k = U; k <= E; k++)
        for (int64_t i = 0; c->of[k].name && i < operand_count(c, k); i++)
            if (operation_once_in(c, 40))
                matrix_set(&c->of[k].m, i / c->of[k].m.here.cols, i % c->of[k].m.here.cols, (double)NAN);
}

static tamis_status pass(operation_case *c) {
    const own *const x = c->own;
    return tamis_message_pass(c->graph, &x->o, operand_there(c, U), operand_there(c, E), operand_there(c, OUT),
                              operand_array(c, ARGUMENT), c->stream);
}

static tamis_status back(operation_case *c) {
    const own *const x = c->own;
    const bool reads = x->o.op == TAMIS_MESSAGE_MUL || x->o.op == TAMIS_MESSAGE_ADD_RELU;
    return tamis_message_backward(c->graph, &x->o, operand_there(c, D_OUT), reads ? operand_there(c, U) : NULL,
                                  reads ? operand_there(c, E) : NULL, operand_array(c, ARGUMENT), operand_there(c, D_U),
                                  operand_there(c, D_E), c->stream);
}

static void evaluate(operation_case *c, double *const to[OPERANDS]) {
    tamis_message_options o = OPERATION_OWN(c)->o;
    OWN(int64_t) *const argument = test_room(operand_count(c, OUT), sizeof *argument);
    if (c->without_signs && o.op == TAMIS_MESSAGE_SUB) o.op = TAMIS_MESSAGE_ADD;
    test_must(tamis_reference_message(&c->S, &o, operand_here(c, U), operand_here(c, E), to[OUT], argument));
    for (int64_t i = 0; to[ARGUMENT] && i < operand_count(c, ARGUMENT); i++) to[ARGUMENT][i] = (double)argument[i];
    if (to[D_U] || to[D_E])
        test_must(tamis_reference_message_backward(&c->S, &o, operand_here(c, D_OUT), operand_here(c, U),
                                                   operand_here(c, E), to[D_U], to[D_E]));
}

static void reference(operation_case *c) {
    const tamis_message_options *const o = &OPERATION_OWN(c)->o;
    const double means = (double)(operation_longest(c) + c->of[OUT].m.here.cols + 4);
    operation_expect(c, evaluate, o->reduce == TAMIS_REDUCE_MEAN ? means : 0);
}

static const operation_refusal refusals[] = {
    SPOILS(own, o.op, 6, ARGUMENT, "options.op = 6: expected 0 .. 5"),
    SPOILS(own, o.reduce, 4, ARGUMENT, "options.reduce = 4: expected 0 .. 3"),
    SPOILS(own, o.edge_data, 4, ARGUMENT, "options.edge_data = 4"),
    SPOILS(own, o.type, 4, ARGUMENT, "options.type = 4"),
    SPOILS(own, o.argument_type, 2, ARGUMENT, "options.argument_type = 2"),
    SPOILS(own, o.heads, -1, ARGUMENT, "options.heads = -1"),
    SPOILS(own, o.width, -1, ARGUMENT, "options.width = -1"),
    SPOILS(own, o.width, INT64_MAX, OVERFLOW, "options.width = 9223372036854775807"),
    SPOILS(own, o.reserved[2], 9, UNSUPPORTED, "options.reserved[2] = 0x9"),
};

static const operation_row row = {.name = "message",
                                  .own = sizeof(own),
                                  .tables = TEST_MESSAGES,
                                  .cases = 4 * OPERATION_PATTERNS * 4 * 6 * 3 * 2,
                                  .draw = draw,
                                  .fill = fill,
                                  .open = operation_open_graph,
                                  .close = operation_close_graph,
                                  .pass = pass,
                                  .back = back,
                                  .reference = reference,
                                  OPERATION_REFUSES(refusals)};

OPERATION_WITH_GRADIENT(row)
