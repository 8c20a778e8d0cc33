/* Several devices against the first of them alone: the same rows and clock, in turns, with each result checked. */
#include <math.h>
#include <stdio.h>

#include "bench/bench.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/spoil.h"
#include "cli/text.h"
#include "group/choice.h"

enum { ALONE, GROUP, SIDES, BURST_MOST = 1000 };

/* Length of a sample, long compared with the time of starting and waiting. */
static const double sample_seconds = 0.005;

/* A side of the comparison: one device (with processes, the first one's), or all of them. */
typedef struct side {
    bool alone;
    tool_group_kind kind;
    tool_group group;
    tamis_plan_report local;
    tamis_group_report exchange;
    tamis_comparison comparison;
    tool_samples samples, kept; /* kept: samples without the exchange */
    tool_summary time, kept_time;
    int burst;
} side;

static tamis_options planning_of(const tool_bench_case *one) {
    const tool_bench_settings *settings = one->settings;
    tamis_options planning = tool_problem_options(&one->problem);
    const int algorithm = settings->algorithms.at[0];
    planning.threads = settings->threads.at[0] > 0 ? one->threads : 0;
    planning.expected_calls = settings->calls;
    planning.effort = (tamis_effort)settings->effort;
    planning.overlap = (tamis_overlap)settings->group.overlap;
    planning.exchange = (tamis_exchange)settings->group.exchange;
    planning.parameters = settings->parameters;
    tool_device_plan_with(one->device, algorithm == 0 ? NULL : tool_choice_name(&tool_algorithms, algorithm),
                          &planning);
    return planning;
}

/* Returns true if this process does not take part in this side. */
static bool looks_on(const side *s) { return s->alone && tool_rank_number() > 0; }

/* Makes the plans, and compares a first result. */
static tamis_status prepare(const tool_bench_case *one, side *s) {
    const tool_problem *problem = &one->problem;
    const tamis_options planning = planning_of(one);
    double seconds = 0;
    s->comparison.passed = true; /* unless the first process finds an error */
    if (looks_on(s)) return TAMIS_OK;
    TOOL_TRY(tool_group_open_best(&s->kind, problem, &planning, &s->group));
    TOOL_TRY(tool_group_describe(&s->group, &s->local, &s->exchange));
    TOOL_TRY(tool_group_execute(&s->group, 1, &seconds));
    tool_spoil(&problem->output, NULL);
    tamis_status status = TAMIS_OK;
    if (one->oracle && tool_rank_number() == 0)
        status = tamis_oracle_compare(one->oracle, &problem->output, problem->alpha, 0, NULL, &s->comparison);
    if (status == TAMIS_OK) status = tool_group_time(&s->group, 1, 1, false, &seconds); /* after a warm-up */
    const double burst = seconds > 0 ? ceil(sample_seconds / seconds) : BURST_MOST;
    s->burst = burst < 1 ? 1 : burst > BURST_MOST ? BURST_MOST : (int)burst;
    return status;
}

/* Measures the sides in turns, at least five times, until there are enough samples or the time is over. */
static tamis_status measure(const tool_bench_case *one, side *sides) {
    const double start = tool_seconds();
    tamis_status status = TAMIS_OK;
    for (int64_t i = 0; i < one->settings->repeat && status == TAMIS_OK && !tool_interrupted(); i++) {
        if (i >= 5 && tool_ranks_most(tool_seconds() - start) > one->settings->seconds) break;
        for (int s = 0; s < SIDES && status == TAMIS_OK; s++) {
            double seconds = 0;
            side *const on = &sides[s];
            if (!looks_on(on)) status = tool_group_time(&on->group, 1, on->burst, false, &seconds);
            tool_samples_add(&on->samples, seconds);
            if (status == TAMIS_OK && on->exchange.ghosts > 0) {
                status = tool_group_time(&on->group, 1, on->burst, true, &seconds);
                tool_samples_add(&on->kept, seconds);
            }
            if (on->alone) status = tool_ranks_agree(status); /* the others wait meanwhile */
        }
    }
    for (int s = 0; s < SIDES; s++) {
        sides[s].time = tool_samples_summary(&sides[s].samples);
        sides[s].kept_time = tool_samples_summary(&sides[s].kept);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------ what is said of it */

static bool is_right(const side *sides) { return sides[ALONE].comparison.passed && sides[GROUP].comparison.passed; }

static void print_row(const tool_bench_case *one, const side *sides) {
    const tool_problem *problem = &one->problem;
    const tamis_group_report *exchange = &sides[GROUP].exchange;
    const double alone = sides[ALONE].time.median, group = sides[GROUP].time.median;
    char served[24] = "none";
    if (exchange->ghosts > 0) snprintf(served, sizeof served, "%.1f", (double)exchange->nnz / (double)exchange->ghosts);
    const tool_word one_time = tool_word_seconds(alone), all_time = tool_word_seconds(group);
    printf("  %-16s %5lld %-4s %8s %8s %6.2fx %9s %8s %s %s\n", tool_problem_name(problem).text,
           (long long)problem->inner, tamis_type_name(problem->type), one_time.text, all_time.text,
           group > 0 ? alone / group : 0, tool_word_count(exchange->ghosts).text, served,
           sides[GROUP].group.choice.stays ? "stays on one"
           : exchange->overlaps            ? "yes"
                                           : "no ",
           !one->oracle      ? "not checked"
           : is_right(sides) ? ""
                             : "WRONG");
    fflush(stdout);
}

void tool_bench_group_header(void) {
    printf("  %-16s %5s %-4s %8s %8s %7s %9s %8s %s\n", "operation", "K", "type", "one", "all", "speed-up", "exchanged",
           "per row", "overlap");
}

static double predicted_ms(const side *s) {
    return s->exchange.together_seconds > 0 ? 1e3 * s->exchange.together_seconds : (double)NAN;
}

static int write_line(tool_bench_run *run, const tool_bench_case *one, const side *sides) {
    tool_json *json = tool_lines_begin(&run->report.lines);
    if (!json) return 0;
    const tamis_group_report *exchange = &sides[GROUP].exchange;
    const tool_summary *alone = &sides[ALONE].time, *group = &sides[GROUP].time;
    const tool_summary *kept = &sides[GROUP].kept_time;
    char names[512];
    tool_chosen_text(&tool_devices, &sides[GROUP].kind.devices, names, sizeof names);
    tool_json_put(json, tool_str("record", "scaling"), tool_str("run", run->id));
    tool_json_problem(json, &one->problem, one->source->name);
    tool_json_put(
        json, tool_str("devices", names), TOOL_OF(one->device->description, model),
        tool_str("partition", sides[GROUP].group.order ? "metis" : "rows"), TOOL_OF(*exchange, ranks),
        tool_yes("stays", sides[GROUP].group.choice.stays), tool_str("algorithm", sides[GROUP].local.algorithm),
        tool_str("alone_algorithm", sides[ALONE].local.algorithm), TOOL_OF(*exchange, overlaps),
        tool_ms("alone_ms", alone->median), tool_ms("alone_min_ms", alone->min), tool_ms("median_ms", group->median),
        tool_ms("min_ms", group->min), tool_if(kept->count > 0, tool_ms("kept_ms", kept->median)),
        tool_if(group->median > 0, tool_num("speedup", alone->median / group->median)),
        tool_if(exchange->together_seconds > 0,
                tool_num("predicted_speedup", exchange->alone_seconds / exchange->together_seconds)),
        tool_num("predicted_alone_ms", predicted_ms(&sides[ALONE])),
        tool_num("predicted_ms", predicted_ms(&sides[GROUP])),
        tool_ms("predicted_exchange_ms", exchange->exchange_seconds), tool_int("samples", (int64_t)group->count),
        tool_int("exchanged_rows", exchange->ghosts), tool_int("exchanged_rows_most", exchange->ghosts_most),
        TOOL_OF(*exchange, row_bytes),
        tool_if(exchange->ghosts > 0, tool_num("nonzeros_per_row", (double)exchange->nnz / (double)exchange->ghosts)),
        TOOL_OF(*exchange, imbalance), tool_ms("setup_ms", exchange->setup_seconds),
        tool_if(one->oracle, tool_num("relative_error", sides[GROUP].comparison.error)),
        tool_if(one->oracle, tool_num("tolerance", sides[GROUP].comparison.tolerance)),
        tool_if(one->oracle != NULL, tool_yes("passed", is_right(sides))), TOOL_OF(*one->settings, seed),
        tool_str("version", tamis_version()));
    return tool_lines_end(&run->report.lines);
}

int tool_bench_group(tool_bench_run *run, const tool_bench_case *one) {
    const tool_group_kind *group = &one->settings->group;
    side sides[SIDES] = {{.alone = true, .kind = tool_group_first(group)}, {.kind = *group}};
    tamis_status status = TAMIS_OK;
    for (int s = 0; s < SIDES && status == TAMIS_OK; s++) {
        status = prepare(one, &sides[s]);
        if (sides[s].alone) status = tool_ranks_agree(status);
    }
    if (status == TAMIS_OK) status = measure(one, sides);
    int code = tool_library_error(status, one->source->name);
    if (code == 0 && !tool_interrupted()) {
        tool_progress_clear();
        if (run->report.table) print_row(one, sides);
        code = write_line(run, one, sides);
        if (code == 0 && one->oracle && !is_right(sides)) code = TOOL_FAILED;
    }
    for (int s = 0; s < SIDES; s++) {
        tool_group_close(&sides[s].group);
        tool_samples_free(&sides[s].samples);
        tool_samples_free(&sides[s].kept);
    }
    return code;
}
