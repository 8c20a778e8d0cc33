/* Cost model of a plan's exchanges and pieces. */
#ifndef TAMIS_GROUP_PRICE_H
#define TAMIS_GROUP_PRICE_H

#include "group/plan.h"

/* Returns true if overlapping a rank's own part with communication pays. */
bool tamis_group_overlaps(const tamis_group_plan *plan);

/* Returns true, and the interior, if overlapping by an interior of rows pays: it has at least half of the nonzeros, and
   saves more than two more kernels cost. */
bool tamis_group_has_interior(const tamis_group_plan *plan, tamis_interior *interior);

/* Predicted seconds of a rank; 0: not known. */
typedef struct tamis_group_price {
    double local, exchange, replicated, together;
    double alone; /* local, with all of the device's threads */
} tamis_group_price;
tamis_group_price tamis_group_price_of(const tamis_group_plan *plan);

/* Returns the seconds to receive `rows` rows of B and D and `sums` partial sums of rows; 0: not known. */
double tamis_group_seconds_of_rows(const tamis_row_exchange *e, int64_t rows, int64_t sums);

#endif
