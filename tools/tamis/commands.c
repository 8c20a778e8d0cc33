/* The table of subcommands, in the order of the help. */
#include "command.h"

#include <string.h>

const tool_command *tool_command_find(const tool_command *const *commands, const char *name) {
    for (; *commands; commands++) {
        if (strcmp((*commands)->name, name) == 0) return *commands;
    }
    return NULL;
}

const tool_command *const tool_commands[] = {
    &tool_devices_command,      &tool_algorithms_command,
    &tool_info_command,         &tool_generate_command,
    &tool_convert_command,      &tool_run_command,
    &tool_check_command,        &tool_bench_command,
    &tool_explain_command,      &tool_report_command,
    &tool_compare_command,      &tool_roofline_command,
    &tool_spy_command,          &tool_als_command,
    &tool_implicit_als_command, &tool_ccd_command,
    &tool_sfa_command,          &tool_lda_command,
    &tool_gap_command,          &tool_cache_command,
    &tool_tune_command,         NULL,
};
