/* tamis compare: what got faster or slower between two files of results. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "command.h"
#include "compare_rules.h"
#include "exit.h"
#include "json.h"
#include "table.h"

typedef struct settings {
    double threshold;
    bool json, drift;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    {"threshold", 0, TOOL_REAL, "PERCENT", "5", "the smallest change of a median that counts", AT(threshold), 0, 1000,
     NULL},
    {"drift", 0, TOOL_FLAG, NULL, NULL, "first divide the times of B by the drift of peers and of the naive loop",
     AT(drift), 0, 0, NULL},
    {"json", 0, TOOL_FLAG, NULL, NULL, "an object instead of text", AT(json), 0, 0, NULL},
    {.name = NULL},
};

static const tool_example examples[] = {
    {"tamis compare before.jsonl after.jsonl", "the effect of a code change; code 1 if something is slower"},
    {"tamis compare monday.jsonl friday.jsonl --drift", "on a machine that is slower as a whole today"},
    {NULL, NULL},
};

static const char *operation_text(const tool_measurement *one, tool_word *word) {
    const long long k = (long long)(strcmp(one->operation, "spmm") == 0 && one->width > 0 ? one->width : one->inner);
    const bool edged = strcmp(one->edge, "none") != 0;
    char batch[16] = "";
    if (one->batch > 1) snprintf(batch, sizeof batch, " x%d", (int)one->batch);
    snprintf(word->text, sizeof word->text, "%.8s%s%.10s K=%lld%s %.5s", one->operation, edged ? " " : "",
             edged ? one->edge : "", k, batch, one->type);
    return word->text;
}

/* ---- machines that differ */

static const tool_measurement *first_on(const tool_results *results, int file, const char *device) {
    for (int i = 0; i < results->measurements; i++) {
        const tool_measurement *one = &results->measurement[i];
        if (one->file == file && one->device == device) return one;
    }
    return NULL;
}

static void warn(const char *device, const char *what, const char *a, const char *b) {
    if (!a || !b || a == b) return;
    tool_warning("%s: %s differs: %s in A, %s in B", device, what, *a ? a : "none", *b ? b : "none");
}

static void warn_of_machines(const tool_results *results) {
    for (int i = 0; i < results->measurements; i++) {
        const tool_measurement *a = &results->measurement[i];
        if (a->file != 1 || first_on(results, 1, a->device) != a) continue;
        const tool_measurement *b = first_on(results, 2, a->device);
        if (!b) continue;
        const tool_run_record *run_a = tool_results_run(results, a), *run_b = tool_results_run(results, b);
        warn(a->device, "model", a->model, b->model);
        warn(a->device, "instruction set", a->instruction_set, b->instruction_set);
        warn(a->device, "driver", a->driver, b->driver);
        warn(a->device, "version of Tamis", a->version, b->version);
        warn(a->device, "compiler", a->compiler, b->compiler);
        if (!run_a || !run_b) continue;
        warn(a->device, "processor", run_a->processor, run_b->processor);
        warn(a->device, "system", run_a->system, run_b->system);
    }
}

/* ---- geometric means of an operation and a method */

typedef struct mean_row {
    const char *operation, *algorithm;
    tool_mean mean;
    int faster, slower;
} mean_row;

static int find_means(const tool_comparison_result *result, mean_row **rows) {
    int count = 0;
    *rows = tool_allocate((size_t)result->count, sizeof **rows);
    for (int i = 0; i < result->count; i++) {
        const tool_pair *pair = &result->pair[i];
        int at = 0;
        while (at < count &&
               ((*rows)[at].operation != pair->one->operation || (*rows)[at].algorithm != pair->one->algorithm)) {
            at++;
        }
        if (at == count) {
            (*rows)[count++] = (mean_row){.operation = pair->one->operation, .algorithm = pair->one->algorithm};
        }
        tool_mean_add(&(*rows)[at].mean, pair->ratio, pair);
        (*rows)[at].faster += pair->change == TOOL_FASTER;
        (*rows)[at].slower += pair->change == TOOL_SLOWER;
    }
    return count;
}

static int by_name(const void *a, const void *b) {
    const mean_row *x = a, *y = b;
    const int order = strcmp(x->operation, y->operation);
    return order ? order : strcmp(x->algorithm, y->algorithm);
}

/* ---- text */

static void print_changes(const tool_comparison_result *result) {
    if (result->faster + result->slower == 0) return;
    const tool_column columns[] = {{"B over A", true, 8},   {"", false, 6},       {"matrix", false, 0},
                                   {"operation", false, 0}, {"device", false, 0}, {"method", false, 0},
                                   {"thr", true, 0},        {"A", true, 0},       {"B", true, 0}};
    tool_table table;
    tool_table_start(&table, 9, columns);
    for (int i = 0; i < result->count; i++) {
        const tool_pair *pair = &result->pair[i];
        if (pair->change == TOOL_SAME) continue;
        char ratio[24], threads[24];
        tool_word operation;
        snprintf(ratio, sizeof ratio, "%.3f", pair->ratio);
        snprintf(threads, sizeof threads, "%lld", (long long)pair->one->threads);
        tool_table_row(&table, (const char *const[]){ratio, pair->change == TOOL_SLOWER ? "slower" : "faster",
                                                     pair->one->matrix, operation_text(pair->one, &operation),
                                                     pair->one->device, tool_contestant_name(pair->one).text, threads,
                                                     tool_word_seconds(1e-3 * pair->a.median).text,
                                                     tool_word_seconds(1e-3 * pair->b.median).text});
    }
    tool_table_print(&table, stdout, 0);
    putchar('\n');
}

static void print_means(const tool_comparison_result *result) {
    mean_row *rows = NULL;
    const int count = find_means(result, &rows);
    qsort(rows, (size_t)count, sizeof *rows, by_name);
    const tool_column columns[] = {{"operation", false, 0}, {"method", false, 0}, {"cases", true, 0},
                                   {"B over A", true, 0},   {"faster", true, 0},  {"slower", true, 0}};
    tool_table table;
    tool_table_start(&table, 6, columns);
    for (int i = 0; i < count; i++) {
        char cases[24], ratio[24], faster[24], slower[24];
        snprintf(cases, sizeof cases, "%d", rows[i].mean.count);
        snprintf(ratio, sizeof ratio, "%.3f", tool_mean_get(&rows[i].mean));
        snprintf(faster, sizeof faster, "%d", rows[i].faster);
        snprintf(slower, sizeof slower, "%d", rows[i].slower);
        tool_table_row(&table,
                       (const char *const[]){rows[i].operation, rows[i].algorithm, cases, ratio, faster, slower});
    }
    tool_table_print(&table, stdout, 0);
    free(rows);
}

static void print_text(const settings *set, const tool_comparison_result *result) {
    print_changes(result);
    print_means(result);
    if (result->drift_count > 0) {
        printf("\nDrift: times of peers and the naive loop are %.3f times those in A (%d measurements)%s.\n",
               result->drift, result->drift_count, set->drift ? "; the times of B have been divided by it" : "");
    } else if (set->drift) {
        tool_warning("the drift is unknown: the files have no peer and no naive loop in common");
    }
    if (result->only_a + result->only_b > 0) {
        printf("%s%d only in A, %d only in B.\n", result->drift_count > 0 ? "" : "\n", result->only_a, result->only_b);
    }
    printf("\n%s: %d slower, %d faster, %d the same within noise and %g %%; B over A: geometric mean %.3f of %d.\n",
           result->wrong > 0    ? "WRONG"
           : result->slower > 0 ? "SLOWER"
           : result->faster > 0 ? "faster"
                                : "the same",
           result->slower, result->faster, result->count - result->slower - result->faster, set->threshold,
           tool_mean_get(&result->all), result->count);
    if (result->wrong > 0) printf("%d that were correct in A are outside their tolerance in B.\n", result->wrong);
}

/* ---- JSON */

static void write_pair(tool_json *json, const tool_pair *pair) {
    const tool_measurement *one = pair->one;
    tool_json_object(json, NULL);
    tool_json_text(json, "change", pair->change == TOOL_SLOWER ? "slower" : "faster");
    tool_json_number(json, "ratio", pair->ratio);
    tool_json_text(json, "matrix", one->matrix);
    tool_json_text(json, "operation", one->operation);
    tool_json_text(json, "edge", one->edge);
    tool_json_integer(json, "inner", one->inner);
    tool_json_integer(json, "width", one->width);
    tool_json_integer(json, "batch", one->batch);
    tool_json_text(json, "type", one->type);
    tool_json_text(json, "device", one->device);
    tool_json_text(json, "algorithm", one->algorithm);
    tool_json_text(json, "parameters", one->parameters);
    tool_json_integer(json, "threads", one->threads);
    tool_json_bool(json, "cold", one->cold);
    tool_json_bool(json, "peer", one->peer);
    tool_json_number(json, "a_median_ms", pair->a.median);
    tool_json_number(json, "b_median_ms", pair->b.median);
    tool_json_end_object(json);
}

static void print_json(const settings *set, const tool_comparison_result *result) {
    mean_row *rows = NULL;
    const int count = find_means(result, &rows);
    qsort(rows, (size_t)count, sizeof *rows, by_name);
    tool_json json = tool_json_start(stdout, true);
    tool_json_object(&json, NULL);
    tool_json_number(&json, "threshold_percent", set->threshold);
    tool_json_integer(&json, "compared", result->count);
    tool_json_integer(&json, "slower", result->slower);
    tool_json_integer(&json, "faster", result->faster);
    tool_json_integer(&json, "wrong", result->wrong);
    tool_json_integer(&json, "only_a", result->only_a);
    tool_json_integer(&json, "only_b", result->only_b);
    tool_json_number(&json, "geometric_mean", tool_mean_get(&result->all));
    tool_json_number(&json, "drift", result->drift);
    tool_json_bool(&json, "drift_applied", set->drift && result->drift_count > 0);
    tool_json_array(&json, "changes");
    for (int i = 0; i < result->count; i++) {
        if (result->pair[i].change != TOOL_SAME) write_pair(&json, &result->pair[i]);
    }
    tool_json_end_array(&json);
    tool_json_array(&json, "means");
    for (int i = 0; i < count; i++) {
        tool_json_object(&json, NULL);
        tool_json_text(&json, "operation", rows[i].operation);
        tool_json_text(&json, "algorithm", rows[i].algorithm);
        tool_json_integer(&json, "cases", rows[i].mean.count);
        tool_json_number(&json, "ratio", tool_mean_get(&rows[i].mean));
        tool_json_integer(&json, "faster", rows[i].faster);
        tool_json_integer(&json, "slower", rows[i].slower);
        tool_json_end_object(&json);
    }
    tool_json_end_array(&json);
    tool_json_end_object(&json);
    tool_json_finish(&json);
    free(rows);
}

static int run_compare(const void *given, int count, char **operands) {
    const settings *set = given;
    tool_results results = {0};
    int code = 0;
    for (int i = 0; i < count && code == 0; i++) code = tool_results_load(&results, operands[i]);
    if (code == 0) {
        tool_comparison_result result;
        tool_compare_files(&results, 1, 2, set->threshold / 100, set->drift, &result);
        if (result.count == 0) {
            tool_error("%s and %s have no measurement in common", operands[0], operands[1]);
            code = TOOL_FILE;
        } else {
            warn_of_machines(&results);
            if (set->json) {
                print_json(set, &result);
            } else {
                print_text(set, &result);
            }
            code = result.slower + result.wrong > 0 ? TOOL_FAILED : TOOL_OK;
        }
        tool_compare_free(&result);
    }
    tool_results_free(&results);
    return code;
}

const tool_command tool_compare_command = {
    .name = "compare",
    .summary = "compare two result files: what became faster or slower",
    .operands = "A B",
    .least = 2,
    .most = 2,
    .description =
        "Reads two files of JSON lines from 'tamis bench --json' (also .gz or .xz) and compares the measurements in "
        "both that have the same matrix, operation, edge, widths, batch, type, device, method, parameters, threads and "
        "cache state. If a contestant has several lines, as repeated runs append them, it uses the median of the "
        "medians and the range that covers all.\n"
        "\n"
        "A change counts if the ratio of the medians exceeds the threshold, the interquartile ranges do not overlap, "
        "and the minimum times changed in the same direction. For lines without quartiles, the range is symmetric "
        "around the median and starts at the minimum time.\n"
        "\n"
        "The drift is the geometric mean of the ratios of peers and the naive loop, which are not Tamis: the change of "
        "the machine itself.\n"
        "\n"
        "The exit code is 0 if nothing became slower, and 1 if something did beyond noise, or if a result that was "
        "correct in A is outside its tolerance in B.",
    .options = options,
    .examples = examples,
    .settings_size = sizeof(settings),
    .run = run_compare,
};
