/* Plans that are measured, for tests of what is measured and of what is remembered: a device, and a folder of this
   process alone for the tuning cache. */
#ifndef TAMIS_TESTS_MEASURED_CASE_H
#define TAMIS_TESTS_MEASURED_CASE_H

#include "support/test.h"

#include <tamis/cache.h>

#include "support/problem.h"

extern const char *device_name; /* the CPU's unless a test says otherwise before it sets up */
extern tamis_device *test_device;
extern char cache_folder[40];

int measured_set_up(void **state);
int measured_tear_down(void **state);
int forget(void **state); /* plans, before a test */

problem_options usual(void);
problem make_problem(problem_options o);
tamis_options options_of(tamis_operation operation, const problem *p);

tamis_plan *make_plan(const tamis_sparse *S, const tamis_options *o, tamis_plan_report *report);
tamis_chosen_by chosen_by(const tamis_sparse *S, const tamis_options *o); /* what decided on such a plan */
int64_t plans_kept(void);
void assert_explains(const tamis_plan *plan, const char *words);

#endif
