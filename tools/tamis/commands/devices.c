/* tamis devices: the devices and their ceilings. */
#include <stdio.h>
#include <tamis/ceilings.h>
#include <tamis/tamis.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/text.h"

typedef struct settings {
    bool json, ceilings, probe;
} settings;

static const tool_option options[] = {
    TOOL_JSON_ARRAY(offsetof(settings, json)),
    {"ceilings", 0, TOOL_FLAG, NULL, "yes", "show the measured ceilings; the first time this takes about 0.2 s",
     offsetof(settings, ceilings), 0, 0, NULL},
    TOOL_FLAG("probe", 0, offsetof(settings, probe), "measure the ceilings anew, and keep the result"),
    {.name = NULL},
};

/* A ceiling with two figures, and its offset in the structure. */
typedef struct ceiling_row {
    const char *title, *unit, *key;
    size_t offset;
} ceiling_row;

static const ceiling_row ceiling_rows[] = {
    {"fp32 multiply-add", "GFLOP/s", "fp32_gflops", offsetof(tamis_ceilings, fp32_gflops)},
    {"fp64 multiply-add", "GFLOP/s", "fp64_gflops", offsetof(tamis_ceilings, fp64_gflops)},
    {"reads from L1", "GB/s", "l1_gbs", offsetof(tamis_ceilings, l1_gbs)},
    {"reads from L2", "GB/s", "l2_gbs", offsetof(tamis_ceilings, l2_gbs)},
    {"reads from L3", "GB/s", "l3_gbs", offsetof(tamis_ceilings, l3_gbs)},
    {"reads from memory", "GB/s", "memory_gbs", offsetof(tamis_ceilings, memory_gbs)},
};
enum { CEILING_ROWS = sizeof ceiling_rows / sizeof *ceiling_rows, GATHERS = 6 };

static const double *ceiling(const tamis_ceilings *ceilings, const ceiling_row *row) {
    const void *at = (const char *)ceilings + row->offset;
    return at;
}

/* Prints the figures of one ceiling. A GPU has only figures of the whole chip, and none for caches that it lacks. */
static void add_ceiling(tool_table *table, const char *title, double one, double all, bool gpu, const char *unit) {
    if (gpu && all <= 0) return;
    const tool_word single = tool_word_number(one), many = tool_word_number(all);
    tool_table_row(table, (const char *const[]){title, gpu ? "" : single.text, many.text, unit});
}

static void print_ceilings(const tamis_ceilings *ceilings, bool gpu) {
    char all[32];
    snprintf(all, sizeof all, "%d threads", ceilings->threads);
    const tool_column columns[] = {{ceilings->measured ? "ceilings (measured)" : "ceilings (defaults)", false, 28},
                                   {gpu ? "" : "1 thread", true, gpu ? 0 : 9},
                                   {gpu ? "" : all, true, 10},
                                   {"", false, 0}};
    tool_table table;
    tool_table_start(&table, 4, columns);
    for (int i = 0; i < CEILING_ROWS; i++) {
        const double *value = ceiling(ceilings, &ceiling_rows[i]);
        add_ceiling(&table, ceiling_rows[i].title, value[0], value[1], gpu, ceiling_rows[i].unit);
    }
    for (int i = 0; i < GATHERS; i++) {
        if (ceilings->gather_bytes[i] <= 0) continue;
        char title[64];
        snprintf(title, sizeof title, "random rows, table %s", tool_word_bytes(ceilings->gather_bytes[i]).text);
        add_ceiling(&table, title, ceilings->gather_gbs[0][i], ceilings->gather_gbs[1][i], gpu, "GB/s");
    }
    putchar('\n');
    tool_table_print(&table, stdout, 2);
    if (ceilings->doubtful)
        printf("  doubtful: %s while they were measured; 'tamis devices --probe' measures them again\n",
               ceilings->others_processors >= 0.1 ? "other processes used processors" : "no two probes agreed");
}

static void print_caches(const tamis_device_description *description) {
    const struct {
        const char *name;
        int64_t bytes;
    } caches[] = {{"L1", description->cache_l1}, {"L2", description->cache_l2}, {"L3", description->cache_l3}};
    const char *before = "  caches           ";
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        if (caches[i].bytes <= 0) continue;
        printf("%s%s %s", before, caches[i].name, tool_word_bytes(caches[i].bytes).text);
        before = ", ";
    }
    if (*before == ',') putchar('\n');
}

static void print_text(const char *name, const tamis_device_description *description, const char *rates,
                       const tamis_ceilings *ceilings) {
    const bool gpu = description->location == TAMIS_DEVICE;
    printf("%s  %s\n", name, description->model);
    printf("  instruction set  %s\n", description->instruction_set);
    if (gpu) {
        printf("  driver           %s\n", description->driver);
        printf("  multiprocessors  %d\n", description->multiprocessors);
    } else {
        printf("  threads          %d\n", description->threads);
    }
    print_caches(description);
    printf("  memory           %s\n", tool_word_bytes(description->memory).text);
    printf("  rates            %s\n", rates);
    if (ceilings) print_ceilings(ceilings, gpu);
}

static void print_json(tool_json *json, const char *name, const tamis_device_description *description,
                       const char *rates, const tamis_ceilings *ceilings) {
    tool_json_object(json, NULL);
    tool_json_put(json, tool_str("name", name), tool_yes("present", true), TOOL_OF(*description, model),
                  TOOL_OF(*description, instruction_set), TOOL_OF(*description, driver),
                  tool_str("location", description->location == TAMIS_DEVICE ? "device" : "host"),
                  TOOL_OF(*description, multiprocessors), TOOL_OF(*description, threads),
                  TOOL_OF(*description, cache_l1), TOOL_OF(*description, cache_l2), TOOL_OF(*description, cache_l3),
                  TOOL_OF(*description, memory), tool_str("rates", rates));
    if (ceilings) {
        tool_json_object(json, "ceilings");
        tool_json_put(json, TOOL_OF(*ceilings, measured), TOOL_OF(*ceilings, doubtful),
                      TOOL_OF(*ceilings, others_processors), TOOL_OF(*ceilings, threads));
        for (int i = 0; i < CEILING_ROWS; i++)
            tool_json_numbers(json, ceiling_rows[i].key, ceiling(ceilings, &ceiling_rows[i]), 2);
        tool_json_array(json, "gather");
        for (int i = 0; i < GATHERS; i++) {
            if (ceilings->gather_bytes[i] <= 0) continue;
            tool_json_item(json, tool_int("bytes", ceilings->gather_bytes[i]),
                           tool_num("one_thread_gbs", ceilings->gather_gbs[0][i]),
                           tool_num("all_threads_gbs", ceilings->gather_gbs[1][i]));
        }
        tool_json_end_array(json);
        tool_json_end_object(json);
    }
    tool_json_end_object(json);
}

static void print_absent(tool_json *json, const char *name, const char *why) {
    if (!json) {
        printf("%s  absent: %s\n", name, why);
        return;
    }
    tool_json_item(json, tool_str("name", name), tool_yes("present", false), tool_str("why", why));
}

static int show(const settings *set, const char *name, tool_json *json) {
    tamis_device *device = NULL;
    tamis_device_description description = {.name = NULL};
    tamis_ceilings ceilings = {.threads = 0};
    char rates[160] = "";
    tamis_status status = tamis_device_open(name, &device);
    if (status == TAMIS_OK) status = tamis_device_describe(device, &description);
    if (status == TAMIS_OK && set->ceilings)
        status = set->probe ? tamis_device_probe(device, &ceilings) : tamis_device_ceilings(device, &ceilings);
    if (status == TAMIS_OK) status = tamis_device_rates(device, rates, sizeof rates, NULL);
    const int code = tool_library_error(status, name);
    if (code == 0 && json) print_json(json, name, &description, rates, set->ceilings ? &ceilings : NULL);
    if (code == 0 && !json) print_text(name, &description, rates, set->ceilings ? &ceilings : NULL);
    tamis_device_close(device);
    return code;
}

static int run_devices(const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count, (void)operands;
    tool_json json = tool_json_start(stdout, true);
    if (set->json) tool_json_array(&json, NULL);
    int worst = TOOL_OK;
    for (int i = 0; i < tamis_device_count(); i++) {
        const char *name = "", *why = "";
        if (tamis_device_at(i, &name, &why) != TAMIS_OK) continue;
        if (i > 0 && !set->json) putchar('\n');
        if (*why) {
            print_absent(set->json ? &json : NULL, name, why);
            continue;
        }
        const int code = show(set, name, set->json ? &json : NULL);
        if (code) worst = code;
    }
    if (set->json) tool_json_finish(&json);
    return worst;
}

const tool_command tool_devices_command = TOOL_COMMAND(
    "devices", "", "list the devices with their ceilings, measured or defaults", options, settings, .run = run_devices);
