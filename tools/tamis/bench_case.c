/* One case of the benchmark: makes the plans, checks each result once, measures all in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "exit.h"
#include "gather.h"
#include "progress.h"

typedef struct runner {
    const tool_problem *problem;
    tamis_plan *plan; /* NULL: the gather */
    int threads;
} runner;

static tamis_status execute(void *context) {
    const runner *run = context;
    if (run->plan) return tool_problem_execute(run->problem, run->plan);
    tool_gather(run->problem, run->threads);
    return TAMIS_OK;
}

/* The contestants under way. */
typedef struct field {
    int count;
    runner run[TOOL_BENCH_CONTESTANTS];
    tool_contestant contestant[TOOL_BENCH_CONTESTANTS];
} field;

/* Whether a plan of that algorithm stands already: `auto` may have chosen what is also named. */
static bool already_there(const tool_bench_results *results, const char *algorithm) {
    for (int i = 0; i < results->count; i++) {
        if (strcmp(results->at[i].algorithm, algorithm) == 0) return true;
    }
    return false;
}

/* The same decline comes with every width and thread count: it is said once a matrix. */
static void warn_once(const char *matrix, const char *message) {
    static char last[512];
    char text[512];
    snprintf(text, sizeof text, "%s: %s", matrix, message);
    if (strcmp(text, last) == 0) return;
    memcpy(last, text, sizeof last);
    tool_warning("%s", text);
}

/* Adds a contestant by name (NULL: auto). A decline is reported when the algorithm was asked for by name. */
static int add(const tool_bench_case *one, const char *name, bool asked, bool baseline, field *all,
               tool_bench_results *results) {
    if (results->count == TOOL_BENCH_CONTESTANTS) return 0;
    if (name && already_there(results, name)) {
        for (int i = 0; i < results->count; i++) {
            if (strcmp(results->at[i].algorithm, name) == 0) results->at[i].baseline |= baseline;
        }
        return 0;
    }
    tamis_plan_options options = tool_problem_plan_options(&one->problem);
    options.threads = one->threads;
    options.expected_calls = one->settings->calls;
    options.algorithm = name;
    options.parameters = name && !baseline ? one->settings->parameters : NULL;
    runner *run = &all->run[results->count];
    *run = (runner){.problem = &one->problem, .threads = one->threads};
    const tamis_status status = tamis_plan_create(one->device->device, &one->problem.S, &options, &run->plan);
    if (status == TAMIS_ERROR_UNSUPPORTED && name) {
        if (asked) warn_once(one->source->name, tamis_last_error());
        return 0;
    }
    if (status != TAMIS_OK) return tool_library_error(status, name ? name : "auto");
    tamis_plan_report report;
    if (tamis_plan_describe(run->plan, &report) != TAMIS_OK) return tool_library_error(TAMIS_ERROR_INTERNAL, name);
    results->at[results->count] = (tool_bench_result){.algorithm = report.algorithm,
                                                      .automatic = !name,
                                                      .baseline = baseline,
                                                      .threads = report.threads,
                                                      .setup = report.setup_seconds,
                                                      .check = report.check_seconds,
                                                      .predicted = report.predicted_seconds};
    all->contestant[results->count] = (tool_contestant){.name = report.algorithm, .execute = execute, .context = run};
    results->count++;
    all->count = results->count;
    return 0;
}

/* All algorithms of the device that serve the operation, baselines left out. */
static int add_all(const tool_bench_case *one, field *all, tool_bench_results *results) {
    int code = 0;
    for (int i = 0; i < tamis_algorithm_count() && code == 0; i++) {
        tamis_algorithm_description algorithm;
        if (tamis_algorithm_at(i, &algorithm) != TAMIS_OK || algorithm.baseline) continue;
        if (!(algorithm.operations & (1u << one->problem.operation))) continue;
        const size_t length = strlen(algorithm.device);
        if (strncmp(one->device->description.name, algorithm.device, length) != 0) continue;
        code = add(one, algorithm.name, false, false, all, results);
    }
    return code;
}

static int add_contestants(const tool_bench_case *one, field *all, tool_bench_results *results) {
    const tool_bench_settings *settings = one->settings;
    int code = 0;
    for (int i = 0; i < settings->algorithms.count && code == 0; i++) {
        const int choice = settings->algorithms.at[i];
        if (choice == 0) {
            code = add(one, NULL, true, false, all, results);
        } else if (choice == 1) {
            code = add_all(one, all, results);
        } else {
            code = add(one, tool_algorithms.name(choice), true, false, all, results);
        }
    }
    if (code == 0 && settings->baseline_name) code = add(one, settings->baseline_name, true, true, all, results);
    return code;
}

/* Runs each once over an output of NaN, which beta = 0 must not read, and compares. */
static int check_all(const tool_bench_case *one, field *all, tool_bench_results *results) {
    const tamis_dense *output = &one->problem.output;
    const int64_t lines = output->layout == TAMIS_ROW_MAJOR ? output->rows : output->cols;
    const size_t bytes = (size_t)lines * (size_t)output->stride * tamis_type_size(output->type);
    for (int i = 0; i < results->count && !tool_interrupted(); i++) {
        tool_problem once = one->problem;
        once.beta = 0;
        memset(output->data, 0xff, bytes);
        const tamis_status status = tool_problem_execute(&once, all->run[i].plan);
        if (status != TAMIS_OK) return tool_library_error(status, results->at[i].algorithm);
        results->at[i].compared = true;
        results->at[i].comparison = tool_oracle_compare(one->oracle, output, once.alpha, 0, NULL);
    }
    memset(output->data, 0, bytes);
    return 0;
}

static int measure_all(const tool_bench_case *one, field *all, tool_bench_results *results) {
    const tool_bench_settings *settings = one->settings;
    int64_t cache = one->device->description.cache_l3;
    if (cache <= 0) cache = (int64_t)64 << 20;
    const tool_measure_options options = {.repeat = settings->repeat,
                                          .seconds = settings->seconds,
                                          .flush_bytes = settings->cold ? cache : 0,
                                          .threads = one->threads};
    results->interrupted = !tool_measure(all->contestant, all->count, &options);
    if (results->interrupted) return 0;
    int fastest = -1;
    for (int i = 0; i < all->count; i++) {
        if (all->contestant[i].status != TAMIS_OK) {
            return tool_library_error(all->contestant[i].status, all->contestant[i].name);
        }
        tool_bench_result *result = &results->at[i];
        result->time = tool_samples_summary(&all->contestant[i].samples);
        if (result->baseline) results->baseline = result->time.median;
        if (result->gather) {
            results->gather = result->time.median;
        } else if (fastest < 0 || result->time.median < results->at[fastest].time.median) {
            fastest = i;
        }
    }
    if (fastest >= 0) results->at[fastest].fastest = true;
    return 0;
}

int tool_bench_measure(const tool_bench_case *one, tool_bench_results *results) {
    *results = (tool_bench_results){
        .flops = tool_problem_flops(&one->problem),
        .bytes = tool_problem_bytes(&one->problem, &one->touched),
        .floor = tool_problem_floor(&one->problem, &one->touched, &one->device->ceilings, one->threads)};
    field *all = tool_allocate(1, sizeof *all);
    int code = add_contestants(one, all, results);
    if (code == 0 && one->oracle) code = check_all(one, all, results);
    if (code == 0 && one->settings->gather && results->count > 0 && results->count < TOOL_BENCH_CONTESTANTS) {
        const int i = results->count++;
        results->at[i] =
            (tool_bench_result){.algorithm = "gather", .gather = true, .threads = tool_gather_threads(one->threads)};
        all->run[i] = (runner){.problem = &one->problem, .threads = one->threads};
        all->contestant[i] = (tool_contestant){.name = "gather", .execute = execute, .context = &all->run[i]};
        all->count = results->count;
    }
    if (code == 0 && !tool_interrupted() && all->count > 0) code = measure_all(one, all, results);
    if (tool_interrupted()) results->interrupted = true;
    for (int i = 0; i < TOOL_BENCH_CONTESTANTS; i++) {
        tamis_plan_destroy(all->run[i].plan);
        tool_samples_free(&all->contestant[i].samples);
    }
    free(all);
    return code;
}
