#include "gpu/tensor/split.h"

#include "base/status.h"
#include "gpu/compile/requests.h"

bool tamis_splits(const tamis_problem *p) { return p->type == TAMIS_F32 && p->math == TAMIS_MATH_EXACT; }

enum { GROUP = 256 };

/* Lanes of a row: each loads 16 bytes of it at once. */
static int team_of(const tamis_prepared *p, int64_t numbers) {
    const int64_t lanes = numbers * (int64_t)tamis_type_size(p->problem.type) / 16;
    return lanes <= 4 ? 4 : lanes <= 8 ? 8 : lanes <= 16 ? 16 : 32;
}

/* Pieces of 16 bytes that a lane keeps of a row; 0: too many for the registers, so the row is read twice. */
static int64_t pieces_of(const tamis_prepared *p, int64_t numbers) {
    enum { PIECES_MOST = 4 };
    const int64_t step = 16 / (int64_t)tamis_type_size(p->problem.type) * team_of(p, numbers);
    const int64_t pieces = (numbers + step - 1) / step;
    return pieces <= PIECES_MOST ? pieces : 0;
}

/* Rows that a team reads at once: more than one if that leaves enough work for all multiprocessors. */
static int64_t rows_of(const tamis_prepared *p, int64_t numbers) {
    const int64_t pieces = pieces_of(p, numbers), most = pieces == 1 ? 4 : pieces == 2 ? 2 : 1;
    const int64_t teams = p->device->limits.multiprocessors * 2 * (GROUP / team_of(p, numbers));
    return (p->problem.rows + p->problem.cols) * p->problem.batch >= teams * most ? most : 1;
}

static tamis_status compile(tamis_prepared *p, int number, const char *kernel, bool sliced, const tamis_split *split) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, GROUP, team_of(p, split->numbers));
    tamis_gpu_define(&definitions, "ACROSS", split->across);
    tamis_gpu_define(&definitions, "ALIGNED", split->aligned);
    tamis_gpu_define(&definitions, "SLICED", sliced);
    tamis_gpu_define(&definitions, "LOWS", split->lows);
    tamis_gpu_define(&definitions, "ROWS", rows_of(p, split->numbers));
    tamis_gpu_define(&definitions, "PIECES", pieces_of(p, split->numbers));
    /* without an edge's code: rows are the same for all */
    return tamis_gpu_request_kernel(p->device, "split_rows.cu", definitions.text, kernel, 0, &p->kernels[number]);
}

static tamis_gpu_launch by_rows(const tamis_prepared *p, const tamis_split *split, int64_t count, int64_t matrices) {
    const int64_t rows = GROUP / team_of(p, split->numbers) * rows_of(p, split->numbers); /* rows of a group */
    return (tamis_gpu_launch){.groups = {(count + rows - 1) / rows, matrices}, .group_size = GROUP};
}

tamis_status tamis_split_compile(tamis_prepared *p, int number, const tamis_split *split) {
    return compile(p, number, "split_rows", false, split);
}

tamis_status tamis_split_launch(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                const tamis_split *split) {
    return tamis_gpu_launch_kernel(
        p, stream, number, by_rows(p, split, split->a_rows + split->b_filled, 1), common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("a_rows", split->a_rows), tamis_gpu_integer("b_rows", p->problem.cols),
                            tamis_gpu_integer("b_filled", split->b_filled), tamis_gpu_integer("length", split->length),
                            tamis_gpu_integer("tiled_rows", split->tiled_rows),
                            tamis_gpu_integer("tiled", split->tiled), tamis_gpu_integer("slices", split->slices),
                            tamis_gpu_place("scales", split->scales), tamis_gpu_place("split_numbers", split->split)));
}

tamis_status tamis_split_compile_three(tamis_prepared *p, int number, const tamis_split *split) {
    return compile(p, number, "split_three", true, split);
}

tamis_status tamis_split_launch_three(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                      const tamis_split *split, const tamis_split_third *third) {
    return tamis_gpu_launch_kernel(
        p, stream, number, by_rows(p, split, split->a_rows + split->b_filled, 2), common,
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("b_rows", p->problem.cols), tamis_gpu_integer("b_filled", split->b_filled),
            tamis_gpu_integer("tiled_rows", split->tiled_rows), tamis_gpu_integer("tiled", split->tiled),
            tamis_gpu_integer("slices", split->slices), tamis_gpu_integer("d_slices", third->slices),
            tamis_gpu_place("scales", split->scales), tamis_gpu_place("split_numbers", split->split),
            tamis_gpu_place("d_scales", third->scales), tamis_gpu_place("d_split", third->split),
            tamis_gpu_integer("clears", third->clears), tamis_gpu_place("cleared", third->cleared)));
}

static int64_t longest_of_four(const tamis_problem *p) {
    return tamis_gpu_round_up(p->inner > p->width ? p->inner : p->width, 64);
}

tamis_status tamis_split_compile_four(tamis_prepared *p, int number, bool lows) {
    const tamis_split split = {.across = true, .lows = lows, .numbers = longest_of_four(&p->problem)};
    return compile(p, number, "split_four", true, &split);
}

tamis_status tamis_split_launch_four(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                     const tamis_split_four *four) {
    const tamis_split split = {.numbers = longest_of_four(&p->problem)};
    const int64_t most = four->filled > four->b_filled ? four->filled : four->b_filled;
    return tamis_gpu_launch_kernel(
        p, stream, number, by_rows(p, &split, most, 4), common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("b_rows", p->problem.cols), tamis_gpu_integer("filled", four->filled),
                            tamis_gpu_integer("b_filled", four->b_filled), tamis_gpu_place("e", four->e),
                            tamis_gpu_integer("e_stride", four->e_stride),
                            tamis_gpu_integer("e_batch_stride", four->e_batch_stride),
                            tamis_gpu_place("scales", four->scales), tamis_gpu_place("split_numbers", four->split),
                            tamis_gpu_place("b_scales", four->b_scales), tamis_gpu_place("b_split", four->b_split),
                            tamis_gpu_integer("inner_slices", four->inner_slices),
                            tamis_gpu_integer("width_slices", four->width_slices),
                            tamis_gpu_integer("clears", four->clears), tamis_gpu_place("cleared", four->cleared)));
}
