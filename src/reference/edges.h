/* The oracle's own formulas of the edges, their derivatives and error bounds. They share nothing with base/edge_rows.h,
   which they check. */
#ifndef TAMIS_REFERENCE_EDGES_H
#define TAMIS_REFERENCE_EDGES_H

#include <tamis/tamis.h>

/* An edge at one nonzero. For softmax p is the score, whose row is not normalised yet, and only `largest` is set
   besides. */
typedef struct tamis_edge_point {
    double p, by_x, by_s; /* the value and its derivatives */
    double bound;         /* e_ij of oracle.c; infinite where nothing bounds it */
    double
        largest; /* the largest intermediate number of the evaluation; it overflows beyond the arithmetic's largest */
} tamis_edge_point;

/* x is known within d. If S has no values, s is 1, or 0 for softmax. */
tamis_edge_point tamis_edge_at(const tamis_options *options, double s, double x, double d);

#endif
