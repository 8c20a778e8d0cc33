/* One case of the benchmark: makes the plans, checks each result once, and measures all in turns. */
#include <tamis/algorithms.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/clock_speed.h"
#include "bench/gather.h"
#include "bench/peers.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/spoil.h"

typedef struct runner {
    const tool_problem *problem; /* on the device */
    tamis_plan *plan;            /* or */
    tool_peer *peer;             /* or neither: the gather */
    int threads;
} runner;

static tamis_status execute(void *context) {
    const runner *run = context;
    if (run->plan) return tool_problem_execute(run->problem, run->plan);
    if (run->peer) return run->peer->kind->execute(run->peer, run->problem->beta);
    tool_gather(run->problem, run->threads);
    return TAMIS_OK;
}

static tamis_status timed(void *context, int count, double *seconds) {
    const runner *run = context;
    return run->peer->kind->timed(run->peer, run->problem->beta, count, seconds);
}

/* The contestants of the current case. */
typedef struct field {
    int count;
    tool_mirror mirror;
    runner run[TOOL_BENCH_CONTESTANTS];
    tool_contestant contestant[TOOL_BENCH_CONTESTANTS];
} field;

/* Finds the contestant with that name and parameters, since `auto` may have chosen one that is also named. */
static tool_bench_result *find(tool_bench_results *results, const char *name, const char *parameters) {
    for (int i = 0; i < results->count; i++) {
        const tool_bench_result *result = &results->at[i];
        if (strcmp(result->algorithm, name) == 0 && strcmp(result->parameters, parameters) == 0) return &results->at[i];
    }
    return NULL;
}

static void enter(field *all, tool_bench_results *results, const runner *run, const tool_bench_result *result) {
    const int i = results->count++;
    all->run[i] = *run;
    all->contestant[i] = (tool_contestant){.name = result->algorithm, .execute = execute, .context = &all->run[i]};
    if (run->peer && run->peer->kind->timed) all->contestant[i].timed = timed;
    results->at[i] = *result;
    all->count = results->count;
}

/* Reports a decline once per matrix, since it recurs with every width and number of threads. */
static void __attribute__((format(printf, 2, 3))) warn_once(const tool_bench_case *one, const char *format, ...) {
    enum { KEPT = 32 };
    static char kept[KEPT][512];
    static int next = 0;
    char text[sizeof kept[0]];
    va_list arguments;
    const int used = snprintf(text, sizeof text, "%s: ", one->source->name);
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    for (int i = 0; i < KEPT; i++)
        if (strcmp(text, kept[i]) == 0) return;
    memcpy(kept[next], text, sizeof text);
    next = (next + 1) % KEPT;
    tool_warning("%s", text);
}

static tamis_options planning(const tool_bench_case *one, const char *name, const char *parameters) {
    tamis_options options = tool_problem_options(&one->problem);
    options.threads = one->threads;
    options.expected_calls = one->settings->calls;
    options.parameters = *parameters ? parameters : NULL;
    options.effort = (tamis_effort)one->settings->effort;
    tool_device_plan_with(one->device, name, &options);
    return options;
}

/* Adds a contestant by name (NULL: auto). A decline is reported if the algorithm was requested by name. */
static int add(const tool_bench_case *one, const char *name, const char *parameters, bool asked, bool baseline,
               field *all, tool_bench_results *results) {
    if (results->count == TOOL_BENCH_CONTESTANTS) return 0;
    tool_bench_result *known = name ? find(results, name, parameters) : NULL;
    if (known) known->baseline |= baseline;
    if (known) return 0;
    const tamis_options options = planning(one, name, parameters);
    runner run = {.problem = &all->mirror.problem, .threads = one->threads};
    tamis_algorithm_description algorithm;
    const bool there = !name || tool_device_algorithm(one->device, name, &algorithm);
    const double start = tool_seconds();
    const tamis_status status = tamis_plan_create(one->device->device, &all->mirror.problem.S, &options, &run.plan);
    const double seconds = tool_seconds() - start;
    if (status == TAMIS_ERROR_UNSUPPORTED && name) {
        if (asked) warn_once(one, "%s", tamis_last_error());
        return 0;
    }
    if (status == TAMIS_ERROR_ARGUMENT && !there) {
        warn_once(one, "%s has no algorithm %s", one->device->description.name, name);
        return 0;
    }
    if (status != TAMIS_OK) return tool_library_error(status, name ? name : "auto");
    tamis_plan_report report;
    if (tamis_plan_describe(run.plan, &report) != TAMIS_OK) return tool_library_error(TAMIS_ERROR_INTERNAL, name);
    tool_bench_result result = {.algorithm = report.algorithm,
                                .automatic = !name,
                                .chosen_by = tamis_chosen_by_name(report.chosen_by),
                                .baseline = baseline,
                                .threads = report.threads,
                                .setup = report.setup_seconds,
                                .check = report.check_seconds,
                                .predicted = report.predicted_seconds,
                                .initial = all->mirror.seconds + seconds};
    snprintf(result.parameters, sizeof result.parameters, "%s", parameters);
    enter(all, results, &run, &result);
    return 0;
}

/* Adds another library as a contestant, or reports that it does not support the case. */
static void add_peer(const tool_bench_case *one, const tool_peer_kind *kind, bool baseline, field *all,
                     tool_bench_results *results) {
    char why[256] = "";
    if (results->count == TOOL_BENCH_CONTESTANTS) return;
    tool_bench_result *known = find(results, kind->name, "");
    if (known) known->baseline |= baseline;
    if (known) return;
    tool_peer *peer = NULL;
    if (tool_problem_batch(&one->problem) > 1) {
        snprintf(why, sizeof why, "peers are not measured on batches");
    } else if (tool_peer_serves(kind, one->device, why, sizeof why)) {
        peer = tool_peer_make(kind, &all->mirror, &one->problem, one->threads, why, sizeof why);
    }
    if (!peer && *why) warn_once(one, "%s declines: %s", kind->name, why);
    if (!peer) return;
    const runner run = {.problem = &all->mirror.problem, .peer = peer, .threads = 1};
    tool_bench_result result = {.algorithm = kind->name,
                                .baseline = baseline,
                                .peer = true,
                                .threads = one->device->gpu ? 1 : peer->threads,
                                .setup = peer->setup,
                                .initial = all->mirror.seconds + peer->setup};
    memcpy(result.variant, peer->variant, sizeof result.variant);
    enter(all, results, &run, &result);
}

/* Adds all algorithms of the device that serve the operation, except baselines. */
static int add_all(const tool_bench_case *one, field *all, tool_bench_results *results) {
    int code = 0;
    for (int i = 0; i < tamis_algorithm_count() && code == 0; i++) {
        tamis_algorithm_description algorithm;
        if (tamis_algorithm_at(i, &algorithm) != TAMIS_OK || algorithm.baseline) continue;
        if (!(algorithm.operations & (1u << one->problem.operation))) continue;
        if (!tool_device_serves(one->device, &algorithm)) continue;
        code = add(one, algorithm.name, "", false, false, all, results);
    }
    return code;
}

int tool_bench_take_variant(const char **list, const char **name, char *parameters, size_t bytes) {
    const char *at = *list;
    const size_t length = strcspn(at, ","), name_length = strcspn(at, ":,");
    const int choice = tool_choices_find(&tool_algorithms_one, at, name_length);
    if (choice < 1 || name_length + 1 >= length || length - name_length > bytes) {
        (void)tool_usage_error("--variants: '%.*s' is not NAME:P=V with an algorithm's name", (int)length, at);
        return TOOL_USAGE;
    }
    *name = tool_choice_name(&tool_algorithms_one, choice);
    memcpy(parameters, at + name_length + 1, length - name_length - 1);
    parameters[length - name_length - 1] = 0;
    for (char *colon = parameters; (colon = strchr(colon, ':'));) *colon = ',';
    *list = at + length + (at[length] == ',');
    return 0;
}

static int add_variants(const tool_bench_case *one, field *all, tool_bench_results *results) {
    int code = 0;
    for (const char *list = one->settings->variants, *name = NULL; list && *list && code == 0;) {
        char parameters[sizeof results->at->parameters];
        code = tool_bench_take_variant(&list, &name, parameters, sizeof parameters);
        if (code == 0) code = add(one, name, parameters, true, false, all, results);
    }
    return code;
}

static int add_contestants(const tool_bench_case *one, field *all, tool_bench_results *results) {
    const tool_bench_settings *settings = one->settings;
    const char *parameters = settings->parameters ? settings->parameters : "";
    int code = 0;
    for (int i = 0; i < settings->algorithms.count && code == 0; i++) {
        const int choice = settings->algorithms.at[i];
        if (choice == 0) {
            code = add(one, NULL, "", true, false, all, results);
        } else if (choice == 1) {
            code = add_all(one, all, results);
        } else {
            code = add(one, tool_choice_name(&tool_algorithms, choice), parameters, true, false, all, results);
        }
    }
    if (code == 0) code = add_variants(one, all, results);
    for (int i = 0; i < settings->peers.count && code == 0; i++)
        add_peer(one, tool_peer_find(tool_choice_name(&tool_peer_names, settings->peers.at[i])), false, all, results);
    const char *baseline = settings->baseline_name;
    if (code == 0 && baseline && tool_peer_find(baseline)) {
        add_peer(one, tool_peer_find(baseline), true, all, results);
    } else if (code == 0 && baseline) {
        code = add(one, baseline, "", true, true, all, results);
    }
    return code;
}

/* Executes once over an output of NaN, which beta = 0 must not read, and fetches the result. */
static tamis_status execute_checked(const tool_bench_case *one, const field *all, const runner *run,
                                    const tamis_oracle *oracle) {
    tool_problem once = all->mirror.problem;
    once.beta = 0;
    TOOL_TRY(tool_mirror_put(&all->mirror));
    if (run->plan)
        TOOL_TRY(tool_problem_execute(&once, run->plan));
    else
        TOOL_TRY(run->peer->kind->execute(run->peer, 0));
    if (run->peer && run->peer->kind->fetch) return run->peer->kind->fetch(run->peer, &one->problem, oracle);
    return tool_mirror_fetch(&all->mirror);
}

static void warn_not_finite(const tool_bench_case *one, const tamis_comparison *comparison) {
    const tool_problem *problem = &one->problem;
    const long long not_finite = comparison->not_finite, all = not_finite + comparison->compared;
    warn_once(one, "%s in %s: %lld of %lld elements are not finite%s", tamis_operation_name(problem->operation),
              tamis_type_name(problem->type), not_finite, all,
              comparison->compared > 0 ? "" : ": there is nothing to compare");
}

/* Keeps the worse of two comparisons. */
static void keep_comparison(const tool_bench_case *one, const tamis_comparison *comparison, bool again,
                            tool_bench_result *result) {
    if (again && comparison->passed) return;
    result->late = again && result->comparison.passed;
    result->comparison = *comparison;
    result->comparison.share /= (double)tool_problem_batch(&one->problem); /* one member of a batch is compared */
    result->compared = comparison->compared > 0 || comparison->not_finite == 0 || !comparison->passed;
    if (comparison->not_finite > 0) warn_not_finite(one, comparison);
}

/* Checks each result before any is timed. With `again`, checks the plans' results once more afterwards: if a plan
   failed in between, its times are worthless. */
static int check_all(const tool_bench_case *one, const field *all, bool again, tool_bench_results *results) {
    const tamis_dense *output = &one->problem.output;
    const int64_t batch = tool_problem_batch(&one->problem);
    const tool_problem last = tool_problem_member(&one->problem, tool_bench_member(&one->problem));
    const int64_t lines = batch * (output->layout == TAMIS_ROW_MAJOR ? output->rows : output->cols);
    const size_t bytes = (size_t)lines * (size_t)output->stride * tamis_type_size(output->type);
    for (int i = 0; i < results->count && !tool_interrupted(); i++) {
        const runner *run = &all->run[i];
        if (!run->plan && (!run->peer || again)) continue; /* the gather has no result */
        const tamis_oracle *oracle = run->plan || run->peer->edge ? one->oracle : one->masked;
        if (!oracle) continue;
        memset(output->data, 0xff, bytes);
        tamis_comparison comparison;
        tamis_status status = execute_checked(one, all, run, oracle);
        if (status == TAMIS_OK) tool_spoil(&last.output, NULL);
        if (status == TAMIS_OK)
            status = tamis_oracle_compare(oracle, &last.output, one->problem.alpha, 0, NULL, &comparison);
        if (status != TAMIS_OK) return tool_library_error(status, results->at[i].algorithm);
        keep_comparison(one, &comparison, again, &results->at[i]);
    }
    memset(output->data, 0, bytes);
    const tamis_status status = tool_mirror_put(&all->mirror); /* with beta != 0, NaN would stay in the output */
    return tool_library_error(status, one->source->name);
}

static int measure_all(const tool_bench_case *one, field *all, tool_bench_results *results) {
    const tool_bench_settings *settings = one->settings;
    const tool_measure_options options = {.repeat = settings->repeat,
                                          .seconds = settings->seconds,
                                          .device = one->device,
                                          .flush = one->flush,
                                          .threads = one->threads};
    results->interrupted = !tool_measure(all->contestant, all->count, &options, &results->load);
    if (results->interrupted) return 0;
    results->clock = tool_clock_mhz(one->device);
    int fastest = -1;
    for (int i = 0; i < all->count; i++) {
        if (all->contestant[i].status != TAMIS_OK)
            return tool_library_error(all->contestant[i].status, all->contestant[i].name);
        tool_bench_result *result = &results->at[i];
        result->time = tool_samples_summary(&all->contestant[i].samples);
        result->median = tool_samples_interval(&all->contestant[i].turns);
        if (result->baseline) {
            results->baseline = result->time.median;
            results->versus = result->median;
        }
        if (result->gather) {
            results->gather = result->time.median;
        } else if (fastest < 0 || result->time.median < results->at[fastest].time.median) {
            fastest = i;
        }
    }
    if (fastest >= 0) results->at[fastest].fastest = true;
    return 0;
}

/* Adds the times of the plans to the timings; what was given parameters is no timing of the algorithm as it is. */
static int add_timings(const tool_bench_case *one, const field *all, const tool_bench_results *results) {
    tool_timings *const timings = one->timings;
    if (!timings || results->interrupted) return 0;
    timings->disturbed += results->load.disturbed;
    if (results->load.disturbed) return 0;
    for (int i = 0; i < all->count; i++) {
        const tool_bench_result *const result = &results->at[i];
        if (!all->run[i].plan || result->parameters[0] || result->time.median <= 0) continue;
        const tamis_status status = tamis_timings_add(timings->list, one->label, all->run[i].plan, result->time.median);
        if (status != TAMIS_OK) return tool_library_error(status, one->label);
    }
    const bool added = tamis_timings_has(timings->list, one->label);
    timings->measured += added;
    timings->added += added;
    return 0;
}

/* Fetches each result once more, as a user would, and frees the plans; each plan has its own share of the time. */
static void clean_up(field *all, tool_bench_results *results) {
    for (int i = 0; i < all->count; i++) {
        runner *run = &all->run[i];
        const double start = tool_seconds();
        const bool fetched = run->plan || (run->peer && !run->peer->kind->fetch);
        if (fetched && !tool_interrupted()) (void)tool_mirror_fetch(&all->mirror);
        tamis_plan_destroy(run->plan);
        tool_peer_free(run->peer);
        results->at[i].cleanup = tool_seconds() - start;
        tool_samples_free(&all->contestant[i].samples);
        tool_samples_free(&all->contestant[i].turns);
    }
    const double start = tool_seconds();
    tool_mirror_free(&all->mirror);
    const double seconds = tool_seconds() - start;
    for (int i = 0; i < all->count; i++) results->at[i].cleanup += seconds;
}

static void add_gather(const tool_bench_case *one, field *all, tool_bench_results *results) {
    if (!one->settings->gather || results->count == 0 || results->count == TOOL_BENCH_CONTESTANTS) return;
    if (one->device->gpu || tool_problem_batch(&one->problem) > 1) {
        warn_once(one, "--gather is only for the CPU and for single matrices");
        return;
    }
    const runner run = {.problem = &one->problem, .threads = one->threads};
    const tool_bench_result result = {
        .algorithm = "gather", .gather = true, .threads = one->threads > 1 ? one->threads : 1};
    enter(all, results, &run, &result);
}

/* Returns true if a result is faster than the ceilings allow. Data in caches may be read faster than from memory. */
static bool beats_ceilings(const tool_bench_case *one, const tool_bench_results *results) {
    const tamis_floor *floor = &results->floor;
    const double from_memory = 4 * (double)(one->device->description.cache_l3 > one->device->description.cache_l2
                                                ? one->device->description.cache_l3
                                                : one->device->description.cache_l2);
    for (int i = 0; i < results->count; i++) {
        const double seconds = results->at[i].time.median;
        if (results->at[i].gather || results->at[i].peer || seconds <= 0) continue;
        if (floor->peak > 0 && floor->flops > 1.05e9 * floor->peak * seconds) return true;
        if (floor->bandwidth > 0 && floor->bytes > from_memory && floor->bytes > 1.05e9 * floor->bandwidth * seconds)
            return true;
    }
    return false;
}

/* Measures the ceilings again, once per run, if a result beats them: then they were measured on a busy machine. */
static void raise_ceilings(const tool_bench_case *one, tool_bench_results *results) {
    static bool raised;
    tamis_ceilings ceilings = tool_device_ceilings(one->device);
    if (raised || !ceilings.measured || !beats_ceilings(one, results)) return;
    raised = true;
    if (tamis_device_probe(one->device->device, &ceilings) != TAMIS_OK) return;
    tool_note("%s: a result beats the ceilings, which have been measured again", one->source->name);
    (void)tool_problem_floor(&one->problem, one->device, one->threads, &results->floor);
}

int tool_bench_measure(const tool_bench_case *one, tool_bench_results *results) {
    field *all = tool_allocate(1, sizeof *all);
    *results = (tool_bench_results){.count = 0};
    tamis_status status = tool_problem_floor(&one->problem, one->device, one->threads, &results->floor);
    if (status == TAMIS_OK) status = tool_mirror_create(one->device, &one->problem, 0, &all->mirror);
    int code = tool_library_error(status, one->source->name);
    if (code == 0) code = add_contestants(one, all, results);
    if (code == 0 && one->oracle) code = check_all(one, all, false, results);
    if (code == 0) add_gather(one, all, results);
    if (code == 0 && !tool_interrupted() && all->count > 0) code = measure_all(one, all, results);
    if (code == 0 && one->oracle && !results->interrupted && all->count > 0) code = check_all(one, all, true, results);
    if (tool_interrupted()) results->interrupted = true;
    if (code == 0 && !results->interrupted) raise_ceilings(one, results);
    if (code == 0) code = add_timings(one, all, results);
    clean_up(all, results);
    free(all);
    return code;
}
