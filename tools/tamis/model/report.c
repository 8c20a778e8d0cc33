/* The live table of training, its bar, its lines of JSON and its summary. */
#include "model/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "model/options.h"

const char *tool_metric_name(tamis_method method) {
    static const char *const names[] = {
        [TAMIS_DATA_RATINGS] = "RMSE", [TAMIS_DATA_USES] = "recall", [TAMIS_DATA_COUNTS] = "perplexity"};
    return names[tool_method_about(method)->data];
}

int tool_training_report_open(tool_training_report *report, const char *json, bool verbose, bool quiet) {
    *report = (tool_training_report){.begun = -1, .start = tool_seconds(), .elbo = NAN};
    const bool taken = json && strcmp(json, "-") == 0;
    report->shown = !taken && !quiet && (verbose || isatty(STDOUT_FILENO));
    return tool_lines_open(&report->lines, json);
}

int tool_training_report_close(tool_training_report *report) {
    const int closed = tool_lines_close(&report->lines);
    return report->written ? report->written : closed;
}

/* ------------------------------------------------------------------------------------------ iterations */

static void show_progress(tool_training_report *report, const tamis_iteration *iteration) {
    if (iteration->iteration == 0) {
        const bool after = report->last.iteration > 0;
        tool_progress(after, "%s, step %lld", after ? "factors of features" : "options", (long long)iteration->batch);
        return;
    }
    const double within = iteration->batches > 0 ? (double)iteration->batch / (double)iteration->batches : 0;
    const double share = (iteration->iteration - 1 + within) / (iteration->iterations > 0 ? iteration->iterations : 1);
    const double now = tool_seconds();
    if (report->begun < 0) { /* the rate is known from the second report on */
        report->begun = share;
        report->start = now;
    }
    tool_word left = {""};
    if (share > report->begun && now > report->start) {
        const double seconds = (1 - share) * (now - report->start) / (share - report->begun);
        left = seconds >= 3600  ? tool_word_of(", %.1f h left", seconds / 3600)
               : seconds >= 100 ? tool_word_of(", %.0f min left", seconds / 60)
                                : tool_word_of(", %.0f s left", seconds);
    }
    tool_word batch = {""};
    if (iteration->batch != iteration->batches) batch = tool_word_of(", mini-batch %lld", (long long)iteration->batch);
    tool_progress(share, "iteration %d of %d%s%s", iteration->iteration, iteration->iterations, batch.text, left.text);
}

static tool_word percent(double share) {
    return isfinite(share) ? tool_word_of("%.0f %%", 100 * share) : (tool_word){""};
}

static tool_word number(double value) { return isfinite(value) ? tool_word_of("%.6g", value) : (tool_word){""}; }

static void show_row(tool_training_report *report, const tamis_iteration *iteration) {
    if (!report->titled) {
        tool_table_start(&report->table, isfinite(iteration->elbo) ? 8 : 7,
                         (tool_column[]){{"iteration", true, 9},
                                         {"loss", true, 12},
                                         {tool_metric_name(iteration->method), true, 10},
                                         {"time", true, 8},
                                         {"sddmm", true, 6},
                                         {"spmm", true, 6},
                                         {"fused", true, 6},
                                         {"elbo", true, 10}});
        tool_progress_clear();
        tool_table_print_header(&report->table, stdout);
        report->titled = true;
    }
    const tool_word count = tool_word_of("%d", iteration->iteration);
    const tool_word loss = number(iteration->loss), metric = number(iteration->metric), elbo = number(iteration->elbo);
    const tool_word time = tool_word_seconds(iteration->seconds), sddmm = percent(iteration->sddmm_share);
    const tool_word spmm = percent(iteration->spmm_share), fused = percent(iteration->fused_share);
    tool_progress_clear();
    tool_table_print_row(
        &report->table, stdout,
        (const char *[]){count.text, loss.text, metric.text, time.text, sddmm.text, spmm.text, fused.text, elbo.text});
    fflush(stdout);
}

static void write_line(tool_training_report *report, const tamis_iteration *iteration) {
    tool_json *json = tool_lines_begin(&report->lines);
    if (!json) return;
    tool_json_put(json, tool_str("record", "iteration"), tool_str("method", tamis_method_name(iteration->method)),
                  TOOL_OF(*iteration, iteration), TOOL_OF(*iteration, iterations), TOOL_OF(*iteration, loss),
                  TOOL_OF(*iteration, metric), tool_only(isfinite(iteration->elbo), TOOL_OF(*iteration, elbo)),
                  TOOL_OF(*iteration, seconds), TOOL_OF(*iteration, total_seconds), TOOL_OF(*iteration, sddmm_share),
                  TOOL_OF(*iteration, spmm_share), TOOL_OF(*iteration, fused_share));
    const int code = tool_lines_end(&report->lines);
    if (code) report->written = code;
}

static double finite_or_zero(double value) { return isfinite(value) ? value : 0; }

bool tool_training_report_add(void *context, const tamis_iteration *iteration) {
    tool_training_report *report = context;
    if (iteration->checkpoint_failure && !report->last.checkpoint_failure)
        tool_warning("%s; training continues without this checkpoint", iteration->checkpoint_failure);
    const bool follows = report->last.iteration > 0 && report->last.iteration + 1 == iteration->iteration &&
                         iteration->batch == iteration->batches;
    if (follows && !report->rose && !tool_method_about(iteration->method)->mini_batches &&
        !tool_method_about(iteration->method)->sampled && iteration->loss > report->loss + 1e-2 * fabs(report->loss)) {
        report->rose = true;
        tool_warning("iteration %d: the loss rose from %.6g to %.6g: use a larger --regularization, or --type fp64",
                     iteration->iteration, report->loss, iteration->loss);
    }
    if (iteration->batch == iteration->batches) report->loss = iteration->loss;
    if (iteration->iteration > 0) report->last = *iteration;
    if (iteration->batch == iteration->batches) {
        const double seconds = finite_or_zero(iteration->seconds);
        report->seconds[0] += seconds * finite_or_zero(iteration->sddmm_share);
        report->seconds[1] += seconds * finite_or_zero(iteration->spmm_share);
        report->seconds[2] += seconds * finite_or_zero(iteration->fused_share);
        report->seconds[3] += seconds;
        report->elbo = iteration->elbo;
        if (report->shown) show_row(report, iteration);
        write_line(report, iteration);
    }
    show_progress(report, iteration);
    return !tool_interrupted() && report->written == 0;
}

/* ------------------------------------------------------------------------------------------ the summary */

static double share_of_time(const tool_training_report *report, int operation) {
    return report->seconds[3] > 0 ? report->seconds[operation] / report->seconds[3] : 0;
}

static bool has_option(tamis_method method, const char *name) {
    const tamis_method_option *own = tool_method_about(method)->options;
    while (own->name && strcmp(own->name, name) != 0) own++;
    return own->name != NULL;
}

static void print_summary(const tool_training_report *report, const tool_training_summary *summary,
                          const tamis_model_description *description) {
    const tamis_model_options *options = &description->options;
    printf("%s: %s of %s (", tool_visible(summary->model), tamis_method_name(options->method),
           tool_visible(summary->data));
    if (summary->rows > 0)
        printf("%s x %s, %s entries)", tool_word_count(summary->rows).text, tool_word_count(description->cols).text,
               tool_word_count(description->nnz).text);
    else
        printf("a stream, %s columns)", tool_word_count(description->cols).text);
    if (!tool_method_about(options->method)->pairs) printf(", %s factors", tool_word_count(options->factors).text);
    if (has_option(options->method, "neighbours") && options->neighbours > 0)
        printf(", %d neighbours", options->neighbours);
    printf(", %s\n", tamis_type_name(options->type));
    printf("  %d iterations", description->iterations_done);
    if (isfinite(description->loss)) printf(", loss %s", number(description->loss).text);
    if (isfinite(report->elbo)) printf(", elbo %s", number(report->elbo).text);
    if (isfinite(description->metric) && summary->held_out >= 0) {
        printf(", %s %s of %s held-out entries", tool_metric_name(options->method), number(description->metric).text,
               tool_word_count(summary->held_out).text);
        if (isfinite(summary->baseline))
            printf("; %s alone have %s", tamis_baseline_name(options->method), number(summary->baseline).text);
    }
    printf("\n  read in %s, fitted in %s on %s", tool_word_seconds(summary->read_seconds).text,
           tool_word_seconds(summary->fit_seconds).text, summary->device);
    if (report->seconds[3] > 0)
        printf(": sddmm %s, spmm %s, fused %s", percent(share_of_time(report, 0)).text,
               percent(share_of_time(report, 1)).text, percent(share_of_time(report, 2)).text);
    putchar('\n');
    if (summary->choice.stays)
        printf("  stays on the first device: an iteration %s predicted alone, %s on all %d\n",
               tool_word_seconds(summary->choice.alone).text, tool_word_seconds(summary->choice.together).text,
               summary->devices);
}

static bool weighs_uses(tamis_method method) { return has_option(method, "weights"); }

/* Prints the options that an inner split chose. */
static void print_choice(const tool_training_summary *summary, const tamis_model_description *description) {
    const tamis_model_options *asked = summary->asked, *options = &description->options;
    const char *before = "";
    if (!(description->choice_seconds > 0)) return;
    printf("  chosen by an inner split in %s: ", tool_word_seconds(description->choice_seconds).text);
    if (asked->factors == 0) printf("%s factors", tool_word_count(options->factors).text), before = ", ";
    if (asked->weights == TAMIS_WEIGHTS_AUTO && weighs_uses(options->method))
        printf("%sweights %s", before, tool_choice_name(&tool_use_weights, (int)options->weights)), before = ", ";
    if (isnan(asked->confidence)) printf("%sconfidence %s", before, number(options->confidence).text), before = ", ";
    if (asked->regularization == 0 && has_option(options->method, "regularization"))
        printf("%slambda %s", before, number(description->regularization).text), before = ", ";
    if (isnan(asked->row_prior) && !asked->learn_row_prior)
        printf("%srow prior %s", before, number(options->row_prior).text), before = ", ";
    if (isnan(asked->column_prior)) printf("%scolumn prior %s", before, number(options->column_prior).text);
    if (isnan(asked->confidence)) printf(", by recall and NDCG of the first twenty");
    if (description->biases_alone) printf(": biases alone, as no factors predict better");
    putchar('\n');
}

/* Prints how many users and items got factors from their features. */
static void print_featured(const tool_training_summary *summary, const tamis_model_description *description) {
    static const char *const names[] = {"user", "item"};
    const int64_t featured[] = {description->featured_rows, description->featured_columns};
    for (int i = 0; i < 2; i++) {
        if (!summary->features[i]) continue;
        if (featured[i] < 0)
            printf("  the features of %ss tell nothing of their factors: those without entries have none\n", names[i]);
        else
            printf("  factors from features: %s %s%s without entries\n", tool_word_count(featured[i]).text, names[i],
                   featured[i] == 1 ? "" : "s");
    }
}

void tool_training_report_end(tool_training_report *report, const tool_training_summary *summary,
                              const tamis_model_description *description, bool quiet) {
    const bool taken = report->lines.out == stdout;
    if (!quiet && !taken) {
        print_summary(report, summary, description);
        print_choice(summary, description);
        print_featured(summary, description);
    }
    tool_json *json = tool_lines_begin(&report->lines);
    if (!json) return;
    tool_json_put(
        json, tool_str("record", "summary"), TOOL_OF(*summary, model), TOOL_OF(*summary, data),
        TOOL_OF(*summary, device), tool_only(summary->devices > 0, TOOL_OF(summary->choice, stays)),
        tool_str("method", tamis_method_name(description->options.method)), TOOL_OF(description->options, factors),
        tool_only(weighs_uses(description->options.method),
                  tool_str("weights", tool_choice_name(&tool_use_weights, (int)description->options.weights))),
        tool_only(has_option(description->options.method, "confidence"), TOOL_OF(description->options, confidence)),
        tool_only(has_option(description->options.method, "neighbours"), TOOL_OF(description->options, neighbours)),
        tool_only(has_option(description->options.method, "row_prior"), TOOL_OF(description->options, row_prior)),
        tool_only(has_option(description->options.method, "row_prior"), TOOL_OF(description->options, column_prior)),
        tool_str("type", tamis_type_name(description->options.type)), TOOL_OF(*summary, rows),
        TOOL_OF(*description, cols), TOOL_OF(*description, nnz), TOOL_OF(*description, iterations_done),
        TOOL_OF(*description, loss), TOOL_OF(*description, regularization),
        tool_str("metric_name", tool_metric_name(description->options.method)), TOOL_OF(*description, metric),
        TOOL_OF(*summary, baseline), tool_only(summary->held_out >= 0, TOOL_OF(*summary, held_out)),
        TOOL_OF(*summary, read_seconds), TOOL_OF(*summary, fit_seconds),
        tool_only(description->choice_seconds > 0, TOOL_OF(*description, choice_seconds)),
        tool_num("sddmm_share", share_of_time(report, 0)), tool_num("spmm_share", share_of_time(report, 1)),
        tool_num("fused_share", share_of_time(report, 2)));
    const int code = tool_lines_end(&report->lines);
    if (code) report->written = code;
}
