#include "batch_case.h"

#include <stdlib.h>

batch_case batch_make(tamis_device *device, const batch_options *options, tamis_random *random) {
    batch_case c = {.options = *options, .call = call_of(options->edge, options->alpha, options->beta)};
    const batch_options *const o = options;
    const tamis_layout layout = o->column_major ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
    const bool within = o->arranged == MEMBERS_WITHIN_ROWS;
    const problem_options p = {.rows = o->rows,
                               .cols = o->cols,
                               .nnz = o->nnz,
                               .inner = o->inner,
                               .width = o->width,
                               .batch = o->batch,
                               .shape = SHAPE_FULL_HUB,
                               .type = o->type,
                               .format = o->coo ? TAMIS_COO : TAMIS_CSR,
                               .layouts = {TAMIS_ROW_MAJOR, layout, layout, TAMIS_ROW_MAJOR},
                               .transpose = o->transpose,
                               .wide_values = o->wide_values,
                               .wide_output = o->wide_output,
                               .shared = (o->arranged == MEMBERS_SHARE ? PROBLEM_SHARES_B | PROBLEM_SHARES_D : 0) |
                                         (o->shares_values ? PROBLEM_SHARES_VALUES : 0),
                               .padding = within ? 0 : 4,
                               .apart = 12,
                               .values_apart = 3,
                               .within = within};
    c.p = problem_make(&p, random);
    c.on = mirror_make(device, &c.p, o->operation);
    c.call.options.edge_scale = 0.5;
    c.call.options.threads = 3;
    if (o->values_later) { /* the plan sees others */
        c.call.execution.values = c.on.S.values;
        c.call.execution.values_stride = c.on.S.batch_stride;
        c.others = twin_make((size_t)c.p.S.nnz * tamis_type_size(c.p.S.value_type), 0);
        twin_send(&c.others, device);
        c.on.S.values = twin_there(&c.others);
        c.on.S.batch_stride = 0;
    }
    if (o->beta != 0) matrix_draw(&c.on.out, -1, 1, random); /* else nothing of it may be read */
    c.before = matrix_copy(&c.on.out);
    c.right = expect_members(&c.p, o->operation, &c.call, &c.on.out);
    return c;
}

void batch_free(batch_case *c) {
    mirror_free(&c->on);
    problem_free(&c->p);
    twin_free(&c->others);
    free(c->before);
    expect_free(&c->right);
}

tamis_status batch_run(batch_case *c, const char *algorithm, const char *parameters) {
    mirror *const on = &c->on;
    const tamis_execution *const execution = &c->call.execution;
    tamis_options options = problem_call(&c->p, on->operation, &c->call.options);
    tamis_plan *plan = NULL;
    options.algorithm = algorithm;
    options.parameters = parameters;
    options.any_order = algorithm != NULL;
    options.expected_calls = 100;
    matrix_restore(&on->out, c->before);
    matrix_send(on->device, &on->out);
    tamis_status status = algorithm ? tamis_plan_create(on->device, &on->S, &options, &plan) : TAMIS_OK;
    if (status == TAMIS_OK)
        status = algorithm ? mirror_plan(on, plan, execution) : mirror_once(on, &options, execution);
    tamis_plan_destroy(plan);
    if (status == TAMIS_OK) matrix_fetch(&on->out);
    return status;
}
