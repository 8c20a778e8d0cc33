/* The CPU's table of algorithms: the rows of methods.def. */
#include "cpu/algorithms.h"

#include "base/status.h"
#include "cpu/plan.h"
#include "cpu/variants.h"

#define ROW(method, kernels) &(method),
static const tamis_cpu_method *const methods[] = {
#include "cpu/methods.def"
};

const tamis_algorithm *tamis_cpu_algorithm(int number) {
    const int count = (int)(sizeof methods / sizeof methods[0]);
    return number >= 0 && number < count ? &methods[number]->common : NULL;
}

/* Possible because the common part is the first member. */
static const tamis_cpu_method *method_of(const tamis_algorithm *algorithm) {
    return (const tamis_cpu_method *)(const void *)algorithm;
}

bool tamis_cpu_accepts(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes) {
    const tamis_cpu_method *const method = method_of(algorithm);
    return !method->accepts || method->accepts(problem, reason, bytes);
}

void tamis_cpu_predict(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction) {
    method_of(algorithm)->predict(problem, prediction);
}

/* The samples of softmax; of fused a thread has a chunk's, which are no more than all. */
tamis_call_bytes tamis_cpu_call_bytes(const tamis_problem *problem) {
    const bool samples = problem->operation == TAMIS_OP_FUSED ||
                         (problem->operation == TAMIS_OP_SDDMM && problem->edge == TAMIS_EDGE_SOFTMAX);
    return (tamis_call_bytes){.entry = samples ? (problem->type == TAMIS_F64 ? 8 : 4) : 0};
}

tamis_status tamis_cpu_prepare(const tamis_algorithm *algorithm, const tamis_problem *problem,
                               tamis_prepared **prepared) {
    const tamis_cpu_method *const method = method_of(algorithm);
    const tamis_cpu_variant *variant;
    int number = 0;
    TRY(tamis_cpu_variant_choose(&variant));
    while (methods[number] != method) number++;
    const tamis_cpu_kernels *const kernels = variant->kernels[problem->type];
    return tamis_cpu_make(method, kernels, kernels->methods[number][problem->operation], problem, prepared);
}
