/* tamis report: a page of what was measured. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "exit.h"
#include "page.h"
#include "results.h"
#include "text_file.h"

typedef struct settings {
    const char *output, *title;
    bool no_clobber;
} settings;

static const tool_option options[] = {
    {"output", 'o', TOOL_OUTPUT, "FILE", "report.html", "the output file; -: standard output",
     offsetof(settings, output), 0, 0, NULL},
    TOOL_NO_CLOBBER(offsetof(settings, no_clobber)),
    {"title", 0, TOOL_NAME, "TEXT", NULL, "the page's title; by default that of the suite", offsetof(settings, title),
     0, 0, NULL},
    {.name = NULL},
};

static const tool_example examples[] = {
    {"tamis bench mesh.mtx --json run.jsonl && tamis report run.jsonl -o run.html", "measure, then make the page"},
    {"tamis report cpu.jsonl.gz gpu.jsonl.xz -o both.html --title 'Both machines'", "several runs on one page"},
    {NULL, NULL},
};

static int run_report(const void *given, int count, char **operands) {
    const settings *set = given;
    tool_results results = {0};
    int code = 0;
    for (int i = 0; i < count && code == 0; i++) code = tool_results_load(&results, operands[i]);
    if (code == 0 && results.measurements == 0) {
        tool_error("%s: no measurements", operands[0]);
        code = TOOL_FILE;
    }
    if (code == 0) {
        tool_text page = {0};
        tool_page_write(&results, set->title, &page);
        code = tool_text_write(&page, set->output);
        if (code == 0 && strcmp(set->output, "-") != 0) {
            printf("%s: %s measurements, %s\n", set->output, tool_word_count(results.measurements).text,
                   tool_word_bytes((int64_t)page.length).text);
        }
        tool_text_free(&page);
    }
    tool_results_free(&results);
    return code;
}

const tool_command tool_report_command = {
    .name = "report",
    .summary = "make an HTML page of measurements",
    .operands = "RESULTS ...",
    .least = 1,
    .most = -1,
    .description =
        "Reads the JSON lines of 'tamis bench --json' (also compressed as .gz or .xz) and writes one page that needs "
        "no other file and no network. It shows the fastest method for each class of matrices, speed-ups over the "
        "peers, times, rooflines, pictures of the matrices, the costs of parameters and set-ups, and all measurements "
        "with their machines. If several runs measured a case, the latest is shown.\n"
        "\n"
        "If the last line is incomplete, as after an interrupted run, it is left out with a warning. Any other invalid "
        "line ends the program with code 3.",
    .options = options,
    .examples = examples,
    .settings_size = sizeof(settings),
    .run = run_report,
};
