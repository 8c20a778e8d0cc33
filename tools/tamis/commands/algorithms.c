/* tamis algorithms: the registry. */
#include <stdio.h>
#include <string.h>
#include <tamis/algorithms.h>

#include "cli/command.h"
#include "cli/device.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/text.h"

typedef struct settings {
    tool_chosen operations;
    const char *device;
    bool json;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_CHOSEN("op", 0, "OP,...", NULL, AT(operations), &tool_operations, "only those that support these operations"),
    TOOL_NAME("device", 'd', "DEVICE", AT(device),
              "only those of this device (cpu, cuda:0, opencl:0, ...; gpu: CUDA and OpenCL)"),
    TOOL_JSON_ARRAY(AT(json)),
    {.name = NULL},
};

static bool wanted(const settings *set, const tamis_algorithm_description *algorithm) {
    unsigned operations = 0;
    for (int i = 0; i < set->operations.count; i++) operations |= 1u << set->operations.at[i];
    if (operations && !(algorithm->operations & operations)) return false;
    return !set->device || strcmp(tool_device_family(set->device), algorithm->device) == 0;
}

static void print_text(const tamis_algorithm_description *algorithm) {
    tool_text operations = {0};
    for (int i = 0; i <= TAMIS_OP_FUSED; i++)
        if (algorithm->operations & (1u << i))
            tool_text_add(&operations, "%s%s", operations.length ? ", " : "", tamis_operation_name((tamis_operation)i));
    const struct {
        const char *title, *text;
    } lines[] = {{"operations", tool_text_get(&operations)},
                 {"source", algorithm->source},
                 {"needs", algorithm->needs},
                 {"when", algorithm->when},
                 {"parameters", algorithm->parameters}};
    printf("%s  (%s%s%s)\n", algorithm->name, algorithm->device, algorithm->baseline ? ", baseline" : "",
           algorithm->any_order ? ", sums in any order" : "");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!lines[i].text || !*lines[i].text) continue;
        printf("  %-11s ", lines[i].title);
        tool_wrap(stdout, lines[i].text, 14, 14, tool_terminal_width());
    }
    tool_text_free(&operations);
}

static void print_json(tool_json *json, const tamis_algorithm_description *algorithm) {
    tool_json_object(json, NULL);
    tool_json_put(json, TOOL_OF(*algorithm, name), TOOL_OF(*algorithm, device));
    tool_json_array(json, "operations");
    for (int i = 0; i <= TAMIS_OP_FUSED; i++)
        if (algorithm->operations & (1u << i)) tool_json_text(json, NULL, tamis_operation_name((tamis_operation)i));
    tool_json_end_array(json);
    tool_json_put(json, TOOL_OF(*algorithm, source), TOOL_OF(*algorithm, needs), TOOL_OF(*algorithm, when),
                  TOOL_OF(*algorithm, parameters), TOOL_OF(*algorithm, baseline), TOOL_OF(*algorithm, any_order));
    tool_json_end_object(json);
}

static int run_algorithms(const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count, (void)operands;
    tool_json json = tool_json_start(stdout, true);
    if (set->json) tool_json_array(&json, NULL);
    int shown = 0;
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        tamis_algorithm_description algorithm;
        if (tamis_algorithm_at(i, &algorithm) != TAMIS_OK || !wanted(set, &algorithm)) continue;
        if (set->json) {
            print_json(&json, &algorithm);
        } else {
            if (shown > 0) putchar('\n');
            print_text(&algorithm);
        }
        shown++;
    }
    if (set->json) tool_json_finish(&json);
    if (shown == 0) tool_warning("no algorithm matches");
    return TOOL_OK;
}

const tool_command tool_algorithms_command = TOOL_COMMAND(
    "algorithms", "", "list the algorithms: their source, needs and uses", options, settings, .run = run_algorithms);
