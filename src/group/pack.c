/* Copying rows of B and D to where they are sent from, or to where the local plan reads them. */
#include <string.h>

#include "base/threads.h"
#include "group/plan.h"
#include "sparse/check.h"
#include "sparse/structure.h"

enum { SMALL = 1 << 16 /* bytes that are not worth a second thread */ };

/* One row of a column-major matrix: elements `stride` apart. */
TAMIS_INLINE void gather(char *to, const char *from, int64_t count, int64_t stride, size_t size) {
    for (int64_t k = 0; k < count; k++) memcpy(to + (size_t)k * size, from + (size_t)(k * stride) * size, size);
}

static void pack_row(const tamis_packing *p, int64_t row, char *to) {
    const tamis_dense *const X = p->view;
    const size_t size = tamis_type_size(X->type), bytes = (size_t)X->cols * size;
    const int64_t stride = tamis_dense_stride(X);
    for (int64_t m = 0; m < p->members; m++, to += bytes) {
        const char *const member = (const char *)X->data + (size_t)(m * X->batch_stride) * size;
        if (X->layout == TAMIS_ROW_MAJOR)
            memcpy(to, member + (size_t)(row * stride) * size, bytes);
        else if (size == 4) /* a constant size is a load and a store */
            gather(to, member + (size_t)row * size, X->cols, stride, 4);
        else if (size == 8)
            gather(to, member + (size_t)row * size, X->cols, stride, 8);
        else
            gather(to, member + (size_t)row * size, X->cols, stride, 2);
    }
}

static void pack_share(void *context, int thread, int threads) {
    const tamis_packing *const p = context;
    const int64_t end = tamis_partition_even(p->count, threads, thread + 1);
    for (int64_t i = tamis_partition_even(p->count, threads, thread); i < end; i++)
        pack_row(p, p->rows ? p->rows[i] : i, p->to + i * p->apart);
}

void tamis_group_pack(const tamis_packing *packing) {
    tamis_packing p = *packing;
    if (p.count == 0 || p.view->cols == 0) return;
    tamis_threads_run(p.count * p.apart < SMALL ? 1 : p.threads, pack_share, &p);
}
