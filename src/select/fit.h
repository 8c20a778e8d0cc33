/* Fits the rates of predictions to timings. */
#ifndef TAMIS_SELECT_FIT_H
#define TAMIS_SELECT_FIT_H

#include "select/timings.h"

/* How well predictions choose: the time of the algorithm that they take over the time of the fastest. Sums over cases
   with two or more algorithms. */
typedef struct tamis_regret {
    int64_t cases, near; /* near: within 1.10 */
    double logs, most;   /* logs: sum of the logarithms */
    double squares;      /* of log(predicted / measured), over all timings */
    int64_t timings;
    int64_t led[TAMIS_LEADS], led_near[TAMIS_LEADS]; /* cases and near ones by how far the second best is behind */
} tamis_regret;

/* Changes `rates` until the predictions of the list's cases fit their timings; cases that are held back do not count.
 *fitted: the number of rates that these timings depend on. */
tamis_status tamis_rates_fit(tamis_timing_list *list, double *rates, int *fitted);

/* Judges rates by all cases. */
tamis_regret tamis_rates_judge(tamis_timing_list *list, const double *rates);

/* Judges the fit by cross-validation: each third of the patterns by rates that were fitted to the others. */
tamis_status tamis_rates_cross(tamis_timing_list *list, const double *rates, tamis_regret *regret);

/* Notes in the rates how sure choices by them are: the shares of a regret, which cross-validation found. */
void tamis_rates_note(const tamis_rate_table *table, const tamis_regret *regret, double *rates);

#endif
