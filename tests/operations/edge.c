/* An edge over samples that exist, and in their place. */
#include "product.h"

static void draw(operation_case *c) {
    product *const x = c->own;
    product_draw(c, PRODUCT_EDGE);
    x->same = operation_once_in(c, 3);
    c->of[SAMPLES].under = true;
    if (x->same) c->of[OUT].old = c->unspoilt = true;
    if (x->same) operation_says(c, ", in place");
}

static void fill(operation_case *c) {
    const product *const x = c->own;
    OWN(double) *const samples = matrix_values(&c->of[SAMPLES].m);
    if (x->same) matrix_fill(&c->of[OUT].m, samples);
}

static tamis_status open_plan(operation_case *c) {
    product *const x = c->own;
    product_prepare(c, NULL);
    return tamis_plan_create(c->device, &c->there, &x->options, &x->plan);
}

static tamis_status pass(operation_case *c) {
    const product *const x = c->own;
    tamis_edge_operand there[NAMED_MOST];
    const tamis_execution execution = product_execution(c, there);
    return tamis_plan_edge(x->plan, operand_there(c, x->same ? OUT : SAMPLES), operand_there(c, OUT), &execution);
}

static const operation_row row = {.name = "edge",
                                  .own = sizeof(product),
                                  .tables = TEST_KERNELS,
                                  .cases = 4 * OPERATION_PATTERNS * (TAMIS_EDGE_COUNT + 1) * 2,
                                  .any_values = true,
                                  .any_layout = true,
                                  .planned = true,
                                  .by_threads = true,
                                  .draw = draw,
                                  .fill = fill,
                                  .open = open_plan,
                                  .close = product_close,
                                  .pass = pass,
                                  .reference = product_reference,
                                  .forget = product_forget};

OPERATION(row)
