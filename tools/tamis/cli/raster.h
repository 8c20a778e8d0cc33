/* A picture of where the nonzeros are: how many fall into each cell of a grid laid over the matrix. */
#ifndef TOOL_RASTER_H
#define TOOL_RASTER_H

#include <tamis/tamis.h>

typedef struct tool_raster {
    int rows, cols;  /* cells */
    int64_t *count;  /* rows * cols nonzeros, row by row */
    int64_t fullest; /* the most in one cell */
} tool_raster;

/* At most `most` cells along the longer side, no more than the matrix has rows and columns, the sides in the matrix's
   own proportion but none below an eighth of the other. S is CSR. tool_raster_free it. */
void tool_raster_make(const tamis_sparse *S, int most, tool_raster *raster);
void tool_raster_free(tool_raster *raster);

/* How dark a cell is: 0 without nonzeros, 1 to `levels` on a logarithmic scale up to the fullest. */
int tool_raster_level(const tool_raster *raster, int row, int col, int levels);

#endif
