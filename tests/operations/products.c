/* SDDMM, SpMM and fused by every algorithm of the device, by the one that the plan chooses, and without a plan. */
#include "product.h"

#include <tamis/algorithms.h>

#include "cross/cross.h"

static void draw(operation_case *c) { product_draw(c, PRODUCT_ALONE); }

/* The name of way 2 and up: of the device's algorithms that have the operation. */
static const char *name_of(const operation_case *c, int way, bool *any_order) {
    const product *const x = c->own;
    const char *const family = strcmp(c->on, "cpu") == 0 ? "cpu" : "gpu";
    tamis_algorithm_description about;
    for (int i = 0, at = 2; i < tamis_algorithm_count(); i++) {
        test_must(tamis_algorithm_at(i, &about));
        if (strcmp(about.device, family) != 0 || !(about.operations & 1u << x->operation)) continue;
        if (at++ != way) continue;
        if (any_order) *any_order = about.any_order;
        return about.name;
    }
    return NULL;
}

static int ways(const operation_case *c) {
    int count = 2;
    while (name_of(c, count, NULL)) count++;
    return count;
}

static const char *unsupported(const operation_case *c) {
    const product *const x = c->own;
    const char *const name = c->way < 2 ? NULL : name_of(c, c->way, NULL);
    if (!name) return NULL;
    /* of a GPU's we do not know, nor which instruction set is the best of this machine */
    if (strcmp(c->on, "cpu") != 0 || (strcmp(name, "cpu-amx") == 0 && !getenv("TAMIS_CPU_ISA"))) return "?";
    /* cells take texts without i and j */
    if (x->call.options.edge == TAMIS_EDGE_TEXT && strcmp(name, "cpu-cells") == 0) return "?";
    return cross_declines(name, x->operation, x->call.options.edge, &x->p) ? name : NULL;
}

/* Parameters with which even small members are cut, in rows and in slices of K, so that scratch is used. */
static const char *cutting(const char *algorithm, tamis_operation operation, bool cpu) {
    const bool sddmm = operation == TAMIS_OP_SDDMM;
    const char *const of[][2] = {{"cpu-nonzeros", "chunk=8"},
                                 {"cpu-tiled", "tile_columns=8,block_rows=4"},
                                 {"cpu-panels", "rows=6,least=1"},
                                 {"esimd-row-simd", cpu ? "vlc=4" : NULL},
                                 {"gpu-nonzeros", sddmm ? "slice=8,chunk=64" : "items=24"},
                                 {"gpu-rows", "limit=16"},
                                 {"gpu-one-pass", "limit=7,team=4,batch=8"},
                                 {"gpu-teams", "share=2"},
                                 {"gpu-panels", "slice=8,panel=4,columns=8"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strcmp(of[i][0], algorithm) == 0) return of[i][1];
    return NULL;
}

/* Way 0: the plan's choice; way 1: without a plan. */
static tamis_status open_plan(operation_case *c) {
    product *const x = c->own;
    const char *const name = c->way < 2 ? NULL : name_of(c, c->way, &c->any_order);
    product_prepare(c, name);
    if (name && x->cuts) x->options.parameters = cutting(name, x->operation, strcmp(c->on, "cpu") == 0);
    x->options.any_order = c->any_order;
    return c->way == 1 ? TAMIS_OK : tamis_plan_create(c->device, &c->there, &x->options, &x->plan);
}

static const operation_refusal refusals[] = {
    SPOILS(product, p.options.batch, -6, ARGUMENT, "options.batch = -6"),
    SPOILS(product, call.options.edge, 77, ARGUMENT, "options.edge = 77"),
    SPOILS_NUMBER(product, call.execution.alpha, (double)NAN, ARGUMENT, "alpha is not a number"),
    SPOILS_NUMBER(product, call.execution.beta, (double)NAN, ARGUMENT, "beta is not a number"),
};

static const operation_row row = {.name = "products",
                                  .own = sizeof(product),
                                  .tables = TEST_KERNELS,
                                  .cases = 4 * 3 * OPERATION_PATTERNS * (TAMIS_EDGE_COUNT + 1),
                                  .any_values = true,
                                  .any_layout = true,
                                  .planned = true,
                                  .by_threads = true,
                                  .draw = draw,
                                  .fill = product_fill,
                                  .unsupported = unsupported,
                                  .ways = ways,
                                  .open = open_plan,
                                  .close = product_close,
                                  .pass = product_pass,
                                  .reference = product_reference,
                                  .forget = product_forget,
                                  OPERATION_REFUSES(refusals)};

OPERATION(row)
