/* See generate.h. */
#include <tamis/generate.h>

#include "cli/generate.h"

#define AT(field) offsetof(tool_generate_settings, field)

const tool_option tool_generate_options[] = {
    TOOL_OUTPUT("output", 'o', "FILE", AT(output), "output file: .mtx, .mtx.gz or .npz"),
    TOOL_INTEGER("rows", 'm', "M", "4096", AT(rows), 0, 9e15, "rows"),
    TOOL_INTEGER("cols", 'n', "N", "0", AT(cols), 0, 9e15, "columns; 0: the number of rows"),
    TOOL_INTEGER("nnz", 0, "NNZ", "0", AT(nnz), 0, 9e15, "number of nonzeros; 0: from --density"),
    TOOL_REAL("density", 0, "D", "0.01", AT(density), 0, 1, "share of nonzero entries, if --nnz is 0"),
    TOOL_INTEGER("seed", 0, "SEED", "1", AT(seed), 0, 9e18, "the same seed gives the same matrix on every machine"),
    TOOL_INTEGER("band", 0, "W", "0", AT(band), 0, 9e15,
                 "banded: the largest distance from the diagonal; window: its width; 0: from the sizes"),
    TOOL_INTEGER("block", 0, "B", "0", AT(block), 0, 9e15, "fem: unknowns per node (3); block: size of a block (16)"),
    TOOL_INTEGER("global", 0, "G", "0", AT(global), 0, 9e15, "window: number of full rows and columns"),
    TOOL_FLAG("pattern", 0, AT(pattern), "no values; else uniform values in [-1, 1)"),
    TOOL_CHOICE("type", 't', "TYPE", "fp32", AT(type), &tool_types, "type of the values"),
    TOOL_CHOICE("index", 0, "TYPE", "int32", AT(index_type), &tool_index_types, "type of the column indices"),
    TOOL_CHOICE("offset", 0, "TYPE", "int32", AT(offset_type), &tool_index_types, "type of the row offsets"),
    TOOL_TO(AT(to)),
    TOOL_WRITTEN(tool_generate_settings),
    {.name = NULL},
};

tamis_status tool_generate_matrix(const tool_generate_settings *settings, tamis_kind kind,
                                  tamis_owned_sparse **matrix) {
    tamis_generate_options options = TAMIS_GENERATE_OPTIONS_INIT;
    options.kind = kind;
    options.rows = settings->rows;
    options.cols = settings->cols;
    options.nnz = settings->nnz;
    options.density = settings->density;
    options.seed = (uint64_t)settings->seed;
    options.band = settings->band;
    options.block = settings->block;
    options.global = settings->global;
    options.pattern = settings->pattern;
    options.value_type = (tamis_type)settings->type;
    options.index_type = (tamis_index_type)settings->index_type;
    options.offset_type = (tamis_index_type)settings->offset_type;
    return tamis_generate(&options, matrix);
}
