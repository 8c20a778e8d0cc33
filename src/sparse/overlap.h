/* The dense matrices of a call, and whether they share memory: a call that writes one while it reads the other would be
   wrong without a word. */
#ifndef TAMIS_SPARSE_OVERLAP_H
#define TAMIS_SPARSE_OVERLAP_H

#include <tamis/types.h>

/* A dense matrix of a call, and what the call requires of it. All calls check their matrices so (core/operand.h). */
typedef struct tamis_operand {
    const char *name;
    const tamis_dense *view; /* NULL: absent */
    int64_t rows, cols;
    tamis_type type;
    tamis_layout layout;
    const char *option; /* the plan's option that sets the layout; NULL: any layout, unless `rows_only` */
    const char *why;    /* what needs it, for the message if it is absent; NULL: the operation */
    bool output;
    bool optional;         /* may be absent */
    bool rows_only;        /* must be row-major */
    bool packed;           /* samples: their stride is 1 */
    int64_t batch;         /* matrices at distances of batch_stride; 0 means 1 */
    int64_t skip;          /* elements of view.data before the first: an OpenCL buffer has no address to add them to */
    int64_t staged;        /* place in the plan's workspace; -1: none */
    int64_t staged_stride; /* elements between members there */
} tamis_operand;

/*
 * Refuses an output that shares an element with another operand. With `handles`, data are handles of memory in place of
 * addresses. Views whose lines or members lie at different distances are refused if their first or last ones meet, and
 * are taken to be apart otherwise: what is refused is certain. Columns of one wider matrix are apart.
 */
tamis_status tamis_check_apart(bool handles, const tamis_operand *output, const tamis_operand *other);

#endif
