/* The table of subcommands, in the order of the help. */
#include "command.h"

const tool_command *const tool_commands[] = {
    &tool_devices_command, &tool_algorithms_command, &tool_info_command,  &tool_generate_command, &tool_convert_command,
    &tool_run_command,     &tool_check_command,      &tool_bench_command, &tool_explain_command,  &tool_report_command,
    &tool_compare_command, &tool_roofline_command,   &tool_spy_command,   &tool_cache_command,    NULL,
};
