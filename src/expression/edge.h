/* The edge of a call that is a text: options.edge_text with its numbers. */
#ifndef TAMIS_EXPRESSION_EDGE_H
#define TAMIS_EXPRESSION_EDGE_H

#include <tamis/tamis.h>

#include "expression/parse.h"

typedef struct tamis_edge_text {
    tamis_program value; /* one result */
    tamis_program all;   /* the value, its derivatives by x and by s */
    double scalars[TAMIS_PROGRAM_SCALARS];
    uint64_t
        names[2]; /* hashes of the declarations (text.h) of `value` and `all`, by which compiled kernels are found */
    char text[TAMIS_TEXT_MOST + 1];
} tamis_edge_text;

/* Makes the programs of an edge TAMIS_EDGE_TEXT; *edge becomes NULL if the options have another one. The caller must
   release it with tamis_release, also after an error. */
tamis_status tamis_edge_text_make(const tamis_options *options, tamis_edge_text **edge);

/* Makes the text whose third result is the derivative by named array `number` in place of that by s. The caller must
   release it with tamis_release, also after an error. */
tamis_status tamis_edge_text_by(const tamis_edge_text *edge, int number, tamis_edge_text **by);

/* The edge that an edge TAMIS_EDGE_TEXT amounts to: a softmax, whose scores are the text's value, or `otherwise`.
   `edge` may be NULL. */
static inline tamis_edge tamis_edge_of_text(const tamis_edge_text *edge, tamis_edge otherwise) {
    return edge && edge->value.softmax ? TAMIS_EDGE_SOFTMAX : otherwise;
}

/* The declarations (text.h) of a program with these named numbers; the caller must release them with tamis_release. */
tamis_status tamis_edge_text_declare(const tamis_program *program, const double *scalars, char **text);

/* True if the edge is a text with steps of that kind: TAMIS_STEP_I, .... `edge` may be NULL. */
static inline bool tamis_edge_text_reads(const tamis_edge_text *edge, int kind) {
    return edge && edge->value.leaves & 1u << kind;
}

/* True if an entry's row, or column, matters. */
static inline bool tamis_edge_text_reads_row(const tamis_edge_text *edge) {
    return tamis_edge_text_reads(edge, TAMIS_STEP_I) || tamis_edge_text_reads(edge, TAMIS_STEP_ROW);
}
static inline bool tamis_edge_text_reads_column(const tamis_edge_text *edge) {
    return tamis_edge_text_reads(edge, TAMIS_STEP_J) || tamis_edge_text_reads(edge, TAMIS_STEP_COL);
}

/* True if it reads where an entry is, or named arrays. */
static inline bool tamis_edge_text_reads_places(const tamis_edge_text *edge) {
    return tamis_edge_text_reads_row(edge) || tamis_edge_text_reads_column(edge) ||
           tamis_edge_text_reads(edge, TAMIS_STEP_H) || (edge && edge->value.arrays > 0);
}

#endif
