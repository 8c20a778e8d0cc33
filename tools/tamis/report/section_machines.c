/* What everything was measured on and with. */
#include <math.h>
#include <string.h>

#include "sections.h"

static void add_text(tool_text *out, const char *name, const char *value) {
    if (!value || !*value) return;
    tool_text_add(out, "<dt>%s</dt><dd>", name);
    tool_add_escaped(out, value);
    tool_text_add(out, "</dd>");
}

static void add_count(tool_text *out, const char *name, int64_t value) {
    if (value > 0) tool_text_add(out, "<dt>%s</dt><dd>%s</dd>", name, tool_word_count(value).text);
}

static void add_bytes(tool_text *out, const char *name, int64_t value) {
    if (value > 0) tool_text_add(out, "<dt>%s</dt><dd>%s</dd>", name, tool_word_bytes(value).text);
}

static void add_pair(tool_text *out, const char *name, const double *value, const char *unit) {
    if (!(value[1] > 0)) return;
    tool_text_add(out, "<dt>%s</dt><dd>%s %s", name, tool_word_number(value[1]).text, unit);
    if (value[0] > 0 && value[0] != value[1]) {
        tool_text_add(out, " <small>(one thread %s)</small>", tool_word_number(value[0]).text);
    }
    tool_text_add(out, "</dd>");
}

static void add_gathers(tool_text *out, const tool_run_record *run) {
    for (int i = 0; i < 6; i++) {
        if (!(run->gather_bytes[i] > 0) || !(run->gather_gbs[i] > 0)) continue;
        tool_text_add(out, "<dt>random rows, table %s</dt><dd>%s GB/s</dd>",
                      tool_word_bytes((int64_t)run->gather_bytes[i]).text, tool_word_number(run->gather_gbs[i]).text);
    }
}

static void add_run(const tool_run_record *run, tool_text *out) {
    tool_text_add(out, "<dl>");
    add_text(out, "run", run->run);
    add_text(out, "started", run->started);
    add_text(out, "suite", run->suite);
    add_text(out, "tier", run->tier);
    add_text(out, "title", run->title);
    add_text(out, "paper", run->paper);
    add_text(out, "version", run->version);
    add_text(out, "compiler", run->compiler);
    add_text(out, "system", run->system);
    add_text(out, "processor", run->processor);
    add_count(out, "processors", run->processors);
    add_text(out, "device", run->device);
    add_text(out, "model", run->model);
    add_text(out, "instruction set", run->instruction_set);
    add_text(out, "driver", run->driver);
    add_count(out, "threads", run->threads);
    add_count(out, "multiprocessors", run->multiprocessors);
    add_bytes(out, "L1", run->cache_l1);
    add_bytes(out, "L2", run->cache_l2);
    add_bytes(out, "L3", run->cache_l3);
    add_bytes(out, "memory", run->memory);
    add_text(out, "ceilings", run->measured ? "measured" : "built-in defaults");
    add_count(out, "threads of the ceilings", run->ceiling_threads);
    add_pair(out, "fp32", run->fp32_gflops, "GFLOP/s");
    add_pair(out, "fp64", run->fp64_gflops, "GFLOP/s");
    add_pair(out, "reads from L1", run->l1_gbs, "GB/s");
    add_pair(out, "reads from L2", run->l2_gbs, "GB/s");
    add_pair(out, "reads from L3", run->l3_gbs, "GB/s");
    add_pair(out, "reads from memory", run->memory_gbs, "GB/s");
    add_gathers(out, run);
    tool_text_add(out, "</dl>\n");
}

/* ---- versions and seeds: what differs among the measurements of a file and run, a row each */

static bool same_origin(const tool_measurement *a, const tool_measurement *b) {
    return a->file == b->file && a->run == b->run && a->suite == b->suite && a->version == b->version &&
           a->compiler == b->compiler && a->device == b->device && a->driver == b->driver && a->seed == b->seed &&
           a->calls == b->calls && a->cold == b->cold;
}

static void add_origins(const tool_results *results, tool_text *out) {
    tool_text_add(out,
                  "<div class=\"wide\"><table class=\"t\"><thead><tr><th>File<th>Run<th>Device<th>Version<th>Compiler"
                  "<th>Seed<th>Calls a sample<th>Caches<th>Measurements</thead><tbody>\n");
    for (int i = 0; i < results->measurements; i++) {
        const tool_measurement *one = &results->measurement[i];
        int count = 0;
        bool known = false;
        for (int j = 0; j < results->measurements && !known; j++) {
            const bool same = same_origin(one, &results->measurement[j]);
            known = same && j < i;
            count += same;
        }
        if (known) continue;
        const char *slash = strrchr(results->file[one->file - 1], '/');
        const char *const cells[] = {slash ? slash + 1 : results->file[one->file - 1], one->run, one->device,
                                     one->version, one->compiler};
        tool_text_add(out, "<tr>");
        for (int k = 0; k < 5; k++) {
            tool_text_add(out, "<td>");
            tool_add_escaped(out, cells[k]);
        }
        tool_text_add(out, "<td>%lld<td>%lld<td>%s<td>%d\n", (long long)one->seed, (long long)one->calls,
                      one->cold ? "cold" : "warm", count);
    }
    tool_text_add(out, "</tbody></table></div>\n");
}

void tool_section_machines(const tool_page *page, tool_text *out) {
    const tool_results *results = page->results;
    tool_add_aid(out, "The machines as recorded by the program, and the versions and seeds that reproduce the runs.");
    for (int i = 0; i < results->runs; i++) {
        const tool_run_record *run = &results->run[i];
        tool_text title = {0};
        tool_text_add(&title, "%s", run->model ? run->model : run->device ? run->device : "a device");
        if (run->device) tool_text_add(&title, " (%s)", run->device);
        if (run->suite) tool_text_add(&title, ", suite %s", run->suite);
        if (run->started) tool_text_add(&title, ", %s", run->started);
        tool_part_begin(out, i, 2, tool_text_get(&title));
        add_run(run, out);
        tool_part_end(out, i, 2);
        tool_text_free(&title);
    }
    if (results->runs == 0) {
        tool_text_add(
            out,
            "<p class=\"note\">The files do not describe the machine: they were written before it was recorded.</p>\n");
    }
    tool_text_add(out, "<h3>Versions and seeds</h3>\n");
    add_origins(results, out);
    if (page->cases->superseded > 0) {
        tool_text_add(
            out,
            "<p class=\"note\">%d measurements are left out because a later run measured the same cases again.</p>\n",
            page->cases->superseded);
    }
}
