/*
 * A fit on a group. Each rank owns a range of rows of the data with their factors, and a range of columns with all
 * their entries and factors. Half an iteration computes a rank's own rows (columns) from the factors of the columns
 * (rows) in their entries, which are fetched from their owners. All other communication is reductions.
 *
 *   fit_group.c     tamis_model_fit_group, and what ranks must agree on
 *   group_columns.c  the entries by columns
 *   group_factors.c  factors of all ranks together, for the file and in the end
 *   group.c          what a method calls, which on one device does what one device does
 */
#ifndef TAMIS_ML_GROUP_H
#define TAMIS_ML_GROUP_H

#include "group/collective.h"
#include "ml/fit/place.h"

/* State of a rank during a fit on a group: model->rank. */
typedef struct ml_rank {
    tamis_group *group;
    int number, ranks;
    int64_t *row_starts, *column_starts; /* ranks + 1: rank r owns starts[r] to starts[r + 1] */
    void *offsets, *rows, *values;       /* arrays of by_columns */
    tamis_sparse by_columns;             /* CSR: this rank's columns, each with the numbers of all its rows */
    uint64_t generation;                 /* version of the factors: changes after each half of an iteration */
} ml_rank;

/* Return the number of columns whose factors this rank owns, and the first of them. */
int64_t ml_own_columns(const tamis_model *model, const tamis_sparse *data);
int64_t ml_first_column(const tamis_model *model);

/* Places one half of `data`, or of its transpose, as ml_sparse_place does. In a group it also lists the rows that its
   entries need from other ranks; the columns of placed->view then index the rows of ml_gather's result. */
tamis_status ml_half_place(const tamis_model *model, const tamis_sparse *data, bool transpose, ml_sparse *placed);

/* Gathers the factors that the half's entries refer to: Y itself, or in a group its rows and rows fetched from other
   ranks. They are valid until the next call for this half. */
tamis_status ml_gather(const tamis_model *model, const ml_sparse *half, const tamis_dense *Y, tamis_dense *all);

/* Invalidates fetched factors, after factors have changed. */
void ml_changed(tamis_model *model);

/* All-reduce: replaces the numbers by their sums over all ranks. On one device it does nothing. */
tamis_status ml_add_ranks(const tamis_model *model, double *numbers, int64_t count);

/* Exchanges host memory, and copies this rank's own part, which transports leave out. */
tamis_status ml_exchange(const ml_rank *rank, const tamis_transfer *transfer);

/* Computes G = Y^T Y + diagonal from the Y of all ranks. */
tamis_status ml_gram(const tamis_model *model, const tamis_dense *Y, double diagonal, const tamis_dense *G);

/* Returns the threads of a plan: options.threads, or this rank's share of a device that several ranks use; 0: all. */
int ml_threads(const tamis_model *model);

/* Stops the fit on all ranks if it was stopped on one: between iterations. */
tamis_status ml_group_stop(tamis_model *model);

#endif
