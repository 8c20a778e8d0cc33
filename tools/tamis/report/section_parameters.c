/* Parameters: a model against a search, and every other sweep. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "exit.h"
#include "sections.h"

enum { OPEN = 6, MOST_ROWS = 40 };

static const tool_measurement *contestant(const tool_case *one, const char *algorithm, const char *parameters) {
    for (int i = 0; i < one->count; i++) {
        const tool_measurement *at = one->at[i];
        if (at->peer || at->algorithm != algorithm) continue;
        if (parameters ? at->parameters && strcmp(at->parameters, parameters) == 0 : !at->parameters) return at;
    }
    return NULL;
}

/* A panel with what it shows in words, which it frees with its title. */
static void add_figure(tool_text *out, const char *algorithm, const char *label, tool_text *title, tool_text *finding,
                       const char *lower, const char *upper, int count, const tool_dot_row *rows) {
    tool_text_add(out, "<figure><figcaption><b>");
    tool_add_escaped(out, algorithm);
    tool_text_add(out, "</b> <small>");
    tool_add_escaped(out, label);
    tool_text_add(out, "</small></figcaption>\n");
    tool_chart_dots(out, tool_text_get(title), tool_text_get(finding), lower, upper, count, rows);
    tool_text_add(out, "<p class=\"note\">");
    tool_add_escaped(out, tool_text_get(finding));
    tool_text_add(out, "</p></figure>\n");
    tool_text_free(title);
    tool_text_free(finding);
}

/* ---- the model against the exhaustive search */

static void add_model_panel(const tool_page *page, const tool_setting *setting, const char *algorithm, tool_text *out) {
    tool_dot_row *rows = tool_allocate((size_t)setting->cases, sizeof *rows);
    tool_dot *dots = tool_allocate(2 * (size_t)setting->cases, sizeof *dots);
    tool_mean model = {0}, short_search = {0};
    int count = 0;
    for (int i = 0; i < setting->cases; i++) {
        const tool_case *one = &page->cases->at[setting->first + i];
        const tool_measurement *best = contestant(one, algorithm, "tune=2");
        const tool_measurement *by_model = contestant(one, algorithm, "tune=0");
        const tool_measurement *half = contestant(one, algorithm, "tune=1");
        if (!by_model) by_model = contestant(one, algorithm, NULL);
        if (!best || !by_model) continue;
        tool_dot_row *row = &rows[count];
        *row = (tool_dot_row){.label = one->matrix, .starred = one->stand_in, .dot = dots + 2 * (size_t)count};
        row->dot[row->dots++] = (tool_dot){by_model->median / best->median, 0, 0};
        tool_mean_add(&model, by_model->median / best->median, one);
        if (half) {
            row->dot[row->dots++] = (tool_dot){half->median / best->median, 1, 2};
            tool_mean_add(&short_search, half->median / best->median, one);
        }
        snprintf(row->word.text, sizeof row->word.text, "%+.1f\u00a0%%", 100 * (row->dot[0].at - 1));
        count++;
    }
    if (count > 0) {
        tool_text title = {0}, finding = {0};
        tool_text_add(&title, "%s, %s: time by the model over the time by exhaustive search", algorithm,
                      setting->label);
        tool_text_add(
            &finding,
            "The model takes %.1f\u00a0%% more time than the search in the geometric mean, %.1f\u00a0%% at worst (%s)",
            100 * (tool_mean_get(&model) - 1), 100 * (model.most - 1), ((const tool_case *)model.most_at)->matrix);
        if (short_search.count > 0) {
            tool_text_add(&finding, "; with tune=1 %.1f\u00a0%%", 100 * (tool_mean_get(&short_search) - 1));
        }
        tool_text_add(&finding, ".");
        add_figure(out, algorithm, setting->label, &title, &finding, "", "slower than the search \u2192", count, rows);
    }
    free(rows);
    free(dots);
}

/* ---- sweeps: time over that of the default, a row a set of parameters, a mark a matrix */

typedef struct sweep_row {
    const char *parameters;
    tool_mean mean;
    int dots;
    tool_dot *dot;
} sweep_row;

static int by_mean(const void *a, const void *b) {
    const double x = tool_mean_get(&((const sweep_row *)a)->mean), y = tool_mean_get(&((const sweep_row *)b)->mean);
    return (x > y) - (x < y);
}

/* What a sweep is compared with: the contestant without parameters, else the first one. */
static const tool_measurement *reference(const tool_case *one, const char *algorithm) {
    const tool_measurement *plain = contestant(one, algorithm, NULL);
    for (int i = 0; i < one->count && !plain; i++) {
        if (!one->at[i]->peer && one->at[i]->algorithm == algorithm) plain = one->at[i];
    }
    return plain;
}

static int collect_sweep(const tool_page *page, const tool_setting *setting, const char *algorithm, sweep_row *rows,
                         const char **against) {
    int count = 0;
    for (int i = 0; i < setting->cases; i++) {
        const tool_case *one = &page->cases->at[setting->first + i];
        const tool_measurement *base = reference(one, algorithm);
        if (!base) continue;
        *against = base->parameters;
        for (int j = 0; j < one->count; j++) {
            const tool_measurement *at = one->at[j];
            if (at->peer || at->algorithm != algorithm || at == base || !at->parameters) continue;
            int k = 0;
            while (k < count && rows[k].parameters != at->parameters) k++;
            if (k == MOST_ROWS) continue;
            if (k == count) rows[count++] = (sweep_row){.parameters = at->parameters};
            rows[k].dot = tool_grow(rows[k].dot, (size_t)rows[k].dots + 1, sizeof *rows[k].dot);
            rows[k].dot[rows[k].dots++] = (tool_dot){at->median / base->median, 0, 0};
            tool_mean_add(&rows[k].mean, at->median / base->median, one);
        }
    }
    return count;
}

static void add_sweep_panel(const tool_page *page, const tool_setting *setting, const char *algorithm, tool_text *out) {
    sweep_row *sweep = tool_allocate(MOST_ROWS, sizeof *sweep);
    const char *against = NULL;
    const int count = collect_sweep(page, setting, algorithm, sweep, &against);
    qsort(sweep, (size_t)count, sizeof *sweep, by_mean);
    tool_dot_row *rows = tool_allocate((size_t)count, sizeof *rows);
    for (int i = 0; i < count; i++) {
        rows[i] = (tool_dot_row){.label = sweep[i].parameters,
                                 .word = tool_word_ratio(tool_mean_get(&sweep[i].mean)),
                                 .dots = sweep[i].dots,
                                 .dot = sweep[i].dot};
    }
    if (count > 0) {
        tool_text title = {0}, finding = {0};
        const double best = tool_mean_get(&sweep[0].mean);
        tool_text_add(&title, "%s, %s: time over that of %s", algorithm, setting->label,
                      against ? against : "the default");
        tool_text_add(&finding, "Best in the geometric mean: %s with %s of the time of %s; best for one matrix %s.",
                      best < 1  ? sweep[0].parameters
                      : against ? against
                                : "the default",
                      tool_word_ratio(fmin(best, 1)).text, against ? against : "the default",
                      tool_word_ratio(fmin(sweep[0].mean.least, 1)).text);
        add_figure(out, algorithm, setting->label, &title, &finding, "\u2190 faster", "slower \u2192", count, rows);
    }
    for (int i = 0; i < count; i++) free(sweep[i].dot);
    free(sweep);
    free(rows);
}

/* ---- both: for each setting, each algorithm of ours that has the contestants wanted */

static bool has_model(const tool_page *page, const tool_setting *setting, const char *algorithm) {
    for (int i = 0; i < setting->cases; i++) {
        if (contestant(&page->cases->at[setting->first + i], algorithm, "tune=2")) return true;
    }
    return false;
}

static bool has_sweep(const tool_page *page, const tool_setting *setting, const char *algorithm) {
    for (int i = 0; i < setting->cases; i++) {
        const tool_case *one = &page->cases->at[setting->first + i];
        int count = 0;
        for (int j = 0; j < one->count; j++) count += !one->at[j]->peer && one->at[j]->algorithm == algorithm;
        if (count >= 2) return true;
    }
    return false;
}

typedef bool (*has_panel)(const tool_page *, const tool_setting *, const char *);
typedef void (*add_panel)(const tool_page *, const tool_setting *, const char *, tool_text *);

static void add_panels(const tool_page *page, has_panel has, add_panel add, tool_text *out) {
    const tool_cases *cases = page->cases;
    int number = 0;
    for (int i = 0; i < cases->settings; i++) {
        for (int k = 0; k < page->styles->count; k++) {
            const char *algorithm = page->styles->at[k].algorithm;
            if (!has(page, &cases->setting[i], algorithm)) continue;
            if (number == 0) tool_text_add(out, "<div class=\"grid\">");
            if (number++ == OPEN) tool_text_add(out, "</div><details><summary>More</summary><div class=\"grid\">");
            add(page, &cases->setting[i], algorithm, out);
        }
    }
    if (number > 0) tool_text_add(out, number > OPEN ? "</div></details>\n" : "</div>\n");
}

void tool_section_model(const tool_page *page, tool_text *out) {
    tool_text panels = {0};
    add_panels(page, has_model, add_model_panel, &panels);
    if (panels.length > 0) {
        tool_add_aid(
            out,
            "The time with the parameters of the method\u2019s own model (tune=0) divided by the time with those "
            "of an exhaustive search (tune=2): at 1 the model loses nothing. The figure at the right is the loss.");
        tool_text_add(
            out, "<ul class=\"legend\"><li><svg aria-hidden=\"true\" viewBox=\"0 0 14 14\" width=\"14\" height=\"14\">"
                 "<path class=\"m c0\" d=\"");
        tool_add_mark(out, 0, 7, 7, 4.5);
        tool_text_add(
            out, "\"/></svg>tune=0, by the model</li><li><svg aria-hidden=\"true\" viewBox=\"0 0 14 14\" width=\"14\" "
                 "height=\"14\"><path class=\"m c1\" d=\"");
        tool_add_mark(out, 2, 7, 7, 4.5);
        tool_text_add(out, "\"/></svg>tune=1, with a short search</li></ul>\n");
        tool_add_raw(out, tool_text_get(&panels));
    }
    tool_text_free(&panels);
}

void tool_section_parameters(const tool_page *page, tool_text *out) {
    tool_text panels = {0};
    add_panels(page, has_sweep, add_sweep_panel, &panels);
    if (panels.length > 0) {
        tool_add_aid(
            out,
            "Time divided by that of the method\u2019s default: one row per set of parameters, one mark per matrix, "
            "best on top; the figure at the right is the row\u2019s geometric mean. Left of the line is faster than "
            "the default.");
        tool_add_raw(out, tool_text_get(&panels));
    }
    tool_text_free(&panels);
}
