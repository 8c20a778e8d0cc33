/* A call of the oracle. */
#ifndef TAMIS_REFERENCE_REQUEST_H
#define TAMIS_REFERENCE_REQUEST_H

#include <tamis/tamis.h>

#include "reference/edges.h"

typedef struct tamis_request {
    tamis_sparse S;        /* of op(S) as entries: row_of and column_of in place of the format */
    tamis_options options; /* with defaults filled in */
    tamis_execution given;
    int64_t member;     /* of the batch */
    int64_t rows, cols; /* of op(S) */
    int64_t *row_of, *column_of;
} tamis_request;

tamis_status tamis_oracle_read(const tamis_sparse *S, const tamis_options *options, const tamis_execution *execution,
                               tamis_operation operation, tamis_request *r);
void tamis_oracle_release(tamis_request *r);
/* Columns of a matrix, 0 of NULL; where a member's results begin, NULL of NULL. */
int64_t tamis_oracle_cols(const tamis_dense *X);
double *tamis_oracle_member(double *results, int64_t first);
/* out = beta * out, which is not read where beta is 0; nothing of NULL. */
void tamis_oracle_scale_old(const tamis_request *r, double *out, int64_t count);

tamis_status tamis_oracle_check_matrix(const tamis_dense *X, const char *name, int64_t rows, int64_t cols);
tamis_status tamis_oracle_check_output(const double *out, const char *name, int64_t entries);

/* The place of every nonzero in op(S), whatever the format. */
tamis_status tamis_oracle_find_places(tamis_request *r);

double tamis_oracle_dense_at(const tamis_dense *X, int64_t member, int64_t i, int64_t j);
bool tamis_oracle_has_values(const tamis_request *r);
double tamis_oracle_value_at(const tamis_request *r, int64_t t);
double tamis_oracle_dot(const tamis_request *r, const tamis_dense *A, const tamis_dense *B, int64_t i, int64_t j);

/* The edge at nonzero t, of which x is the sample; for softmax the score, before its row is normalised. */
tamis_edge_point tamis_oracle_edge_at(const tamis_request *r, int64_t t, double x);

/* The edge's values of `sampled` products of one member of the batch, in place. */
tamis_status tamis_oracle_apply_edge(const tamis_request *r, double *sampled);

/* sampled[t] for every nonzero of one member of the batch. */
tamis_status tamis_oracle_sample(const tamis_request *r, const tamis_dense *A, const tamis_dense *B, double *sampled);

#endif
