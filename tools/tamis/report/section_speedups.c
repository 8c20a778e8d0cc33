/* Speed-ups over peers: geometric means by operation, and matrix by matrix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "exit.h"
#include "figures.h"
#include "sections.h"

enum { OPEN = 2 };

static void add_mean_row(tool_text *out, const tool_cases *cases, const char *operation, const char *over,
                         const tool_mean *mean) {
    if (mean->count == 0) return;
    tool_text_add(out, "<tr><td>%s<td>", operation);
    tool_add_escaped(out, over);
    tool_text_add(out, "<td>%s<td>%d<td>%d<td>%d<td>%d<td>%s <small>", tool_word_cell(tool_mean_get(mean)).text,
                  mean->wins, mean->ties, mean->count - mean->wins - mean->ties, mean->disturbed,
                  tool_word_cell(mean->least).text);
    tool_add_place(out, cases, mean->least_at);
    tool_text_add(out, "</small><td>%s <small>", tool_word_cell(mean->most).text);
    tool_add_place(out, cases, mean->most_at);
    tool_text_add(out, "</small>\n");
}

static void add_peer_table(const tool_page *page, int machine, tool_text *out) {
    const tool_cases *cases = page->cases;
    tool_text rows = {0};
    const char *peers[TOOL_PEERS];
    const int count = tool_cases_peers(cases, machine, peers, TOOL_PEERS);
    for (int i = 0; i <= TOOL_OPERATIONS; i++) {
        const char *operation = i < TOOL_OPERATIONS ? tool_operations_order[i] : NULL;
        const tool_word name = operation ? tool_operation_title(operation, NULL) : (tool_word){"All"};
        for (int j = 0; j < count; j++) {
            const tool_mean mean = tool_peer_speedup(cases, machine, operation, peers[j]);
            add_mean_row(&rows, cases, name.text, peers[j], &mean);
        }
        const tool_mean best = tool_peer_speedup(cases, machine, operation, NULL);
        if (count > 1) add_mean_row(&rows, cases, name.text, "the fastest peer", &best);
        const tool_mean baseline = tool_baseline_speedup(cases, machine, operation);
        add_mean_row(&rows, cases, name.text, "the baseline", &baseline);
    }
    if (rows.length > 0) {
        tool_text_add(
            out,
            "<div class=\"wide\"><table class=\"t places\"><thead><tr><th>Operation<th>Over<th>Times as fast<th>Won"
            "<th>Tied<th>Lost<th>Left out<th>Least<th>Most</thead><tbody>\n");
        tool_add_raw(out, tool_text_get(&rows));
        tool_text_add(out, "</tbody></table></div>\n");
    }
    tool_text_free(&rows);
}

static void add_floor_table(const tool_page *page, int machine, tool_text *out) {
    tool_text rows = {0};
    for (int i = 0; i <= TOOL_OPERATIONS; i++) {
        const char *operation = i < TOOL_OPERATIONS ? tool_operations_order[i] : NULL;
        const tool_mean floors = tool_floor_share(page->cases, machine, operation);
        const tool_mean loss = tool_choice_loss(page->cases, machine, operation);
        if (floors.count == 0 && loss.count == 0) continue;
        tool_text_add(&rows, "<tr><td>%s<td>%s<td>%s<td>%s",
                      operation ? tool_operation_title(operation, NULL).text : "All",
                      tool_word_cell(round(1000 * tool_mean_get(&floors)) / 10).text,
                      floors.count ? tool_word_cell(round(1000 * floors.least) / 10).text : "",
                      floors.count ? tool_word_cell(round(1000 * floors.most) / 10).text : "");
        if (loss.count > 0) {
            tool_text_add(&rows, "<td>%s<td>%s <small>", tool_word_cell(tool_mean_get(&loss)).text,
                          tool_word_cell(loss.most).text);
            tool_add_place(&rows, page->cases, loss.most_at);
            tool_text_add(&rows, "</small>");
        } else {
            tool_text_add(&rows, "<td><td>");
        }
        tool_text_add(&rows, "\n");
    }
    if (rows.length > 0) {
        tool_text_add(out,
                      "<div class=\"wide\"><table class=\"t places\"><thead><tr><th>Operation<th>Floor over time, %%"
                      "<th>Least, %%<th>Most, %%<th>Chosen over best<th>Worst</thead><tbody>\n");
        tool_add_raw(out, tool_text_get(&rows));
        tool_text_add(out, "</tbody></table></div>\n");
    }
    tool_text_free(&rows);
}

void tool_section_speedups(const tool_page *page, tool_text *out) {
    tool_add_aid(out,
                 "Geometric means of the peer\u2019s time divided by ours. Ours is the plan\u2019s own choice, or the "
                 "fastest method if no plan chose. Look at <em>least</em> before the mean: it is the ratio of the "
                 "worst matrix. A case is tied if the 95\u00a0% intervals of the two medians overlap, and left out "
                 "if other processes used the machine meanwhile.");
    for (int machine = 0; machine < page->cases->machines; machine++) {
        tool_add_machine(out, page->cases, machine);
        add_peer_table(page, machine, out);
        add_floor_table(page, machine, out);
    }
}

/* ---- matrix by matrix */

static int by_first_dot(const void *a, const void *b) {
    const tool_dot_row *x = a, *y = b;
    const double p = x->dots > 0 ? x->dot[0].at : 0, q = y->dots > 0 ? y->dot[0].at : 0;
    return (p < q) - (p > q);
}

static void add_panel(const tool_page *page, const tool_setting *setting, const char *const *peers, int count,
                      tool_text *out) {
    tool_dot_row *rows = tool_allocate((size_t)setting->cases, sizeof *rows);
    tool_dot *dots = tool_allocate((size_t)setting->cases * (size_t)(count + 1), sizeof *dots);
    bool *used = tool_allocate((size_t)page->styles->count, sizeof *used);
    tool_mean mean = {0};
    int filled = 0;
    for (int i = 0; i < setting->cases; i++) {
        const tool_case *one = &page->cases->at[setting->first + i];
        if (!one->chosen) continue;
        tool_dot_row *row = &rows[filled];
        *row = (tool_dot_row){
            .label = one->matrix, .starred = one->stand_in, .dot = dots + (size_t)i * (size_t)(count + 1)};
        const tool_measurement *least = NULL;
        for (int j = 0; j < count + (count == 0); j++) {
            const tool_measurement *other = count > 0 ? tool_case_peer(one, peers[j]) : one->baseline;
            if (!other || other == one->chosen) continue;
            const tool_style *style = tool_styles_of(page->styles, other);
            row->dot[row->dots++] =
                (tool_dot){other->median / one->chosen->median, count > 1 ? 1 + j % 5 : style->colour, style->shape};
            used[style - page->styles->at] = true;
            if (!least || other->median < least->median) least = other;
        }
        if (row->dots == 0) continue;
        row->word = tool_word_ratio(least->median / one->chosen->median);
        tool_mean_add_pair(&mean, least, one->chosen, one);
        filled++;
    }
    if (mean.count > 0) {
        qsort(rows, (size_t)filled, sizeof *rows, by_first_dot);
        tool_text title = {0}, description = {0};
        tool_text_add(&title, "%s: speed-up over %s, by matrix", setting->label, count ? "the peers" : "the baseline");
        tool_text_add(&description,
                      "Geometric mean over the fastest of them %s; won %d of %d, tied %d; least %s (%s), most %s (%s).",
                      tool_word_ratio(tool_mean_get(&mean)).text, mean.wins, mean.count, mean.ties,
                      tool_word_ratio(mean.least).text, ((const tool_case *)mean.least_at)->matrix,
                      tool_word_ratio(mean.most).text, ((const tool_case *)mean.most_at)->matrix);
        tool_text_add(out, "<figure><figcaption><b>");
        tool_add_escaped(out, setting->label);
        tool_text_add(out, "</b> <small>mean %s, won %d of %d, tied %d</small></figcaption>\n",
                      tool_word_ratio(tool_mean_get(&mean)).text, mean.wins, mean.count, mean.ties);
        tool_chart_dots(out, tool_text_get(&title), tool_text_get(&description), "\u2190 slower", "faster \u2192",
                        filled, rows);
        tool_text_add(out, "</figure>\n");
        tool_text_free(&title);
        tool_text_free(&description);
    }
    free(rows);
    free(dots);
    free(used);
}

/* Peers in a colour each: the legend of these charts. */
static void add_peers_legend(const tool_page *page, const char *const *peers, int count, tool_text *out) {
    if (count == 0) return;
    tool_text_add(out, "<ul class=\"legend\">");
    for (int j = 0; j < count; j++) {
        const tool_style *style = page->styles->at;
        while (style->algorithm != peers[j]) style++;
        tool_text_add(
            out,
            "<li><svg aria-hidden=\"true\" viewBox=\"0 0 14 14\" width=\"14\" height=\"14\"><path class=\"%s\" "
            "d=\"",
            tool_mark_class(count > 1 ? 1 + j % 5 : style->colour, style->shape).text);
        tool_add_mark(out, style->shape, 7, 7, 4.5);
        tool_text_add(out, "\"/></svg>");
        tool_add_escaped(out, peers[j]);
        tool_text_add(out, "</li>");
    }
    tool_text_add(out, "</ul>\n");
}

void tool_section_matrix_speedups(const tool_page *page, tool_text *out) {
    const tool_cases *cases = page->cases;
    tool_text panels = {0};
    for (int machine = 0; machine < cases->machines; machine++) {
        const char *peers[TOOL_PEERS];
        const int count = tool_cases_peers(cases, machine, peers, TOOL_PEERS);
        tool_text shown = {0}, folded = {0};
        int number = 0;
        for (int i = 0; i < cases->settings; i++) {
            if (cases->setting[i].machine != machine) continue;
            tool_text one = {0};
            add_panel(page, &cases->setting[i], peers, count, &one);
            if (one.length > 0) tool_add_raw(number++ < 3 * OPEN ? &shown : &folded, tool_text_get(&one));
            tool_text_free(&one);
        }
        if (shown.length > 0) {
            tool_add_machine(&panels, cases, machine);
            add_peers_legend(page, peers, count, &panels);
            tool_text_add(&panels, "<div class=\"grid\">");
            tool_add_raw(&panels, tool_text_get(&shown));
            tool_text_add(&panels, "</div>\n");
            if (folded.length > 0) {
                tool_text_add(&panels, "<details><summary>%d more</summary><div class=\"grid\">", number - 3 * OPEN);
                tool_add_raw(&panels, tool_text_get(&folded));
                tool_text_add(&panels, "</div></details>\n");
            }
        }
        tool_text_free(&shown);
        tool_text_free(&folded);
    }
    if (panels.length > 0) {
        tool_add_aid(
            out,
            "One row per matrix, one mark per peer; right of the line at 1 Tamis is faster. The figure at the right is "
            "the smallest ratio of the row. The axis is logarithmic; * marks a stand-in.");
        tool_add_raw(out, tool_text_get(&panels));
    }
    tool_text_free(&panels);
}
