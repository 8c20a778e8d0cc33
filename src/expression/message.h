/* The message of a graph call that is a text: options.text with its numbers, or its derivative. */
#ifndef TAMIS_EXPRESSION_MESSAGE_H
#define TAMIS_EXPRESSION_MESSAGE_H

#include <tamis/message.h>

#include "expression/parse.h"

typedef struct tamis_message_text {
    tamis_program program; /* one result */
    double scalars[TAMIS_PROGRAM_SCALARS];
    uint64_t name; /* a hash of the steps, by which compiled kernels are found */
} tamis_message_text;

/* Makes the program of options with TAMIS_MESSAGE_TEXT; it allocates nothing. */
tamis_status tamis_message_text_make(const tamis_message_options *options, tamis_message_text *text);

/* Makes the derivative by u, v or e: TAMIS_STEP_X, V or S. */
tamis_status tamis_message_text_by(const tamis_message_text *text, int leaf, tamis_message_text *derivative);

/* True if the programs are the same and compile to the same code. */
bool tamis_message_text_same(const tamis_message_text *a, const tamis_message_text *b);

static inline bool tamis_message_text_reads(const tamis_message_text *text, int leaf) {
    return text->program.leaves & 1u << leaf;
}

#endif
