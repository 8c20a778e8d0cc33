/* All measurements, a table a case. */
#include <math.h>

#include "sections.h"

static void add_cell(tool_text *out, double value) { tool_text_add(out, "<td>%s", tool_word_cell(value).text); }

static void add_error(tool_text *out, const tool_measurement *at) {
    if (at->passed < 0 || !isfinite(at->error)) {
        tool_text_add(out, "<td>");
        return;
    }
    tool_text_add(out, "<td%s>%.1e%s", at->passed ? "" : " class=\"low\"", at->error, at->passed ? "" : " outside");
    if (at->share < 1) tool_text_add(out, " <small>of %.2g %%</small>", 100 * at->share);
}

static void add_row(tool_text *out, const tool_measurement *at, bool quartiles, double scale) {
    tool_text_add(out, "<tr><td>");
    tool_add_escaped(out, at->algorithm);
    if (at->parameters || at->variant) {
        tool_text_add(out, " <small>");
        tool_add_escaped(out, at->parameters ? at->parameters : at->variant);
        tool_text_add(out, "</small>");
    }
    if (at->automatic) tool_text_add(out, " <small>auto</small>");
    if (at->peer) tool_text_add(out, " <small>peer</small>");
    if (at->baseline) tool_text_add(out, " <small>baseline</small>");
    if (at->disturbed)
        tool_text_add(out, " <small class=\"low\">disturbed by %.1f processors</small>", at->others + at->stolen);
    add_cell(out, scale * at->setup);
    add_cell(out, scale * at->min);
    if (quartiles) add_cell(out, scale * at->q1);
    add_cell(out, scale * at->median);
    if (quartiles) add_cell(out, scale * at->q3);
    add_cell(out, at->gflops);
    add_cell(out, isfinite(at->floor_ratio) ? round(at->floor_ratio * 100) / 100 : at->floor_ratio);
    add_error(out, at);
    tool_text_add(out, "\n");
}

void tool_section_measurements(const tool_page *page, tool_text *out) {
    const tool_cases *cases = page->cases;
    tool_add_aid(
        out,
        "All measurements, one table per case. The caption has the unit of the times; \u201c\u00d7 floor\u201d is the "
        "median divided by the minimum time that the machine allows. An error \u201cof 12 %\u201d means that only this "
        "part of the result was compared with the oracle, always including the longest row. Click the column heads to "
        "sort.");
    for (int i = 0; i < cases->settings; i++) {
        const tool_setting *setting = &cases->setting[i];
        tool_text_add(out, "<details><summary>");
        tool_add_escaped(out, setting->label);
        tool_text_add(out, " <small>%d matri%s</small></summary>\n", setting->cases, setting->cases == 1 ? "x" : "ces");
        for (int j = 0; j < setting->cases; j++) {
            const tool_case *one = &cases->at[setting->first + j];
            bool quartiles = false, small = true; /* small: microseconds need fewer digits */
            for (int k = 0; k < one->count; k++) {
                quartiles |= isfinite(one->at[k]->q1);
                small &= one->at[k]->median < 10;
            }
            tool_text_add(out, "<div class=\"wide\"><table class=\"t m\"><caption>");
            tool_add_matrix(out, one->matrix, one->stand_in);
            tool_text_add(out, " <small>");
            tool_add_size(out, one);
            tool_text_add(out, "; times in %s", small ? "\u00b5s" : "ms");
            tool_text_add(
                out,
                "</small></caption><thead><tr><th>Method<th>Set-up<th>Min%s<th>Median%s<th>GFLOP/s<th>\u00d7 floor"
                "<th>Error</thead><tbody>\n",
                quartiles ? "<th>Q1" : "", quartiles ? "<th>Q3" : "");
            for (int k = 0; k < one->count; k++) add_row(out, one->at[k], quartiles, small ? 1e3 : 1);
            tool_text_add(out, "</tbody></table></div>\n");
        }
        tool_text_add(out, "</details>\n");
    }
}
