/* Copies of a problem in a device's memory. */
#include "support/mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(tamis_status status) {
    if (status == TAMIS_OK) return;
    fprintf(stderr, "mirror: %s\n", tamis_last_error());
    abort();
}

/* A copy of `bytes`, `shift` bytes into a block of its own, so that addresses are as odd as on the host. */
static void *copied(mirror *m, int at, const void *from, size_t bytes, size_t shift) {
    if (!from) return NULL;
    must(tamis_device_allocate(m->device, bytes + shift + 1, &m->memory[at]));
    if (bytes) must(tamis_device_upload(m->device, NULL, m->memory[at], shift, from, bytes));
    return (char *)m->memory[at] + shift;
}

static tamis_dense dense_copy(mirror *m, int at, const tamis_dense *X, const problem *p, size_t shift) {
    tamis_dense copy = *X;
    const int64_t major = X->layout == TAMIS_ROW_MAJOR ? X->rows : X->cols;
    const int64_t minor = X->layout == TAMIS_ROW_MAJOR ? X->cols : X->rows;
    const int64_t one = major > 0 ? (major - 1) * X->stride + minor : 0;
    const int64_t total = (p->options.batch - 1) * X->batch_stride + one;
    copy.location = TAMIS_DEVICE;
    copy.data = copied(m, at, X->data, (size_t)total * tamis_type_size(X->type), shift);
    return copy;
}

mirror mirror_make(tamis_device *device, const problem *p, size_t out_bytes) {
    mirror m = {.device = device, .S = p->S, .A = p->A, .B = p->B, .D = p->D, .out = p->out, .out_bytes = out_bytes};
    tamis_device_description description;
    must(tamis_device_describe(device, &description));
    m.copies = description.location == TAMIS_DEVICE;
    if (!m.copies) return m;
    /* a cl_mem is no address: only CUDA's pointers can be moved along */
    const bool pointers = strncmp(description.name, "cuda", 4) == 0;
    const size_t size = tamis_type_size(p->options.type), index_size = tamis_index_size(p->options.index_type);
    const size_t shift = pointers ? (size_t)p->options.misalignment * size : 0;
    const tamis_sparse *const S = &p->S;
    m.S.location = TAMIS_DEVICE;
    m.S.columns = copied(&m, 0, S->columns, (size_t)S->nnz * index_size, 0);
    m.S.row_indices = copied(&m, 1, S->row_indices, (size_t)S->nnz * index_size, 0);
    m.S.offsets = copied(&m, 2, S->offsets, (size_t)(S->rows + 1) * tamis_index_size(S->offset_type), 0);
    m.S.values = copied(&m, 3, S->values, (size_t)((p->options.batch - 1) * S->batch_stride + S->nnz) * size, shift);
    m.A = dense_copy(&m, 4, &p->A, p, shift);
    m.B = dense_copy(&m, 5, &p->B, p, shift);
    m.D = p->options.d_is_b ? m.B : dense_copy(&m, 6, &p->D, p, shift);
    m.out.location = TAMIS_DEVICE;
    must(tamis_device_allocate(device, out_bytes + 1, &m.memory[7]));
    return m;
}

void mirror_free(mirror *m) {
    for (int i = 0; i < 8; i++) tamis_device_free(m->device, m->memory[i]);
    memset(m, 0, sizeof *m);
}

void *mirror_output(mirror *m, void *host) {
    if (m->copies && m->out_bytes) must(tamis_device_upload(m->device, NULL, m->memory[7], 0, host, m->out_bytes));
    m->out.data = m->copies ? m->memory[7] : host;
    return m->out.data;
}

void mirror_fetch(const mirror *m, void *host) {
    if (m->copies && m->out_bytes) must(tamis_device_download(m->device, NULL, host, m->memory[7], 0, m->out_bytes));
}
