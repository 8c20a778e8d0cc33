/* Host side of edge_gradient.simt, edge_kept.simt and edge_text.simt. */
#include "gpu/gradient/gradient.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "expression/text.h"
#include "gpu/compile/definitions.h"
#include "gpu/compile/kernel_lists.h"
#include "gpu/compile/utility.h"
#include "gpu/runtime/arguments.h"

enum { ARGUMENTS_MOST = 56, LAUNCH_MOST = 65535, TEAMS = TAMIS_GPU_GROUP / 32 };

static const char *const file = "edge_gradient.simt";
static const char *const all = "edge_gradient", *const rows = "edge_softmax_rows", *const merge = "edge_softmax_merge",
                         *const cut = "edge_softmax_cut";
/* with softmax_rows, instead of the usual kernels */
static const char *const kept_file = "edge_kept.simt";
static const char *const kept_rows = "edge_kept_rows", *const kept_merge = "edge_kept_merge";

/* ------------------------------------------------------------------------------------------ texts */

/* A kernel of edge_text.simt for one text. */
typedef struct text_kernel {
    tamis_gpu_kinds kinds;
    const tamis_edge_text *text; /* lives as long as the kernel */
    bool derivatives;
} text_kernel;

static const tamis_program *program_of(const text_kernel *k) {
    return k->derivatives ? &k->text->all : &k->text->value;
}

static bool is_same_text(const void *key, const void *other) {
    const text_kernel *const x = key, *const y = other;
    return x->kinds.type == y->kinds.type && x->kinds.index == y->kinds.index && x->kinds.offset == y->kinds.offset &&
           x->derivatives == y->derivatives && x->text->names[x->derivatives] == y->text->names[y->derivatives] &&
           tamis_program_same_declarations(program_of(x), x->text->scalars, program_of(y), y->text->scalars);
}

static tamis_gpu_shared_kernels text_kernels = TAMIS_GPU_SHARED_KERNELS(text_kernel, is_same_text);

static tamis_status compile_text(const tamis_edge_job *job, text_kernel key, tamis_gpu_shared_kernel **found) {
    tamis_edge_text *const kept = malloc(sizeof *kept); /* not counted, as the kernel is not */
    tamis_gpu_definitions definitions = {.used = 0};
    if (!kept) return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for an edge that is a text");
    *kept = *job->constants.text;
    key.text = kept;
    tamis_gpu_define(&definitions, "GROUP", TAMIS_GPU_GROUP);
    tamis_gpu_define(&definitions, "TEAM", 32);
    tamis_gpu_define_kinds(&definitions, key.kinds);
    tamis_gpu_define_arrays(&definitions, program_of(&key));
    if (((tamis_gpu_device *)job->device)->limits.has_fp64) tamis_gpu_define(&definitions, "HAS_FP64", 1);
    return tamis_gpu_shared_add_text(&text_kernels, job->device, &key, "edge_text.simt", "edge_text", &definitions,
                                     program_of(&key), kept->scalars, kept, found);
}

/* The kernel of the value alone, or with its derivatives. */
static tamis_status text_kernel_of(const tamis_edge_job *job, bool derivatives, tamis_gpu_shared_kernel **found) {
    const text_kernel key = {{job->type, job->index_type, job->offset_type}, job->constants.text, derivatives};
    *found = tamis_gpu_shared_find(&text_kernels, job->device, &key);
    return *found ? TAMIS_OK : compile_text(job, key, found);
}

static tamis_status ready(const tamis_edge_job *job, bool keep_softmax) {
    const tamis_gpu_kinds kinds = {job->type, TAMIS_I32, job->offset_type}, plain = {job->type, TAMIS_I32, TAMIS_I32};
    void *const device = job->device;
    if (job->edge == TAMIS_EDGE_TEXT) {
        tamis_gpu_shared_kernel *kernel;
        TRY(text_kernel_of(job, false, &kernel));
        return text_kernel_of(job, true, &kernel);
    }
    if (job->edge != TAMIS_EDGE_SOFTMAX) return tamis_gpu_utility_ready(device, file, all, plain);
    if (keep_softmax) {
        TRY(tamis_gpu_utility_ready(device, kept_file, kept_rows, kinds));
        TRY(tamis_gpu_utility_ready(device, kept_file, kept_merge, kinds));
    }
    TRY(tamis_gpu_utility_ready(device, file, rows, kinds));
    TRY(tamis_gpu_utility_ready(device, file, merge, kinds));
    return tamis_gpu_utility_ready(device, file, cut, kinds);
}

/* Fills the arguments that JOB_PARAMETERS of edge_job_kernels.h names. */
static void add_job(const tamis_edge_job *job, tamis_gpu_named *to) {
    static const char *const names[][2] = {{"values", "values_batch_stride"}, {"x", "x_batch_stride"},
                                           {"dp", "dp_batch_stride"},         {"p", "p_batch_stride"},
                                           {"dx", "dx_batch_stride"},         {"ds", "ds_batch_stride"}};
    const tamis_edge_array *const arrays[] = {&job->values, &job->x, &job->dp, &job->p, &job->dx, &job->ds};
    int32_t kinds = 0;
    int count = 0;
    to[count++] = tamis_gpu_integer("nnz", job->nnz);
    to[count++] = tamis_gpu_integer("batch", job->batch);
    to[count++] = tamis_gpu_memory("permutation", job->permutation);
    for (int i = 0; i < 6; i++) {
        to[count++] = tamis_gpu_place(names[i][0], arrays[i]->at);
        to[count++] = tamis_gpu_integer(names[i][1], arrays[i]->batch_stride);
        kinds |= tamis_gpu_array_kind(arrays[i], job->type) << 4 * i;
    }
    to[count++] = tamis_gpu_integer("permuted", job->permutation != NULL);
    to[count++] = tamis_gpu_integer("kinds", kinds);
    to[count++] = tamis_gpu_integer("edge_kind", job->edge);
    const tamis_edge_text *const text = job->constants.text; /* its first numbers take the constants' places */
    to[count++] = tamis_gpu_real("edge_scale", text ? text->scalars[0] : job->constants.scale);
    to[count++] = tamis_gpu_real("edge_slope", text ? text->scalars[1] : job->constants.slope);
    to[count++] = tamis_gpu_real("edge_epsilon", text ? text->scalars[2] : job->constants.epsilon);
    to[count++] = tamis_gpu_real("dp_factor", job->dp_factor);
    to[count++] = tamis_gpu_real("p_factor", job->p_factor);
    to[count++] = tamis_gpu_real("p_keep", job->p_keep);
    to[count++] = tamis_gpu_real("ds_keep", job->ds_keep);
    to[count] = (tamis_gpu_named){.name = NULL};
}

/* Launches a kernel; it strides over what exceeds the launch limit. */
static tamis_status start(const tamis_edge_job *job, const char *from, const char *kernel, tamis_index_type offset_type,
                          int64_t groups, const tamis_gpu_named *arguments) {
    const tamis_gpu_kinds kinds = {job->type, TAMIS_I32, offset_type};
    return tamis_gpu_utility(job->device, job->stream, from, kernel, kinds, groups > LAUNCH_MOST ? LAUNCH_MOST : groups,
                             arguments);
}

static tamis_status softmax(const tamis_edge_job *job, int64_t stretches) {
    const bool kept = job->softmax_rows.base != NULL;
    tamis_gpu_named taken[ARGUMENTS_MOST];
    int count = 0;
    taken[count++] = tamis_gpu_integer("rows", job->rows);
    taken[count++] = tamis_gpu_memory("offsets", job->offsets);
    taken[count++] = tamis_gpu_place("parts", job->parts);
    const int pairs = count;
    if (kept) taken[count++] = tamis_gpu_place("pairs", job->softmax_rows);
    add_job(job, taken + count);
    TRY(start(job, kept ? kept_file : file, kept ? kept_rows : rows, job->offset_type, stretches, taken));
    if (tamis_edge_stretches(job->nnz) == 1) return TAMIS_OK; /* no row is cut */
    if (kept && !job->dp.at.base) return TAMIS_OK;            /* nothing to merge */
    TRY(start(job, kept ? kept_file : file, kept ? kept_merge : merge, job->offset_type,
              (stretches + TEAMS - 1) / TEAMS,
              TAMIS_GPU_ARGUMENTS(taken[0], taken[1], taken[2], tamis_gpu_integer("nnz", job->nnz),
                                  tamis_gpu_integer("batch", job->batch))));
    add_job(job, taken + pairs);
    return start(job, file, cut, job->offset_type, stretches, taken);
}

static tamis_status run_text(const tamis_edge_job *job, int64_t stretches) {
    tamis_gpu_named taken[ARGUMENTS_MOST];
    tamis_gpu_shared_kernel *kernel;
    const tamis_gpu_arrays arrays = tamis_gpu_arrays_of(job->constants.text, job->named, job->type);
    int count = 0;
    TRY(text_kernel_of(job, job->dx.at.base || job->ds.at.base, &kernel));
    taken[count++] = tamis_gpu_integer("rows", job->rows);
    taken[count++] = tamis_gpu_memory("offsets", job->offsets);
    taken[count++] = tamis_gpu_memory("columns", job->columns);
    taken[count++] = tamis_gpu_integer("first_member", job->first_member);
    count += tamis_gpu_add_arrays(&arrays, taken + count);
    add_job(job, taken + count);
    const tamis_gpu_launch grid = {.groups = {stretches > LAUNCH_MOST ? LAUNCH_MOST : stretches, 1},
                                   .group_size = TAMIS_GPU_GROUP};
    return tamis_gpu_shared_launch(kernel, job->stream, &grid, taken);
}

static tamis_status run(const tamis_edge_job *job) {
    const int64_t stretches = tamis_edge_stretches(job->nnz) * job->batch;
    tamis_gpu_named arguments[ARGUMENTS_MOST];
    if (stretches == 0) return TAMIS_OK;
    if (stretches > (int64_t)UINT32_MAX - LAUNCH_MOST)
        return tamis_fail(TAMIS_ERROR_OVERFLOW,
                          "%lld members of %lld nonzeros are more than a gradient on a GPU counts: "
                          "give it a part of the batch at a time",
                          (long long)job->batch, (long long)job->nnz);
    if (job->edge == TAMIS_EDGE_SOFTMAX) return softmax(job, stretches);
    if (job->edge == TAMIS_EDGE_TEXT) return run_text(job, stretches);
    add_job(job, arguments);
    return start(job, file, all, TAMIS_I32, stretches, arguments);
}

const tamis_edge_functions tamis_gpu_edge_functions = {.ready = ready, .run = run};
