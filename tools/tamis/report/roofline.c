/* tamis roofline: the ceilings of a device as a picture, with what was measured below them. */
#include <tamis/ceilings.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "command.h"
#include "device.h"
#include "exit.h"
#include "outputs.h"
#include "page.h"
#include "text_file.h"

typedef struct settings {
    const char *output;
    int device;
    bool no_clobber;
} settings;

static const tool_option options[] = {
    {"output", 'o', TOOL_OUTPUT, "FILE", NULL, "output file, .svg; -: standard output", offsetof(settings, output), 0,
     0, NULL},
    TOOL_NO_CLOBBER(offsetof(settings, no_clobber)),
    {"device", 'd', TOOL_CHOICE, "DEVICE", "best", "the device; by default, with RESULTS, their first one",
     offsetof(settings, device), 0, 0, &tool_devices},
    {.name = NULL},
};

static const tool_example examples[] = {
    {"tamis roofline -o machine.svg", "the ceilings of this machine"},
    {"tamis roofline run.jsonl --device cpu -o run.svg", "the same with the results of a run"},
    {NULL, NULL},
};

static void copy_pair(double *to, const double *from) { memcpy(to, from, 2 * sizeof *to); }

/* What a run record would say of a device of this machine. */
static int measure(int choice, tool_results *results, tool_run_record *run) {
    tool_device device;
    const int code = tool_device_open(choice, true, &device);
    if (code) return code;
    const tamis_ceilings *ceilings = &device.ceilings;
    *run = (tool_run_record){.device = tool_pool_keep(&results->pool, device.description.name),
                             .model = tool_pool_keep(&results->pool, device.description.model),
                             .measured = ceilings->measured,
                             .ceiling_threads = ceilings->threads};
    copy_pair(run->fp32_gflops, ceilings->fp32_gflops);
    copy_pair(run->fp64_gflops, ceilings->fp64_gflops);
    copy_pair(run->l1_gbs, ceilings->l1_gbs);
    copy_pair(run->l2_gbs, ceilings->l2_gbs);
    copy_pair(run->l3_gbs, ceilings->l3_gbs);
    copy_pair(run->memory_gbs, ceilings->memory_gbs);
    tool_device_close(&device);
    return 0;
}

/* The machine wanted among those of the files; -1 after a message. */
static int find_machine(const tool_cases *cases, int choice) {
    const char *name = choice == 0 ? NULL : tool_devices.name(choice);
    for (int i = 0; i < cases->machines; i++) {
        if (name && strcmp(cases->machine[i].device, name) != 0) continue;
        if (!name && cases->machines > 1) {
            tool_warning("the files have %d devices: this is %s; use --device for another", cases->machines,
                         cases->machine[i].device);
        }
        return i;
    }
    tool_error("the files have no measurement on %s", name ? name : "a device");
    return -1;
}

static void draw(const tool_run_record *run, bool doubles, const tool_styles *styles, int points,
                 const tool_roof_point *point, tool_text *out) {
    tool_roof roof = {
        .run = run, .doubles = doubles, .width = 760, .height = 500, .style = tool_page_text_of("roofline.css")};
    tool_roof_fit(&roof, points, point);
    tool_text title = {0}, description = {0};
    tool_text_add(&title, "Roofline of %s (%s%s)", run->model && *run->model ? run->model : run->device, run->device,
                  run->measured ? "" : "; ceilings are defaults, not measured");
    tool_text_add(&description, "Arithmetic %s GFLOP/s in fp32, memory %s GB/s, with all threads.",
                  tool_word_number(run->fp32_gflops[1]).text, tool_word_number(run->memory_gbs[1]).text);
    if (points > 0) tool_text_add(&description, " %d measurements below.", points);
    tool_chart_roofline(out, &roof, styles, points, point, tool_text_get(&title), tool_text_get(&description));
    tool_text_free(&title);
    tool_text_free(&description);
}

static int draw_results(const settings *set, tool_results *results, tool_text *out) {
    tool_cases cases;
    tool_styles styles;
    tool_cases_build(results, &cases);
    tool_styles_build(results, &styles);
    tool_roof_point *points = tool_allocate((size_t)results->measurements, sizeof *points);
    bool *used = tool_allocate((size_t)styles.count, sizeof *used);
    const int machine = find_machine(&cases, set->device);
    int code = machine < 0 ? (int)TOOL_FILE : 0;
    tool_run_record here;
    const tool_run_record *run = code ? NULL : cases.machine[machine].run;
    if (!code && !run) {
        tool_warning("the files have no ceilings of %s: drawing those of this machine", cases.machine[machine].device);
        const int choice =
            tool_choices_find(&tool_devices, cases.machine[machine].device, strlen(cases.machine[machine].device));
        code = measure(choice < 0 ? 0 : choice, results, &here);
        run = &here;
    }
    if (!code) {
        bool doubles = false;
        for (int i = 0; i < cases.settings; i++) {
            doubles |= cases.setting[i].machine == machine && strcmp(cases.setting[i].type, "fp64") == 0;
        }
        const int count = tool_roof_points(&cases, &styles, machine, NULL, true, points, used);
        draw(run, doubles, &styles, count, points, out);
    }
    free(points);
    free(used);
    tool_styles_free(&styles);
    tool_cases_free(&cases);
    return code;
}

static int run_roofline(const void *given, int count, char **operands) {
    const settings *set = given;
    if (!set->output) return tool_usage_error("-o FILE.svg is missing");
    int code = strcmp(set->output, "-") == 0 ? 0 : tool_output_ending("--output", set->output, ".svg");
    if (code) return code;
    tool_results results = {0};
    tool_text drawing = {0};
    for (int i = 0; i < count && code == 0; i++) code = tool_results_load(&results, operands[i]);
    if (code == 0 && count > 0 && results.measurements == 0) {
        tool_error("%s: no measurements", operands[0]);
        code = TOOL_FILE;
    }
    if (code == 0 && count > 0) {
        code = draw_results(set, &results, &drawing);
    } else if (code == 0) {
        tool_run_record run;
        code = measure(set->device, &results, &run);
        const tool_styles none = {0};
        if (code == 0) draw(&run, true, &none, 0, NULL, &drawing);
    }
    if (code == 0) code = tool_text_write(&drawing, set->output);
    tool_text_free(&drawing);
    tool_results_free(&results);
    return code;
}

const tool_command tool_roofline_command = {
    .name = "roofline",
    .summary = "plot the ceilings of a device and the results reached",
    .operands = "RESULTS ...",
    .least = 0,
    .most = -1,
    .description =
        "Draws the roofline of a device as an SVG file that follows the reader's light or dark theme: the speed that "
        "memory, caches and arithmetic allow at a number of flops per byte, measured with all threads. With RESULTS, "
        "files of JSON lines from 'tamis bench --json' (also .gz or .xz), the ceilings are those of their machine, and "
        "every measurement is a point.",
    .options = options,
    .examples = examples,
    .settings_size = sizeof(settings),
    .run = run_roofline,
};
