/* See generate.h. */
#include <tamis/generate.h>

#include "cli/generate.h"

#define AT(field)     offsetof(tool_generate_settings, field)
#define MATRIX(field) (AT(matrix) + offsetof(tamis_generate_options, field))

const tool_option tool_generate_options[] = {
    TOOL_OUTPUT("output", 'o', "FILE", AT(output), "output file: .mtx, .mtx.gz or .npz"),
    TOOL_INTEGER("rows", 'm', "M", "4096", MATRIX(rows), 0, 9e15, "rows"),
    TOOL_INTEGER("cols", 'n', "N", "0", MATRIX(cols), 0, 9e15, "columns; 0: the number of rows"),
    TOOL_INTEGER("nnz", 0, "NNZ", "0", MATRIX(nnz), 0, 9e15, "number of nonzeros; 0: from --density"),
    TOOL_REAL("density", 0, "D", "0.01", MATRIX(density), 0, 1, "share of nonzero entries, if --nnz is 0"),
    TOOL_INTEGER("seed", 0, "SEED", "1", MATRIX(seed), 0, 9e18, "the same seed gives the same matrix on every machine"),
    TOOL_INTEGER("band", 0, "W", "0", MATRIX(band), 0, 9e15,
                 "banded: the largest distance from the diagonal; window: its width; 0: from the sizes"),
    TOOL_INTEGER("block", 0, "B", "0", MATRIX(block), 0, 9e15,
                 "fem: unknowns per node (3); block: size of a block (16)"),
    TOOL_INTEGER("global", 0, "G", "0", MATRIX(global), 0, 9e15, "window: number of full rows and columns"),
    TOOL_FLAG("pattern", 0, MATRIX(pattern), "no values; else uniform values in [-1, 1)"),
    TOOL_CHOICE("type", 't', "TYPE", "fp32", MATRIX(value_type), &tool_types, "type of the values"),
    TOOL_CHOICE("index", 0, "TYPE", "int32", MATRIX(index_type), &tool_index_types, "type of the column indices"),
    TOOL_CHOICE("offset", 0, "TYPE", "int32", MATRIX(offset_type), &tool_index_types, "type of the row offsets"),
    TOOL_TO(AT(to)),
    TOOL_WRITTEN(tool_generate_settings),
    {.name = NULL},
};
