/* SDDMM, SpMM and fused with their gradients, by the plan's choice, and in one piece where there is such. */
#include "product.h"

static void draw(operation_case *c) { product_draw(c, PRODUCT_WITH_GRADIENTS); }

/* Cells compute attention without values of S. */
static int ways(const operation_case *c) {
    const product *const x = c->own;
    const bool attends = x->operation == TAMIS_OP_FUSED && x->call.options.edge == TAMIS_EDGE_SOFTMAX;
    return attends && !x->has_values && strcmp(c->on, "cpu") == 0 ? 2 : 1;
}

static tamis_status open_both(operation_case *c) {
    product *const x = c->own;
    product_prepare(c, c->way == 1 ? "cpu-cells" : NULL);
    const tamis_status status = tamis_gradient_create(c->device, &c->there, &x->options, &x->gradient);
    return status == TAMIS_OK ? tamis_plan_create(c->device, &c->there, &x->options, &x->plan) : status;
}

static const operation_row row = {.name = "gradients",
                                  .own = sizeof(product),
                                  .tables = TEST_KERNELS,
                                  .cases = 4 * 3 * OPERATION_PATTERNS * (TAMIS_EDGE_COUNT + 1),
                                  .any_values = true,
                                  .any_layout = true,
                                  .planned = true,
                                  .by_threads = true,
                                  .draw = draw,
                                  .fill = product_fill,
                                  .ways = ways,
                                  .open = open_both,
                                  .close = product_close,
                                  .pass = product_pass,
                                  .back = product_back,
                                  .reference = product_reference,
                                  .forget = product_forget};

OPERATION_WITH_GRADIENT(row)
