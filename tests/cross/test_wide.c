/*
 * Sizes past 2^31, over mappings that the system fills with zeros as they are touched: strides whose products with a
 * row number pass 2^31 elements, and a matrix of more than 2^31 nonzeros with 64-bit offsets over 32-bit columns.
 */
#include "support/test.h"

#include <sys/mman.h>

#include <tamis/structure.h>

#include "support/algorithms.h"
#include "unit/cpu_device.h"

static void *map(int64_t bytes) {
    void *const place =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) skip_because("no mapping of %lld bytes is to be had", (long long)bytes);
    return place;
}

TEST(test_wide_strides) {
    enum { ROWS = 3, COLS = 3, K = 37 };
    const int64_t stride = 1200000000; /* row 2 begins 2.4e9 elements after row 0 */
    const int64_t bytes = 2 * stride * (int64_t)sizeof(float) + 4096;
    float *const a = map(bytes), *const b = map(bytes), *const e = map(bytes);
    int32_t offsets[] = {0, 2, 3, 5}, columns[] = {0, 2, 1, 0, 2};
    float p[5];
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < K; k++) {
            a[i * stride + k] = (float)(i + 1);
            b[i * stride + k] = (float)(k % 3) - 1;
        }
    const tamis_sparse S = {.rows = ROWS, .cols = COLS, .nnz = 5, .offsets = offsets, .columns = columns};
    const tamis_dense A = {.data = a, .rows = ROWS, .cols = K, .stride = stride};
    const tamis_dense B = {.data = b, .rows = COLS, .cols = K, .stride = stride};
    const tamis_dense E = {.data = e, .rows = ROWS, .cols = K, .stride = stride};
    const tamis_dense P = {.data = p, .rows = 5, .cols = 1};
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        const char *names[CPU_ALGORITHMS_MOST + 1];
        const int count = cpu_algorithms((tamis_operation)operation, true, names);
        for (int n = 0; n < count; n++) {
            tamis_options o = options_for((tamis_operation)operation, K, K);
            o.algorithm = names[n];
            o.threads = 2;
            tamis_plan *plan = NULL;
            works(tamis_plan_create(device, &S, &o, &plan));
            const tamis_dense *const to = operation == TAMIS_OP_SDDMM ? &P : &E;
            works(call_plan(plan, o.operation, &A, &B, &B, to, NULL));
            tamis_plan_destroy(plan);
            /* sum over k of k % 3 - 1 is -1 for K = 37: x = -(i + 1) */
            if (operation == TAMIS_OP_SDDMM) {
                assert_true(p[0] == -1 && p[1] == -1 && p[2] == -2 && p[3] == -3 && p[4] == -3);
                continue;
            }
            for (int64_t i = 0; i < ROWS; i++)
                for (int64_t k = 0; k < K; k++) {
                    const float nonzeros = (float)(offsets[i + 1] - offsets[i]);
                    const float weight = operation == TAMIS_OP_SPMM ? 1 : -(float)(i + 1);
                    assert_true(e[i * stride + k] == nonzeros * weight * ((float)(k % 3) - 1));
                }
        }
    }
    munmap(a, (size_t)bytes);
    munmap(b, (size_t)bytes);
    munmap(e, (size_t)bytes);
}

TEST(test_many_nonzeros) {
    const int64_t many = (int64_t)1 << 31, nnz = many + 12;
    int64_t offsets[] = {0, 5, 5 + many, nnz};
    int32_t *const columns = map(nnz * 4); /* all zero: every entry is in column 0 */
    double b[1] = {1}, c[3] = {-1, -1, -1};
    tamis_sparse S = csr_of(TAMIS_F64, 3, 1, nnz, offsets, columns, NULL);
    S.offset_type = TAMIS_I64;
    const tamis_dense B = {.data = b, .rows = 1, .cols = 1, .type = TAMIS_F64};
    const tamis_dense C = {.data = c, .rows = 3, .cols = 1, .type = TAMIS_F64};
    works(tamis_spmm(device, &S, &B, &C, NULL, NULL));
    assert_true(c[0] == 5 && c[1] == (double)many && c[2] == 7); /* integers: exact in double */
    tamis_profile profile;
    works(tamis_row_profile(&S, &profile));
    assert_true(profile.max == many && profile.duplicates == nnz - 3);
    munmap(columns, (size_t)nnz * 4);
}

TEST_FIXTURE(set_up, tear_down)
