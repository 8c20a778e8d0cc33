/* The page: its head, the sections that have content, and the list of them. */
#include "page.h"
#include "embedded.h"

#include <string.h>
#include <tamis/tamis.h>

#include "figures.h"
#include "sections.h"

static const struct {
    const char *id, *title, *name; /* name: in the list of contents */
    void (*add)(const tool_page *page, tool_text *out);
} sections[] = {
    {"answer", "Which method for which matrix", "Which method", tool_section_answer},
    {"speedups", "Speed-ups and the floor", "Speed-ups", tool_section_speedups},
    {"times", "Times", "Times", tool_section_times},
    {"matrices-speedups", "Speed-ups, matrix by matrix", "Matrix by matrix", tool_section_matrix_speedups},
    {"rooflines", "Rooflines", "Rooflines", tool_section_rooflines},
    {"matrices", "The matrices", "The matrices", tool_section_matrices},
    {"model", "The model against exhaustive search", "Model and search", tool_section_model},
    {"parameters", "Parameter studies", "Parameters", tool_section_parameters},
    {"traffic", "Column tiles and memory traffic", "Memory traffic", tool_section_traffic},
    {"calls", "When a set-up pays off", "When a set-up pays off", tool_section_calls},
    {"measurements", "All measurements", "All measurements", tool_section_measurements},
    {"machines", "Machines, versions and seeds", "Machines, versions", tool_section_machines},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* Adds a text to a list with commas unless it is there already. */
typedef struct listing {
    const char *seen[12];
    int count;
    tool_text text;
} listing;

static void list(listing *all, const char *one) {
    if (!one || !*one) return;
    for (int i = 0; i < all->count; i++) {
        if (strcmp(all->seen[i], one) == 0) return;
    }
    if (all->count == 12) return;
    all->seen[all->count++] = one;
    tool_text_add(&all->text, "%s%s", all->count > 1 ? ", " : "", one);
}

static void add_title(const tool_results *results, const char *title, tool_text *out) {
    listing titles = {.count = 0}, suites = {.count = 0};
    for (int i = 0; i < results->runs; i++) list(&titles, results->run[i].title);
    for (int i = 0; i < results->measurements; i++) list(&suites, results->measurement[i].suite);
    if (title) {
        tool_add_escaped(out, title);
    } else if (titles.count == 1) {
        tool_add_escaped(out, titles.seen[0]);
    } else if (suites.count > 0) {
        tool_text_add(out, "Tamis: ");
        tool_add_escaped(out, tool_text_get(&suites.text));
    } else {
        tool_text_add(out, "Benchmarks of Tamis");
    }
    tool_text_free(&titles.text);
    tool_text_free(&suites.text);
}

/* "NVIDIA H200 (sm_90, driver 13.0)" for each machine */
static void add_machines(const tool_cases *cases, tool_text *out) {
    tool_text_add(out, "<p><b>");
    for (int i = 0; i < cases->machines; i++) {
        const tool_machine *one = &cases->machine[i];
        if (i > 0) tool_text_add(out, "; ");
        tool_add_escaped(out, one->model ? one->model : one->device);
        if (!one->run) continue;
        listing parts = {.count = 0};
        list(&parts, one->run->instruction_set);
        list(&parts, one->run->driver);
        if (parts.count > 0) tool_text_add(out, " (");
        tool_add_escaped(out, tool_text_get(&parts.text));
        if (parts.count > 0) tool_text_add(out, ")");
        tool_text_free(&parts.text);
    }
    tool_text_add(out, "</b></p>\n");
}

static int distinct_matrices(const tool_cases *cases) {
    int count = 0;
    for (int i = 0; i < cases->count; i++) {
        int before = 0;
        while (before < i && cases->at[before].matrix != cases->at[i].matrix) before++;
        count += before == i;
    }
    return count;
}

static void add_sentence(const tool_results *results, const tool_cases *cases, tool_text *out) {
    listing operations = {.count = 0}, types = {.count = 0}, days = {.count = 0}, versions = {.count = 0};
    int64_t least = 0, most = 0;
    int kept = 0, matrices = distinct_matrices(cases);
    char day[64][11] = {""};
    for (int i = 0; i < cases->settings; i++) {
        const tool_setting *one = &cases->setting[i];
        const int64_t k = tool_setting_k(one);
        list(&types, one->type);
        if (i == 0 || k < least) least = k;
        if (k > most) most = k;
    }
    for (int i = 0; i < TOOL_OPERATIONS; i++) {
        for (int j = 0; j < cases->settings; j++) {
            if (strcmp(cases->setting[j].operation, tool_operations_order[i]) != 0) continue;
            list(&operations, i == 0 ? "SDDMM" : i == 1 ? "SpMM" : "fused");
        }
    }
    for (int i = 0; i < cases->count; i++) kept += cases->at[i].count;
    for (int i = 0; i < results->runs && i < 64; i++) {
        const char *started = results->run[i].started;
        snprintf(day[i], sizeof day[i], "%.10s", started ? started : "");
        list(&days, day[i]);
    }
    for (int i = 0; i < results->measurements; i++) list(&versions, results->measurement[i].version);
    tool_text_add(out, "<p>%s measurements on %d matri%s: %s, K = %lld", tool_word_count(kept).text, matrices,
                  matrices == 1 ? "x" : "ces", tool_text_get(&operations.text), (long long)least);
    if (most > least) tool_text_add(out, " to %lld", (long long)most);
    tool_text_add(out, ", ");
    tool_add_escaped(out, tool_text_get(&types.text));
    if (versions.count > 0) tool_text_add(out, "; Tamis ");
    tool_add_escaped(out, tool_text_get(&versions.text));
    if (days.count > 0) tool_text_add(out, ", ");
    tool_add_escaped(out, tool_text_get(&days.text));
    tool_text_add(out, ".</p>\n");
    tool_text_free(&operations.text);
    tool_text_free(&types.text);
    tool_text_free(&days.text);
    tool_text_free(&versions.text);
}

static void add_wrong(const tool_cases *cases, tool_text *out) {
    int wrong = 0;
    for (int i = 0; i < cases->count; i++) {
        for (int j = 0; j < cases->at[i].count; j++) {
            wrong += cases->at[i].at[j]->passed == 0 && !cases->at[i].at[j]->peer;
        }
    }
    if (wrong == 0) return;
    tool_text_add(out,
                  "<p class=\"wrong\">%d result%s outside the tolerance: see \u201coutside\u201d in the tables.</p>\n",
                  wrong, wrong == 1 ? " is" : "s are");
}

const char *tool_page_text_of(const char *name) {
    for (int i = 0; i < tool_page_text_count; i++) {
        if (strcmp(tool_page_texts[i].name, name) == 0) return (const char *)tool_page_texts[i].text;
    }
    return "";
}

static void add_head(const char *title, tool_text *out) {
    tool_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    tool_add_raw(out, title);
    tool_text_add(out, "</title>\n<style>\n");
    tool_add_raw(out, tool_page_text_of("page.css"));
    tool_text_add(out,
                  "</style>\n</head>\n<body>\n"
                  "<svg class=\"hidden\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"4\" height=\"4\" "
                  "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M0 0V4\"/>"
                  "</pattern></defs></svg>\n<div class=\"page\">\n");
}

void tool_page_write(const tool_results *results, const char *title, tool_text *out) {
    tool_cases cases;
    tool_styles styles;
    tool_cases_build(results, &cases);
    tool_styles_build(results, &styles);
    const tool_page page = {results, &cases, &styles};
    tool_text name = {0}, contents = {0}, body = {0};
    add_title(results, title, &name);
    for (int i = 0; i < SECTIONS; i++) {
        tool_text one = {0};
        sections[i].add(&page, &one);
        if (one.length > 0) {
            tool_text_add(&contents, "<li><a href=\"#%s\">%s</a></li>", sections[i].id, sections[i].name);
            tool_text_add(&body, "<section id=\"%s\">\n<h2>%s</h2>\n", sections[i].id, sections[i].title);
            tool_add_raw(&body, tool_text_get(&one));
            tool_text_add(&body, "</section>\n");
        }
        tool_text_free(&one);
    }
    add_head(tool_text_get(&name), out);
    tool_text_add(out, "<nav aria-label=\"Contents\"><ul>%s</ul></nav>\n<main>\n<header>\n<h1>%s</h1>\n",
                  tool_text_get(&contents), tool_text_get(&name));
    add_machines(&cases, out);
    add_sentence(results, &cases, out);
    add_wrong(&cases, out);
    tool_text_add(out, "</header>\n");
    tool_add_raw(out, tool_text_get(&body));
    tool_text_add(out, "<footer>Made by tamis report %s from ", tamis_version());
    for (int i = 0; i < results->files; i++) {
        const char *slash = strrchr(results->file[i], '/');
        tool_text_add(out, i > 0 ? ", " : "");
        tool_add_escaped(out, slash ? slash + 1 : results->file[i]);
    }
    tool_text_add(out, ".</footer>\n</main>\n</div>\n<script>\n");
    tool_add_raw(out, tool_page_text_of("page.js"));
    tool_text_add(out, "</script>\n</body>\n</html>\n");
    tool_text_free(&name);
    tool_text_free(&contents);
    tool_text_free(&body);
    tool_styles_free(&styles);
    tool_cases_free(&cases);
}
