#include "gpu/tensor/split.h"

#include "base/status.h"

enum { GROUP = 256 };

static int team_of(int64_t numbers) { return numbers <= 32 ? 8 : numbers <= 64 ? 16 : 32; }

/* Four numbers each that a lane keeps of a row; 0: more than there are registers for, so the row is read twice. */
static int64_t pieces_of(int64_t numbers) {
    enum { PIECES_MOST = 4 };
    const int64_t step = 4 * team_of(numbers), pieces = (numbers + step - 1) / step;
    return pieces <= PIECES_MOST ? pieces : 0;
}

tamis_status tamis_split_compile(tamis_prepared *p, int number, const tamis_split *split) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, GROUP, team_of(split->numbers));
    tamis_gpu_define(&definitions, "ACROSS", split->across);
    tamis_gpu_define(&definitions, "ALIGNED", split->aligned);
    tamis_gpu_define(&definitions, "PIECES", pieces_of(split->numbers));
    return tamis_gpu_add_kernel(p, number, "split_rows.cu", "split_rows", &definitions, 0);
}

tamis_status tamis_split_launch(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                const tamis_split *split) {
    const int64_t threads = (split->a_rows + split->b_filled) * team_of(split->numbers);
    const tamis_gpu_launch by_rows = {.groups = {(threads + GROUP - 1) / GROUP, 1}, .group_size = GROUP};
    return tamis_gpu_launch_kernel(
        p, stream, number, by_rows, common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("a_rows", split->a_rows), tamis_gpu_integer("b_rows", p->problem.cols),
                            tamis_gpu_integer("b_filled", split->b_filled), tamis_gpu_integer("length", split->length),
                            tamis_gpu_integer("tiled_rows", split->tiled_rows),
                            tamis_gpu_integer("tiled", split->tiled), tamis_gpu_integer("slices", split->slices),
                            tamis_gpu_place("scales", split->scales), tamis_gpu_place("split", split->split)));
}
