/* A raster of a matrix: how many nonzeros fall into each cell of a grid over it. */
#ifndef TOOL_RASTER_H
#define TOOL_RASTER_H

#include <tamis/tamis.h>

typedef struct tool_raster {
    int rows, cols;  /* cells */
    int64_t *count;  /* rows * cols nonzeros, row by row */
    int64_t fullest; /* the most in one cell */
} tool_raster;

/* Makes a raster of a CSR. It has at most `most` cells along the longer side, and no more than the matrix has rows and
   columns. The sides have the matrix's proportion, but none is below an eighth of the other. Free with
   tool_raster_free. */
void tool_raster_make(const tamis_sparse *S, int most, tool_raster *raster);
void tool_raster_free(tool_raster *raster);

/* Returns how dark a cell is: 0 without nonzeros, else 1 to `levels`, on a logarithmic scale up to the fullest. */
int tool_raster_level(const tool_raster *raster, int row, int col, int levels);

#endif
