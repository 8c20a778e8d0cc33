/* See generate.h. */
#include <tamis/generate.h>

#include "cli/generate.h"

#include <stdio.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/visible.h"

#define AT(field) offsetof(tool_generate_settings, field)

const tool_option tool_generate_options[] = {
    {"output", 'o', TOOL_OUTPUT, "FILE", NULL, "output file: .mtx, .mtx.gz or .npz", AT(output), 0, 0, NULL},
    {"rows", 'm', TOOL_INTEGER, "M", "4096", "rows", AT(rows), 0, 9e15, NULL},
    {"cols", 'n', TOOL_INTEGER, "N", "0", "columns; 0: the number of rows", AT(cols), 0, 9e15, NULL},
    {"nnz", 0, TOOL_INTEGER, "NNZ", "0", "number of nonzeros; 0: from --density", AT(nnz), 0, 9e15, NULL},
    {"density", 0, TOOL_REAL, "D", "0.01", "share of nonzero entries, if --nnz is 0", AT(density), 0, 1, NULL},
    {"seed", 0, TOOL_INTEGER, "SEED", "1", "the same seed gives the same matrix on every machine", AT(seed), 0, 9e18,
     NULL},
    {"band", 0, TOOL_INTEGER, "W", "0",
     "banded: the largest distance from the diagonal; window: its width; 0: from the sizes", AT(band), 0, 9e15, NULL},
    {"block", 0, TOOL_INTEGER, "B", "0", "fem: unknowns per node (3); block: size of a block (16)", AT(block), 0, 9e15,
     NULL},
    {"global", 0, TOOL_INTEGER, "G", "0", "window: number of full rows and columns", AT(global), 0, 9e15, NULL},
    {"pattern", 0, TOOL_FLAG, NULL, NULL, "no values; else uniform values in [-1, 1)", AT(pattern), 0, 0, NULL},
    {"type", 't', TOOL_CHOICE, "TYPE", "fp32", "type of the values", AT(type), 0, 0, &tool_types},
    {"index", 0, TOOL_CHOICE, "TYPE", "int32", "type of the column indices", AT(index_type), 0, 0, &tool_index_types},
    {"offset", 0, TOOL_CHOICE, "TYPE", "int32", "type of the row offsets", AT(offset_type), 0, 0, &tool_index_types},
    TOOL_TO(AT(to)),
    TOOL_NO_CLOBBER(AT(no_clobber)),
    {"json", 'j', TOOL_FLAG, NULL, NULL, "an object instead of text", AT(json), 0, 0, NULL},
    {"quiet", 'q', TOOL_FLAG, NULL, NULL, "print nothing on success", AT(quiet), 0, 0, NULL},
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
