/* tamis explain: the algorithm that would run on a matrix, and the reasons for it and against the others. */
#include <tamis/structure.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/device.h"
#include "cli/edges.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/mirror.h"
#include "cli/problem.h"
#include "cli/slabs.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "group/choice.h"

typedef struct settings {
    tool_chosen operations;
    tool_integers inner;
    int64_t width, calls, threads, device_memory;
    int edge, type, math, device, algorithm, effort;
    tool_group_kind group;
    tool_reading reading;
    bool json, verbose, share;
    const char *let;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_WIDTHS(AT(inner)),
    TOOL_OPERATIONS(AT(operations)),
    TOOL_INTEGER("calls", 'n', "N", "1000", AT(calls), 1, 1e15,
                 "expected calls, which decide how much set-up pays off"),
    TOOL_EDGE(AT(edge)),
    TOOL_LET(AT(let)),
    TOOL_FUSED_WIDTH(AT(width)),
    TOOL_CHOICE("type", 't', "TYPE", "fp32", AT(type), &tool_types, "element type"),
    TOOL_MATH(AT(math)),
    TOOL_DEVICE(AT(device)),
    TOOL_CHOSEN("devices", 0, "DEVICE,...", NULL, AT(group.devices), &tool_devices,
                "several devices instead of one: also what they exchange, and whether one alone would be faster"),
    TOOL_OVERLAP(AT(group.overlap)),
    TOOL_SHARED_OUT(settings),
    TOOL_DEVICE_MEMORY(AT(device_memory)),
    TOOL_CHOICE("algorithm", 'a', "NAME", "auto", AT(algorithm), &tool_algorithms_one,
                "explain this one instead of the choice"),
    TOOL_EFFORT(AT(effort)),
    TOOL_THREADS(AT(threads)),
    TOOL_FLAG("share", 0, AT(share), "fused: D is B, as in graph attention"),
    TOOL_FLAG("verbose", 'v', AT(verbose), "the plan's own explanation, in place of this one"),
    TOOL_JSON_ARRAY(AT(json)),
    TOOL_READING(settings),
    {.name = NULL},
};

/* An explained plan with its floor. */
typedef struct explained {
    const tool_problem *problem;
    tamis_plan *plan;
    tamis_plan_report report;
    tamis_floor floor;
    bool gpu, measured; /* the ceilings have been */
} explained;

/* Prints the text, and empties it for the next field. */
static void print_field(const char *title, tool_text *text) {
    printf("  %-11s ", title);
    tool_wrap(stdout, tool_text_get(text), 14, 14, tool_terminal_width());
    tool_text_free(text);
}

/* Prints the candidates if there are several, with their times if this plan has measured them. */
static void print_candidates(const explained *one) {
    const tamis_plan_report *report = &one->report;
    tool_text text = {0};
    if (report->chosen_by == TAMIS_CHOSEN_REMEMBERED) {
        tool_text_add(&text, "%s a call, by an earlier plan", tool_word_seconds(report->measured_seconds).text);
        print_field("measured", &text);
    }
    if (report->candidates < 2) return;
    for (int i = 0; i < report->candidates; i++) {
        const char *algorithm = "";
        double predicted = 0, measured = 0;
        if (tamis_plan_candidate(one->plan, i, &algorithm, &predicted, &measured) != TAMIS_OK) continue;
        tool_text_add(&text, "%s%s %s", i ? ", " : "", algorithm, tool_word_seconds(predicted).text);
        if (measured > 0) tool_text_add(&text, " (measured %s)", tool_word_seconds(measured).text);
    }
    if (report->measuring_seconds > 0)
        tool_text_add(&text, "; measured in %s", tool_word_seconds(report->measuring_seconds).text);
    print_field("candidates", &text);
}

static void print_times(const explained *one, int64_t calls) {
    const tamis_plan_report *report = &one->report;
    tool_text text = {0};
    bool below = false;
    if (report->predicted_seconds > 0) {
        tool_text_add(&text, "%s a call, %s GFLOP/s", tool_word_seconds(report->predicted_seconds).text,
                      tool_word_number(1e-9 * one->floor.flops / report->predicted_seconds).text);
        if (one->floor.seconds > 0) {
            tool_text_add(&text, "; %.2f times the floor of %s", report->predicted_seconds / one->floor.seconds,
                          tool_word_seconds(one->floor.seconds).text);
            below = report->predicted_seconds < one->floor.seconds;
        }
    } else {
        tool_text_add(&text, "no model");
        if (one->floor.seconds > 0)
            tool_text_add(&text, "; the floor is %s", tool_word_seconds(one->floor.seconds).text);
    }
    if (one->floor.seconds > 0)
        tool_text_add(&text, one->floor.memory_bound ? " (%s at %s GB/s from memory%s)" : " (%sflop at %s GFLOP/s%s)",
                      one->floor.memory_bound ? tool_word_bytes((int64_t)one->floor.bytes).text
                                              : tool_word_short(one->floor.flops).text,
                      tool_word_number(one->floor.memory_bound ? one->floor.bandwidth : one->floor.peak).text,
                      one->measured ? "" : ", a default that nobody has measured");
    if (below) tool_text_add(&text, ", which data in a cache can beat");
    print_field("predicted", &text);
    print_candidates(one);
    tool_text_add(&text, "%s, and %s to check the indices", tool_word_seconds(report->setup_seconds).text,
                  tool_word_seconds(report->check_seconds).text);
    if (report->break_even_calls > 0)
        tool_text_add(&text, "; pays off after %s call%s (%s expected)", tool_word_count(report->break_even_calls).text,
                      report->break_even_calls == 1 ? "" : "s", tool_word_count(calls).text);
    print_field("set-up", &text);
    tool_text_add(&text, "%s prepared, %s of scratch", tool_word_bytes((int64_t)report->prepared_bytes).text,
                  tool_word_bytes((int64_t)report->workspace_bytes).text);
    print_field("memory", &text);
}

static void print_declined(const explained *one) {
    if (one->report.declined <= 0) return;
    puts("  not taken");
    const tool_column columns[] = {{"", false, 0}, {"", false, 0}};
    tool_table table;
    tool_table_start(&table, 2, columns);
    for (int i = 0; i < one->report.declined; i++) {
        const char *algorithm = "", *reason = "";
        if (tamis_plan_declined(one->plan, i, &algorithm, &reason) != TAMIS_OK) continue;
        tool_table_row(&table, (const char *const[]){algorithm, reason});
    }
    tool_table_print(&table, stdout, 4);
}

static void print_plan_text(const tamis_plan *plan) {
    size_t needed = 0;
    if (tamis_plan_explain(plan, NULL, 0, &needed) != TAMIS_OK || needed == 0) return;
    char *text = tool_allocate(needed, 1);
    if (tamis_plan_explain(plan, text, needed, NULL) == TAMIS_OK) printf("\n%s\n", text);
    free(text);
}

static void print_text(const explained *one, const settings *set) {
    const tool_problem *problem = one->problem;
    const tamis_plan_report *report = &one->report;
    printf("\n%s, K = %lld", tool_problem_name(problem).text, (long long)problem->inner);
    if (problem->operation == TAMIS_OP_FUSED) printf(", L = %lld", (long long)problem->width);
    printf(", %s, ", tamis_type_name(problem->type));
    if (!one->gpu) printf("%d thread%s, ", report->threads, report->threads == 1 ? "" : "s");
    printf("%s call%s\n", tool_word_count(set->calls).text, set->calls == 1 ? "" : "s");
    if (set->verbose) {
        print_plan_text(one->plan);
        return;
    }
    tool_text text = {0};
    tool_text_add(&text, "%s on %s", report->algorithm, report->instruction_set);
    const char *parameters = report->parameters ? report->parameters : "";
    if (*parameters) tool_text_add(&text, ", ");
    for (; *parameters; parameters++) tool_text_add(&text, *parameters == ',' ? "%c " : "%c", *parameters);
    if (report->math == TAMIS_MATH_TF32) tool_text_add(&text, ", inputs rounded to TF32");
    print_field("runs", &text);
    tool_text_add(&text, "%s", report->reason ? report->reason : "");
    print_field("because", &text);
    print_times(one, set->calls);
    print_declined(one);
}

static void print_json(tool_json *json, const explained *one, const settings *set, const char *matrix) {
    const tool_problem *problem = one->problem;
    const tamis_plan_report *report = &one->report;
    tool_json_object(json, NULL);
    tool_json_problem(json, problem, matrix);
    tool_json_put(json, TOOL_OF(*set, calls), TOOL_OF(*report, algorithm),
                  tool_str("chosen_by", tamis_chosen_by_name(report->chosen_by)), TOOL_OF(*report, reason),
                  tool_str("math", tool_choice_name(&tool_maths, (int)report->math)), TOOL_OF(*report, parameters),
                  TOOL_OF(*report, instruction_set), TOOL_OF(*report, threads),
                  tool_ms("predicted_ms", report->predicted_seconds),
                  tool_ms_if("measured_ms", report->measured_seconds),
                  tool_ms_if("measuring_ms", report->measuring_seconds), TOOL_OF(*report, trial),
                  TOOL_OF(*report, lead), TOOL_OF(*report, sure), tool_ms("floor_ms", one->floor.seconds),
                  tool_int("bytes_min", (int64_t)one->floor.bytes), tool_ms("setup_ms", report->setup_seconds),
                  tool_ms("check_ms", report->check_seconds), TOOL_OF(*report, break_even_calls),
                  tool_int("prepared_bytes", (int64_t)report->prepared_bytes),
                  tool_int("workspace_bytes", (int64_t)report->workspace_bytes));
    tool_json_array(json, "candidates");
    for (int i = 0; i < report->candidates; i++) {
        const char *algorithm = "";
        double predicted = 0, measured = 0;
        if (tamis_plan_candidate(one->plan, i, &algorithm, &predicted, &measured) != TAMIS_OK) continue;
        tool_json_item(json, tool_str("algorithm", algorithm), tool_ms("predicted_ms", predicted),
                       tool_ms_if("measured_ms", measured));
    }
    tool_json_end_array(json);
    tool_json_array(json, "declined");
    for (int i = 0; i < report->declined; i++) {
        const char *algorithm = "", *reason = "";
        if (tamis_plan_declined(one->plan, i, &algorithm, &reason) != TAMIS_OK) continue;
        tool_json_item(json, tool_str("algorithm", algorithm), tool_str("reason", reason));
    }
    tool_json_end_array(json);
    tool_json_end_object(json);
}

static tamis_options planning_of(const settings *set, const tool_device *device, const tool_problem *problem) {
    tamis_options planning = tool_problem_options(problem);
    planning.expected_calls = set->calls;
    planning.threads = (int)set->threads;
    planning.effort = (tamis_effort)set->effort;
    planning.overlap = (tamis_overlap)set->group.overlap;
    planning.exchange = (tamis_exchange)set->group.exchange;
    tool_device_plan_with(device, set->algorithm > 0 ? tool_choice_name(&tool_algorithms_one, set->algorithm) : NULL,
                          &planning);
    return planning;
}

/* Explains a plan of several devices, or of slabs; neither needs operands. */
static int explain_other(const settings *set, const tool_device *device, const tool_problem *problem) {
    const tamis_options planning = planning_of(set, device, problem);
    const tool_group_kind *kind = &set->group;
    tool_problem pattern = *problem;
    tool_group group = {0};
    tool_group_choice choice = {.stays = false};
    tamis_slab_plan *slabs = NULL;
    tamis_status status;
    pattern.S.value_type = pattern.type;
    printf("\n%s, K = %lld, %s\n", tool_problem_name(problem).text, (long long)problem->inner,
           tamis_type_name(problem->type));
    if (set->device_memory > 0) {
        status = tool_slabs_open(device, &pattern, &planning, set->device_memory, &slabs);
        if (status == TAMIS_OK) status = tool_slabs_explain(slabs);
    } else {
        status = tool_group_plan(kind, &pattern, &planning, &group);
        if (status == TAMIS_OK) status = tool_group_explain(&group);
        if (status == TAMIS_OK) status = tool_group_predict(&group, kind, &pattern, &planning, &choice);
    }
    if (status == TAMIS_OK && choice.alone > 0)
        printf("choice       %s: the first device alone %s predicted, all %d together %s\n",
               choice.stays ? "stays on the first device" : "all devices", tool_word_seconds(choice.alone).text,
               kind->devices.count, tool_word_seconds(choice.together).text);
    const int code = tool_library_error(status, tamis_operation_name(problem->operation));
    tool_group_close(&group);
    tamis_slab_plan_destroy(slabs);
    return code;
}

static int explain_problem(const settings *set, const tool_device *device, const tool_source *source,
                           const tool_problem *problem, const tamis_sparse *S, tool_json *json) {
    explained one = {.problem = problem, .gpu = device->gpu, .measured = tool_device_ceilings(device).measured};
    if (set->group.devices.count > 0 || set->device_memory > 0) return explain_other(set, device, problem);
    const tamis_options planning = planning_of(set, device, problem);
    tamis_status status = tamis_plan_create(device->device, S, &planning, &one.plan);
    if (status == TAMIS_OK) status = tamis_plan_describe(one.plan, &one.report);
    if (status == TAMIS_OK) status = tool_problem_floor(problem, device, one.report.threads, &one.floor);
    const int code = tool_library_error(status, tamis_operation_name(problem->operation));
    if (code == 0 && json) print_json(json, &one, set, source->name);
    if (code == 0 && !json) print_text(&one, set);
    tamis_plan_destroy(one.plan);
    return code;
}

static void print_matrix(const tool_source *source) {
    tamis_profile profile;
    tamis_structure structure;
    if (tamis_row_profile(source->S, &profile) != TAMIS_OK) return;
    if (tamis_structure_find(source->S, &profile, &structure) != TAMIS_OK) return;
    printf("%s: %s x %s, %s nonzeros, %s a row (%s to %s), %s\n", tool_visible(source->name),
           tool_word_count(profile.rows).text, tool_word_count(profile.cols).text, tool_word_count(profile.nnz).text,
           tool_word_number(profile.mean).text, tool_word_count(profile.min).text, tool_word_count(profile.max).text,
           structure.name);
}

static int explain_source(const settings *set, const tool_device *device, const tool_source *source,
                          const tamis_sparse *S) {
    tool_json json = tool_json_start(stdout, true);
    if (set->json) {
        tool_json_array(&json, NULL);
    } else {
        print_matrix(source);
        printf("on %s: %s\n", device->description.name, device->description.model);
    }
    int worst = TOOL_OK;
    for (int o = 0; o < set->operations.count; o++) {
        for (int k = 0; k < set->inner.count; k++) {
            const tamis_operation operation = (tamis_operation)set->operations.at[o];
            tool_problem problem =
                tool_problem_of(operation, (tamis_edge)set->edge, (tamis_type)set->type, set->inner.at[k], set->width);
            problem.math = (tamis_math)set->math;
            problem.d_is_b = set->share && operation == TAMIS_OP_FUSED && problem.width == problem.inner;
            problem.S = *source->S;
            const int code = explain_problem(set, device, source, &problem, S, set->json ? &json : NULL);
            if (code) worst = code;
        }
    }
    if (set->json) tool_json_finish(&json);
    return worst;
}

static int run_explain(const void *given, int count, char **operands) {
    settings settled = *(const settings *)given;
    const settings *set = &settled;
    (void)count;
    TOOL_TRY(tool_edges_let(set->let));
    TOOL_TRY(tool_group_begin(&settled.group));
    if (set->group.devices.count > 0 && set->json) return tool_usage_error("--json does not go with --devices");
    if (set->device_memory > 0 && (set->json || set->group.devices.count > 0))
        return tool_usage_error("--device-memory does not go with --%s", set->json ? "json" : "devices");
    const tamis_read_options reading = tool_read_options(&set->reading, set->type, TAMIS_I32);
    tool_source source;
    tool_device device;
    TOOL_TRY(tool_source_open(operands[0], &reading, &source));
    int code = tool_device_open(set->group.devices.count > 0 ? set->group.devices.at[0] : set->device, true, &device);
    if (code == 0 && set->device_memory > 0) { /* S stays on the host */
        code = explain_source(set, &device, &source, source.S);
        tool_device_close(&device);
    } else if (code == 0) {
        tool_mirror mirror;
        const tool_problem pattern = {.S = *source.S};
        const tamis_status status = tool_mirror_create(&device, &pattern, 0, &mirror);
        code = status == TAMIS_OK ? explain_source(set, &device, &source, &mirror.problem.S)
                                  : tool_library_error(status, source.name);
        tool_mirror_free(&mirror);
        tool_device_close(&device);
    }
    tool_source_close(&source);
    return code;
}

const tool_command tool_explain_command = TOOL_COMMAND(
    "explain", "FILE", "show which algorithm a plan chooses, and why", options, settings, .run = run_explain);
