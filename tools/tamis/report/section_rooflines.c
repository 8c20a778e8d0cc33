/* Rooflines, a panel a class of matrices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "exit.h"
#include "figures.h"
#include "sections.h"

enum { OPEN = 6, CLASSES = 64 };

/* What the panel shows in words: the best point against the roof above it. */
static void describe(const tool_page *page, const tool_roof *roof, int count, const tool_roof_point *points,
                     tool_text *text) {
    const tool_roof_point *best = NULL;
    double best_share = 0, fastest = 0;
    for (int i = 0; i < count; i++) {
        if (points[i].gflops > fastest) fastest = points[i].gflops;
        if (!roof->run) continue;
        const double allowed = fmin(points[i].intensity * roof->run->memory_gbs[1], roof->run->fp32_gflops[1]);
        const double share = points[i].gflops / allowed;
        if (share > best_share) best_share = share, best = &points[i];
    }
    tool_text_add(text, "%d measurements; the fastest reaches %s GFLOP/s.", count, tool_word_short(fastest).text);
    if (best) {
        tool_text_add(text, " Nearest to the roof of memory and arithmetic: %s with %s of it.",
                      page->styles->at[best->style].algorithm, tool_word_percent(100 * best_share).text);
    }
}

static void add_panel(const tool_page *page, int machine, const tool_roof *fitted, const char *class_name,
                      tool_roof_point *points, bool *used, tool_text *out) {
    const int count = tool_roof_points(page->cases, page->styles, machine, class_name, false, points, used);
    if (count == 0) return;
    tool_text title = {0}, description = {0};
    const char *name = class_name ? class_name : "not classified";
    tool_text_add(&title, "Roofline: %s matrices", name);
    describe(page, fitted, count, points, &description);
    tool_text_add(out, "<figure><figcaption><b>");
    tool_add_escaped(out, name);
    tool_text_add(out, "</b> <small>%s</small></figcaption>\n", tool_text_get(&description));
    tool_chart_roofline(out, fitted, page->styles, count, points, tool_text_get(&title), tool_text_get(&description));
    tool_text_add(out, "</figure>\n");
    tool_text_free(&title);
    tool_text_free(&description);
}

static void add_machine_panels(const tool_page *page, int machine, tool_roof_point *points, bool *used,
                               tool_text *out) {
    const tool_cases *cases = page->cases;
    memset(used, 0, (size_t)page->styles->count * sizeof *used);
    tool_roof roof = {.run = cases->machine[machine].run, .width = 340, .height = 300};
    const int all = tool_roof_points(page->cases, page->styles, machine, NULL, true, points, used);
    if (all == 0) return;
    for (int i = 0; i < cases->settings; i++) {
        roof.doubles |= cases->setting[i].machine == machine && strcmp(cases->setting[i].type, "fp64") == 0;
    }
    tool_roof_fit(&roof, all, points);
    tool_add_machine(out, cases, machine);
    if (!roof.run) {
        tool_text_add(out, "<p class=\"note\">The files have no ceilings of this machine: points without roofs.</p>\n");
    } else if (!roof.run->measured) {
        tool_text_add(out, "<p class=\"note\">These ceilings are built-in defaults: they were not measured.</p>\n");
    }
    tool_add_legend(out, page->styles, used);
    tool_text_add(out, "<div class=\"grid\">");
    const char *seen[CLASSES];
    int classes = 0;
    for (int i = 0; i < cases->count && classes < CLASSES; i++) {
        const tool_case *one = &cases->at[i];
        if (!tool_case_of(cases, one, machine, NULL)) continue;
        int known = 0;
        while (known < classes && seen[known] != one->class_name) known++;
        if (known < classes) continue;
        seen[classes++] = one->class_name;
        if (classes == OPEN + 1)
            tool_text_add(out, "</div><details><summary>More classes</summary><div class=\"grid\">");
        add_panel(page, machine, &roof, one->class_name, points, used, out);
    }
    tool_text_add(out, classes > OPEN ? "</div></details>\n" : "</div>\n");
}

void tool_section_rooflines(const tool_page *page, tool_text *out) {
    tool_roof_point *points = tool_allocate((size_t)page->results->measurements, sizeof *points);
    bool *used = tool_allocate((size_t)page->styles->count, sizeof *used);
    tool_text panels = {0};
    for (int machine = 0; machine < page->cases->machines; machine++) {
        add_machine_panels(page, machine, points, used, &panels);
    }
    if (panels.length > 0) {
        tool_add_aid(
            out,
            "Height is speed, and no point can be above its roof. The sloping lines are the bandwidths of memory and "
            "caches, and the flat line is the arithmetic, all measured with all threads. Flops per byte count every "
            "input once, so points may be above the memory\u2019s line if caches hold the data. Both axes are "
            "logarithmic.");
        tool_add_raw(out, tool_text_get(&panels));
    }
    tool_text_free(&panels);
    free(points);
    free(used);
}
