/* tamis generate: seeded matrices of kinds typical for sparse kernels. */
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

static int run_generate(const void *given, int count, char **operands) {
    const tool_generate_settings *settings = given;
    (void)count;
    int kind = 0;
    const int code_of_kind = tool_choice_parse(&tool_kinds, "", operands[0], &kind);
    if (code_of_kind) return code_of_kind;
    if (!settings->output) return tool_usage_error("-o FILE is missing");
    const int refused = tool_output_ending("--output", settings->output, ".mtx, .mtx.gz or .npz");
    if (refused) return refused;
    const double cols = (double)(settings->cols > 0 ? settings->cols : settings->rows);
    const double entries =
        settings->nnz > 0 ? (double)settings->nnz : settings->density * (double)settings->rows * cols;
    const bool possible = entries < INT32_MAX || settings->offset_type == TAMIS_I64; /* else that is the error */
    const int full = possible ? tool_output_room(settings->output, entries / 2, 0, TOOL_ENTRY_CHARACTERS) : 0;
    if (full) return full; /* half: some kinds only approximate the requested number */
    const double start = tool_seconds();
    tamis_owned_sparse *matrix = NULL;
    tamis_status status = tool_generate_matrix(settings, (tamis_kind)kind, &matrix);
    if (status != TAMIS_OK) return tool_library_error(status, operands[0]);
    const double made = tool_seconds();
    const tamis_sparse *S = tamis_owned_sparse_view(matrix);
    status = tamis_write_sparse(settings->output, S);
    int code = TOOL_OK;
    if (status != TAMIS_OK) {
        code = tool_library_error(status, NULL);
    } else if (settings->json) {
        tool_json json = tool_json_written(settings->output, S->rows, S->cols, S->nnz);
        tool_json_number(&json, "generate_ms", 1e3 * (made - start));
        tool_json_number(&json, "write_ms", 1e3 * (tool_seconds() - made));
        tool_json_finish(&json);
    } else if (!settings->quiet) {
        printf("%s: %s, %s x %s, %s nonzeros; made in %s, written in %s\n", tool_visible(settings->output), operands[0],
               tool_word_count(S->rows).text, tool_word_count(S->cols).text, tool_word_count(S->nnz).text,
               tool_word_seconds(made - start).text, tool_word_seconds(tool_seconds() - made).text);
    }
    tamis_owned_sparse_free(matrix);
    return code;
}

const tool_command tool_generate_command = {
    .name = "generate",
    .summary = "generate a seeded matrix: uniform, rmat, banded, fem, block, ...",
    .operands = "KIND",
    .first = &tool_kinds,
    .options = tool_generate_options,
    .settings_size = sizeof(tool_generate_settings),
    .run = run_generate,
};
