/* From the text of an edge expression to a program. */
#ifndef TAMIS_EXPRESSION_PARSE_H
#define TAMIS_EXPRESSION_PARSE_H

#include "expression/program.h"

enum {
    TAMIS_TEXT_MOST = 1024, /* bytes of a text */
    TAMIS_TEXT_DEPTH = 64,  /* parentheses within parentheses */
    TAMIS_NAME_MOST = 32    /* bytes of a name */
};

/* A name that texts may use, and the step that it means. */
typedef struct tamis_meaning {
    const char *name;
    int step;
} tamis_meaning;

/* Adds the steps of a text to the program; *step becomes the last one's. The message of an error begins with the place,
   as "edge:1:14: ". meanings end with a NULL name. */
tamis_status tamis_parse(tamis_program *p, const char *text, const tamis_meaning *meanings, int *step);

/* Makes a program with one result, the value of `text`, whose variables are x, s, i, j, h and the named numbers. Also
   checks the names. */
tamis_status tamis_program_parse(tamis_program *p, const char *text, const char *const *scalars, int scalar_count);

#endif
