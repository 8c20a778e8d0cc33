/* Attention whose scores are texts, by the cells of GPUs; on the CPU by the plan's choice. */
#include "product.h"

static void draw(operation_case *c) { product_draw(c, PRODUCT_SCORES); }

/* Where cells do not take it, as fp64, duplicates, long rows or arrays of entries, the plan chooses; and the gradient
   goes back in steps where they do not take that. */
static tamis_status open_both(operation_case *c) {
    product *const x = c->own;
    product_prepare(c, strcmp(c->on, "cpu") == 0 ? NULL : "gpu-tensor");
    const tamis_status status = tamis_gradient_create(c->device, &c->there, &x->options, &x->gradient);
    if (status != TAMIS_OK) return status;
    const tamis_status taken = tamis_plan_create(c->device, &c->there, &x->options, &x->plan);
    if (taken != TAMIS_ERROR_UNSUPPORTED || !x->options.algorithm) return taken;
    x->options.algorithm = NULL;
    return tamis_plan_create(c->device, &c->there, &x->options, &x->plan);
}

static const operation_row row = {.name = "scores",
                                  .own = sizeof(product),
                                  .tables = TEST_KERNELS,
                                  .cases = 4 * OPERATION_PATTERNS * 9,
                                  .any_values = true,
                                  .any_layout = true,
                                  .cells = true,
                                  .planned = true,
                                  .by_threads = true,
                                  .draw = draw,
                                  .fill = product_fill,
                                  .open = open_both,
                                  .close = product_close,
                                  .pass = product_pass,
                                  .back = product_back,
                                  .reference = product_reference,
                                  .forget = product_forget};

OPERATION_WITH_GRADIENT(row)
