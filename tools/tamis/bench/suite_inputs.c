/* Finds the matrices that a case measures, real ones before stand-ins. */
#include <errno.h>
#include <fnmatch.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/suite.h"
#include "cli/exit.h"
#include "cli/text.h"

void tool_inputs_add(tool_inputs *inputs, const char *spec, const char *name, const char *group, bool stand_in) {
    if (inputs->count == inputs->capacity) {
        inputs->capacity = inputs->capacity ? 2 * inputs->capacity : 16;
        inputs->at = tool_grow(inputs->at, (size_t)inputs->capacity, sizeof *inputs->at);
    }
    inputs->at[inputs->count++] =
        (tool_input){.spec = tool_copy(spec), .name = tool_copy(name), .group = tool_copy(group), .stand_in = stand_in};
}

void tool_inputs_free(tool_inputs *inputs) {
    for (int i = 0; i < inputs->count; i++) {
        free(inputs->at[i].spec);
        free(inputs->at[i].name);
        free(inputs->at[i].group);
    }
    free(inputs->at);
    *inputs = (tool_inputs){0};
}

/* ------------------------------------------------------------------------------------------ folders */

/* Returns true if a file's ending alone tells that it is a matrix; lists of edges and words must be named one by
   one. */
static bool is_matrix(const char *path) {
    static const char *const endings[] = {".mtx", ".npz", ".smtx", ".graph", ".rsa", ".rua"};
    static const char *const packed[] = {"", ".gz", ".xz", ".zst"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        for (size_t p = 0; p < sizeof packed / sizeof *packed; p++) {
            char ending[16];
            const size_t bytes = (size_t)snprintf(ending, sizeof ending, "%s%s", endings[i], packed[p]);
            if (length > bytes && strcmp(path + length - bytes, ending) == 0) return true;
        }
    }
    return false;
}

/* The list that visit() fills, since nftw passes no user argument. */
static tool_inputs *walking;

static int visit(const char *path, const struct stat *information, int kind, struct FTW *place) {
    (void)information;
    (void)place;
    if (kind == FTW_F && is_matrix(path)) tool_inputs_add(walking, path, NULL, NULL, false);
    return 0;
}

static int by_spec(const void *a, const void *b) {
    return strcmp(((const tool_input *)a)->spec, ((const tool_input *)b)->spec);
}

int tool_inputs_add_path(tool_inputs *inputs, const char *path) {
    struct stat information;
    if (stat(path, &information) != 0 || !S_ISDIR(information.st_mode)) {
        tool_inputs_add(inputs, path, NULL, NULL, false); /* opening it reports if it does not exist */
        return 0;
    }
    const int before = inputs->count;
    walking = inputs;
    const int walked = nftw(path, visit, 16, FTW_PHYS);
    walking = NULL;
    if (walked != 0) return tool_failure(TOOL_FILE, "%s: cannot be read: %s", path, strerror(errno));
    if (inputs->count > before)
        qsort(inputs->at + before, (size_t)(inputs->count - before), sizeof *inputs->at, by_spec);
    return 0;
}

/* Calls tool_inputs_add_path for each folder of TAMIS_MATRIX_PATH. */
static int add_matrix_path(tool_inputs *inputs) {
    const char *at = getenv("TAMIS_MATRIX_PATH");
    int code = 0;
    while (at && *at && code == 0) {
        const size_t length = strcspn(at, ":");
        char folder[4096];
        snprintf(folder, sizeof folder, "%.*s", (int)length, at);
        if (length > 0) code = tool_inputs_add_path(inputs, folder);
        at += length + (at[length] == ':');
    }
    return code;
}

/* Finds the matrix among the files of TAMIS_MATRIX_PATH; NULL if there is none. */
static const char *find_matrix(const tool_inputs *real, const char *name) {
    for (int i = 0; i < real->count; i++) {
        char own[128];
        tool_matrix_name(real->at[i].spec, own, sizeof own);
        if (strcmp(own, name) == 0) return real->at[i].spec;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------ cases */

static int add_files(const tool_suite *suite, int count, char *const *files, tool_inputs *inputs) {
    const int before = inputs->count;
    int code = count == 0 ? add_matrix_path(inputs) : 0;
    for (int i = 0; i < count && code == 0; i++) code = tool_inputs_add_path(inputs, files[i]);
    if (code == 0 && inputs->count == before)
        code =
            tool_usage_error("suite %s measures files: give files or folders, or set TAMIS_MATRIX_PATH", suite->name);
    return code;
}

static void add_matrix(const tool_input *matrix, const tool_inputs *real, tool_inputs *inputs) {
    for (int i = 0; i < inputs->count; i++) {
        if (inputs->at[i].name && strcmp(inputs->at[i].name, matrix->name) == 0) return; /* two patterns name it */
    }
    const char *file = matrix->stand_in ? find_matrix(real, matrix->name) : NULL;
    tool_inputs_add(inputs, file ? file : matrix->spec, matrix->name, matrix->group, matrix->stand_in && !file);
}

static int add_pattern(const tool_suite *suite, const tool_suite_case *one, const char *pattern,
                       const tool_inputs *real, tool_inputs *inputs) {
    bool any = false;
    for (int i = 0; i < suite->matrices.count; i++) {
        const tool_input *matrix = &suite->matrices.at[i];
        const bool group = *pattern == '@';
        const char *text = group ? matrix->group : matrix->name;
        if (!text || fnmatch(group ? pattern + 1 : pattern, text, 0) != 0) continue;
        add_matrix(matrix, real, inputs);
        any = true;
    }
    if (any) return 0;
    return tool_failure(TOOL_FILE, "%s: line %d: '%s' is not a matrix of the suite", suite->path, one->line, pattern);
}

int tool_suite_inputs(const tool_suite *suite, const tool_suite_case *one, int count, char *const *files,
                      tool_inputs *inputs) {
    *inputs = (tool_inputs){0};
    tool_inputs real = {0};
    int code = 0;
    if (add_matrix_path(&real) != 0) tool_inputs_free(&real); /* after a message; stand-ins are used */
    for (int p = 0; p < one->pattern_count && code == 0; p++) {
        const char *pattern = one->patterns[p];
        code = strcmp(pattern, "@files") == 0 ? add_files(suite, count, files, inputs)
                                              : add_pattern(suite, one, pattern, &real, inputs);
    }
    tool_inputs_free(&real);
    return code;
}
