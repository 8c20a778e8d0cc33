/* From the text of an expression to a program. */
#ifndef TAMIS_EXPRESSION_PARSE_H
#define TAMIS_EXPRESSION_PARSE_H

#include <tamis/tamis.h>

#include "expression/program.h"

enum {
    TAMIS_TEXT_MOST = 1024, /* bytes of a text */
    TAMIS_TEXT_DEPTH = 64   /* parentheses within parentheses */
};

/* A name that texts may use, and the step that it means. */
typedef struct tamis_meaning {
    const char *name;
    int step;
} tamis_meaning;

/* The use of a text, in an edge or in a message. */
typedef struct tamis_form {
    const char *what, *fields, *names; /* begins the messages of errors; begins the options' fields; the variables */
    tamis_meaning variables[8];        /* each is a leaf, TAMIS_STEP_...; ends with a NULL name */
    bool arrays;                       /* row.NAME, ..., numbers that executions give, and softmax are of this form */
} tamis_form;
extern const tamis_form tamis_edge_form;    /* x, s, i, j, h */
extern const tamis_form tamis_message_form; /* u, v, e, i, j, h */

/* Adds the steps of a text to the program; *step becomes the last one's. The message of an error begins with the place,
   as "edge:1:14: " with the program's `what`. meanings end with a NULL name. */
tamis_status tamis_parse(tamis_program *p, const char *text, const tamis_meaning *meanings, int *step);

/* Makes a program with one result, the value of `text`, whose names are the form's variables and the named numbers.
   Also checks the names. */
tamis_status tamis_program_parse(tamis_program *p, const tamis_form *form, const char *text, const char *const *scalars,
                                 int scalar_count);

/* The same for the numbers of options, which are `count`; their values become `values`. A number that is NaN is given
   by executions: an array of the program's, of kind TAMIS_STEP_HEAD, if the form has arrays. */
tamis_status tamis_program_read(tamis_program *p, const tamis_form *form, const char *text,
                                const tamis_edge_number *numbers, int64_t count, double values[TAMIS_PROGRAM_SCALARS]);

#endif
