/* Problems in a device's memory. */
#include "support/mirror.h"

#include <string.h>

mirror mirror_make(tamis_device *device, const problem *p, tamis_operation operation) {
    mirror m = {.device = device, .operation = operation, .A = p->A, .B = p->B, .D = p->D, .pattern = p->pattern};
    tamis_dense *const views[] = {&m.A, &m.B, &m.D};
    memcpy(m.arrays, p->arrays, sizeof m.arrays);
    m.S = pattern_send(device, &m.pattern);
    m.S.batch_stride = p->S.batch_stride;
    for (int i = 0; i < 4; i++)
        if (m.arrays[i].host) twin_send(&m.arrays[i], device);
    if (p->S.values) m.S.values = twin_there(&m.arrays[0]);
    for (int i = 0; i < 3; i++) {
        const bool is_b = i == 2 && p->D.data == p->B.data;
        views[i]->data = twin_there(&m.arrays[is_b ? 2 : 1 + i]);
        views[i]->location = m.S.location;
    }
    m.out = problem_result(p, operation);
    matrix_send(device, &m.out);
    return m;
}

void mirror_free(mirror *m) {
    for (int i = 0; i < 3; i++) twin_forget(&m->pattern.arrays[i]);
    for (int i = 0; i < 4; i++) twin_forget(&m->arrays[i]);
    matrix_free(&m->out);
    memset(m, 0, sizeof *m);
}

bool mirror_copies(const mirror *m) { return m->S.location == TAMIS_DEVICE; }

tamis_status mirror_plan(const mirror *m, const tamis_plan *plan, const tamis_execution *execution) {
    return call_plan(plan, m->operation, &m->A, &m->B, &m->D, &m->out.there, execution);
}

tamis_status mirror_once(const mirror *m, const tamis_options *options, const tamis_execution *execution) {
    return call_at_once(m->device, m->operation, &m->S, &m->A, &m->B, &m->D, &m->out.there, options, execution);
}

const char *mirror_wrong(mirror *m, const problem *p, const test_call *call) {
    matrix_fetch(&m->out);
    test_call here = *call;
    here.on = m->device;
    expectation right = expect_members(p, m->operation, &here, &m->out);
    const char *const wrong = expect_compare(&right, &m->out);
    expect_free(&right);
    return wrong;
}
