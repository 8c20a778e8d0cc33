/* The oracle's own formulas of the edges, their derivatives and error bounds. They share nothing with those of
   base/edge_rows.h, which they check. */
#ifndef TAMIS_REFERENCE_EDGES_H
#define TAMIS_REFERENCE_EDGES_H

#include <tamis/tamis.h>

/* An edge at one nonzero. For softmax p is the score, whose row is not normalised yet; the rest is not set, except
   `largest`. */
typedef struct tamis_edge_point {
    double p, by_x, by_s; /* the value and its derivatives */
    double bound;         /* e_ij of oracle.c; infinite where nothing bounds it */
    double largest; /* the largest number that the evaluation passes through: beyond the arithmetic's it overflows */
} tamis_edge_point;

/* x is known within d. s is 1 where S has no values, and 0 there for softmax. */
tamis_edge_point tamis_edge_at(const tamis_options *options, double s, double x, double d);

#endif
