/* Estimates of distributed algorithms for one plan. */
#ifndef TAMIS_GROUP_SCHEMES_H
#define TAMIS_GROUP_SCHEMES_H

#include "group/plan.h"

/* Fills plan->schemes from the report. */
void tamis_group_price_schemes(tamis_group_plan *plan);

#endif
