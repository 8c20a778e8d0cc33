/*
 * A fit on a group. Each rank has some consecutive rows of the data, and their factors; and some consecutive columns,
 * with all their entries, and their factors. Half an iteration computes a rank's own rows (or columns) from the factors
 * of the columns (rows) that their entries name, which are fetched from the ranks that have them. Everything else that
 * ranks need of each other is a sum.
 *
 *   fit_group.c     tamis_model_fit_group, and what ranks must agree on
 *   group_columns.c  the entries by columns
 *   group_sample.c   the rows that a choice is made by
 *   group_factors.c  factors of all ranks together, for the file and in the end
 *   group.c          what a method calls, which on one device does what one device does
 */
#ifndef TAMIS_ML_GROUP_H
#define TAMIS_ML_GROUP_H

#include "group/collective.h"
#include "ml/fit/place.h"

/* What a rank knows during a fit on a group: model->rank. */
typedef struct ml_rank {
    tamis_group *group;
    int number, ranks;
    int64_t *row_starts, *column_starts; /* ranks + 1: rank r has those from number starts[r] on */
    void *offsets, *rows, *values;       /* of by_columns */
    tamis_sparse by_columns;             /* CSR: this rank's columns, each with the numbers of all its rows */
    uint64_t generation;                 /* of the factors: another number after each half of an iteration */
} ml_rank;

/* How many of the data's columns have their factors on this rank, and the number of the first. */
int64_t ml_own_columns(const tamis_model *model, const tamis_sparse *data);
int64_t ml_first_column(const tamis_model *model);

/* Places one half of `data`, or of its transpose, as ml_sparse_place does; and in a group makes the list of what its
   entries need of the others. The columns of placed->view then are numbers of rows of what ml_gather gives. */
tamis_status ml_half_place(const tamis_model *model, const tamis_sparse *data, bool transpose, ml_sparse *placed);

/* Gathers the factors that the half's entries name: Y itself, or in a group its rows and those of other ranks, which
   stay until the next call for this half. */
tamis_status ml_gather(const tamis_model *model, const ml_sparse *half, const tamis_dense *Y, tamis_dense *all);

/* Notes that factors have changed: what was fetched is of no use. */
void ml_changed(tamis_model *model);

/* Adds up the numbers of all ranks; on one device they stay as they are. */
tamis_status ml_add_ranks(const tamis_model *model, double *numbers, int64_t count);

/* Exchanges host memory, this rank's own part too, which a transport leaves where it is. */
tamis_status ml_exchange(const ml_rank *rank, const tamis_transfer *transfer);

/* Computes G = Y^T Y + diagonal from the Y of all ranks. */
tamis_status ml_gram(const tamis_model *model, const tamis_dense *Y, double diagonal, const tamis_dense *G);

/* Returns the threads of a plan: options.threads, or this rank's share of a device that several ranks use; 0: all. */
int ml_threads(const tamis_model *model);

/* Stops the fit on all ranks if it was stopped on one: between iterations. */
tamis_status ml_group_stop(tamis_model *model);

#endif
