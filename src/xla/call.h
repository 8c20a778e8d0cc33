/* A call of XLA as Tamis understands it: what to compute, and operands as views, checked against each other. */
#ifndef TAMIS_XLA_CALL_H
#define TAMIS_XLA_CALL_H

#include "xla/interface.h"
#include <tamis/tamis.h>

enum { CALL_MOST_OPERANDS = 4, CALL_MOST_LEADING = 8 };

/* The computation: the name of a plan. */
typedef struct call_form {
    int64_t operation, backward;
    int64_t edge, math, transpose, keep;
    int64_t has_values, type, inner, width, batch;
    double scale, slope, epsilon;
} call_form;

/* A dense operand, result or gradient: a matrix, or a vector with one element per nonzero, with leading dimensions in
   front, each of the call's length or 1. */
typedef struct call_operand {
    tamis_dense view; /* of the first member */
    int64_t lengths[CALL_MOST_LEADING];
    int64_t steps[CALL_MOST_LEADING]; /* elements from one member to the next; 0 where all share it */
    size_t size;                      /* bytes of an element */
    bool in_batch;                    /* each member of the library's batch has its own */
} call_operand;

/* The structure of S in XLA's buffers. */
typedef struct call_pattern {
    int64_t rows, cols, nnz;
    tamis_index_type offset_type, index_type;
    const void *offsets, *columns;
} call_pattern;

typedef struct call {
    call_form form;
    call_pattern pattern;
    call_operand operands[CALL_MOST_OPERANDS];  /* A, B; B; A, B, D; after them S's values if there are any */
    call_operand gradients[CALL_MOST_OPERANDS]; /* of the same, where wanted */
    bool wanted[CALL_MOST_OPERANDS];
    call_operand output;     /* P, C, E; in backward calls its gradient */
    call_operand statistics; /* softmax's numbers of each row */
    int matrices;            /* operands that are not S's values: 1 to 3 */
    int leading;             /* leading dimensions */
    int64_t lengths[CALL_MOST_LEADING];
    int outer; /* of these, how many the members of one batch of the library do not span */
} call;

/* Reads a frame in the stage that computes. device: the buffers are in a GPU's memory. */
tamis_status tamis_xla_read(const xla_frame *frame, bool device, call *c);

/* The view of an operand in the member `at` of the outer dimensions. */
tamis_dense tamis_xla_member(const call *c, const call_operand *x, const int64_t at[CALL_MOST_LEADING]);

#endif
