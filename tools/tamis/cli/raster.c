/* Counts nonzeros by cell. */
#include "cli/raster.h"

#include <math.h>
#include <stdlib.h>

#include "base/sizes.h"
#include "cli/exit.h"
#include "cli/operands.h"

enum { SLIMMEST = 8 };

static int cells(int64_t own, int64_t other, int most) {
    double wanted = most;
    if (own < other) wanted = most * fmax((double)own / (double)other, 1.0 / SLIMMEST);
    const double rounded = fmax(1, floor(wanted + 0.5));
    return (int)fmin(rounded, (double)(own > 0 ? own : 1));
}

void tool_raster_make(const tamis_sparse *S, int most, tool_raster *raster) {
    *raster = (tool_raster){.rows = cells(S->rows, S->cols, most), .cols = cells(S->cols, S->rows, most)};
    raster->count = tool_allocate(tamis_bytes(raster->rows, (size_t)raster->cols), sizeof *raster->count);
    const double down = S->rows > 0 ? (double)raster->rows / (double)S->rows : 0;
    const double across = S->cols > 0 ? (double)raster->cols / (double)S->cols : 0;
    for (int64_t i = 0; i < S->rows && S->nnz > 0; i++) {
        const int64_t end = tool_index_get(S->offsets, S->offset_type, i + 1);
        const int row = (int)fmin((double)i * down, raster->rows - 1);
        int64_t *counts = raster->count + (int64_t)row * raster->cols;
        for (int64_t t = tool_index_get(S->offsets, S->offset_type, i); t < end; t++) {
            const int col = (int)((double)tool_index_get(S->columns, S->index_type, t) * across);
            counts[col < raster->cols ? col : raster->cols - 1]++;
        }
    }
    for (int64_t c = 0; c < (int64_t)raster->rows * raster->cols; c++)
        if (raster->count[c] > raster->fullest) raster->fullest = raster->count[c];
}

void tool_raster_free(tool_raster *raster) {
    free(raster->count);
    *raster = (tool_raster){0};
}

int tool_raster_level(const tool_raster *raster, int row, int col, int levels) {
    const int64_t count = raster->count[(int64_t)row * raster->cols + col];
    if (count == 0) return 0;
    if (raster->fullest <= 1) return levels;
    const int level = 1 + (int)(levels * log((double)count) / log((double)raster->fullest));
    return level < levels ? level : levels;
}
