/* The result of tamis_oracle_create: the sampled reference, and the error bound of each element. */
#ifndef TAMIS_REFERENCE_ORACLE_H
#define TAMIS_REFERENCE_ORACLE_H

#include <tamis/reference.h>

struct tamis_oracle {
    tamis_operation operation;
    tamis_type type;      /* the operands' type */
    int64_t items, width; /* SDDMM: sampled nonzeros, 1; else sampled rows, L */
    int64_t *item;        /* output row of each item */
    double *reference;    /* items x width, for alpha = 1 and beta = 0 */
    double *bound;        /* error bound of an element of each item */
    double *largest;      /* largest intermediate number of its computation */
    double *first_term;   /* relative error of an old output, which may be the first term of its sum */
    int64_t rows_sampled, rows;
    double share; /* share of the output's elements that are items */
};

#endif
