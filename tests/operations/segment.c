/* Operations on the entries of each row, in each order of the entries and each layout, and their gradients. */
#include "support/operation.h"

enum { X, OUT, ARGUMENT, D_OUT, D_X };

typedef struct own {
    tamis_segment_options o;
} own;

static bool is_softmax(const operation_case *c) { return OPERATION_OWN(c)->o.op == TAMIS_SEGMENT_SOFTMAX; }

static bool by_column(const operation_case *c) { return OPERATION_OWN(c)->o.order == TAMIS_ENTRIES_BY_COLUMN; }

static const char *unsupported(const operation_case *c) {
    return by_column(c) && strcmp(c->on, "cpu") != 0 ? "options.column_places = true: " : NULL;
}

static void draw(operation_case *c) {
    static const int64_t all_heads[] = {1, 3, 16, 37};
    tamis_segment_options *const o = &OPERATION_OWN(c)->o;
    operation_pattern(c);
    o->op = (tamis_segment_op)operation_pick(c, 5);
    o->order = (tamis_entry_order)operation_pick(c, 3);
    o->heads = c->small ? 2 : all_heads[operation_pick(c, 4)];
    o->type = c->type;
    o->argument_type = (tamis_index_type)operation_below(c, 2);
    const int64_t rows = is_softmax(c) ? c->S.nnz : c->S.rows;
    operation_says(c, ", op %d, order %d", o->op, o->order);
    c->graph_options.column_places = by_column(c);
    operand_add(c, X, OPERAND_IN, -1, "X", c->S.nnz, o->heads);
    operand_add(c, OUT, OPERAND_OUT, -1, "out", rows, o->heads);
    if (o->op >= TAMIS_SEGMENT_MAX)
        operand_indices(c, ARGUMENT, OPERAND_OUT, "argument", c->S.rows * o->heads, o->argument_type)->kept = true;
    operand_add(c, D_OUT, OPERAND_SEED, OUT, "dOut", rows, o->heads);
    operand_add(c, D_X, OPERAND_GRADIENT, X, "dX", c->S.nnz, o->heads);
    operation_default_heads(c, &o->heads);
}

/* Of equal values the first counts, the first NaN before everything, also before nothing but -infinity. */
static void fill(operation_case *c) {
    if (OPERATION_OWN(c)->o.op < TAMIS_SEGMENT_MAX || c->small || operation_once_in(c, 2)) return;
    const double to = operation_once_in(c, 2) ? (double)NAN : -(double)INFINITY;
    for (int64_t i = 0; i < operand_count(c, X); i++)
        if (operation_once_in(c, isnan(to) ? 40 : 2))
            matrix_set(&c->of[X].m, i / c->of[X].m.here.cols, i % c->of[X].m.here.cols, to);
}

static tamis_status pass(operation_case *c) {
    const own *const x = c->own;
    return tamis_segment(c->graph, &x->o, operand_there(c, X), operand_there(c, OUT), operand_array(c, ARGUMENT),
                         c->stream);
}

static tamis_status back(operation_case *c) {
    const own *const x = c->own;
    return tamis_segment_backward(c->graph, &x->o, operand_there(c, D_OUT),
                                  is_softmax(c) ? operand_there(c, OUT) : NULL, operand_array(c, ARGUMENT),
                                  operand_there(c, D_X), c->stream);
}

static void evaluate(operation_case *c, double *const to[OPERANDS]) {
    const tamis_segment_options *const o = &OPERATION_OWN(c)->o;
    OWN(int64_t) *const argument = test_room(c->S.rows * c->of[X].m.here.cols, sizeof *argument);
    test_must(tamis_reference_segment(&c->S, o, operand_here(c, X), to[OUT], argument));
    for (int64_t i = 0; to[ARGUMENT] && i < operand_count(c, ARGUMENT); i++) to[ARGUMENT][i] = (double)argument[i];
    if (to[D_X])
        test_must(tamis_reference_segment_backward(&c->S, o, operand_here(c, D_OUT), operand_here(c, X), to[D_X]));
}

/* Values are 7/4 at most. Softmax's y is rounded before the backward call reads it. */
static void reference(operation_case *c) {
    const double last[] = {0x1p-24, 0x1p-53, 0x1p-11, 0x1p-8}, most = (double)operation_longest(c);
    const double u = operation_unit(c), soft = u * (most + 24), mean = u * 1.75 * (most + 4);
    const bool means = OPERATION_OWN(c)->o.op == TAMIS_SEGMENT_MEAN;
    operation_expect(c, evaluate, 0);
    if (is_softmax(c) || means) operand_within(c, OUT, means ? mean : soft, NULL);
    if (means) operand_within(c, D_X, mean, NULL);
    if (is_softmax(c)) operand_within(c, D_X, 1.75 * (4 * soft + 4 * 1.01 * last[c->type] + u * (most + 8)), NULL);
}

static const operation_refusal refusals[] = {
    SPOILS(own, o.op, 5, ARGUMENT, "options.op = 5: expected 0 .. 4"),
    SPOILS(own, o.order, 3, ARGUMENT, "options.order = 3"),
    SPOILS(own, o.type, 4, ARGUMENT, "options.type = 4"),
    SPOILS(own, o.argument_type, 2, ARGUMENT, "options.argument_type = 2"),
    SPOILS(own, o.heads, -2, ARGUMENT, "options.heads = -2"),
    SPOILS(own, o.reserved[5], 1, UNSUPPORTED, "options.reserved[5] = 0x1"),
};

static const operation_row row = {.name = "segment",
                                  .own = sizeof(own),
                                  .tables = TEST_MESSAGES,
                                  .cases = 4 * OPERATION_PATTERNS * 5 * 3 * 4,
                                  .any_layout = true,
                                  .draw = draw,
                                  .unsupported = unsupported,
                                  .fill = fill,
                                  .open = operation_open_graph,
                                  .close = operation_close_graph,
                                  .pass = pass,
                                  .back = back,
                                  .reference = reference,
                                  OPERATION_REFUSES(refusals)};

OPERATION_WITH_GRADIENT(row)
