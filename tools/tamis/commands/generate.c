/* tamis generate: seeded matrices of the kinds that sparse kernels meet. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/text.h"
#include "cli/visible.h"

static int run_generate(const void *given, int count, char **operands) {
    const tool_generate_settings *settings = given;
    (void)count;
    int kind = 0;
    TOOL_TRY(tool_choice_parse(&tool_kinds, "", operands[0], &kind));
    if (!settings->output) return tool_usage_error("-o FILE is missing");
    TOOL_TRY(tool_output_ending("--output", settings->output, ".mtx, .mtx.gz or .npz"));
    tamis_generate_options options = settings->matrix;
    options.kind = (tamis_kind)kind;
    const double cols = (double)(options.cols > 0 ? options.cols : options.rows);
    const double entries = options.nnz > 0 ? (double)options.nnz : options.density * (double)options.rows * cols;
    const bool possible = entries < INT32_MAX || options.offset_type == TAMIS_I64; /* else that is the error */
    const int full = possible ? tool_output_room(settings->output, entries / 2, 0, TOOL_ENTRY_CHARACTERS) : 0;
    if (full) return full; /* half: some kinds have only about as many as are asked for */
    const double start = tool_seconds();
    tamis_owned_sparse *matrix = NULL;
    TOOL_TRY(tool_library_error(tamis_generate(&options, &matrix), operands[0]));
    const double made = tool_seconds();
    const tamis_sparse *S = tamis_owned_sparse_view(matrix);
    const int code = tool_library_error(tamis_write_sparse(settings->output, S), NULL);
    if (code == 0 && settings->json) {
        tool_json json = tool_json_written(settings->output, S->rows, S->cols, S->nnz);
        tool_json_put(&json, tool_ms("generate_ms", (made - start)), tool_ms("write_ms", (tool_seconds() - made)));
        tool_json_finish(&json);
    } else if (code == 0 && !settings->quiet) {
        printf("%s: %s, %s x %s, %s nonzeros; made in %s, written in %s\n", tool_visible(settings->output), operands[0],
               tool_word_count(S->rows).text, tool_word_count(S->cols).text, tool_word_count(S->nnz).text,
               tool_word_seconds(made - start).text, tool_word_seconds(tool_seconds() - made).text);
    }
    tamis_owned_sparse_free(matrix);
    return code;
}

const tool_command tool_generate_command =
    TOOL_COMMAND("generate", "KIND", "generate a seeded matrix: uniform, rmat, banded, fem, block, ...",
                 tool_generate_options, tool_generate_settings, .first = &tool_kinds, .run = run_generate);
