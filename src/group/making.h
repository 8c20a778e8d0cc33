/* Creation of a plan, a gradient or rows of a group: arguments, their comparison, and common data. */
#ifndef TAMIS_GROUP_MAKING_H
#define TAMIS_GROUP_MAKING_H

#include "group/rank.h"

typedef enum tamis_group_kind { TAMIS_GROUP_PLAN, TAMIS_GROUP_GRADIENT, TAMIS_GROUP_ROWS } tamis_group_kind;

typedef struct tamis_group_making {
    tamis_group_kind kind;
    tamis_group *group;
    const tamis_sparse *S;
    int64_t own_rows;
    const tamis_options *given;

    /* set by tamis_group_agree */
    tamis_options options;       /* defaults filled in */
    int divided;                 /* number of ranks that share the device's threads */
    int64_t *column_starts;      /* ranks + 1: begin of each rank's rows of B */
    int64_t rows, nnz, nnz_most; /* of the whole S; nnz_most: largest of all ranks */

    /* lists made by exchange/lists.c */
    int64_t *needed, *asked; /* by rank: rows that this rank needs from it, and rows that it asks for */
    int64_t *asked_rows;     /* their numbers */
} tamis_group_making;

/* Allocates `bytes` bytes and constructs a plan, a gradient or rows in them with `make`; after an error calls
   `destroy`. If a rank cannot even begin, all ranks return its error. */
tamis_status tamis_group_make(tamis_group_making *m, size_t bytes, tamis_status (*make)(void *, tamis_group_making *),
                              void (*destroy)(void *), void **result);

/* Checks the arguments and compares those that must be equal on all ranks. */
tamis_status tamis_group_agree(tamis_group_making *m);

#endif
