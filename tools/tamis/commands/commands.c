/* The table of subcommands, in the order of the help. */
#include "cli/command.h"

#include <string.h>

const tool_command *tool_command_find(const char *name) {
    int i = 0;
    while (tool_commands[i] && strcmp(tool_commands[i]->name, name) != 0) i++;
    return tool_commands[i];
}

const tool_command *tool_method_find(const tool_command *command, const char *name) {
    const tool_command *method = command->methods;
    while (method && method->name && strcmp(method->name, name) != 0) method++;
    return method && method->name ? method : NULL;
}

tool_word tool_command_name(const tool_command *command, const tool_command *method) {
    return tool_word_of("%s%s%s", command->name, method ? " " : "", method ? method->name : "");
}

const tool_command *const tool_commands[] = {
    &tool_devices_command,     &tool_algorithms_command,
    &tool_info_command,        &tool_generate_command,
    &tool_convert_command,     &tool_run_command,
    &tool_check_command,       &tool_bench_command,
    &tool_tune_device_command, &tool_explain_command,
    &tool_report_command,      &tool_compare_command,
    &tool_roofline_command,    &tool_spy_command,
    &tool_train_command,       &tool_tune_command,
    &tool_evaluate_command,    &tool_predict_command,
    &tool_recommend_command,   &tool_similar_command,
    &tool_topics_command,      &tool_score_command,
    &tool_transform_command,   &tool_export_command,
    &tool_cache_command,       NULL,
};
