/* Attention on graphs, with and without vectors and a bias on edges, and its gradients. */
#include "support/operation.h"

enum { Q, K, V, E, B, OUT, SUMS, D_OUT, D_Q, D_K, D_V, D_E, D_B };

typedef struct own {
    tamis_graph_attention_options o;
    twin workspace;
} own;

static void draw(operation_case *c) {
    static const int64_t shapes[][2] = {{1, 1},  {1, 16},  {3, 7},  {2, 64}, {1, 37},
                                        {4, 20}, {16, 64}, {70, 3}, {5, 0},  {2, 4100}};
    tamis_graph_attention_options *const o = &OPERATION_OWN(c)->o;
    operation_pattern(c);
    const bool has_e = operation_pick(c, 2), has_b = operation_pick(c, 2);
    const int64_t most = c->S.nnz > 250 ? 5 : c->S.nnz > 60 ? 9 : 10; /* sizes that are soon computed */
    const int64_t *const shape = c->small ? shapes[2] : shapes[operation_pick(c, 10) % most];
    *o = (tamis_graph_attention_options){.type = c->type, .heads = shape[0], .width = shape[1]};
    o->scale = operation_once_in(c, 8) ? 0 : 1 / sqrt((double)shape[1] + 1);
    const int64_t all = o->heads * o->width, rows[] = {c->S.rows, c->S.cols, c->S.cols, c->S.nnz, c->S.nnz};
    static const char *const names[] = {"Q", "K", "V", "E", "B"}, *const gradients[] = {"dQ", "dK", "dV", "dE", "dB"};
    operation_says(c, ", scale %g", o->scale);
    for (int k = Q; k <= B; k++) {
        if ((k == E && !has_e) || (k == B && !has_b)) continue;
        const int64_t cols = k == B ? o->heads : all;
        operand_add(c, k, OPERAND_IN, -1, names[k], rows[k], cols)->optional = k >= E;
        operand_add(c, D_Q + k, OPERAND_GRADIENT, k, gradients[k], rows[k], cols)->optional = true;
    }
    operand_add(c, OUT, OPERAND_OUT, -1, "out", c->S.rows, all);
    operand_add(c, D_OUT, OPERAND_SEED, OUT, "dOut", c->S.rows, all);
    operand_typed(c, SUMS, OPERAND_OUT, -1, "log_sums", c->S.rows, o->heads,
                  c->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32)
        ->kept = true;
    operation_default_heads(c, &o->heads);
}

/* Small scores; some are left out, also all of a row. */
static void fill(operation_case *c) {
    matrix *const q = &c->of[Q].m, *const b = &c->of[B].m;
    for (int64_t i = 0; i < q->here.rows * q->here.cols; i++)
        matrix_set(q, i / q->here.cols, i % q->here.cols, matrix_get(q, i / q->here.cols, i % q->here.cols) / 4);
    if (!c->of[B].name || c->small || operation_once_in(c, 2)) return;
    for (int64_t t = 0; t < c->S.nnz; t++)
        for (int64_t h = 0; h < b->here.cols; h++)
            if (operation_once_in(c, 3) || c->pattern.row_of[t] % 4 == 1) matrix_set(b, t, h, -(double)INFINITY);
}

static tamis_status open_all(operation_case *c) {
    own *const x = c->own;
    size_t bytes = 0;
    tamis_status status = operation_open_graph(c);
    if (status == TAMIS_OK) status = tamis_graph_attention_workspace_size(c->graph, &x->o, &bytes);
    if (status != TAMIS_OK) return status;
    x->workspace = twin_make(bytes + 16, 0); /* aligned by 16 bytes, as every block is */
    twin_send(&x->workspace, c->device);
    return TAMIS_OK;
}

static void close_all(operation_case *c) {
    twin_free(&OPERATION_OWN(c)->workspace);
    operation_close_graph(c);
}

static tamis_graph_attention_matrices given(const operation_case *c,
                                            const tamis_dense *(*of)(const operation_case *c, int k), int from) {
    return (tamis_graph_attention_matrices){
        .Q = of(c, from + Q), .K = of(c, from + K), .V = of(c, from + V), .E = of(c, from + E), .B = of(c, from + B)};
}

static tamis_status pass(operation_case *c) {
    const tamis_graph_attention_matrices m = given(c, operand_there, 0);
    return tamis_graph_attention(c->graph, &OPERATION_OWN(c)->o, &m, operand_there(c, OUT), operand_there(c, SUMS),
                                 c->stream);
}

static tamis_status back(operation_case *c) {
    const tamis_graph_attention_matrices m = given(c, operand_there, 0), to = given(c, operand_there, D_Q);
    return tamis_graph_attention_backward(c->graph, &OPERATION_OWN(c)->o, &m, operand_there(c, D_OUT),
                                          operand_there(c, OUT), operand_there(c, SUMS), &to,
                                          to.K || to.V ? twin_there(&OPERATION_OWN(c)->workspace) : NULL, c->stream);
}

static void evaluate(operation_case *c, double *const to[OPERANDS]) {
    const tamis_graph_attention_options *const o = &OPERATION_OWN(c)->o;
    const tamis_graph_attention_matrices m = given(c, operand_here, 0);
    const tamis_graph_attention_gradients d = {.q = to[D_Q], .k = to[D_K], .v = to[D_V], .e = to[D_E], .b = to[D_B]};
    test_must(tamis_reference_graph_attention(&c->S, o, &m, to[OUT], to[SUMS]));
    if (!c->forward_only) test_must(tamis_reference_graph_attention_backward(&c->S, o, &m, operand_here(c, D_OUT), &d));
}

/* The largest error of <dout, out> of a row and head that comes from the rounding of out. */
static double error_of_outer(const operation_case *c) {
    const tamis_graph_attention_options *const o = &OPERATION_OWN(c)->o;
    const matrix *const out = &c->of[OUT].m;
    double most = 0;
    for (int64_t i = 0; i < out->here.rows; i++)
        for (int64_t h = 0; h < c->of[SUMS].m.here.cols; h++) {
            double sum = 0;
            for (int64_t k = h * o->width; k < (h + 1) * o->width; k++)
                sum += matrix_get(&c->of[D_OUT].m, i, k) *
                       (matrix_get(out, i, k) - c->of[OUT].want[i * out->here.cols + k]);
            most = fmax(most, fabs(sum));
        }
    return most;
}

/* The largest errors that rounding can make: |k + e| and |v + e| are at most SUM, |q| at most Q, the others at most
   SUM / 2; a score has width + 4 roundings, and p twice its error and those of an exponential and of a sum. */
static void reference(operation_case *c) {
    const tamis_graph_attention_options *const o = &OPERATION_OWN(c)->o;
    const double u = operation_unit(c), sum = 3.5, q = 0.4375, width = (double)o->width, scale = o->scale;
    const double most = (double)operation_longest(c);
    operation_expect(c, evaluate, 0);
    if (c->forward_only || c->small) return;
    const double score = u * (width + 4) * (scale * width * q * sum + 1.75), p = 2 * score + u * (most + 16);
    const double products = width * 1.75 * sum;
    const double d_score = products * (2 * p + u * (2 * width + 8)) + error_of_outer(c);
    const double summed = d_score + u * (most + 4) * 2 * products;
    operand_within(c, OUT, sum * (p + u * (most + 4)), NULL);
    operand_within(c, D_Q, scale * sum * summed, NULL);
    operand_within(c, D_K, most * scale * q * summed, NULL);
    operand_within(c, D_V, most * 1.75 * (p + u * (most + 4)), NULL);
    operand_within(c, D_E, scale * q * d_score + 1.75 * (p + 4 * u) + u * 4 * scale * q * products, NULL);
    operand_within(c, D_B, d_score, NULL);
    for (int64_t i = 0; i < operand_count(c, SUMS); i++) {
        const double want = c->of[SUMS].want[i];
        c->of[SUMS].bound[i] = isinf(want) ? 0 : score + p + 4 * u * fabs(want);
    }
}

static const operation_refusal refusals[] = {
    SPOILS(own, o.type, 4, ARGUMENT, "options.type = 4"),
    SPOILS(own, o.heads, -1, ARGUMENT, "options.heads = -1"),
    SPOILS(own, o.width, INT64_MAX, OVERFLOW, "options.width = 9223372036854775807"),
    SPOILS(own, o.reserved[1], 7, UNSUPPORTED, "options.reserved[1] = 0x7"),
};

static const operation_row row = {.name = "graph attention",
                                  .own = sizeof(own),
                                  .tables = TEST_MESSAGES,
                                  .cases = 4 * OPERATION_PATTERNS * 4 * 10,
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
