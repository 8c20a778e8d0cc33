/* Slices of K: their length, and their launches. */
#include "gpu/slices.h"

#include "base/status.h"

enum { LINE = 128 /* bytes: slices begin at whole lines */ };

static int64_t line_of(const tamis_problem *problem) { return LINE / (int64_t)tamis_type_size(problem->type); }

static int64_t whole(int64_t elements, int64_t line) { return (elements + line - 1) / line * line; }

int64_t tamis_gpu_slice_taken(const tamis_problem *problem, int64_t asked, int64_t otherwise) {
    const int64_t slice = whole(asked ? asked : otherwise, line_of(problem));
    return slice < problem->inner ? slice : problem->inner > 0 ? problem->inner : 1;
}

int64_t tamis_gpu_slice_even(const tamis_problem *problem, int64_t bytes) {
    const int64_t row = problem->inner * (int64_t)tamis_type_size(problem->type);
    const int64_t count = (row + bytes - 1) / bytes;
    return tamis_gpu_slice_taken(problem, count > 1 ? (problem->inner + count - 1) / count : problem->inner, 1);
}

size_t tamis_gpu_slice_scratch(const tamis_problem *problem, int64_t slice) {
    return tamis_gpu_sliced(problem, slice) ? (size_t)problem->nnz * tamis_gpu_real_size(problem->type) : 0;
}

tamis_status tamis_gpu_slice_compile(tamis_prepared *p, int64_t slice,
                                     tamis_status (*compile)(tamis_prepared *p, int kernel, int64_t inner)) {
    const int64_t inner = p->problem.inner, rest = tamis_gpu_sliced(&p->problem, slice) ? inner % slice : 0;
    if (rest) TRY(compile(p, TAMIS_GPU_SLICE_REST, rest));
    return compile(p, TAMIS_GPU_SLICE_WHOLE, slice < inner ? slice : inner);
}

/* Launches the slice that begins at element `begin`. */
static tamis_status launch_slice(const tamis_prepared *p, void *stream, const tamis_operands *x, int64_t slice,
                                 int64_t begin, tamis_gpu_launch launch, tamis_gpu_named *own) {
    enum { FIRST = 1, LAST = 2 };
    const int64_t bytes = begin * (int64_t)tamis_type_size(p->problem.type), left = p->problem.inner - begin;
    const bool rest = begin > 0 && slice > left;
    tamis_operands part = *x;
    part.a.at = tamis_gpu_after(x->a.at, bytes);
    part.b.at = tamis_gpu_after(x->b.at, bytes);
    tamis_gpu_common common = tamis_gpu_common_of(p, &part);
    common.inner = slice < left ? slice : left;
    own[0] = tamis_gpu_place("sums", x->scratch);
    own[1] = tamis_gpu_integer("stage", (begin == 0 ? FIRST : 0) | (slice >= left ? LAST : 0));
    return tamis_gpu_launch_kernel(p, stream, rest ? TAMIS_GPU_SLICE_REST : TAMIS_GPU_SLICE_WHOLE, launch, &common,
                                   own);
}

tamis_status tamis_gpu_slice_execute(const tamis_prepared *p, void *stream, const tamis_operands *x, int64_t slice,
                                     tamis_gpu_launch launch, const tamis_gpu_named *own) {
    enum { OWN_MOST = 16 };
    tamis_gpu_named all[OWN_MOST + 3];
    int64_t begin = 0;
    int count = 2; /* sums and stage come first */
    do all[count++] = *own;
    while (own++->name);
    do {
        TRY(launch_slice(p, stream, x, slice, begin, launch, all));
        begin += slice;
    } while (begin < p->problem.inner);
    return TAMIS_OK;
}
