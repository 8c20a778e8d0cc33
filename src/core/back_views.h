#ifndef TAMIS_CORE_BACK_VIEWS_H
#define TAMIS_CORE_BACK_VIEWS_H

#include <tamis/tamis.h>

/* The operands of a backward call. NULL: the operation has no such operand, or the output is not wanted. For SpMM, dE
   is dC. */
typedef struct tamis_back_views {
    const tamis_dense *dP, *dE, *A, *B, *D;
    const tamis_dense *dA, *dB, *dD, *dS;
    /* elements to skip before each, and before the execution's values */
    int64_t skip_e, skip_a, skip_b, skip_d, skip_dd, skip_values;
    bool checked; /* tamis_gradient_check_run has accepted them */
} tamis_back_views;

#endif
