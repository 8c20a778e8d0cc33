/* Messages reduced by rows, and their gradients: sums of quarters are exact, only means and texts have a bound. */
#include "support/operation.h"

#include "expression/message.h"
#include "reference/message.h"
#include "support/drawn_expression.h"

enum { U, E, V, OUT, ARGUMENT, D_OUT, D_U, D_E, D_V };

typedef struct own {
    tamis_message_options o;
    bool reads[3]; /* U, E, V */
    bool exact;    /* the text is one of those */
    tamis_edge_number numbers[5];
    char text[TAMIS_TEXT_MOST + 1];
} own;

/* Of quarters these are exact, and so is which message is the largest. */
static const char *const exact[] = {"relu(u + e)",
                                    "leaky_relu(u + v + e, a)",
                                    "where(u < v, u * e, b * v)",
                                    "max(u, v - e) * u",
                                    "abs(u - v) - e * (i < j)",
                                    "min(u, f) + v * g",
                                    "u * h - e",
                                    "e * e"};
/* These are smooth, but for a kink. The last number is a constant of GPUs' kernels. */
static const char *const smooth[] = {
    "leaky_relu(u + v + e)",         "u * sigmoid(v + e)",       "silu(u - v) * e",
    "gelu(u) + tanh(e * a) / c",     "exp(-abs(u - v) * g) * e", "sqrt(u * u + 1) * erf(v) + log(e * e + 1)",
    "sigmoid(b * u) * (i - j) / 64", "u * (h + 1) * a - h",      "v * v"};
static const char *const leaves[] = {"u", "u", "v", "v", "e", "e", "i", "j", "h", "a", "g", "2.5", "1e-3", NULL};

static int64_t edge_columns(const tamis_message_options *o) {
    return o->edge_data == TAMIS_E_VECTOR ? o->heads * o->width : o->edge_data == TAMIS_E_HEAD ? o->heads : 1;
}

/* A text, and what it reads: one of the lists, or on the CPU, which compiles nothing, any. */
static void draw_text(operation_case *c) {
    enum { LARGE = 1 << 14 }; /* elements of messages, whose bounds would take the oracle long */
    static const tamis_edge_number numbers[] = {{"a", 0.25}, {"b", -1.5}, {"c", 3}, {"f", 0.75}, {"g", 0.5}};
    own *const x = OPERATION_OWN(c);
    tamis_message_text text;
    const bool large = c->S.nnz * x->o.heads * x->o.width > LARGE;
    const bool any = !c->small && strcmp(c->on, "cpu") == 0 && operation_once_in(c, 2);
    memcpy(x->numbers, numbers, sizeof numbers);
    x->exact = large || (x->o.reduce >= TAMIS_REDUCE_MAX && !c->small);
    if (x->exact)
        snprintf(x->text, sizeof x->text, "%s", OPERATION_ONE_OF(c, exact));
    else if (any)
        drawn_expression(&c->random, leaves, 1 + (int)operation_below(c, 2), x->text, sizeof x->text);
    else
        snprintf(x->text, sizeof x->text, "%s", OPERATION_ONE_OF(c, smooth));
    x->o.text = x->text;
    x->o.numbers = x->numbers;
    x->o.number_count = sizeof numbers / sizeof *numbers;
    if (tamis_message_text_make(&x->o, &text) != TAMIS_OK) { /* cut off, or too many steps */
        snprintf(x->text, sizeof x->text, "u");
        test_must(tamis_message_text_make(&x->o, &text));
    }
    static const int kinds[] = {TAMIS_STEP_X, TAMIS_STEP_S, TAMIS_STEP_V};
    for (int k = U; k <= V; k++) x->reads[k] = tamis_message_text_reads(&text, kinds[k]);
    operation_says(c, ", text %s", x->text);
}

static void draw(operation_case *c) {
    own *const x = OPERATION_OWN(c);
    tamis_message_options *const o = &x->o;
    operation_pattern(c);
    o->reduce = (tamis_reduce)operation_pick(c, 4);
    o->op = (tamis_message_op)operation_pick(c, 7);
    x->reads[U] = o->op != TAMIS_MESSAGE_COPY_E;
    x->reads[E] = o->op != TAMIS_MESSAGE_COPY_U;
    o->edge_data = x->reads[E] ? (tamis_edge_data)(1 + operation_pick(c, 3)) : TAMIS_E_NONE;
    o->type = c->type;
    o->argument_type = (tamis_index_type)operation_below(c, 2);
    const int64_t *const shape = c->small ? operation_shapes[OPERATION_SMALL] : OPERATION_ONE_OF(c, operation_shapes);
    o->heads = shape[0], o->width = shape[1];
    if (o->op == TAMIS_MESSAGE_TEXT) draw_text(c);
    if (!x->reads[E]) o->edge_data = TAMIS_E_NONE;
    const int64_t all = o->heads * o->width;
    operation_says(c, ", op %d, reduce %d, edge data %d, heads %lld", o->op, o->reduce, o->edge_data,
                   (long long)o->heads);
    operand_add(c, OUT, OPERAND_OUT, -1, "out", c->S.rows, all);
    operand_add(c, D_OUT, OPERAND_SEED, OUT, "dOut", c->S.rows, all);
    if (o->reduce >= TAMIS_REDUCE_MAX)
        operand_indices(c, ARGUMENT, OPERAND_OUT, "argument", c->S.rows * all, o->argument_type)->kept = true;
    if (x->reads[U]) {
        operand_add(c, U, OPERAND_IN, -1, "U", c->S.cols, all);
        operand_add(c, D_U, OPERAND_GRADIENT, U, "dU", c->S.cols, all)->optional = true;
    }
    if (x->reads[V]) {
        operand_add(c, V, OPERAND_IN, -1, "options.V", c->S.rows, all);
        operand_add(c, D_V, OPERAND_GRADIENT, V, "options.dV", c->S.rows, all)->optional = true;
    }
    if (x->reads[E]) {
        operand_add(c, E, OPERAND_IN, -1, "E", c->S.nnz, edge_columns(o));
        operand_add(c, D_E, OPERAND_GRADIENT, E, "dE", c->S.nnz, edge_columns(o))->optional = true;
    }
    operation_default_heads(c, &o->heads);
}

/* Of equal messages the first counts, and the first NaN before everything. */
static void fill(operation_case *c) {
    if (OPERATION_OWN(c)->o.reduce < TAMIS_REDUCE_MAX || c->small || operation_once_in(c, 2)) return;
    for (int k = U; k <= V; k++)
        for (int64_t i = 0; c->of[k].name && i < operand_count(c, k); i++)
            if (operation_once_in(c, 40))
                matrix_set(&c->of[k].m, i / c->of[k].m.here.cols, i % c->of[k].m.here.cols, (double)NAN);
}

static tamis_status pass(operation_case *c) {
    tamis_message_options o = OPERATION_OWN(c)->o;
    o.V = operand_there(c, V);
    return tamis_message_pass(c->graph, &o, operand_there(c, U), operand_there(c, E), operand_there(c, OUT),
                              operand_array(c, ARGUMENT), c->stream);
}

static tamis_status back(operation_case *c) {
    tamis_message_options o = OPERATION_OWN(c)->o;
    const bool reads = o.op == TAMIS_MESSAGE_MUL || o.op == TAMIS_MESSAGE_ADD_RELU || o.op == TAMIS_MESSAGE_TEXT;
    o.V = operand_there(c, V);
    o.dV = operand_there(c, D_V);
    return tamis_message_backward(c->graph, &o, operand_there(c, D_OUT), reads ? operand_there(c, U) : NULL,
                                  reads ? operand_there(c, E) : NULL, operand_array(c, ARGUMENT), operand_there(c, D_U),
                                  operand_there(c, D_E), c->stream);
}

/* What the oracle gets as options.dV. */
static tamis_dense gradient_by_v(const operation_case *c, double *to) {
    const tamis_message_options *const o = &OPERATION_OWN(c)->o;
    return (tamis_dense){
        .data = to, .rows = c->S.rows, .cols = (o->heads ? o->heads : 1) * o->width, .type = TAMIS_F64};
}

static void evaluate(operation_case *c, double *const to[OPERANDS]) {
    tamis_message_options o = OPERATION_OWN(c)->o;
    OWN(int64_t) *const argument = test_room(operand_count(c, OUT), sizeof *argument);
    const tamis_dense dV = gradient_by_v(c, to[D_V]);
    if (c->without_signs && o.op == TAMIS_MESSAGE_SUB) o.op = TAMIS_MESSAGE_ADD;
    o.V = operand_here(c, V);
    test_must(tamis_reference_message(&c->S, &o, operand_here(c, U), operand_here(c, E), to[OUT], argument));
    for (int64_t i = 0; to[ARGUMENT] && i < operand_count(c, ARGUMENT); i++) to[ARGUMENT][i] = (double)argument[i];
    o.dV = dV.data ? &dV : NULL;
    if (to[D_U] || to[D_E] || to[D_V])
        test_must(tamis_reference_message_backward(&c->S, &o, operand_here(c, D_OUT), operand_here(c, U),
                                                   operand_here(c, E), to[D_U], to[D_E]));
}

/* Sums of texts: what each message may be off, and the roundings of sums, products and means. What a jump leaves open
   is not compared. */
static void bound_texts(operation_case *c, double roundings) {
    tamis_message_options o = OPERATION_OWN(c)->o;
    double *to[OPERANDS] = {NULL};
    for (int k = 0; k < OPERANDS; k++)
        if (c->of[k].name && c->of[k].want) to[k] = test_doubles(operand_count(c, k));
    const tamis_dense dV = gradient_by_v(c, to[D_V]);
    o.V = operand_here(c, V);
    o.dV = dV.data ? &dV : NULL;
    test_must(tamis_reference_message_bounds(&c->S, &o, to[D_U] || to[D_E] || to[D_V] ? operand_here(c, D_OUT) : NULL,
                                             operand_here(c, U), operand_here(c, E), roundings, to[OUT], to[D_U],
                                             to[D_E]));
    for (int k = 0; k < OPERANDS; k++) {
        operand *const x = &c->of[k];
        if (to[k]) operand_within(c, k, 1, to[k]);
        for (int64_t i = 0; to[k] && i < operand_count(c, k); i++)
            if (!isfinite(to[k][i])) {
                x->want[i] = matrix_at(&x->m, 0, i / x->m.here.cols, i % x->m.here.cols);
                x->bound[i] = 0;
            }
        free(to[k]);
    }
}

static void reference(operation_case *c) {
    const tamis_message_options *const o = &OPERATION_OWN(c)->o;
    const double means = (double)(operation_longest(c) + c->of[OUT].m.here.cols + 4);
    if (o->op == TAMIS_MESSAGE_TEXT) {
        operation_expect(c, evaluate, 0);
        if (o->reduce == TAMIS_REDUCE_MEAN || (o->reduce == TAMIS_REDUCE_SUM && !OPERATION_OWN(c)->exact))
            bound_texts(c, means + 4);
        return;
    }
    operation_expect(c, evaluate, o->reduce == TAMIS_REDUCE_MEAN ? means : 0);
}

static const operation_refusal refusals[] = {
    SPOILS(own, o.op, 7, ARGUMENT, "options.op = 7: expected 0 .. 6"),
    SPOILS(own, o.reduce, 4, ARGUMENT, "options.reduce = 4: expected 0 .. 3"),
    SPOILS(own, o.edge_data, 4, ARGUMENT, "options.edge_data = 4"),
    SPOILS(own, o.type, 4, ARGUMENT, "options.type = 4"),
    SPOILS(own, o.argument_type, 2, ARGUMENT, "options.argument_type = 2"),
    SPOILS(own, o.heads, -1, ARGUMENT, "options.heads = -1"),
    SPOILS(own, o.width, -1, ARGUMENT, "options.width = -1"),
    SPOILS(own, o.width, INT64_MAX, OVERFLOW, "options.width = 9223372036854775807"),
    SPOILS(own, o.reserved[0], 9, UNSUPPORTED, "options.reserved[0] = 0x9"),
};

static const operation_row row = {.name = "message",
                                  .own = sizeof(own),
                                  .tables = TEST_MESSAGES,
                                  .cases = 4 * OPERATION_PATTERNS * 4 * 7 * 3 * 2,
                                  .draw = draw,
                                  .fill = fill,
                                  .open = operation_open_graph,
                                  .close = operation_close_graph,
                                  .pass = pass,
                                  .back = back,
                                  .reference = reference,
                                  OPERATION_REFUSES(refusals)};

OPERATION_WITH_GRADIENT(row)
