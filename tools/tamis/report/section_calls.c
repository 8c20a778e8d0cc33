/* Set-up against calls, for a case of each class. */
#include <math.h>
#include <stdlib.h>

#include "charts.h"
#include "exit.h"
#include "figures.h"
#include "sections.h"

enum { MOST = 6 };

/* A case tells something when several methods take part and some of them have a set-up. */
static bool tells(const tool_case *one) {
    int with = 0, all = 0;
    for (int i = 0; i < one->count; i++) {
        if (one->at[i]->parameters && !one->at[i]->automatic) continue;
        all++;
        with += one->at[i]->setup > 0;
    }
    return all >= 2 && with >= 1;
}

/* For each class the case with the most contestants: the first of these in the order of the files. */
static int pick(const tool_page *page, int machine, const tool_case **picked) {
    const tool_cases *cases = page->cases;
    int count = 0;
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (!tool_case_of(cases, one, machine, NULL) || !tells(one)) continue;
        int at = 0;
        while (at < count && picked[at]->class_name != one->class_name) at++;
        if (at == MOST) continue;
        if (at == count) {
            picked[count++] = one;
        } else if (one->count > picked[at]->count) {
            picked[at] = one;
        }
    }
    return count;
}

void tool_section_calls(const tool_page *page, tool_text *out) {
    bool *used = tool_allocate((size_t)page->styles->count, sizeof *used);
    bool begun = false;
    for (int machine = 0; machine < page->cases->machines; machine++) {
        const tool_case *picked[MOST];
        const int count = pick(page, machine, picked);
        if (count == 0) continue;
        if (!begun) {
            tool_add_aid(
                out,
                "A plan pays its set-up once: each curve is (set-up + n calls) / n. Choose the method with the lowest "
                "curve at your number of calls; the text below each chart says where it changes. Both axes are "
                "logarithmic.");
        }
        begun = true;
        tool_add_machine(out, page->cases, machine);
        for (int i = 0; i < page->styles->count; i++) used[i] = false;
        tool_text panels = {0};
        for (int i = 0; i < count; i++) {
            const tool_case *one = picked[i];
            for (int j = 0; j < one->count; j++) {
                if (one->at[j]->parameters && !one->at[j]->automatic) continue;
                used[tool_styles_of(page->styles, one->at[j]) - page->styles->at] = true;
            }
            const char *label = page->cases->setting[one->setting].label;
            tool_text findings = {0};
            tool_text_add(&panels, "<figure><figcaption><b>");
            tool_add_matrix(&panels, one->matrix, one->stand_in);
            tool_text_add(&panels, "</b> <small>");
            tool_add_escaped(&panels, one->class_name ? one->class_name : "");
            tool_text_add(&panels, "%s%s</small></figcaption>\n", one->class_name ? "; " : "", label);
            tool_chart_calls(&panels, one, label, page->styles, &findings);
            tool_text_add(&panels, "<p class=\"note\">Cheapest: ");
            tool_add_escaped(&panels, tool_text_get(&findings));
            tool_text_add(&panels, ".</p></figure>\n");
            tool_text_free(&findings);
        }
        tool_add_legend(out, page->styles, used);
        tool_text_add(out, "<div class=\"grid\">");
        tool_add_raw(out, tool_text_get(&panels));
        tool_text_add(out, "</div>\n");
        tool_text_free(&panels);
    }
    free(used);
}
