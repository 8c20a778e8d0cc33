#include "measured_case.h"

#include "select/remembered.h"

const char *device_name = "cpu";
tamis_device *test_device;
char cache_folder[40];
static tamis_random dice;

problem_options usual(void) {
    return (problem_options){
        .rows = 300, .cols = 250, .nnz = 3000, .inner = 24, .width = 16, .batch = 1, .sorted = true};
}

problem make_problem(problem_options o) { return problem_make(&o, &dice); }

tamis_options options_of(tamis_operation operation, const problem *p) {
    static const tamis_options initial = TAMIS_OPTIONS_INIT;
    tamis_options o = problem_call(p, operation, &initial);
    o.expected_calls = 1000;
    o.threads = 1;
    o.effort = TAMIS_EFFORT_MEASURE;
    return o;
}

tamis_plan *make_plan(const tamis_sparse *S, const tamis_options *o, tamis_plan_report *report) {
    tamis_plan *plan = NULL;
    works(tamis_plan_create(test_device, S, o, &plan));
    works(tamis_plan_describe(plan, report));
    return plan;
}

tamis_chosen_by chosen_by(const tamis_sparse *S, const tamis_options *o) {
    tamis_plan_report report;
    tamis_plan_destroy(make_plan(S, o, &report));
    return report.chosen_by;
}

int64_t plans_kept(void) {
    tamis_cache_description cache;
    works(tamis_cache_describe(&cache));
    return cache.plans;
}

int forget(void **state) {
    tamis_remembered_clear();
    return 0;
}

static char *explain(const tamis_plan *plan) {
    size_t bytes = 0;
    works(tamis_plan_explain(plan, NULL, 0, &bytes));
    char *const text = malloc(bytes);
    assert_non_null(text);
    works(tamis_plan_explain(plan, text, bytes, NULL));
    return text;
}

void assert_explains(const tamis_plan *plan, const char *words) {
    OWN(char) *const text = explain(plan);
    if (!strstr(text, words)) fail_msg("no \"%s\" in\n%s", words, text);
}

int measured_set_up(void **state) {
    snprintf(cache_folder, sizeof cache_folder, "/tmp/tamis-measured-XXXXXX");
    if (!mkdtemp(cache_folder)) return 1;
    setenv("XDG_CACHE_HOME", cache_folder, 1);
    unsetenv("TAMIS_CACHE_BYTES");
    setenv("TAMIS_LOAD", "0", 1); /* other tests run beside this one */
    dice = tamis_random_start(test_seed(), 0);
    return tamis_device_open(device_name, &test_device) != TAMIS_OK;
}

int measured_tear_down(void **state) {
    char command[64];
    tamis_device_close(test_device);
    snprintf(command, sizeof command, "rm -r %s", cache_folder);
    return system(command) != 0 || tamis_memory_live() != 0;
}
