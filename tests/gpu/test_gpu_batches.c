/*
 * A batch is no loop of launches: with each of our methods an execution of several members asks the driver for as many
 * launches as one of a single member, but beyond what a grid's z takes. CUDA's driver and compiler are fake_cuda.c's,
 * which count what they are asked and compute nothing.
 *   test_gpu_batches FAKE      the path of the fake library
 */
#include "support/test.h"

#include "processes.h"
#include "support/matrix.h"

enum { ROWS = 8, NONZEROS = 16, WIDTH = 16, HIGHEST = 65535 /* of a grid's z */ };
enum { MANY = 1 << 20, SCRATCH_MOST = 64 << 20 /* bytes for members at once */ };

static tamis_device *device;
static void *zeros, *output, *pattern; /* offsets, then columns */
static int failures;

static tamis_dense dense_there(void *data, int64_t rows, int64_t cols, int64_t batch_stride) {
    return (tamis_dense){
        .data = data, .rows = rows, .cols = cols, .location = TAMIS_DEVICE, .batch_stride = batch_stride};
}

/* The host looks at it: two columns in each row. */
static void make_pattern(void) {
    int32_t numbers[ROWS + 1 + NONZEROS];
    for (int i = 0; i <= ROWS; i++) numbers[i] = 2 * i;
    for (int t = 0; t < NONZEROS; t++) numbers[ROWS + 1 + t] = t % 2 ? ROWS - 1 : t / 2 % 4;
    test_must(tamis_device_allocate(device, sizeof numbers, &pattern));
    test_must(tamis_device_upload(device, NULL, pattern, 0, numbers, sizeof numbers));
}

static size_t workspace; /* of the last plan */
static bool is_coo;      /* S is, with entries in no order */

/* Launches so far of kernels that may begin while the one before ends; of all. */
static long launched_early(void) { return calls("cuLaunchKernelEx"); }
static long launched(void) { return calls("cuLaunchKernel") + launched_early(); }
static long early; /* of the last execution */

/* Launches of one execution; -1 where the algorithm declines. */
static long launches(const char *algorithm, const tamis_options *asked, int64_t batch) {
    const int32_t *const columns = (const int32_t *)pattern + ROWS + 1;
    tamis_sparse S = csr_of(TAMIS_F32, ROWS, ROWS, NONZEROS, pattern, columns, zeros);
    S.location = TAMIS_DEVICE;
    if (is_coo) {
        S.format = TAMIS_COO;
        S.row_indices = columns;
    }
    tamis_dense A = dense_there(zeros, ROWS, WIDTH, WIDTH), E = dense_there(output, ROWS, WIDTH, ROWS * WIDTH);
    const tamis_dense P = dense_there(output, NONZEROS, 1, NONZEROS);
    A.layout = asked->b_layout;
    E.layout = asked->output_layout;
    tamis_options options = *asked;
    OWN(tamis_plan) *plan = NULL;
    options.batch = batch;
    options.algorithm = algorithm;
    const tamis_status status = tamis_plan_create(device, &S, &options, &plan);
    if (status == TAMIS_ERROR_UNSUPPORTED) return -1;
    test_must(status);
    test_must(tamis_plan_workspace_size(plan, &workspace));
    const long before = launched(), early_before = launched_early();
    test_must(call_plan(plan, options.operation, &A, &A, &A, options.operation == TAMIS_OP_SDDMM ? &P : &E, NULL));
    const long count = launched() - before;
    early = launched_early() - early_before;
    return count;
}

static void expect(const char *algorithm, const tamis_options *o, int64_t batch, long times) {
    const long one = launches(algorithm, o, 1), several = launches(algorithm, o, batch);
    /* this counts its parts on the device, where there are none: softmax alone is launched */
    const bool has_parts = strcmp(algorithm, "gpu-panels") != 0;
    const bool launched = has_parts || o->edge == TAMIS_EDGE_SOFTMAX ? one > 0 : one == 0;
    if (launched && several == times * one) return;
    printf("FAILED %s, %s %s: %ld launches of one member, %ld of %lld\n", algorithm, tamis_operation_name(o->operation),
           tamis_edge_name(o->edge), one, several, (long long)batch);
    failures++;
}

static void of_operation(tamis_operation operation, tamis_edge edge, const char *const *algorithms) {
    tamis_options o = options_for(operation, WIDTH, WIDTH);
    o.edge = edge;
    o.trust_input = true;
    o.expected_calls = 1000;
    for (; *algorithms; algorithms++) {
        expect(*algorithms, &o, 7, 1);
        if (strcmp(*algorithms, "gpu-tensor") != 0)
            expect(*algorithms, &o, HIGHEST + 5, 2); /* its scratch: see in_rounds */
    }
}

/* Column-major operands, and values of a transpose and samples of a COO, which are permuted, are staged for all
 * members. */
static void staged(void) {
    tamis_options o = options_for(TAMIS_OP_SPMM, 0, WIDTH);
    o.trust_input = true;
    o.b_layout = o.output_layout = TAMIS_COLUMN_MAJOR;
    expect("gpu-rows", &o, 7, 1);
    o.transpose = true;
    expect("gpu-rows", &o, 7, 1);
    o = options_for(TAMIS_OP_SDDMM, WIDTH, 0);
    o.trust_input = is_coo = true;
    o.edge = TAMIS_EDGE_SOFTMAX; /* kept, so that rows without entries, which this device cannot count, stay */
    o.keep_softmax = true;
    expect("gpu-nonzeros", &o, 7, 1);
    is_coo = false;
}

/* Members whose scratch would take more than the workspace may go in several rounds. */
static void in_rounds(const char *algorithm, tamis_edge edge) {
    tamis_options o = options_for(TAMIS_OP_SDDMM, WIDTH, 0);
    o.edge = edge;
    o.trust_input = true;
    const long one = launches(algorithm, &o, 1);
    const int64_t at_once = SCRATCH_MOST / (int64_t)workspace;
    long expected = 0;
    for (int64_t left = MANY; left > 0; left -= at_once)
        expected += one * (long)(((left < at_once ? left : at_once) + HIGHEST - 1) / HIGHEST);
    const long several = launches(algorithm, &o, MANY);
    if (at_once < MANY && several == expected && workspace <= SCRATCH_MOST) return;
    printf("FAILED %s: %ld launches of %d members, not %ld, and %zu bytes of workspace\n", algorithm, several, MANY,
           expected, workspace);
    failures++;
}

/* All kernels of gpu-tensor but the first follow one of the same execution; drivers before 12.3 let none begin early.
 */
static void begin_early(void) {
    const char *const version = getenv("FAKE_CUDA_VERSION");
    tamis_options o = options_for(TAMIS_OP_SPMM, 0, WIDTH);
    o.trust_input = true;
    const long all = launches("gpu-tensor", &o, 1), follow = version && atoi(version) < 12030 ? 0 : all - 1;
    if (all > 1 && early == follow) return;
    printf("FAILED gpu-tensor: %ld of %ld launches may begin early, not %ld\n", early, all, follow);
    failures++;
}

#if TAMIS_LAB
#define PAPERS "esimd-row-simd",
#else
#define PAPERS
#endif

TEST_RUN() {
    static const char *const sddmm[] = {"gpu-nonzeros", "gpu-panels", "gpu-tensor", PAPERS NULL};
    static const char *const spmm[] = {"gpu-nonzeros", "gpu-rows", "gpu-tensor", PAPERS NULL};
    static const char *const fused[] = {"gpu-nonzeros", "gpu-two-steps", PAPERS NULL};
    if (argc < 2) return 2;
    use_fake(argv[1]);
    test_must(tamis_device_open("cuda:0", &device));
    test_must(tamis_device_allocate(device, (size_t)1 << 20, &zeros));
    test_must(tamis_device_allocate(device, (size_t)NONZEROS * 4 * MANY, &output));
    make_pattern();
    of_operation(TAMIS_OP_SDDMM, TAMIS_EDGE_SCALE, sddmm);
    of_operation(TAMIS_OP_SDDMM, TAMIS_EDGE_SOFTMAX, sddmm);
    of_operation(TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, spmm);
    of_operation(TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, fused);
    of_operation(TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, fused);
    staged();
    in_rounds("gpu-nonzeros", TAMIS_EDGE_SOFTMAX);
    in_rounds("gpu-tensor", TAMIS_EDGE_SCALE);
    begin_early();
    tamis_device_free(device, pattern);
    tamis_device_free(device, zeros);
    tamis_device_free(device, output);
    tamis_device_close(device);
    return failures > 0;
}
