/* Copies of a problem in a device's memory. */
#include "support/mirror.h"

#include <string.h>

mirror mirror_make(tamis_device *device, const problem *p, size_t out_bytes) {
    mirror m = {.device = device, .copies = test_has_memory(device), .pattern = p->pattern, .out_bytes = out_bytes};
    tamis_dense *const views[] = {&m.A, &m.B, &m.D};
    m.S = pattern_send(device, &m.pattern);
    m.S.batch_stride = p->S.batch_stride;
    memcpy(m.arrays, p->arrays, sizeof m.arrays);
    m.A = p->A;
    m.B = p->B;
    m.D = p->D;
    m.out = p->out;
    for (int i = 0; i < 4; i++)
        if (m.arrays[i].host) twin_send(&m.arrays[i], device);
    if (p->S.values) m.S.values = twin_there(&m.arrays[0]);
    for (int i = 0; i < 3; i++) {
        const bool is_b = i == 2 && p->D.data == p->B.data;
        views[i]->data = twin_there(&m.arrays[is_b ? 2 : 1 + i]);
        if (m.copies) views[i]->location = TAMIS_DEVICE;
    }
    if (!m.copies) return m;
    m.out.location = TAMIS_DEVICE;
    test_must(tamis_device_allocate(device, out_bytes + 1, &m.memory));
    return m;
}

void mirror_free(mirror *m) {
    for (int i = 0; i < 3; i++) twin_forget(&m->pattern.arrays[i]);
    for (int i = 0; i < 4; i++) twin_forget(&m->arrays[i]);
    if (m->memory) tamis_device_free(m->device, m->memory);
    memset(m, 0, sizeof *m);
}

void *mirror_output(mirror *m, void *host) {
    if (m->copies && m->out_bytes) test_must(tamis_device_upload(m->device, NULL, m->memory, 0, host, m->out_bytes));
    m->out.data = m->copies ? m->memory : host;
    return m->out.data;
}

void mirror_fetch(const mirror *m, void *host) {
    if (m->copies && m->out_bytes) test_must(tamis_device_download(m->device, NULL, host, m->memory, 0, m->out_bytes));
}
