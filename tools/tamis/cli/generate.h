/* The options of generated matrices, for `tamis generate` and for inputs "generate:KIND:rows=..,nnz=..". */
#ifndef TOOL_GENERATE_H
#define TOOL_GENERATE_H

#include <tamis/generate.h>
#include <tamis/matrix.h>

#include "cli/options.h"

typedef struct tool_generate_settings {
    int64_t rows, cols, nnz, seed, band, block, global;
    double density;
    bool json, pattern;
    int to, type, index_type, offset_type;
    const char *output;
    bool no_clobber, quiet;
} tool_generate_settings;

extern const tool_option tool_generate_options[];

tamis_status tool_generate_matrix(const tool_generate_settings *settings, tamis_kind kind, tamis_owned_sparse **matrix);

#endif
