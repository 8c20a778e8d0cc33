/*
 * One-shot calls on a device that computes: rows that are so long that they are cut, in matrices of so many nonzeros
 * that nothing is guessed, and so few that all is; checked and trusted. Nothing that is cut comes to the host there.
 *   test_gpu_once [DEVICE]      opencl:0 unless told otherwise
 */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/stream.h>

#include "base/memory.h"
#include "core/device.h"
#include "gpu/runtime/runtime.h"
#include "support/expect.h"
#include "support/mirror.h"

typedef struct once {
    tamis_operation operation;
    tamis_edge edge;
    const char *algorithm;
    tamis_type type;
    tamis_format format;
    enum shape shape;
    int64_t rows, nnz;
    bool sorted, trusted;
    enum { WHOLE, SLICE, TURNED } view; /* TURNED: S^T is handed in, and transposed */
} once;

static const once cases[] = {
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, "gpu-rows", TAMIS_F32, TAMIS_CSR, SHAPE_HUB, 300, 40000, true, true, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, "gpu-rows", TAMIS_F32, TAMIS_CSR, SHAPE_LAST_ROW, 300, 4000, false, false, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, "gpu-rows", TAMIS_F16, TAMIS_CSR, SHAPE_UNIFORM, 3000, 40000, true, true, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_CSR, SHAPE_HUB, 300, 40000, true, true, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_CSR, SHAPE_HUB, 300, 40000, false, false, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_CSR, SHAPE_LAST_ROW, 100, 3000, true, true, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_COO, SHAPE_HUB, 300, 40000, false, true, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, "gpu-nonzeros", TAMIS_F32, TAMIS_CSR, SHAPE_HUB, 300, 40000, true, true, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, "gpu-nonzeros", TAMIS_F32, TAMIS_CSR, SHAPE_UNIFORM, 3000, 20000, true, false,
     WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, "gpu-nonzeros", TAMIS_F32, TAMIS_CSR, SHAPE_LAST_ROW, 900, 3000, true, true,
     WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, "gpu-nonzeros", TAMIS_F32, TAMIS_CSR, SHAPE_SPARSE_ENDS, 900, 3000, true, false,
     WHOLE},
    {TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, "gpu-nonzeros", TAMIS_F32, TAMIS_CSR, SHAPE_HUB, 200, 9000, true, true, WHOLE},
    {TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, NULL, TAMIS_F16, TAMIS_CSR, SHAPE_HUB, 200, 20000, true, true, WHOLE},
    {TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_COO, SHAPE_HUB, 200, 20000, false, false, WHOLE},
    {TAMIS_OP_SDDMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_CSR, SHAPE_HUB, 200, 20000, false, true, WHOLE},
    {TAMIS_OP_SDDMM, TAMIS_EDGE_SOFTMAX, NULL, TAMIS_F32, TAMIS_COO, SHAPE_HUB, 200, 20000, false, false, WHOLE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_CSR, SHAPE_HUB, 300, 40000, false, true, SLICE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F16, TAMIS_CSR, SHAPE_UNIFORM, 300, 9000, true, false, SLICE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, "gpu-rows", TAMIS_F32, TAMIS_CSR, SHAPE_HUB, 300, 40000, true, false, SLICE},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_COO, SHAPE_HUB, 300, 40000, false, true, TURNED},
    {TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, NULL, TAMIS_F32, TAMIS_COO, SHAPE_HUB, 300, 40000, false, false, TURNED},
    {TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, NULL, TAMIS_F32, TAMIS_COO, SHAPE_HUB, 200, 9000, true, false, TURNED},
};

static tamis_status call(const mirror *m, const once *x) {
    tamis_options options = with_edge(x->edge);
    options.edge_scale = 0.5;
    options.trust_input = x->trusted;
    options.algorithm = x->algorithm;
    options.transpose = x->view == TURNED;
    return mirror_once(m, &options, NULL);
}

static int64_t first_row(const once *x) { return x->view == SLICE ? x->rows / 3 : 0; }
static int64_t rows_of(const once *x) { return x->view == SLICE ? x->rows / 2 : x->rows; }

/* Of SpMM, whose other operand is whole. Buffers of OpenCL are no addresses: the slice has offsets of its own. */
static void take_slice(mirror *m, const problem *p, const once *x, void **offsets) {
    const int32_t *const all = p->S.offsets, first = (int32_t)first_row(x);
    const size_t bytes = (size_t)(rows_of(x) + 1) * sizeof *all;
    if (tamis_device_allocate(m->device, bytes, offsets) != TAMIS_OK ||
        tamis_device_upload(m->device, NULL, *offsets, 0, all + first, bytes) != TAMIS_OK)
        abort();
    m->S.offsets = *offsets;
    m->S.rows = m->out.here.rows = m->out.there.rows = rows_of(x);
    m->S.offset_base = all[first];
    m->S.nnz = all[first + rows_of(x)] - all[first];
}

static void turn(mirror *m) {
    const tamis_sparse S = m->S;
    m->S.rows = S.cols;
    m->S.cols = S.rows;
    m->S.row_indices = S.columns;
    m->S.columns = S.row_indices;
}

/* What is wrong with a result, or NULL. */
static const char *compare(const problem *p, const once *x, mirror *m) {
    const int64_t before = first_row(x) * p->options.width;
    test_call call = call_of(x->edge, 1, 0);
    call.options.edge_scale = 0.5;
    matrix_fetch(&m->out);
    expectation right = expect_members(p, x->operation, &call, &m->out);
    const char *const wrong = expect_wrong(&m->out.here, 0, right.want[0] + before, right.bound[0] + before);
    expect_free(&right);
    return wrong;
}

static bool runs(tamis_device *device, const once *x, int number) {
    tamis_random random = tamis_random_start(17, (uint64_t)number);
    const problem_options o = {.rows = x->rows,
                               .cols = x->rows + 300,
                               .nnz = x->nnz,
                               .inner = 12,
                               .width = 20,
                               .batch = 1,
                               .shape = x->shape,
                               .type = x->type,
                               .format = x->format,
                               .index_type = TAMIS_I32,
                               .offset_type = TAMIS_I32,
                               .sorted = x->sorted};
    problem p = problem_make(&o, &random);
    mirror m = mirror_make(device, &p, x->operation);
    void *offsets = NULL;
    if (x->view == SLICE) take_slice(&m, &p, x, &offsets);
    if (x->view == TURNED) turn(&m);
    bool right = call(&m, x) == TAMIS_OK && tamis_stream_synchronize(device, NULL) == TAMIS_OK;
    if (!right) printf("FAILED case %d: %s\n", number, tamis_last_error());
    const char *const wrong = right ? compare(&p, x, &m) : NULL;
    if (wrong) printf("FAILED case %d: %s\n", number, wrong);
    tamis_device_free(device, offsets);
    mirror_free(&m);
    problem_free(&p);
    return right && !wrong;
}

/* A pattern that is broken is refused, in the words of the host's check; one that is transposed, too. */
static bool refuses(tamis_device *device, tamis_format format, bool turned) {
    tamis_random random = tamis_random_start(3, 0);
    const problem_options o = {
        .rows = 50, .cols = 50, .nnz = 400, .inner = 8, .width = 8, .batch = 1, .format = format, .sorted = true};
    problem p = problem_make(&o, &random);
    mirror m = mirror_make(device, &p, TAMIS_OP_SPMM);
    int32_t bad = 50;
    const int64_t live = tamis_memory_live();
    const once x = {.operation = TAMIS_OP_SPMM, .type = TAMIS_F32, .format = format, .view = turned ? TURNED : WHOLE};
    bool refused = tamis_device_upload(device, NULL, m.pattern.arrays[0].memory, 100 * 4, &bad, 4) == TAMIS_OK &&
                   call(&m, &x) == TAMIS_ERROR_PATTERN && strstr(tamis_last_error(), "50");
    if (!refused) printf("FAILED: a column that is none: %s\n", tamis_last_error());
    if (format == TAMIS_CSR) {
        bad = 0;
        bool also = tamis_device_upload(device, NULL, m.pattern.arrays[0].memory, 100 * 4, &bad, 4) == TAMIS_OK;
        bad = 401;
        also = also && tamis_device_upload(device, NULL, m.pattern.arrays[2].memory, 25 * 4, &bad, 4) == TAMIS_OK &&
               call(&m, &x) != TAMIS_OK && strstr(tamis_last_error(), "offsets");
        if (!also) printf("FAILED: an offset that is none: %s\n", tamis_last_error());
        refused = refused && also;
    }
    if (tamis_memory_live() != live) {
        printf("FAILED: something is left of a call that was refused\n");
        refused = false;
    }
    mirror_free(&m);
    problem_free(&p);
    return refused;
}

/* A slice's offsets begin where it says, end nnz further on, and its columns are in range. */
static bool refuses_slice(tamis_device *device) {
    tamis_random random = tamis_random_start(4, 0);
    const once x = {.operation = TAMIS_OP_SPMM, .type = TAMIS_F32, .rows = 60, .view = SLICE};
    const problem_options o = {
        .rows = x.rows, .cols = 50, .nnz = 400, .inner = 8, .width = 8, .batch = 1, .sorted = true};
    problem p = problem_make(&o, &random);
    mirror m = mirror_make(device, &p, TAMIS_OP_SPMM);
    void *offsets = NULL;
    int32_t bad = 50;
    const int64_t live = tamis_memory_live();
    take_slice(&m, &p, &x, &offsets);
    const tamis_sparse S = m.S;
    bool refused = call(&m, &x) == TAMIS_OK;
    m.S.offset_base++;
    refused = refused && call(&m, &x) == TAMIS_ERROR_PATTERN && strstr(tamis_last_error(), "offsets");
    m.S = S;
    m.S.nnz--;
    refused = refused && call(&m, &x) == TAMIS_ERROR_PATTERN && strstr(tamis_last_error(), "offsets");
    m.S = S;
    const size_t last = (size_t)(S.offset_base + S.nnz - 1) * 4;
    refused = refused && tamis_device_upload(device, NULL, m.pattern.arrays[0].memory, last + 4, &bad, 4) == TAMIS_OK &&
              call(&m, &x) == TAMIS_OK; /* not the slice's */
    refused = refused && tamis_device_upload(device, NULL, m.pattern.arrays[0].memory, last, &bad, 4) == TAMIS_OK &&
              call(&m, &x) == TAMIS_ERROR_PATTERN && strstr(tamis_last_error(), "50");
    if (!refused) printf("FAILED: a slice that is none: %s\n", tamis_last_error());
    tamis_device_free(device, offsets);
    if (tamis_memory_live() != live) {
        printf("FAILED: something is left of a slice that was refused\n");
        refused = false;
    }
    mirror_free(&m);
    problem_free(&p);
    return refused;
}

/* Looks find nothing wrong with what is right, whatever other kernels have left in shared memory before them. */
static bool looks_again(tamis_device *device) {
    static const char *const between[] = {"gpu-panels", "study-nnz-threads-shared", "study-row-blocks", "preds"};
    tamis_random random = tamis_random_start(5, 0);
    const problem_options o = {
        .rows = 1300, .cols = 1800, .nnz = 4200, .inner = 128, .width = 8, .batch = 1, .sorted = true};
    bool right = true;
    ((tamis_gpu_device *)device->handle)->profiled = (int64_t)1 << 40; /* by the kernels: structure/profile.c */
    for (int i = 0; i < 80 && right; i++) {
        problem p = problem_make(&o, &random);
        mirror m = mirror_make(device, &p, TAMIS_OP_SDDMM);
        tamis_options options = with_edge(TAMIS_EDGE_MASK);
        tamis_plan *plan = NULL;
        options.inner = 128;
        options.algorithm = between[i % 4];
        right = tamis_plan_create(device, &m.S, &options, &plan) == TAMIS_OK && mirror_plan(&m, plan, NULL) == TAMIS_OK;
        if (!right) printf("FAILED: look %d: %s\n", i, tamis_last_error());
        tamis_plan_destroy(plan);
        mirror_free(&m);
        problem_free(&p);
    }
    return right;
}

TEST_RUN() {
    tamis_device *device = NULL;
    int failures = 0;
    const int count = sizeof cases / sizeof cases[0];
    if (tamis_device_open(argc > 1 ? argv[1] : "opencl:0", &device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    for (int i = 0; i < count; i++) failures += !runs(device, &cases[i], i);
    for (int turned = 0; turned < 2; turned++) {
        failures += !refuses(device, TAMIS_CSR, turned);
        failures += !refuses(device, TAMIS_COO, turned);
    }
    failures += !refuses_slice(device);
    failures += !looks_again(device);
    tamis_device_close(device);
    printf("%d of %d failed\n", failures, count + 6);
    return failures != 0;
}
