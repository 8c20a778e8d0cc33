/* What tamis_oracle_create finds: the sampled reference, and the error allowed in each of its elements. */
#ifndef TAMIS_REFERENCE_ORACLE_H
#define TAMIS_REFERENCE_ORACLE_H

#include <tamis/reference.h>

struct tamis_oracle {
    tamis_operation operation;
    tamis_type type;      /* of the operands */
    int64_t items, width; /* SDDMM: sampled nonzeros, 1; else sampled rows, L */
    int64_t *item;        /* which row of the output each item is */
    double *reference;    /* items x width, for alpha = 1 and beta = 0 */
    double *bound;        /* for each item the error allowed in one of its elements */
    double *largest;      /* the largest number that its computation may pass through */
    double *first_term;   /* the relative error of an old output that its sum may begin with */
    int64_t rows_sampled, rows;
    double share; /* of the output's elements, that are among the items */
};

#endif
