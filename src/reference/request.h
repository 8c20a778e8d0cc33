/* A call of the oracle. */
#ifndef TAMIS_REFERENCE_REQUEST_H
#define TAMIS_REFERENCE_REQUEST_H

#include <tamis/tamis.h>

#include "reference/expression.h"

typedef struct tamis_request {
    tamis_sparse S;
    tamis_options options;
    tamis_execution given;                                 /* with S's values if the execution has none */
    int64_t rows, cols;                                    /* of op(S) */
    int64_t member;                                        /* the member of the batch that is computed */
    const int64_t *numbers;                                /* of the rows, to texts; NULL: their own */
    tamis_edge_text *text;                                 /* of TAMIS_EDGE_TEXT */
    const tamis_edge_operand *named[TAMIS_PROGRAM_ARRAYS]; /* its arrays */
    int64_t *row_of, *column_of;                           /* row and column of each nonzero in op(S) */
    double *x, *p, *dp; /* one number per nonzero, if tamis_oracle_start allocates it */
    double *most, *sum; /* per row, for softmax */
} tamis_request;

/* Checks S and the options, and copies them. */
tamis_status tamis_oracle_read(const tamis_sparse *S, const tamis_options *options, const tamis_execution *execution,
                               tamis_operation operation, tamis_request *r);
/* Finds the places of the nonzeros and allocates the first `arrays` of p, x and dp, all of the scope. If a member has 0
   results, there are no members to compute. */
tamis_status tamis_oracle_start(tamis_request *r, int arrays, int64_t results);

/* The number of columns of a matrix, 0 if X is NULL. */
int64_t tamis_oracle_cols(const tamis_dense *X);
/* results + first, NULL if results is NULL. */
double *tamis_oracle_member(double *results, int64_t first);
/* out = beta * out; it is not read if beta is 0. `out` may be NULL. */
void tamis_oracle_scale_old(const tamis_request *r, double *out, int64_t count);

tamis_status tamis_oracle_check_matrix(const tamis_dense *X, const char *name, int64_t rows, int64_t cols);
/* Checks a matrix that each batch member has. */
tamis_status tamis_oracle_check_operand(const tamis_request *r, const tamis_dense *X, const char *name, int64_t rows,
                                        int64_t cols);
tamis_status tamis_oracle_check_output(const double *out, const char *name, int64_t entries);

double tamis_oracle_dense_at(const tamis_dense *X, int64_t member, int64_t i, int64_t j);
bool tamis_oracle_has_values(const tamis_request *r);
double tamis_oracle_value_at(const tamis_request *r, int64_t t);
double tamis_oracle_dot(const tamis_request *r, const tamis_dense *A, const tamis_dense *B, int64_t i, int64_t j);

/* Where nonzero t is, with what named arrays have there; where array k has it. */
tamis_edge_place tamis_oracle_place(const tamis_request *r, int64_t t);
int64_t tamis_oracle_place_in(const tamis_request *r, int k, int64_t t);

/* The edge at nonzero t with sample x; for softmax the score, before its row is normalised. */
tamis_edge_point tamis_oracle_edge_at(const tamis_request *r, int64_t t, double x);

/* Turns the products in r->p, of one batch member, into the edge's values. */
void tamis_oracle_apply_edge(const tamis_request *r);

/* Sets r->p to the edge's values of the products of A and B. */
void tamis_oracle_sample(const tamis_request *r, const tamis_dense *A, const tamis_dense *B);

#endif
