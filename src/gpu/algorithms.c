/* The GPU's algorithms in the order of the catalogue. Each is defined beside its methods. The laboratory's follow
   ours. */
#include "gpu/algorithms.h"

#include <stdio.h>
#include <string.h>

#include "gpu/methods.h"
#include "gpu/model.h"
#include "gpu/nonzeros/prediction.h"
#include "gpu/plan.h"
#include "sparse/index.h"

static const tamis_gpu_algorithm *const algorithms[] = {
    &tamis_gpu_nonzeros, &tamis_gpu_rows,      &tamis_gpu_teams,    &tamis_gpu_panels,    &tamis_gpu_tensor,
    &tamis_gpu_rounded,  &tamis_gpu_two_steps, &tamis_gpu_one_pass, &tamis_gpu_long_rows,
};
enum { OURS = sizeof algorithms / sizeof algorithms[0] };

const tamis_algorithm *tamis_gpu_catalogue(int number) {
    if (number < 0 || number >= OURS + tamis_lab_gpu_algorithm_count) return NULL;
    return &(number < OURS ? algorithms[number] : tamis_lab_gpu_algorithms[number - OURS])->common;
}

/* The table row whose first member is this common part. */
static const tamis_gpu_algorithm *row_of(const tamis_algorithm *algorithm) {
    return (const tamis_gpu_algorithm *)(const void *)algorithm;
}

static bool decline(char *reason, size_t bytes, const char *why) {
    snprintf(reason, bytes, "%s", why);
    return false;
}

bool tamis_gpu_accepts(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes) {
    const tamis_gpu_algorithm *const a = row_of(algorithm);
    const tamis_gpu_method *const method = a->methods[problem->operation];
    const tamis_gpu_device *const device = problem->device;
    const bool keeps = problem->keep_softmax && problem->operation == TAMIS_OP_FUSED;
    if (problem->type == TAMIS_F64 && !device->limits.has_fp64)
        return decline(reason, bytes, "the device has no fp64 arithmetic");
    if (a->cuda_only && strcmp(device->runtime->name, "cuda") != 0) return decline(reason, bytes, a->cuda_only);
    if (!tamis_index_spans(problem->index_type, problem->rows))
        return decline(reason, bytes, "its rows are more than the column indices' type counts: int64 would do");
    if (problem->operation == TAMIS_OP_FUSED && tamis_gpu_text_is_apart(problem) && !a->by_samples && !method->texts)
        return decline(reason, bytes,
                       "the edge's text is a softmax, or reads i, j, h or arrays, which its kernels do not know");
    if (a->also && !a->also(problem, reason, bytes)) return false;
    if (problem->output_type != problem->type && !method->widens)
        return decline(reason, bytes, "it stores results in the type of its operands, not 16-bit operands' in fp32");
    if (problem->has_values && problem->value_type != problem->type && !method->widens)
        return decline(reason, bytes,
                       "it reads S's values in the type of its operands, not fp32 beside 16-bit operands");
    if (a->common.description.any_order && problem->deterministic && !a->orders)
        return decline(reason, bytes, "it adds floats atomically, in any order: request it with any_order = true");
    if (a->sorted && !problem->evidence->profile.sorted)
        return decline(reason, bytes,
                       "it goes through tiles of columns: the columns of each row must be sorted (tamis_sort)");
    if (a->no_softmax && problem->operation == TAMIS_OP_FUSED && problem->edge == TAMIS_EDGE_SOFTMAX)
        return decline(reason, bytes, "a row's softmax needs the whole row, and it sees blocks of rows by themselves");
    if (keeps && !method->keeps)
        return decline(reason, bytes, "it does not keep the statistics of softmax's rows (keep_softmax)");
    if (keeps && problem->width == 0 && !method->keeps_bare)
        return decline(reason, bytes, "width = 0: it has no pass over rows that could keep softmax's statistics");
    return true;
}

bool tamis_gpu_unlisted(const tamis_algorithm *algorithm, const tamis_problem *problem) {
    const tamis_gpu_method *const method = row_of(algorithm)->methods[problem->operation];
    return method->unlisted && method->unlisted(problem);
}

void tamis_gpu_predict(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction) {
    const tamis_gpu_algorithm *const a = row_of(algorithm);
    if (a->predict)
        a->predict(problem, prediction);
    else
        tamis_gpu_predict_relative(problem, a->relative, prediction);
    if (a->methods[problem->operation]->batches)
        prediction->call_seconds = tamis_gpu_of_member(problem, prediction->call_seconds, 1);
}

tamis_call_bytes tamis_gpu_call_bytes(const tamis_problem *problem) {
    const tamis_call_bytes ours = tamis_gpu_call_bytes_of(algorithms, OURS, problem);
    const tamis_call_bytes lab =
        tamis_gpu_call_bytes_of(tamis_lab_gpu_algorithms, (size_t)tamis_lab_gpu_algorithm_count, problem);
    return (tamis_call_bytes){.row = ours.row > lab.row ? ours.row : lab.row,
                              .entry = ours.entry > lab.entry ? ours.entry : lab.entry};
}

tamis_status tamis_gpu_make(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prepared **prepared) {
    return tamis_gpu_prepare(row_of(algorithm)->methods[problem->operation], problem, prepared);
}
