/*
 * What each GPU algorithm takes: all types and edges of its operations but for those named here, on a chip that is not
 * here, with sorted rows and 32-bit indices. An algorithm that declined everything would pass every other test.
 */
#include "support/test.h"

#include "base/edges.h"
#include "gpu/algorithms.h"
#include "gpu/methods.h"
#include "gpu/plan.h"
#include "instances.h"

static bool is_to_decline(const char *name, tamis_operation operation, tamis_type type, tamis_edge edge) {
    if (strcmp(name, "gpu-rounded") == 0) return type != TAMIS_F32;
    if (strcmp(name, "gpu-tensor") == 0)
        return type == TAMIS_F64 || (operation == TAMIS_OP_FUSED && edge != TAMIS_EDGE_SOFTMAX);
    if (strcmp(name, "gpu-long-rows") == 0) return edge != TAMIS_EDGE_SOFTMAX;
    if (strcmp(name, "study-fused-dense-grid") == 0) return operation == TAMIS_OP_FUSED && edge == TAMIS_EDGE_SOFTMAX;
    return false;
}

static fake_device device;

static bool is_taken(const tamis_algorithm *algorithm, tamis_operation operation, tamis_type type, tamis_edge edge) {
    tamis_random random = tamis_random_start(1, 0);
    tamis_prepared *p = NULL;
    instance x = instance_draw(&device, algorithm, operation, type, 64, &random);
    x.edge = edge;
    x.index_type = x.offset_type = TAMIS_I32;
    x.output_type = type;
    x.width = operation == TAMIS_OP_SDDMM ? 0 : 64;
    x.rows = 1 << 12;
    x.batch = 1;
    x.calls = 1000;
    x.has_values = true;
    x.hub = x.once = x.keep_softmax = false;
    const bool rounds = strcmp(algorithm->description.name, "gpu-rounded") == 0;
    x.math = rounds ? TAMIS_MATH_TF32 : TAMIS_MATH_EXACT; /* others take either */
    const tamis_status status = instance_prepare(&x, &p);
    tamis_gpu_prepared_release(p);
    return status == TAMIS_OK;
}

static int failures, problems;

static void try_types_and_edges(const tamis_algorithm *algorithm, tamis_operation operation) {
    const char *const name = algorithm->description.name;
    for (int type = 0; type <= TAMIS_BF16; type++)
        for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++) {
            const bool wanted = !is_to_decline(name, operation, (tamis_type)type, (tamis_edge)edge);
            problems++;
            if (is_taken(algorithm, operation, (tamis_type)type, (tamis_edge)edge) == wanted) continue;
            failures++;
            printf("FAILED %s %s %s %s: %s\n", name, tamis_operation_name(operation), tamis_edge_name((tamis_edge)edge),
                   tamis_type_name((tamis_type)type), wanted ? tamis_last_error() : "taken, and was to be declined");
        }
}

/* A mask without a list of columns, more places than its columns' type counts. */
static void try_mask(const tamis_algorithm *algorithm, tamis_type type, bool wanted) {
    enum { ROWS = 1 << 20, WINDOW = 1 << 13 };
    tamis_mask mask = TAMIS_MASK_INIT;
    mask.rows = mask.cols = ROWS;
    mask.left = WINDOW - 1;
    const tamis_evidence evidence = {
        .profile = {.rows = ROWS, .cols = ROWS, .nnz = (int64_t)ROWS * WINDOW, .sorted = true}};
    const tamis_problem problem = {.operation = TAMIS_OP_FUSED,
                                   .edge = TAMIS_EDGE_SOFTMAX,
                                   .type = type,
                                   .output_type = type,
                                   .value_type = type,
                                   .rows = ROWS,
                                   .cols = ROWS,
                                   .nnz = evidence.profile.nnz,
                                   .offset_type = TAMIS_I64,
                                   .mask = &mask,
                                   .inner = 64,
                                   .width = 64,
                                   .batch = 1,
                                   .deterministic = true,
                                   .parameters = "",
                                   .evidence = &evidence,
                                   .device = &device.shared};
    char reason[256] = "";
    problems++;
    if (tamis_gpu_accepts(algorithm, &problem, reason, sizeof reason) == wanted) return;
    failures++;
    printf("FAILED a mask, %s: %s\n", tamis_type_name(type), wanted ? reason : "taken, and was to be declined");
}

TEST_RUN() {
    int count = 0;
    setenv("XDG_CACHE_HOME", "", 1); /* nothing of this is to be kept on disk */
    unsetenv("HOME");
    fake_device_make(&device, &fake_chips[1], 0);
    for (int a = 0; tamis_gpu_catalogue(a); a++, count++)
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
            if (tamis_gpu_catalogue(a)->description.operations & 1u << operation)
                try_types_and_edges(tamis_gpu_catalogue(a), (tamis_operation)operation);
    try_mask(&tamis_gpu_tensor.common, TAMIS_BF16, true);
    try_mask(&tamis_gpu_tensor.common, TAMIS_F32, false); /* which needs the list */
    printf("%d algorithms, %d problems, %d failures\n", count, problems, failures);
    return failures > 0 || problems == 0;
}
