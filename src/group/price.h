/* What exchanges and pieces of a plan cost. */
#ifndef TAMIS_GROUP_PRICE_H
#define TAMIS_GROUP_PRICE_H

#include "group/plan.h"

/* Whether a rank computes its own part while rows are on their way. */
bool tamis_group_overlaps(const tamis_group_plan *plan);

/* Whether it does that by an interior of its rows, and which: where that has at least half of the nonzeros, and what it
   saves is more than two more kernels. */
bool tamis_group_has_interior(const tamis_group_plan *plan, tamis_interior *interior);

/* What a rank is predicted to take, in seconds; 0: not known. */
typedef struct tamis_group_price {
    double local, exchange, replicated, together;
    double alone; /* local, with the threads that one rank alone has */
} tamis_group_price;
tamis_group_price tamis_group_price_of(const tamis_group_plan *plan);

/* Seconds to receive so many rows of B and D, and so many partial sums of rows; 0: not known. */
double tamis_group_seconds_of_rows(const tamis_row_exchange *e, int64_t rows, int64_t sums);

#endif
