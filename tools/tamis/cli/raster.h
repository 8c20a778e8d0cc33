/* A raster of a matrix: the number of nonzeros in each cell of a grid. */
#ifndef TOOL_RASTER_H
#define TOOL_RASTER_H

#include <tamis/tamis.h>

typedef struct tool_raster {
    int rows, cols;  /* cells */
    int64_t *count;  /* rows * cols nonzeros, row by row */
    int64_t fullest; /* the most in one cell */
} tool_raster;

/* Makes a raster of a CSR. It has at most `most` cells along the longer side, and no more than the matrix has rows and
   columns. The sides have the matrix's proportion, limited to 1 : 8. Free with tool_raster_free. */
void tool_raster_make(const tamis_sparse *S, int most, tool_raster *raster);
void tool_raster_free(tool_raster *raster);

/* Returns the darkness of a cell: 0 without nonzeros, else 1 to `levels`, on a logarithmic scale up to the fullest
   cell. */
int tool_raster_level(const tool_raster *raster, int row, int col, int levels);

#endif
