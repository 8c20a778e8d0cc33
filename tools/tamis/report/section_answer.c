/* The answer: which method for which matrix, and how good it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "exit.h"
#include "figures.h"
#include "sections.h"

enum { CLASSES = 64 };

typedef struct class_row {
    const char *name;
    int matrices;
    const tool_matrix_record *example;
    const char *seen[256]; /* the matrices counted */
} class_row;

/* The classes of a machine's matrices in the order of the files. */
static int find_classes(const tool_cases *cases, int machine, class_row *rows) {
    int count = 0;
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (!tool_case_of(cases, one, machine, NULL)) continue;
        int at = 0;
        while (at < count && rows[at].name != one->class_name) at++;
        if (at == CLASSES) continue;
        if (at == count) {
            memset(&rows[at], 0, sizeof rows[at]);
            rows[count++].name = one->class_name;
        }
        class_row *row = &rows[at];
        int known = 0;
        while (known < row->matrices && known < 256 && row->seen[known] != one->matrix) known++;
        if (known == row->matrices && known < 256) row->seen[row->matrices++] = one->matrix;
        if (!row->example && one->record && one->record->spy) row->example = one->record;
    }
    return count;
}

static bool column_present(const tool_cases *cases, int machine, const char *operation, int range) {
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (tool_case_of(cases, one, machine, operation) && one->fastest &&
            tool_range_of(tool_setting_k(&cases->setting[one->setting])) == range) {
            return true;
        }
    }
    return false;
}

static void add_choice(tool_text *out, const tool_choice *choice, const char *label) {
    tool_text_add(out, "<td data-label=\"%s\">", label);
    if (!choice->algorithm) {
        tool_text_add(out, "<span class=\"none\">\u2013</span></td>");
        return;
    }
    tool_text_add(out, "<b>");
    tool_add_escaped(out, choice->algorithm);
    tool_text_add(out, "</b>");
    const double versus = tool_mean_get(&choice->versus);
    if (isfinite(versus)) {
        tool_text_add(out, "<span class=\"v%s\">%s <small>", versus < 1 ? " low" : "", tool_word_ratio(versus).text);
        tool_add_escaped(out, choice->versus_name);
        tool_text_add(out, "</small></span>");
    }
    if (choice->close) {
        tool_text_add(out, "<small class=\"c\">or ");
        tool_add_escaped(out, choice->close);
        tool_text_add(out, "</small>");
    } else if (choice->contestants == 1) {
        tool_text_add(out, "<small class=\"c\">the only one measured</small>");
    }
    tool_text_add(out, "</td>");
}

static void add_head(const tool_page *page, int machine, tool_text *out) {
    int all = 0;
    for (int i = 0; i < TOOL_OPERATIONS * TOOL_RANGES; i++) {
        all += column_present(page->cases, machine, tool_operations_order[i / TOOL_RANGES], i % TOOL_RANGES);
    }
    tool_text_add(out, "<table class=\"answer%s\"><thead><tr><th rowspan=\"2\" scope=\"col\">Matrices</th>",
                  all > 6 ? " many" : "");
    for (int i = 0; i < TOOL_OPERATIONS; i++) {
        int columns = 0;
        for (int r = 0; r < TOOL_RANGES; r++) {
            columns += column_present(page->cases, machine, tool_operations_order[i], r);
        }
        if (columns == 0) continue;
        tool_text_add(out, "<th colspan=\"%d\" scope=\"colgroup\">%s</th>", columns,
                      tool_operation_title(tool_operations_order[i], NULL).text);
    }
    tool_text_add(out, "</tr><tr>");
    for (int i = 0; i < TOOL_OPERATIONS * TOOL_RANGES; i++) {
        const char *operation = tool_operations_order[i / TOOL_RANGES];
        if (!column_present(page->cases, machine, operation, i % TOOL_RANGES)) continue;
        tool_text_add(out, "<th scope=\"col\">");
        tool_add_escaped(out, tool_range_names[i % TOOL_RANGES]);
        tool_text_add(out, "</th>");
    }
    tool_text_add(out, "</tr></thead>\n<tbody>\n");
}

static void add_row(const tool_page *page, int machine, const class_row *row, tool_text *out) {
    tool_text_add(out, "<tr><th scope=\"row\"><div>");
    if (row->example) {
        tool_chart_spy(out, row->example, tool_matrix_number(page->results, row->example), 44, true);
    }
    tool_text_add(out, "<span>");
    tool_add_escaped(out, row->name ? row->name : "not classified");
    tool_text_add(out, "<small>%d matri%s</small></span></div></th>", row->matrices, row->matrices == 1 ? "x" : "ces");
    for (int i = 0; i < TOOL_OPERATIONS * TOOL_RANGES; i++) {
        const char *operation = tool_operations_order[i / TOOL_RANGES];
        if (!column_present(page->cases, machine, operation, i % TOOL_RANGES)) continue;
        const tool_choice choice = tool_choice_find(page->cases, machine, row->name, operation, i % TOOL_RANGES);
        tool_text label = {0};
        tool_text_add(&label, "%s, ", tool_operation_title(operation, NULL).text);
        tool_add_escaped(&label, tool_range_names[i % TOOL_RANGES]);
        add_choice(out, &choice, tool_text_get(&label));
        tool_text_free(&label);
    }
    tool_text_add(out, "</tr>\n");
}

/* ---- tiles */

static void add_tile(tool_text *out, const char *figure, bool low, const char *what) {
    tool_text_add(out, "<li><b class=\"big%s\">%s</b><span>%s</span><small>", low ? " low" : "", figure, what);
}

static void add_tiles(const tool_page *page, int machine, tool_text *out) {
    const tool_cases *cases = page->cases;
    const bool automatic = cases->machine[machine].automatic;
    const char *who = automatic ? "the plan\u2019s own choice" : "the fastest of ours";
    tool_text_add(out, "<ul class=\"tiles\">\n");
    const char *peers[TOOL_PEERS];
    const int count = tool_cases_peers(cases, machine, peers, TOOL_PEERS);
    for (int i = 0; i < count + (count == 0); i++) {
        const tool_mean mean =
            count > 0 ? tool_peer_speedup(cases, machine, NULL, peers[i]) : tool_baseline_speedup(cases, machine, NULL);
        if (mean.count == 0) continue;
        tool_text what = {0};
        tool_text_add(&what, "as fast as ");
        tool_add_escaped(&what, count > 0 ? peers[i] : "the baseline");
        const double value = tool_mean_get(&mean);
        add_tile(out, tool_word_ratio(value).text, value < 1, tool_text_get(&what));
        tool_text_free(&what);
        tool_text_add(out, "%s wins %d of %d, ties %d; %d more were disturbed and left out; least %s (", who, mean.wins,
                      mean.count, mean.ties, mean.disturbed, tool_word_ratio(mean.least).text);
        tool_add_place(out, cases, mean.least_at);
        tool_text_add(out, ")</small></li>\n");
    }
    const tool_mean floors = tool_floor_share(cases, machine, NULL);
    if (floors.count > 0) {
        const tool_word share = tool_word_percent(100 * tool_mean_get(&floors));
        add_tile(out, share.text, false, "of the speed that the floor allows");
        tool_text_add(
            out,
            "%s, from %s to %s; above 100\u00a0%% if caches hold data that the floor assumes in memory</small></li>\n",
            who, tool_word_percent(100 * floors.least).text, tool_word_percent(100 * floors.most).text);
    }
    const tool_mean loss = tool_choice_loss(cases, machine, NULL);
    if (loss.count > 0) {
        add_tile(out, tool_word_percent(100 * (tool_mean_get(&loss) - 1)).text, false, "is lost if the plan chooses");
        tool_text_add(out, "against the best method measured, over %d cases; worst %s (", loss.count,
                      tool_word_ratio(loss.most).text);
        tool_add_place(out, cases, loss.most_at);
        tool_text_add(out, ")</small></li>\n");
    }
    tool_text_add(out, "</ul>\n");
}

void tool_section_answer(const tool_page *page, tool_text *out) {
    class_row *rows = tool_allocate(CLASSES, sizeof *rows);
    tool_add_aid(
        out,
        "Each field shows the method of Tamis with the smallest geometric mean of times over the class, and its "
        "speed-up over the best peer (without peers, over the baseline). \u201cor\u201d names another method within "
        "5\u00a0%.");
    for (int machine = 0; machine < page->cases->machines; machine++) {
        tool_add_machine(out, page->cases, machine);
        tool_text_add(out, "<div class=\"wide\">");
        add_head(page, machine, out);
        const int count = find_classes(page->cases, machine, rows);
        for (int i = 0; i < count; i++) add_row(page, machine, &rows[i], out);
        tool_text_add(out, "</tbody></table></div>\n");
        add_tiles(page, machine, out);
    }
    bool stars = false;
    for (int i = 0; i < page->cases->count; i++) stars |= page->cases->at[i].stand_in;
    if (stars) {
        tool_text_add(out,
                      "<p class=\"note\">Stand-ins are generated matrices of the structure that the name stands for, "
                      "not the real ones; they bear a tag or *.</p>\n");
    }
    free(rows);
}
