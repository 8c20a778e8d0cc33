/* tamis spy: a picture of a matrix's nonzeros. The program counts them; the Python package draws. */
#include <tamis/structure.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/outputs.h"
#include "cli/python.h"
#include "cli/raster.h"
#include "cli/source.h"

typedef struct settings {
    const char *output;
    int64_t size;
    tool_reading reading;
    bool json, no_clobber, quiet;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_OUTPUT("output", 'o', "FILE", AT(output), "output file: .svg or .png; -: standard output, as SVG"),
    TOOL_INTEGER("size", 's', "CELLS", "0", AT(size), 0, 4096,
                 "cells along the longer side; 0: 128 for .svg, 512 for .png"),
    TOOL_READING(settings),
    TOOL_WRITTEN(settings),
    {.name = NULL},
};

/* The drawing, and its titles. */
static void hand_over(FILE *to, const settings *set, const tool_source *source, const char *class_name, int cells) {
    tool_raster raster;
    tool_raster_make(source->S, cells, &raster);
    tool_json json = tool_json_open(to, false);
    tool_json_put(&json, TOOL_OF(*set, json), TOOL_OF(*set, quiet), tool_str("matrix", source->name),
                  tool_str("class", class_name), TOOL_OF(*source->S, rows), TOOL_OF(*source->S, cols),
                  TOOL_OF(*source->S, nnz));
    tool_json_array(&json, "counts");
    for (int row = 0; row < raster.rows; row++) {
        tool_json_array(&json, NULL);
        for (int col = 0; col < raster.cols; col++)
            tool_json_integer(&json, NULL, raster.count[(int64_t)row * raster.cols + col]);
        tool_json_end_array(&json);
    }
    tool_json_finish(&json);
    tool_raster_free(&raster);
}

static int draw(const settings *set, const tool_source *source, int cells) {
    tamis_structure structure;
    TOOL_TRY(tool_library_error(tamis_structure_find(source->S, NULL, &structure), source->name));
    char option[] = "--output";
    char *const path = tool_copy(set->output);
    FILE *file = tmpfile();
    if (file) hand_over(file, set, source, structure.name, cells);
    const bool failed =
        !file || fflush(file) != 0 || lseek(fileno(file), 0, SEEK_SET) != 0 || dup2(fileno(file), STDIN_FILENO) < 0;
    if (failed) tool_error("a temporary file cannot be written: %s", strerror(errno));
    const int code = failed ? TOOL_FILE : tool_python_start("tamis._spy", 2, (char *[]){option, path});
    if (file) fclose(file);
    free(path);
    return code;
}

static int run_spy(const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count;
    if (!set->output) return tool_usage_error("-o FILE is missing");
    TOOL_TRY(tool_output_ending("--output", set->output, ".svg or .png"));
    const char *const ending = strrchr(set->output, '.'); /* standard output has none and gets .svg */
    const bool png = ending && strcasecmp(ending, ".png") == 0;
    const int cells = set->size > 0 ? (int)set->size : png ? 512 : 128;
    const tamis_read_options reading = tool_read_options(&set->reading, TAMIS_F32, TAMIS_I64);
    tool_source source;
    TOOL_TRY(tool_source_open(operands[0], &reading, &source));
    const int code = draw(set, &source, cells);
    tool_source_close(&source);
    return code;
}

const tool_command tool_spy_command = TOOL_COMMAND("spy", "FILE", "draw the positions of a matrix's nonzeros", options,
                                                   settings, .drawn = true, .run = run_spy);
