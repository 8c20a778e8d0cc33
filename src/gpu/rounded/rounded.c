/*
 * gpu-rounded, our own method if math = tf32 allows it: it rounds rows of B to fp16, which has the eleven bits of TF32
 * in half the bytes of fp32, and gathers those instead of B. halves.simt explains how the range is kept.
 */
#include <stdio.h>

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/methods.h"
#include "gpu/model.h"
#include "gpu/nonzeros/prediction.h"
#include "gpu/plan.h"
#include "gpu/rounded/spmm_rounded.h"
#include "gpu/structure/order.h"

enum {
    EACH = 8 /* numbers in 16 bytes */,
    HEAD = 64 /* bytes of scratch before the rows: the factor that undoes the scaling */
};
enum { HALVES, SAMPLES }; /* kernels */
enum { HALVES_GROUP = 256, GROUP = 128 };

typedef struct rounded_state {
    void *row_indices;                              /* SDDMM: the row of each nonzero */
    int64_t team, pieces, batch, loads, run, chunk; /* how its kernel is built */
} rounded_state;

static int64_t length_of(const tamis_problem *p) { return p->operation == TAMIS_OP_SDDMM ? p->inner : p->width; }
static int64_t stride_of(const tamis_problem *p) { return tamis_gpu_round_up(length_of(p), EACH); }
static int64_t halves_bytes(const tamis_problem *p) {
    return HEAD + tamis_gpu_round_up(tamis_times(p->cols, stride_of(p) * 2), 64);
}

/* The same problem with rows of fp16. */
static tamis_problem halved(const tamis_problem *problem) {
    tamis_problem half = *problem;
    half.parameters = "";
    half.type = TAMIS_F16;
    return half;
}

static bool accepts(const tamis_problem *problem, char *reason, size_t bytes) {
    enum { LENGTH_MOST = 1024 };
    const char *why = NULL;
    if (problem->type != TAMIS_F32 || problem->math != TAMIS_MATH_TF32)
        why = "it rounds fp32 to eleven bits: math = tf32 allows that";
    else if (length_of(problem) > LENGTH_MOST || length_of(problem) == 0 || problem->cols == 0)
        why = "it is made for one and more rows of B, of 1 to 1024 numbers";
    if (!why) return true;
    snprintf(reason, bytes, "%s", why);
    return false;
}

/* A launch reads B and writes half as many bytes; then the method of rows of fp16 runs. */
static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double rounding = f->begin + tamis_gpu_streamed(p, 6 * (double)p->cols * (double)stride_of(p));
    const tamis_problem half = halved(p);
    if (p->operation == TAMIS_OP_SDDMM)
        tamis_gpu_predict_nonzeros(&half, prediction);
    else
        tamis_gpu_rows.predict(&half, prediction);
    prediction->call_seconds += rounding;
    if (p->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "a row of %.3g bytes a nonzero, of inputs rounded to TF32 and stored as fp16; rounding them takes %.3g ms",
             2 * (double)stride_of(p), 1e3 * rounding);
}

/* ------------------------------------------------------------------------------------------ preparing */

static tamis_status compile_halves(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, HALVES_GROUP, 1);
    tamis_gpu_define(&definitions, "PIECES", stride_of(&p->problem) / EACH);
    return tamis_gpu_add_kernel(p, HALVES, "halves.simt", "rounded_halves", &definitions, 0);
}

static tamis_status compile_samples(tamis_prepared *p, const rounded_state *s) {
    const int64_t inner = p->problem.inner;
    const bool fast = tamis_gpu_compiles_fast(p);
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, GROUP, (int)s->team);
    tamis_gpu_define(&definitions, "K", fast ? inner : 0);
    tamis_gpu_define(&definitions, "WHOLE_UNITS", fast);
    tamis_gpu_define(&definitions, "PIECES", s->pieces);
    tamis_gpu_define(&definitions, "EXACT", fast && inner % (s->team * s->pieces * EACH) == 0);
    tamis_gpu_define(&definitions, "ONE_STEP", inner <= s->team * s->pieces * EACH);
    tamis_gpu_define(&definitions, "BATCH", s->batch);
    tamis_gpu_define(&definitions, "LOADS", s->loads);
    tamis_gpu_define(&definitions, "RUN", s->run);
    return tamis_gpu_add_split_kernel(p, SAMPLES, "sddmm_rounded.simt", "sddmm_rounded", &definitions, 0);
}

/* Four lanes per row, eight if it has more pieces; two pieces per lane if there are enough. Chunks are short enough
   that all groups have work. */
static tamis_status prepare_sddmm(tamis_prepared *p) {
    rounded_state *const s = p->state;
    const int64_t pieces = stride_of(&p->problem) / EACH;
    const int64_t wanted = p->device->limits.multiprocessors * 16;
    s->team = pieces <= 4 ? 4 : 8;
    s->pieces = pieces <= s->team ? 1 : 2;
    s->batch = 8;
    s->loads = 4;
    s->chunk = 512;
    const int64_t step = GROUP / s->team * s->batch;
    while (s->chunk > step && p->problem.nnz < wanted * s->chunk) s->chunk /= 2;
    s->run = s->chunk / step >= 4 ? 4 : 1;
    const int64_t least = p->problem.nnz / p->device->limits.groups_most[0] + 1;
    s->chunk = tamis_gpu_round_up(tamis_gpu_max(s->chunk, least), step * s->run);
    TRY(compile_samples(p, s));
    TRY(tamis_gpu_add_kept(p, &s->row_indices, p->problem.nnz, tamis_index_size(p->problem.index_type),
                           "rows of the nonzeros"));
    return tamis_gpu_expand_rows(p->device, p->problem.stream, &p->problem, s->row_indices);
}

static tamis_status prepare(tamis_prepared *p) {
    p->math = TAMIS_MATH_TF32;
    p->scratch_bytes = (size_t)halves_bytes(&p->problem);
    if (p->problem.rows == 0) return TAMIS_OK;
    TRY(compile_halves(p));
    if (p->problem.operation == TAMIS_OP_SDDMM) return p->problem.nnz > 0 ? prepare_sddmm(p) : TAMIS_OK;
    const tamis_problem half = halved(&p->problem);
    tamis_prepared_sizes sizes;
    TRY(tamis_gpu_prepare(&tamis_gpu_spmm_rounded, &half, &p->inner));
    tamis_gpu_sizes(p->inner, &sizes);
    p->scratch_bytes += sizes.scratch_bytes;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status write_halves(const tamis_prepared *p, void *stream, const tamis_operands *x, tamis_place halves) {
    enum { SHARING = 8 /* groups per multiprocessor */, WIDE_B = 8 };
    const int64_t items = p->problem.cols * (stride_of(&p->problem) / EACH);
    const int64_t most = p->device->limits.multiprocessors * SHARING;
    const tamis_gpu_launch launch = {.groups = {tamis_gpu_min(tamis_gpu_ceiling(items, HALVES_GROUP), most), 1},
                                     .group_size = HALVES_GROUP};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.wide = tamis_gpu_aligned(p->device, &x->b, 4, (size_t)p->unit * 4) ? WIDE_B : 0;
    return tamis_gpu_launch_kernel(p, stream, HALVES, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("length", length_of(&p->problem)),
                                                       tamis_gpu_place("halves", halves),
                                                       tamis_gpu_place("back", x->scratch)));
}

static tamis_status execute_sddmm(const tamis_prepared *p, void *stream, const tamis_operands *x, tamis_place halves) {
    const rounded_state *const s = p->state;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {tamis_gpu_ceiling(p->problem.nnz, s->chunk), 1}, .group_size = GROUP};
    return tamis_gpu_launch_kernel(p, stream, SAMPLES, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_place("halves", halves),
                                                       tamis_gpu_integer("halves_stride", stride_of(&p->problem)),
                                                       tamis_gpu_place("back", x->scratch),
                                                       tamis_gpu_memory("row_indices", s->row_indices),
                                                       tamis_gpu_integer("chunk", s->chunk)));
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_place halves = tamis_gpu_after(x->scratch, HEAD);
    TRY(write_halves(p, stream, x, halves));
    if (p->problem.operation == TAMIS_OP_SDDMM) return execute_sddmm(p, stream, x, halves);
    tamis_operands rounded = *x;
    rounded.a.at = x->scratch;
    rounded.b = (tamis_matrix){halves, stride_of(&p->problem), x->scratch_batch_stride / 2};
    rounded.d = x->b;
    rounded.scratch = tamis_gpu_after(x->scratch, halves_bytes(&p->problem));
    return tamis_gpu_execute(p->inner, stream, &rounded);
}

static const tamis_gpu_method method = {
    .name = "gpu-rounded",
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(rounded_state),
    .batches = true,
};

const tamis_gpu_algorithm tamis_gpu_rounded = {
    .common.description =
        {
            .name = "gpu-rounded",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM | TAMIS_GPU_SPMM,
            .source = "ours",
            .needs =
                "math = tf32 and fp32; K or L up to 1024; scratch of half the size of B; the row of each nonzero (sddmm), written by the plan",
            .when =
                "where rounding to TF32 is allowed and rows of B, with many nonzeros each, come from L2 or memory: graphs, documents",
            .parameters = "",
        },
    .common.needs_preparation = true,
    .methods = {[TAMIS_OP_SDDMM] = &method, [TAMIS_OP_SPMM] = &method},
    .predict = predict,
    .also = accepts,
};
