/* The options of generated matrices, for `tamis generate` and for inputs "generate:KIND:rows=..,nnz=..". */
#ifndef TOOL_GENERATE_H
#define TOOL_GENERATE_H

#include <tamis/generate.h>
#include <tamis/matrix.h>

#include "cli/options.h"

typedef struct tool_generate_settings {
    tamis_generate_options matrix; /* options are named after its fields */
    int to;
    const char *output;
    bool json, no_clobber, quiet;
} tool_generate_settings;

extern const tool_option tool_generate_options[];

#endif
