/*
 * Suites: text files that describe matrices and measurements, so that an experiment is one command. The suites in
 * lab/bench/suites are part of the program. docs/manual/laboratory.md describes their language.
 */
#ifndef TOOL_SUITE_H
#define TOOL_SUITE_H

#include <stdbool.h>

/* A matrix to be measured. */
typedef struct tool_input {
    char *spec;    /* a path or "generate:..." */
    char *name;    /* name in results; NULL: from opening it */
    char *group;   /* its class in a paper's words; NULL: none */
    bool stand_in; /* generated in place of the real matrix with that name */
} tool_input;

typedef struct tool_inputs {
    int count, capacity;
    tool_input *at;
} tool_inputs;

typedef enum tool_place { TOOL_ANYWHERE, TOOL_ON_CPU, TOOL_ON_GPU } tool_place;

/* One line `case`: options of `tamis bench`, and patterns that name matrices. */
typedef struct tool_suite_case {
    bool full; /* in the full tier, else in the small one */
    tool_place place;
    int line; /* of the file */
    int option_count, pattern_count;
    char **options, **patterns;
} tool_suite_case;

typedef struct tool_suite {
    char name[64];
    const char *path; /* as messages call it */
    char *title, *paper, *about;
    tool_inputs matrices;
    int case_count;
    tool_suite_case *cases;
} tool_suite;

/* Opens one of the program's own suites by its name, or a file. Returns 0 or an exit code, after a message that names
   the line. */
int tool_suite_open(const char *name, tool_suite *suite);
void tool_suite_free(tool_suite *suite);

/* Returns the name of the program's suite `number`; NULL past the end. */
const char *tool_suite_name(int number);

/* Lists the matrices that the patterns of a case name, with files of TAMIS_MATRIX_PATH in place of stand-ins if they
   exist. @files stands for `files` (files and folders), or for all of TAMIS_MATRIX_PATH if none are given. Returns 0 or
   an exit code, after a message. */
int tool_suite_inputs(const tool_suite *suite, const tool_suite_case *one, int count, char *const *files,
                      tool_inputs *inputs);

void tool_inputs_add(tool_inputs *inputs, const char *spec, const char *name, const char *group, bool stand_in);
void tool_inputs_free(tool_inputs *inputs);

/* Adds a file, or the matrices in a folder and below it in the order of their names. Returns 0 or TOOL_FILE. */
int tool_inputs_add_path(tool_inputs *inputs, const char *path);

#endif
