/*
 * The GPU's algorithms: one row each in the table at the end, in the order of the catalogue. A row says what it needs
 * of the problem and the device; how it works is in its method (src/gpu/methods) and its kernel (src/gpu/kernels).
 */
#include "gpu/algorithms.h"

#include <stdio.h>
#include <string.h>

#include "base/papers.h"
#include "gpu/methods/methods.h"
#include "gpu/methods/panels_build.h"
#include "gpu/predict.h"
#include "sparse/index.h"

enum {
    SDDMM = 1u << TAMIS_OP_SDDMM,
    SPMM = 1u << TAMIS_OP_SPMM,
    FUSED = 1u << TAMIS_OP_FUSED,
    ALL = SDDMM | SPMM | FUSED
};

/* What a row needs, beside its methods by operation. */
typedef struct traits {
    const tamis_gpu_method *methods[3];
    bool sorted;                                                            /* columns must rise within rows */
    const char *cuda_only;                                                  /* why OpenCL cannot; NULL: it can */
    bool (*also)(const tamis_problem *problem, char *reason, size_t bytes); /* more that it needs */
    bool orders;     /* has a deterministic variant beside the one that adds in any order, and takes it when asked to */
    bool no_softmax; /* of fused: rows are not seen as a whole */
    tamis_gpu_predictor *predict;
    double relative; /* without a model: calls of gpu-nonzeros, the mean of what was measured (docs/performance.md) */
} traits;

static bool decline(char *reason, size_t bytes, const char *why) {
    snprintf(reason, bytes, "%s", why);
    return false;
}

static bool accepts(const tamis_algorithm *self, const tamis_problem *problem, char *reason, size_t bytes) {
    const traits *const t = self->method;
    const tamis_gpu_device *const device = problem->device;
    if (problem->type == TAMIS_F64 && !device->limits.has_fp64)
        return decline(reason, bytes, "the device has no fp64 arithmetic");
    if (t->cuda_only && strcmp(device->runtime->name, "cuda") != 0) return decline(reason, bytes, t->cuda_only);
    if (!tamis_index_spans(problem->index_type, problem->rows))
        return decline(reason, bytes, "its rows are more than the column indices' type counts: int64 would do");
    if (t->also && !t->also(problem, reason, bytes)) return false;
    if (problem->output_type != problem->type && !t->methods[problem->operation]->widens)
        return decline(reason, bytes, "it stores results in the type of its operands, not 16-bit operands' in fp32");
    if (problem->has_values && problem->value_type != problem->type && !t->methods[problem->operation]->widens)
        return decline(reason, bytes,
                       "it reads S's values in the type of its operands, not fp32 beside 16-bit operands");
    if (self->description.any_order && problem->deterministic && !t->orders)
        return decline(reason, bytes, "it adds floats atomically, in whatever order: ask for it with any_order = true");
    if (t->sorted && !problem->evidence->profile.sorted)
        return decline(reason, bytes, "it walks tiles of columns: they must rise within every row (tamis_sort)");
    if (t->no_softmax && problem->operation == TAMIS_OP_FUSED && problem->edge == TAMIS_EDGE_SOFTMAX)
        return decline(reason, bytes, "a row's softmax needs the whole row, and it sees blocks of rows by themselves");
    if (problem->keep_softmax && problem->operation == TAMIS_OP_FUSED) {
        const tamis_gpu_method *const method = t->methods[TAMIS_OP_FUSED];
        if (!method->keeps)
            return decline(reason, bytes, "it does not keep the statistics of softmax's rows (keep_softmax)");
        if (problem->width == 0 && method != &tamis_gpu_fused_two_steps)
            return decline(reason, bytes, "width = 0: it has no pass over rows that could keep softmax's statistics");
    }
    return true;
}

static void predict(const tamis_algorithm *self, const tamis_problem *problem, tamis_prediction *prediction) {
    const traits *const t = self->method;
    if (t->predict)
        t->predict(problem, prediction);
    else
        tamis_gpu_predict_relative(problem, t->relative, prediction);
}

static tamis_status prepare(const tamis_algorithm *self, const tamis_problem *problem, tamis_prepared **prepared) {
    const traits *const t = self->method;
    return tamis_gpu_prepare(t->methods[problem->operation], problem, prepared);
}

static const traits nonzeros = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_sddmm_nonzeros,
                                            [TAMIS_OP_SPMM] = &tamis_gpu_spmm_chunks,
                                            [TAMIS_OP_FUSED] = &tamis_gpu_fused_chunks},
                                .predict = tamis_gpu_predict_nonzeros};
static const traits rows = {.methods = {[TAMIS_OP_SPMM] = &tamis_gpu_spmm_rows},
                            .predict = tamis_gpu_predict_whole_rows};
static const traits panels = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_sddmm_panels},
                              .predict = tamis_gpu_predict_panels,
                              .also = tamis_gpu_panels_accept};
static const traits tensor = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_sddmm_tensor},
                              .predict = tamis_gpu_predict_tensor,
                              .also = tamis_gpu_tensor_accept};
static const traits two_steps = {.methods = {[TAMIS_OP_FUSED] = &tamis_gpu_fused_two_steps},
                                 .predict = tamis_gpu_predict_two_steps};
static const traits shared_tile = {
    .methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_shared}, .relative = 16, .sorted = true, .orders = true};
static const traits preprocessing = {
    .methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_preprocessing}, .relative = 6, .sorted = true, .orders = true};
static const traits convert = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_convert}, .relative = 3};
static const traits dynamic = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_dynamic}, .relative = 50, .orders = true};
static const traits preds = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_preds}, .relative = 1.1};
static const traits nnz_threads = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_nnz_threads}, .relative = 2.8};
static const traits thread_map = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_thread_map}, .relative = 2.8};
static const traits nnz_threads_shared = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_nnz_threads_shared},
                                          .relative = 2.8};
static const traits row_blocks = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_row_blocks}, .relative = 3};
static const traits dense_grid = {
    .methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_dense_grid}, .relative = 70, .sorted = true};
static const traits child_kernels = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_child_kernels},
                                     .relative = 60,
                                     .cuda_only = "kernels that launch kernels exist on CUDA only, not in OpenCL 1.2"};
static const traits spmm_row = {.methods = {[TAMIS_OP_SPMM] = &tamis_gpu_spmm_row}, .relative = 2};
static const traits spmm_shared = {.methods = {[TAMIS_OP_SPMM] = &tamis_gpu_spmm_shared}, .relative = 1.4};
static const traits spmm_shared_swapped = {.methods = {[TAMIS_OP_SPMM] = &tamis_gpu_spmm_shared_swapped},
                                           .relative = 1.5};
static const traits fused_back_to_back = {.methods = {[TAMIS_OP_FUSED] = &tamis_gpu_fused_back_to_back},
                                          .relative = 1.7};
static const traits fused_dense_grid = {
    .methods = {[TAMIS_OP_FUSED] = &tamis_gpu_fused_dense_grid}, .relative = 27, .sorted = true, .no_softmax = true};
static const traits row_simd = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_row_simd_sddmm,
                                            [TAMIS_OP_SPMM] = &tamis_gpu_row_simd_spmm,
                                            [TAMIS_OP_FUSED] = &tamis_gpu_row_simd_fused},
                                .predict = tamis_gpu_predict_rows};
static const traits sm_l2 = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_sm_l2}, .relative = 3.6};
static const traits sm_sm = {.methods = {[TAMIS_OP_SDDMM] = &tamis_gpu_sm_sm}, .relative = 7.5};

static const tamis_algorithm algorithms[] = {
    {{"gpu-nonzeros",
      "gpu",
      ALL,
      "ours; ideas of " PAPER_PREDS,
      "the row of each nonzero (sddmm) or the split (others), written by the plan; scratch for sums where K comes in slices",
      "rows of any length, hubs; one call; rows of B that few rows of S share",
      "team (1 to 32): lanes a row of B; batch (4, 8): nonzeros a team reduces at once; loads (1 to 8): rows of B under way; pieces (1 to 8): 16-byte pieces a lane reads of a row at most; group (32 to 1024): work-items; chunk: nonzeros a group, run: batches in a row a team, slice: elements of K a launch (0 by the model), walk (0, 1): wide rows a few nonzeros at a time (sddmm); items: nonzeros and rows a team (spmm, fused)",
      false,
      false,
      {0}},
     false,
     &nonzeros,
     accepts,
     predict,
     prepare},
    {{"gpu-rows",
      "gpu",
      SPMM,
      "ours; ideas of " PAPER_ESIMD,
      "lists of cut rows and an order of the rows, built by the plan on the device; scratch for the sums of pieces",
      "SpMM of any matrix, above all of rows that differ: graphs, genes, attention masks; wide C, by slices",
      "team (4 to 32): lanes a row; split (1 to 32): nonzeros side by side in a team; group (32 to 1024): work-items; loads (1 to 8): rows of B under way; limit: nonzeros from which a row is cut; slice: columns of C a team, 0 by the model; order (0, 1): rows by falling length",
      false,
      false,
      {0}},
     false,
     &rows,
     accepts,
     predict,
     prepare},
    {{"gpu-panels",
      "gpu",
      SDDMM,
      "ours; ideas of " PAPER_GPU_DYNAMIC ", and of " PAPER_CUSDDMM,
      "nonzeros sorted into cells by the plan, on the device: 12 bytes a nonzero; scratch for sums where K comes in slices",
      "rows near each other share columns: densities of some per cent, meshes; a plan of several calls",
      "panel (1 to 65536): rows of a panel; columns: rows of B in shared memory; part: nonzeros a group; team (1 to 32): lanes a row of B; batch (4, 8): nonzeros a team reduces at once; pieces (1 to 8): 16-byte pieces a lane holds of a row at most; group (32 to 1024): work-items; run: batches in a row a team; slice: elements of K a launch, 0 by the model",
      false,
      false,
      {0}},
     true,
     &panels,
     accepts,
     predict,
     prepare},
    {{"gpu-tensor",
      "gpu",
      SDDMM,
      "ours",
      "the cells of gpu-panels; CUDA of compute capability 8.0 and up; fp32",
      "panels of 128 rows in which one product in fifteen or more is wanted: meshes, attention, densities of some per cent",
      "",
      false,
      false,
      {0}},
     true,
     &tensor,
     accepts,
     predict,
     prepare},
    {{"gpu-two-steps",
      "gpu",
      FUSED,
      "ours",
      "scratch for nnz samples, fp32 or fp64; what its parts need",
      "where SDDMM and SpMM by themselves are quicker than one pass: long rows of A and B, rows much alike",
      "",
      false,
      false,
      {0}},
     false,
     &two_steps,
     accepts,
     predict,
     prepare},
    {{"gpudynamic-shared",
      "gpu",
      SDDMM,
      PAPER_GPU_DYNAMIC ", s.3",
      "atomic adds; shared memory; sorted columns",
      "to compare with: a row a work-item, tiles of B in shared memory",
      "tk, tj: tile sizes; reduce (0 atomic adds, 1 shuffles, as deterministic plans do); block (32 to 1024): work-items",
      false,
      true,
      {0}},
     false,
     &shared_tile,
     accepts,
     predict,
     prepare},
    {{"gpudynamic-preprocessing",
      "gpu",
      SDDMM,
      PAPER_GPU_DYNAMIC ", s.4",
      "columns renumbered by the plan, on the device; atomic adds; shared memory",
      "to compare with: as gpudynamic-shared, over the columns that occur in a panel",
      "tk, tj: tile sizes; reduce (0 atomic adds, 1 shuffles, as deterministic plans do); block (32 to 1024): work-items",
      false,
      true,
      {0}},
     true,
     &preprocessing,
     accepts,
     predict,
     prepare},
    {{"gpudynamic-convert",
      "gpu",
      SDDMM,
      PAPER_GPU_DYNAMIC ", s.5",
      "row indices written by every call",
      "to compare with: equal nonzeros a work-item",
      "block (32 to 1024): work-items; grid: groups, 0 by the device",
      false,
      false,
      {0}},
     false,
     &convert,
     accepts,
     predict,
     prepare},
    {{"gpudynamic-dynamic",
      "gpu",
      SDDMM,
      PAPER_GPU_DYNAMIC ", s.7",
      "as gpudynamic-shared or gpudynamic-convert",
      "to compare with: chooses between those two by density",
      "threshold: density in parts per million from which gpudynamic-shared is taken (100); block, grid: see gpudynamic-convert; tune (0, 1): sweep them when planning",
      false,
      true,
      {0}},
     false,
     &dynamic,
     accepts,
     predict,
     prepare},
    {{"preds",
      "gpu",
      SDDMM,
      PAPER_PREDS ", s.III",
      "nothing, or the row of each nonzero (coo=1)",
      "to compare with: tiles of a few nonzeros, several dot products reduced at once",
      "ts (1 to 1024): nonzeros a tile; scf (1 to 32): lanes a dot product; vct, iir, wmt (0, 1): the paper's three optimisations; coo (0, 1): rows known instead of searched for",
      false,
      false,
      {0}},
     false,
     &preds,
     accepts,
     predict,
     prepare},
    {{"study-nnz-threads",
      "gpu",
      SDDMM,
      PAPER_STUDY ", s.5.1",
      "nothing",
      "to compare with: a work-item a nonzero, its row searched for",
      "block (16 to 1024): work-items",
      false,
      false,
      {0}},
     false,
     &nnz_threads,
     accepts,
     predict,
     prepare},
    {{"study-thread-map",
      "gpu",
      SDDMM,
      PAPER_STUDY ", s.5.2",
      "a padded map of work-items, built on the host by the plan",
      "to compare with: groups that stay in one row, its row of A shared",
      "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
      false,
      false,
      {0}},
     true,
     &thread_map,
     accepts,
     predict,
     prepare},
    {{"study-nnz-threads-shared",
      "gpu",
      SDDMM,
      PAPER_STUDY ", s.5.3",
      "shared memory",
      "to compare with: as study-nnz-threads, A shared where a group has one row",
      "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
      false,
      false,
      {0}},
     false,
     &nnz_threads_shared,
     accepts,
     predict,
     prepare},
    {{"study-row-blocks",
      "gpu",
      SDDMM,
      PAPER_STUDY ", s.5.4",
      "blocks a row counted and summed on the device by the plan, 8 bytes a row",
      "to compare with: as study-thread-map, without the host",
      "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
      false,
      false,
      {0}},
     false,
     &row_blocks,
     accepts,
     predict,
     prepare},
    {{"study-dense-grid",
      "gpu",
      SDDMM,
      PAPER_STUDY ", s.5.5",
      "sorted columns",
      "to compare with: a grid over all M x N, empty blocks return",
      "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
      false,
      false,
      {0}},
     false,
     &dense_grid,
     accepts,
     predict,
     prepare},
    {{"study-child-kernels",
      "gpu",
      SDDMM,
      PAPER_STUDY ", s.5.6",
      "CUDA; libcudadevrt.a beside NVRTC or in a toolkit",
      "to compare with: a kernel launched for each row",
      "block (16 to 1024): work-items; wave (1 to 1048576): rows a launch of the parent",
      false,
      false,
      {0}},
     false,
     &child_kernels,
     accepts,
     predict,
     prepare},
    {{"study-spmm-row",
      "gpu",
      SPMM,
      PAPER_STUDY ", s.4.1",
      "nothing",
      "to compare with: a work-item an element of C",
      "block (16 to 1024): work-items",
      false,
      false,
      {0}},
     false,
     &spmm_row,
     accepts,
     predict,
     prepare},
    {{"study-spmm-shared",
      "gpu",
      SPMM,
      PAPER_STUDY ", s.4.2",
      "shared memory",
      "to compare with: as study-spmm-row, the row of S in shared memory",
      "block (16 to 1024): work-items",
      false,
      false,
      {0}},
     false,
     &spmm_shared,
     accepts,
     predict,
     prepare},
    {{"study-spmm-shared-swapped",
      "gpu",
      SPMM,
      PAPER_STUDY ", s.4.3",
      "shared memory",
      "to compare with: as study-spmm-shared, the grid's axes swapped",
      "block (16 to 1024): work-items",
      false,
      false,
      {0}},
     false,
     &spmm_shared_swapped,
     accepts,
     predict,
     prepare},
    {{"study-fused-back-to-back",
      "gpu",
      FUSED,
      PAPER_STUDY ", s.6.1",
      "scratch for the sampled values",
      "to compare with: the two operations, one after the other",
      "block (16 to 1024): work-items",
      false,
      false,
      {0}},
     false,
     &fused_back_to_back,
     accepts,
     predict,
     prepare},
    {{"study-fused-dense-grid",
      "gpu",
      FUSED,
      PAPER_STUDY ", s.6.2",
      "sorted columns; atomic adds; shared memory; scratch of rows x L reals for 16-bit types",
      "to compare with: one launch over blocks of S",
      "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
      false,
      true,
      {0}},
     false,
     &fused_dense_grid,
     accepts,
     predict,
     prepare},
    {{"esimd-row-simd",
      "gpu",
      ALL,
      PAPER_ESIMD ", s.3 and 4",
      "nothing",
      "SpMM and fused of rows much alike: members of a group a row, chunks of nonzeros, explicit vectors",
      "nt (0 to 16): members a row, 0 by the paper's occupancy; vlc (8 to 32): nonzeros a chunk; team (4 to 32): lanes a member",
      false,
      false,
      {0}},
     false,
     &row_simd,
     accepts,
     predict,
     prepare},
    {{"cusddmm-sm-l2",
      "gpu",
      SDDMM,
      PAPER_CUSDDMM ", s.IV-A",
      "entries by column tile and lists of active rows, built by the plan on the device; shared memory",
      "to compare with: tiles of columns sized to L2 by the paper's model",
      "tj, tk, ti: tile sizes, 0 by the model; vwarp: lanes a dot product; block: work-items; stream (0 auto, 1 A, 2 B); tune (0 model, 1 model with all tk tried, 2 exhaustive)",
      false,
      false,
      {0}},
     true,
     &sm_l2,
     accepts,
     predict,
     prepare},
    {{"cusddmm-sm-sm",
      "gpu",
      SDDMM,
      PAPER_CUSDDMM ", s.IV-B",
      "entries by tile, built by the plan on the device; shared memory",
      "to compare with: densities above 5 %, both dense tiles in shared memory",
      "ti, tj, tk: tile sizes, 0 by the budget; block: work-items; stream (0 auto, 1 A, 2 B)",
      false,
      false,
      {0}},
     true,
     &sm_sm,
     accepts,
     predict,
     prepare},
};

const tamis_algorithm *tamis_gpu_algorithm_table(int *count) {
    *count = (int)(sizeof algorithms / sizeof algorithms[0]);
    return algorithms;
}
