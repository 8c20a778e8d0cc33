/* Records of results: loading files and finding what belongs together. */
#include "results.h"

#include <stdlib.h>

#include "exit.h"
#include "lines_reader.h"

int tool_results_load(tool_results *results, const char *path) {
    if (!tool_results_readable()) {
        tool_error("results cannot be read: built without jansson");
        return TOOL_UNSUPPORTED;
    }
    tool_lines_reader reader;
    int code = tool_lines_reader_open(&reader, path);
    if (code) return code;
    results->file = tool_grow((void *)results->file, (size_t)results->files + 1, sizeof *results->file);
    results->file[results->files++] = tool_pool_keep(&results->pool, path);
    char reason[160] = "", broken[160] = "";
    int broken_line = 0;
    while (tool_lines_reader_next(&reader)) {
        if (reader.length == 0) continue;
        if (broken_line) break;
        if (!tool_results_line(results, reader.text, reader.length, reader.line, reason)) {
            broken_line = reader.line;
            for (int i = 0; i < 160; i++) broken[i] = reason[i];
        }
    }
    if (reader.failed) {
        code = TOOL_FILE;
    } else if (broken_line && reader.length > 0) {
        tool_error("%s:%d: %s", path, broken_line, broken);
        code = TOOL_FILE;
    } else if (broken_line) {
        tool_warning("%s:%d: the last line is left out: %s", path, broken_line, broken);
    }
    tool_lines_reader_close(&reader);
    return code;
}

void tool_results_free(tool_results *results) {
    tool_pool_free(&results->pool);
    free((void *)results->file);
    free(results->run);
    free(results->matrix);
    free(results->measurement);
    free(results->traffic);
    *results = (tool_results){0};
}

/* Records belong together by the run's name; lines without one belong to those of their own file. */
static bool together(const char *run, int file, const tool_measurement *one) {
    return run && one->run ? run == one->run : file == one->file;
}

const tool_run_record *tool_results_run(const tool_results *results, const tool_measurement *one) {
    const tool_run_record *found = NULL;
    for (int i = 0; i < results->runs; i++) {
        const tool_run_record *run = &results->run[i];
        if (run->device != one->device || !together(run->run, run->file, one)) continue;
        if (run->suite == one->suite) return run;
        found = run;
    }
    return found;
}

const tool_matrix_record *tool_results_matrix(const tool_results *results, const tool_measurement *one) {
    const tool_matrix_record *found = NULL;
    for (int i = 0; i < results->matrices; i++) {
        const tool_matrix_record *matrix = &results->matrix[i];
        if (matrix->matrix != one->matrix || matrix->rows != one->rows || matrix->nnz != one->nnz) continue;
        if (together(matrix->run, matrix->file, one)) return matrix;
        found = matrix;
    }
    return found;
}

const char *tool_results_class(const tool_results *results, const tool_measurement *one) {
    if (one->class_name) return one->class_name;
    const tool_matrix_record *matrix = tool_results_matrix(results, one);
    return matrix ? matrix->class_name : NULL;
}
