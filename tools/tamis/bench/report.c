/* Reports a benchmark: as a table for people, as lines of JSON for programs. */
#include <tamis/ceilings.h>
#include <tamis/structure.h>

#include <math.h>
#include <stdio.h>

#include "bench/bench.h"
#include "cli/choices.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/visible.h"

enum { COLUMNS = 12 };

static tool_table layout(const tool_bench_report *report) {
    const tool_column columns[COLUMNS] = {
        {"operation", false, 15},
        {"K", true, 4},
        {"type", false, 4},
        {"thr", true, 3},
        {"algorithm", false, 18},
        {"set-up", true, 7},
        {"min", true, 7},
        {"median", true, 7},
        {"GFLOP/s", true, 7},
        {"x floor", true, 7},
        {report->versus, true, report->versus[0] ? 8 : 0},
        {"error", true, 7},
    };
    tool_table table;
    tool_table_start(&table, COLUMNS, columns);
    return table;
}

void tool_bench_report_matrix(const tool_bench_report *report, const tool_bench_matrix *matrix, bool group) {
    static bool before = false;
    if (!report->table) return;
    const tamis_profile *profile = &matrix->profile;
    tool_progress_clear();
    printf("%s%s%s%s%s  %s x %s, %s nonzeros, %s\n", before ? "\n" : "", report->bold ? "\033[1m" : "",
           tool_visible(matrix->source->name), report->bold ? "\033[0m" : "", matrix->stand_in ? " (stand-in)" : "",
           tool_word_count(profile->rows).text, tool_word_count(profile->cols).text, tool_word_count(profile->nnz).text,
           matrix->structure.name);
    before = true;
    if (group) {
        tool_bench_group_header();
    } else {
        const tool_table table = layout(report);
        printf("  ");
        tool_table_print_header(&table, stdout);
    }
    fflush(stdout);
}

/* Returns true if the intervals overlap: the difference is within the noise. */
static bool is_tied(const tool_interval *a, const tool_interval *b) { return a->low <= b->high && b->low <= a->high; }

static void print_row(const tool_bench_report *report, const tool_bench_case *one, const tool_bench_results *results,
                      const tool_bench_result *result) {
    const tool_problem *problem = &one->problem;
    const double median = result->time.median;
    const bool tied = !result->baseline && is_tied(&result->median, &results->versus);
    const char *const verdict = result->comparison.passed ? "" : result->peer ? "  outside" : "  WRONG";
    tool_word batch = {""}, width = {""}, speed = {""}, ratio = {""}, speedup = {""}, error = {""};
    char algorithm[208];
    snprintf(algorithm, sizeof algorithm, "%s%s%s%s", result->automatic ? "auto: " : "", result->algorithm,
             result->parameters[0] ? " " : "", result->parameters);
    if (problem->batch > 1) batch = tool_word_of(" x%lld", (long long)problem->batch);
    if (problem->operation == TAMIS_OP_FUSED && problem->width != problem->inner)
        width = tool_word_of("/%lld", (long long)problem->width);
    if (!result->gather && median > 0)
        speed =
            tool_word_of("%.*f", results->floor.flops / median < 99.95e9 ? 1 : 0, 1e-9 * results->floor.flops / median);
    if (results->floor.seconds > 0) ratio = tool_word_of("%.2fx", median / results->floor.seconds);
    if (results->baseline > 0) speedup = tool_word_of("%s%.2fx", tied ? "=" : "", results->baseline / median);
    if (result->compared) error = tool_word_of("%.1e%s", result->comparison.error, verdict);
    const tool_table table = layout(report);
    const bool bold = report->bold && result->fastest;
    printf("  %s", bold ? "\033[1m" : "");
    tool_table_print_row(&table, stdout,
                         (const char *[]){tool_word_of("%s%s", tool_problem_name(problem).text, batch.text).text,
                                          tool_word_of("%lld%s", (long long)problem->inner, width.text).text,
                                          tamis_type_name(problem->type),
                                          one->device->gpu ? "gpu" : tool_word_of("%d", result->threads).text,
                                          algorithm,
                                          result->gather ? "" : tool_word_seconds(result->setup + result->check).text,
                                          tool_word_seconds(result->time.min).text, tool_word_seconds(median).text,
                                          speed.text, ratio.text, speedup.text, error.text});
    if (bold) printf("\033[0m");
}

static int write_line(tool_bench_run *run, const tool_bench_case *one, const tool_bench_results *results,
                      const tool_bench_result *result) {
    tool_json *json = tool_lines_begin(&run->report.lines);
    if (!json) return 0;
    const tool_problem *problem = &one->problem;
    const double median = result->time.median;
    tool_json_put(json, tool_str("record", "measurement"), tool_str("run", run->id),
                  tool_str("suite", run->suite ? run->suite->name : NULL));
    tool_json_problem(json, problem, one->source->name);
    tool_json_put(
        json, TOOL_OF(*one->matrix, stand_in), TOOL_OF(*one->matrix, group),
        tool_str("class", one->matrix->structure.name), tool_int("batch", tool_problem_batch(problem)),
        tool_str("math", tool_choice_name(&tool_maths, (int)problem->math)), TOOL_OF(*problem, d_is_b),
        tool_str("device", one->device->description.name), TOOL_OF(one->device->description, model),
        TOOL_OF(one->device->description, driver), TOOL_OF(*result, algorithm),
        tool_str("parameters", result->parameters[0] ? result->parameters : NULL),
        tool_str("variant", result->variant[0] ? result->variant : NULL), TOOL_OF(*result, threads),
        tool_ms("setup_ms", result->setup), tool_ms("init_ms", result->initial), tool_ms("median_ms", median),
        tool_ms("median_low_ms", result->median.low), tool_ms("median_high_ms", result->median.high),
        tool_ms("q1_ms", result->time.lower), tool_ms("q3_ms", result->time.upper), tool_ms("min_ms", result->time.min),
        tool_ms("max_ms", result->time.max), tool_ms("cleanup_ms", result->cleanup),
        tool_if(median > 0, tool_num("gflops", 1e-9 * results->floor.flops / median)),
        tool_int("bytes_min", (int64_t)results->floor.bytes), tool_ms("floor_ms", results->floor.seconds),
        tool_if(results->floor.seconds > 0, tool_num("floor_ratio", median / results->floor.seconds)),
        tool_if(result->compared, tool_num("relative_error", result->comparison.error)),
        tool_if(result->compared, TOOL_OF(result->comparison, tolerance)),
        tool_if(result->compared, tool_num("compared_share", result->comparison.share)),
        tool_if(result->compared, TOOL_OF(result->comparison, passed)), tool_yes("auto", result->automatic),
        TOOL_OF(*result, chosen_by), TOOL_OF(*result, baseline), TOOL_OF(*result, peer),
        tool_if(results->baseline > 0, tool_num("speedup", results->baseline / median)),
        tool_ms_if("gather_ms", results->gather), tool_ms("check_ms", result->check),
        tool_ms_if("predicted_ms", result->predicted), tool_int("samples", (int64_t)result->time.count),
        TOOL_OF(*one->settings, calls), TOOL_OF(*one->settings, cold),
        TOOL_OF(one->device->description, instruction_set), tool_num("clock_mhz", results->clock),
        tool_num("others_processors", results->load.others), tool_num("stolen_processors", results->load.stolen),
        TOOL_OF(results->load, disturbed), TOOL_OF(*one->settings, seed), tool_str("version", tamis_version()),
        tool_str("compiler", tool_bench_compiler()), TOOL_OF(*run, started));
    return tool_lines_end(&run->report.lines);
}

/* Returns the result of a case for the summary: the chosen algorithm's, else the fastest. */
static const tool_bench_result *representative(const tool_bench_results *results) {
    const tool_bench_result *best = NULL;
    for (int i = 0; i < results->count; i++) {
        const tool_bench_result *result = &results->at[i];
        if (result->gather || result->peer || (result->baseline && !result->automatic)) continue;
        if (result->automatic) return result;
        if (!best || result->time.median < best->time.median) best = result;
    }
    return best;
}

static void remember_speedup(tool_bench_report *report, const tool_bench_case *one, const tool_bench_results *results) {
    const tool_bench_result *result = representative(results);
    report->cases++;
    report->disturbed += results->load.disturbed;
    if (results->load.disturbed) report->others = fmax(report->others, results->load.others + results->load.stolen);
    if (!result || results->load.disturbed || results->baseline <= 0 || !(result->time.median > 0)) return;
    const double speedup = results->baseline / result->time.median;
    const int operation = (int)one->problem.operation;
    report->speedup[operation].log_sum += log(speedup);
    report->speedup[operation].ties += is_tied(&result->median, &results->versus);
    if (report->speedup[operation].count++ == 0 || speedup < report->speedup[operation].least) {
        report->speedup[operation].least = speedup;
        snprintf(report->speedup[operation].where, sizeof report->speedup[operation].where, "%s, K = %lld",
                 one->source->name, (long long)one->problem.inner);
    }
}

int tool_bench_report_case(tool_bench_run *run, const tool_bench_case *one, const tool_bench_results *results) {
    tool_bench_report *report = &run->report;
    remember_speedup(report, one, results);
    tool_progress_clear();
    int code = 0;
    for (int i = 0; i < results->count; i++) {
        const tool_bench_result *result = &results->at[i];
        if (result->time.count == 0) continue; /* an error occurred before its turn */
        report->gathered |= result->gather;
        report->peered |= result->peer;
        if (report->table) print_row(report, one, results, result);
        report->rows++;
        if (!result->gather) {
            const int written = write_line(run, one, results, result);
            if (written) code = written;
        }
        if (result->compared && !result->comparison.passed) {
            /* a wrong result of another library is reported, but does not count as our failure */
            tool_message(
                result->peer ? "warning: " : "",
                "%s: %s is outside the tolerance%s: relative error %.2e, %.2e allowed; at (%lld, %lld) %.9g, expected "
                "%.9g",
                one->source->name, result->algorithm, result->late ? " after it was measured" : "",
                result->comparison.error, result->comparison.tolerance, (long long)result->comparison.row,
                (long long)result->comparison.col, result->comparison.found, result->comparison.expected);
            if (!result->peer) code = TOOL_FAILED;
        }
    }
    fflush(stdout);
    return code;
}

void tool_bench_report_end(const tool_bench_report *report, const tool_device *device) {
    if (!report->table || report->rows == 0) return;
    const tamis_ceilings now = tool_device_ceilings(device), *ceilings = &now;
    if (ceilings->doubtful)
        tool_warning("the ceilings are doubtful, and so are the floors: 'tamis devices --probe' measures them again");
    if (device->gpu)
        printf("\n"
               "x floor: median divided by the minimum time for the arithmetic (fp32 %s GFLOP/s) or the bytes (%s "
               "GB/s).\n",
               tool_word_number(ceilings->fp32_gflops[1]).text, tool_word_number(ceilings->memory_gbs[1]).text);
    else
        printf("\n"
               "x floor: median divided by the minimum time for the arithmetic (fp32 %s, %d threads %s GFLOP/s) or the "
               "bytes (%s, %s GB/s).\n",
               tool_word_number(ceilings->fp32_gflops[0]).text, ceilings->threads,
               tool_word_number(ceilings->fp32_gflops[1]).text, tool_word_number(ceilings->memory_gbs[0]).text,
               tool_word_number(ceilings->memory_gbs[1]).text);
    if (report->versus[0]) printf("%s: speed-up; = is within the noise.\n", report->versus);
    puts("Set-up includes the check of the indices. Data that fit into a cache may run below the floor, which assumes "
         "memory.");
    if (report->gathered) puts("gather: reading the same rows of B and D in the same order, without arithmetic.");
    if (report->peered)
        puts("Other libraries always compute the edge mask, without S's values; cublas-dense also without sampling; "
             "torch-attention the softmax.");
    for (int i = 0; i < 3; i++) {
        if (report->speedup[i].count < 2) continue;
        printf("Speed-up of %s: geometric mean %.2fx over %d cases, %d of them within the noise, smallest %.2fx "
               "(%s).\n",
               tamis_operation_name((tamis_operation)i), exp(report->speedup[i].log_sum / report->speedup[i].count),
               report->speedup[i].count, report->speedup[i].ties, report->speedup[i].least, report->speedup[i].where);
    }
}
