/* The edge of a call that is a text: options.edge_text with its numbers. */
#ifndef TAMIS_EXPRESSION_EDGE_H
#define TAMIS_EXPRESSION_EDGE_H

#include <tamis/tamis.h>

#include "expression/parse.h"

typedef struct tamis_edge_text {
    tamis_program value; /* one result */
    tamis_program all;   /* the value, its derivatives by x and by s */
    double scalars[TAMIS_PROGRAM_SCALARS];
    char text[TAMIS_TEXT_MOST + 1];
} tamis_edge_text;

/* Makes the programs of an edge TAMIS_EDGE_TEXT; *edge becomes NULL if the options have another one. The caller must
   release it with tamis_release, also after an error. */
tamis_status tamis_edge_text_make(const tamis_options *options, tamis_edge_text **edge);

/* True if the edge is a text with steps of that kind: TAMIS_STEP_I, .... `edge` may be NULL. */
static inline bool tamis_edge_text_reads(const tamis_edge_text *edge, int kind) {
    return edge && edge->value.leaves & 1u << kind;
}

#endif
