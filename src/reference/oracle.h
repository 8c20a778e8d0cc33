/* The result of tamis_oracle_create: the sampled reference, and the error that each of its elements may have. */
#ifndef TAMIS_REFERENCE_ORACLE_H
#define TAMIS_REFERENCE_ORACLE_H

#include <tamis/reference.h>

struct tamis_oracle {
    tamis_operation operation;
    tamis_type type;      /* the operands' type */
    int64_t items, width; /* SDDMM: sampled nonzeros, 1; else sampled rows, L */
    int64_t *item;        /* the row of the output that each item is */
    double *reference;    /* items x width, for alpha = 1 and beta = 0 */
    double *bound;        /* the error that an element of each item may have */
    double *largest;      /* the largest number that its computation may reach */
    double *first_term;   /* the relative error of an old output, which may begin its sum */
    int64_t rows_sampled, rows;
    double share; /* the items' share of the output's elements */
};

#endif
