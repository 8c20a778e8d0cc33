/*
 * One-shot calls on a device that computes: rows that are so long that they are cut, in matrices of so many nonzeros
 * that nothing is guessed, and so few that all is; checked and trusted. Nothing that is cut comes to the host there.
 *   test_gpu_once [DEVICE]      opencl:0 unless told otherwise
 */
#include "support/test.h"

#include <tamis/stream.h>

#include "gpu/runtime/runtime.h"
#include "opened_device.h"
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
static void *take_slice(mirror *m, const problem *p, const once *x) {
    const int32_t *const all = p->S.offsets, first = (int32_t)first_row(x);
    void *const offsets = on_device(all + first, (size_t)(rows_of(x) + 1) * sizeof *all);
    m->S.offsets = offsets;
    m->S.rows = m->out.here.rows = m->out.there.rows = rows_of(x);
    m->S.offset_base = all[first];
    m->S.nnz = all[first + rows_of(x)] - all[first];
    return offsets;
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
    call.on = m->device;
    matrix_fetch(&m->out);
    expectation right = expect_members(p, x->operation, &call, &m->out);
    const char *const wrong = expect_wrong(&m->out.here, 0, right.want[0] + before, right.bound[0] + before);
    expect_free(&right);
    return wrong;
}

static void expect_runs(const once *x, int number) {
    tamis_random random = tamis_random_start(17, (uint64_t)number);
    const problem_options o = {.rows = x->rows,
                               .cols = x->rows + 300,
                               .nnz = x->nnz,
                               .inner = 12,
                               .width = 20,
                               .shape = x->shape,
                               .type = x->type,
                               .format = x->format,
                               .sorted = x->sorted};
    OWN(problem) p = problem_make(&o, &random);
    OWN(mirror) m = mirror_make(device, &p, x->operation);
    void *const offsets = x->view == SLICE ? take_slice(&m, &p, x) : NULL;
    if (x->view == TURNED) turn(&m);
    if (call(&m, x) != TAMIS_OK || tamis_stream_synchronize(device, NULL) != TAMIS_OK)
        fail_msg("case %d: %s", number, tamis_last_error());
    const char *const wrong = compare(&p, x, &m);
    if (wrong) fail_msg("case %d: %s", number, wrong);
    tamis_device_free(device, offsets);
}

TEST(cases_are_right) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_runs(&cases[i], (int)i);
}

/* Puts a number into the pattern's array: 0: columns, 2: offsets. */
static void spoil(const mirror *m, int array, int64_t at, int32_t number) {
    works(tamis_device_upload(device, NULL, m->pattern.arrays[array].memory, (size_t)at * 4, &number, 4));
}

/* A pattern that is broken is refused, in the words of the host's check; one that is transposed, too. */
static void expect_refuses(tamis_format format, bool turned) {
    tamis_random random = tamis_random_start(3, 0);
    const problem_options o = {
        .rows = 50, .cols = 50, .nnz = 400, .inner = 8, .width = 8, .format = format, .sorted = true};
    OWN(problem) p = problem_make(&o, &random);
    OWN(mirror) m = mirror_make(device, &p, TAMIS_OP_SPMM);
    const once x = {.operation = TAMIS_OP_SPMM, .type = TAMIS_F32, .format = format, .view = turned ? TURNED : WHOLE};
    spoil(&m, 0, 100, 50);
    REFUSED(PATTERN, "50", call(&m, &x));
    if (format == TAMIS_CSR) {
        spoil(&m, 0, 100, 0);
        spoil(&m, 2, 25, 401);
        REFUSED(PATTERN, "offsets", call(&m, &x));
    }
}

TEST(broken_patterns_are_refused) {
    for (int i = 0; i < 4; i++) expect_refuses(i & 1 ? TAMIS_COO : TAMIS_CSR, i >> 1);
}

/* A slice's offsets begin where it says, end nnz further on, and its columns are in range. */
TEST(broken_slices_are_refused) {
    tamis_random random = tamis_random_start(4, 0);
    const once x = {.operation = TAMIS_OP_SPMM, .type = TAMIS_F32, .rows = 60, .view = SLICE};
    const problem_options o = {.rows = x.rows, .cols = 50, .nnz = 400, .inner = 8, .width = 8, .sorted = true};
    OWN(problem) p = problem_make(&o, &random);
    OWN(mirror) m = mirror_make(device, &p, TAMIS_OP_SPMM);
    void *const offsets = take_slice(&m, &p, &x);
    works(call(&m, &x));
    SPOILT(m.S.offset_base, m.S.offset_base + 1, PATTERN, "offsets", call(&m, &x));
    SPOILT(m.S.nnz, m.S.nnz - 1, PATTERN, "offsets", call(&m, &x));
    const int64_t last = m.S.offset_base + m.S.nnz - 1;
    spoil(&m, 0, last + 1, 50); /* not the slice's */
    works(call(&m, &x));
    spoil(&m, 0, last, 50);
    REFUSED(PATTERN, "50", call(&m, &x));
    tamis_device_free(device, offsets);
}

/* Looks find nothing wrong with what is right, whatever other kernels have left in shared memory before them. */
TEST(looks_find_nothing_wrong_with_what_is_right) {
    static const char *const between[] = {"gpu-panels", "study-nnz-threads-shared", "study-row-blocks", "preds"};
    tamis_random random = tamis_random_start(5, 0);
    const problem_options o = {.rows = 1300, .cols = 1800, .nnz = 4200, .inner = 128, .width = 8, .sorted = true};
    ((tamis_gpu_device *)device->handle)->profiled = (int64_t)1 << 40; /* by the kernels: structure/profile.c */
    for (int i = 0; i < 80; i++) {
        OWN(problem) p = problem_make(&o, &random);
        OWN(mirror) m = mirror_make(device, &p, TAMIS_OP_SDDMM);
        tamis_options options = options_for(TAMIS_OP_SDDMM, 128, 0);
        OWN(tamis_plan) *plan = NULL;
        options.edge = TAMIS_EDGE_MASK;
        options.algorithm = between[i % 4];
        works(tamis_plan_create(device, &m.S, &options, &plan));
        works(mirror_plan(&m, plan, NULL));
    }
}

TEST_RUN() {
    if (!named_device_is_here(argc, argv, &name)) return 77;
    return test_run(name, NULL, set_up, tear_down);
}
