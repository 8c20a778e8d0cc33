/* Attention whose scores are texts, by the cells of GPUs; on the CPU by the plan's choice. */
#include "product.h"

static void draw(operation_case *c) { product_draw(c, PRODUCT_SCORES); }

/* Where cells do not take it, as fp64, duplicates, long rows or arrays of entries, the plan chooses. */
static tamis_status open_plan(operation_case *c) {
    product *const x = c->own;
    product_prepare(c, strcmp(c->on, "cpu") == 0 ? NULL : "gpu-tensor");
    const tamis_status status = tamis_plan_create(c->device, &c->there, &x->options, &x->plan);
    if (status != TAMIS_ERROR_UNSUPPORTED || !x->options.algorithm) return status;
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
                                  .open = open_plan,
                                  .close = product_close,
                                  .pass = product_pass,
                                  .reference = product_reference,
                                  .forget = product_forget};

OPERATION(row)
