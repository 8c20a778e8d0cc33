/* The inverse of a symmetric positive definite matrix, in double, on a device. */
#ifndef TAMIS_ML_INVERSE_H
#define TAMIS_ML_INVERSE_H

#include "ml/fit/place.h"

/* Columns of a panel; the last one has fewer. */
enum { ML_INVERSE_PANEL = 128 };

typedef struct ml_inverse {
    tamis_model at;      /* the device (its own where the model's has no fp64, or other threads), location and type of
                            its matrices, for place.h */
    int64_t n, panels;   /* the sides, and how many panels they are cut into */
    tamis_dense *upper;  /* of each panel: its columns, from the first row to its diagonal block's last */
    tamis_dense C, R, D; /* of the panel that is swept: see inverse.c */
    tamis_dense G;
    double *host_C, *host_R, *host_D, *host_L, *host_G;
} ml_inverse;

/* Returns the bytes that the inverse of an n x n matrix takes. */
static inline double ml_inverse_bytes(int64_t n) {
    return (4.0 * (double)n + 5.0 * ML_INVERSE_PANEL * 8.0) * (double)n;
}

/* Allocates an inverse of n x n, of the scope. It is computed on the model's device if that has fp64, else on the CPU,
   there with the threads of the options. */
tamis_status ml_inverse_make(const tamis_model *model, int64_t n, ml_inverse *inverse);

static inline int64_t ml_panel_first(int64_t panel) { return panel * ML_INVERSE_PANEL; }
static inline int64_t ml_panel_width(const ml_inverse *inverse, int64_t panel) {
    const int64_t left = inverse->n - ml_panel_first(panel);
    return left < ML_INVERSE_PANEL ? left : ML_INVERSE_PANEL;
}

/* Sets a panel of the matrix from inverse->host_C, rows x the panel's width: rows up to the diagonal block's last
   count. */
tamis_status ml_inverse_put(ml_inverse *inverse, int64_t panel);
/* Does one of `panels` steps, in order; after the last one the matrix is minus its inverse. least: no eigenvalue of the
   matrix is below it. The result does not depend on the number of threads. */
tamis_status ml_inverse_sweep(ml_inverse *inverse, int64_t panel, double least);
/* Writes the columns of a panel, all n rows, into inverse->host_C: n x the panel's width. */
tamis_status ml_inverse_get(ml_inverse *inverse, int64_t panel);
/* Writes the diagonal. */
tamis_status ml_inverse_diagonal(ml_inverse *inverse, double *diagonal);

#endif
