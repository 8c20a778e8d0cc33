/* Measures one matrix: all operations, types, widths and thread counts on each device. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/peers.h"
#include "cli/exit.h"
#include "cli/progress.h"

static void note(tool_bench_run *run, int code) {
    if (code && (run->worst == 0 || run->worst == TOOL_FAILED)) run->worst = code;
}

/* Makes the oracle of a problem, or of a member of a batch; NULL if that fails. */
static tamis_oracle *make_oracle(tool_bench_run *run, const tool_problem *problem) {
    const double budget = 5e7; /* multiplications: well under a second */
    const tool_problem last = tool_problem_member(problem, tool_bench_member(problem));
    tamis_oracle *oracle = NULL;
    const tamis_status status = tool_problem_oracle(&last, budget, &oracle);
    if (status != TAMIS_OK) note(run, tool_library_error(status, "oracle"));
    return oracle;
}

static bool peers_wanted(const tool_bench_settings *settings) {
    const bool baseline = settings->baseline_name && tool_peer_find(settings->baseline_name);
    return settings->peers.count > 0 || baseline;
}

/* Names the case in the timings, by the sizes first: files may have the same name. */
static void label_case(const tool_bench_run *run, tool_bench_case *one, int threads) {
    const tool_problem *const p = &one->problem;
    one->timings = run->timings;
    snprintf(one->label, sizeof one->label, "%lld x %lld, %lld%s: %s %s %s%s %lld %lld %lld%s %d, %.60s",
             (long long)p->S.rows, (long long)p->S.cols, (long long)p->S.nnz, p->S.values ? "" : " of a pattern",
             tamis_operation_name(p->operation), tool_uses_edge(p->operation) ? tamis_edge_name(p->edge) : "",
             tamis_type_name(p->type), p->math == TAMIS_MATH_TF32 ? " tf32" : "", (long long)p->inner,
             (long long)p->width, (long long)tool_problem_batch(p), p->d_is_b ? " D = B" : "", threads,
             one->matrix->spec);
}

static int threads_of(const tool_bench_case *one, int64_t wanted) {
    return !one->device->gpu && wanted > 0 ? (int)wanted : one->device->description.threads;
}

/* True if the timings have the problem with all numbers of threads. */
static bool is_timed(const tool_bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    const int counts = one->device->gpu ? 1 : settings->threads.count;
    if (!run->timings) return false;
    for (int i = 0; i < counts; i++) {
        label_case(run, one, threads_of(one, settings->threads.at[i]));
        if (!tamis_timings_has(run->timings->list, one->label)) return false;
    }
    run->timings->skipped += counts;
    return true;
}

/* Measures all thread counts of one problem, which share its operands and oracles. A GPU has one count. */
static void bench_threads(tool_bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    const tool_problem *problem = &one->problem;
    const int counts = one->device->gpu ? 1 : settings->threads.count;
    for (int i = 0; i < counts && !tool_interrupted(); i++) {
        one->threads = threads_of(one, settings->threads.at[i]);
        tool_progress((double)run->done / (double)run->cases, "%s %s K = %lld", one->source->name,
                      tamis_operation_name(problem->operation), (long long)problem->inner);
        if (settings->group.devices.count > 0) {
            note(run, tool_bench_group(run, one));
            run->done++;
            continue;
        }
        tool_bench_results results;
        label_case(run, one, one->threads);
        if (one->timings && tamis_timings_has(one->timings->list, one->label)) {
            run->done++;
            continue;
        }
        note(run, tool_bench_measure(one, &results));
        if (results.interrupted) return;
        if (!run->silent) note(run, tool_bench_report_case(run, one, &results));
        run->done++;
    }
    run->done += settings->threads.count - counts;
}

static void bench_problem(tool_bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    tool_operands operands;
    tool_problem *problem = &one->problem;
    problem->d_is_b = settings->share && problem->operation == TAMIS_OP_FUSED && problem->width == problem->inner;
    if (is_timed(run, one)) {
        run->done += settings->threads.count;
        return;
    }
    tamis_status status = tool_operands_random(problem, TAMIS_ROW_MAJOR, 0, 0, (uint64_t)settings->seed, &operands);
    if (status != TAMIS_OK) {
        note(run, tool_library_error(status, one->source->name));
        run->done += settings->threads.count;
        return;
    }
    if (problem->d_is_b) problem->D = problem->B;
    tamis_oracle *const oracle = settings->check ? make_oracle(run, problem) : NULL, *masked = NULL;
    one->oracle = one->masked = oracle;
    if (one->oracle && tool_uses_edge(problem->operation) && problem->edge != TAMIS_EDGE_MASK &&
        peers_wanted(settings)) {
        tool_problem other = *problem;
        other.edge = TAMIS_EDGE_MASK;
        one->masked = masked = make_oracle(run, &other);
    }
    bench_threads(run, one);
    one->oracle = one->masked = NULL;
    tamis_oracle_free(oracle);
    tamis_oracle_free(masked);
    tool_operands_free(&operands);
}

static void bench_operations(tool_bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    for (int o = 0; o < settings->operations.count; o++) {
        const tamis_operation operation = (tamis_operation)settings->operations.at[o];
        const int edges = tool_uses_edge(operation) ? settings->edges.count : 1;
        for (int e = 0; e < edges; e++) {
            for (int k = 0; k < settings->inner.count && !tool_interrupted(); k++) {
                const tamis_edge edge =
                    tool_uses_edge(operation) ? (tamis_edge)settings->edges.at[e] : TAMIS_EDGE_SCALE;
                tool_problem problem =
                    tool_problem_of(operation, edge, one->problem.type, settings->inner.at[k], settings->width);
                problem.math = (tamis_math)settings->math;
                problem.batch = settings->batch;
                if (settings->edge_scale != 0) problem.edge_scale = settings->edge_scale;
                problem.beta = settings->beta;
                problem.S = one->problem.S;
                one->problem = problem;
                bench_problem(run, one);
            }
        }
    }
}

/* Returns the values of S in the type of the case, by the policy of --values; NULL for a pattern. Sets *code on an
   error. */
static void *make_values(const tool_bench_settings *settings, const tamis_sparse *S, tamis_type type, int *code) {
    enum { AS_FILED, NONE, RANDOM };
    if (settings->values == NONE || (settings->values == AS_FILED && !S->values)) return NULL;
    if (settings->values == AS_FILED) return tool_values_convert(S->values, S->value_type, type, S->nnz);
    void *values = tool_allocate((size_t)S->nnz, tamis_type_size(type));
    const tamis_dense view = {.data = values, .rows = S->nnz, .cols = 1, .stride = 1, .type = type};
    const tamis_status status = tamis_fill_uniform(&view, (uint64_t)settings->seed, -1, 1);
    if (status != TAMIS_OK) *code = tool_library_error(status, "values");
    return values;
}

static void bench_types(tool_bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    const tamis_sparse *S = one->source->S;
    for (int t = 0; t < settings->types.count && !tool_interrupted(); t++) {
        one->problem.type = (tamis_type)settings->types.at[t];
        one->problem.S = *S;
        one->problem.S.value_type = one->problem.type;
        int code = 0;
        void *values = make_values(settings, S, one->problem.type, &code);
        one->problem.S.values = values;
        note(run, code);
        if (code == 0) bench_operations(run, one);
        free(values);
    }
}

static void bench_source(tool_bench_run *run, const tool_bench_matrix *matrix, const tool_device *device) {
    tool_bench_case one = {.settings = run->settings, .source = matrix->source, .matrix = matrix, .device = device};
    const int code = run->settings->cold ? tool_flush_create(device, device->description.threads, &one.flush) : TOOL_OK;
    note(run, code);
    if (code == 0) bench_types(run, &one);
    tool_flush_free(one.flush);
}

int64_t tool_bench_cases(const tool_bench_settings *settings) {
    int64_t cases = 0;
    for (int o = 0; o < settings->operations.count; o++)
        cases += tool_uses_edge((tamis_operation)settings->operations.at[o]) ? settings->edges.count : 1;
    return cases * settings->inner.count * settings->types.count * settings->threads.count * settings->devices.count;
}

/* ------------------------------------------------------------------------------------------ matrices */

bool tool_bench_is_place(const tool_device *device, tool_place place) {
    return place == TOOL_ANYWHERE || (place == TOOL_ON_GPU) == device->gpu;
}

void tool_bench_input(tool_bench_run *run, const tool_input *input, const tool_device *devices) {
    const tool_bench_settings *settings = run->settings;
    const int64_t before = run->done;
    const char *baseline = settings->baseline_name;
    tool_bench_matrix *matrix = NULL;
    const int code = tool_bench_open(run, input, &matrix);
    snprintf(run->report.versus, sizeof run->report.versus, "%s%s", baseline ? "x " : "", baseline ? baseline : "");
    note(run, code);
    if (code == 0) {
        matrix->group = input->group;
        if (!run->silent) tool_bench_report_matrix(&run->report, matrix, settings->group.devices.count > 0);
        for (int d = 0; d < settings->devices.count && !tool_interrupted(); d++)
            if (tool_bench_is_place(&devices[d], run->place)) bench_source(run, matrix, &devices[d]);
    }
    if (run->timings) note(run, tool_timings_save(run->timings, false));
    if (!tool_interrupted()) run->done = before + tool_bench_cases(settings);
}
