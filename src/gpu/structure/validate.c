/* Checks a pattern on the device, for calls that need nothing else. */
#include "gpu/structure/validate.h"

#include "base/status.h"
#include "gpu/structure/order.h"
#include "gpu/structure/profile.h"

static tamis_status check_csr(const tamis_problem *asked, const tamis_sparse *S) {
    tamis_evidence evidence = {0};
    tamis_problem problem = *asked;
    problem.rows = S->rows;
    problem.cols = S->cols;
    problem.nnz = S->nnz;
    problem.index_type = S->index_type;
    problem.offset_type = S->offset_type;
    problem.offsets = S->offsets;
    problem.columns = S->columns;
    return tamis_gpu_profile(&problem, &evidence);
}

tamis_status tamis_gpu_validate(void *device, void *stream, int threads, const tamis_sparse *S) {
    const tamis_problem problem = {.device = device, .stream = stream, .once = true, .unchecked = true};
    tamis_gpu_rebased rebased;
    tamis_gpu_rising rise;
    (void)threads;
    if (S->format == TAMIS_COO) return S->nnz > 0 ? tamis_gpu_check_entries(&problem, S, &rise) : TAMIS_OK;
    TRY(tamis_gpu_rebase(device, stream, stream, S, &rebased));
    const tamis_status status = check_csr(&problem, &rebased.view);
    tamis_gpu_rebased_release(device, stream, &rebased);
    return status;
}
