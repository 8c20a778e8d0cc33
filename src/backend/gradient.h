/*
 * The backward call of fused in one piece (optional): no array has an element per nonzero. src/core has checked the
 * arguments. Without it, or if it declines, src/core computes the gradients in steps.
 */
#ifndef TAMIS_BACKEND_GRADIENT_H
#define TAMIS_BACKEND_GRADIENT_H

#include "backend/backend.h"

/* All are of the problem's type. */
typedef struct tamis_backward_operands {
    tamis_matrix a, b, d, e; /* e: the gradient of the result */
    tamis_matrix da, db, dd;
    /* kept by the forward call, saves a pass; base NULL: not given */
    tamis_place softmax_rows; /* members are 2 * rows numbers apart */
    tamis_matrix result;
    double alpha, beta;
    tamis_place scratch; /* 64-byte aligned */
} tamis_backward_operands;

typedef struct tamis_prepared_backward tamis_prepared_backward;

/* `problem` is fused, without values of S; `turned` is the same for the transposed pattern, with its own evidence. */
struct tamis_backward_functions {
    const char *algorithm; /* its name, of static lifetime */
    /* true if a problem like this and its transpose need no list of the columns of a mask; NULL: all do */
    bool (*unlisted)(const tamis_problem *problem);
    /* predicted seconds of a call; 0: not supported */
    double (*seconds)(const tamis_problem *problem, const tamis_problem *turned);
    tamis_status (*prepare)(const tamis_problem *problem, const tamis_problem *turned,
                            tamis_prepared_backward **prepared);
    /* returns true if no call reads the offsets and columns of `turned`, which may then be released; NULL: calls read
       them */
    bool (*spares_turned)(tamis_prepared_backward *prepared);
    size_t (*scratch_bytes)(const tamis_prepared_backward *prepared); /* of a call */
    tamis_status (*execute)(const tamis_prepared_backward *prepared, void *stream, const tamis_backward_operands *x);
    void (*release)(tamis_prepared_backward *prepared);
};

#endif
