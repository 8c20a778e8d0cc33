/* tamis --describe: the tables of commands and options as JSON, for scripts/man-page.py. */
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"

static void describe_option(tool_json *json, const tool_option *option) {
    const char letter[] = {option->letter, 0};
    tool_json_object(json, NULL);
    tool_json_put(json, TOOL_OF(*option, name), tool_str("letter", letter), TOOL_OF(*option, argument),
                  TOOL_OF(*option, preset), TOOL_OF(*option, help), tool_yes("flag", tool_option_is_flag(option)),
                  tool_yes("optional", tool_option_is_optional(option)));
    tool_json_array(json, "choices");
    for (int i = 0; option->choices && !option->choices->many && tool_choice_name(option->choices, i); i++)
        tool_json_text(json, NULL, tool_choice_name(option->choices, i));
    tool_json_end_array(json);
    tool_json_end_object(json);
}

/* Describes a command, or a method of the command `within` unless that is NULL. */
static void describe_command(tool_json *json, const tool_command *command, const tool_command *within) {
    tool_text description = {0}, examples = {0};
    tool_about(within ? tool_command_name(within, command).text : command->name, &description, &examples);
    tool_json_object(json, NULL);
    tool_json_put(json, TOOL_OF(*command, name), TOOL_OF(*command, operands),
                  tool_str("description", tool_text_get(&description)), tool_str("examples", tool_text_get(&examples)));
    tool_json_array(json, "options");
    for (const tool_option *option = command->options; option && option->name; option++) describe_option(json, option);
    tool_json_end_array(json);
    tool_json_array(json, "methods");
    for (const tool_command *method = command->methods; method && method->name; method++)
        describe_command(json, method, command);
    tool_json_end_array(json);
    tool_json_end_object(json);
    tool_text_free(&description);
    tool_text_free(&examples);
}

void tool_describe(FILE *out) {
    tool_json json = tool_json_open(out, false);
    tool_json_array(&json, "commands");
    for (int i = 0; tool_commands[i]; i++) describe_command(&json, tool_commands[i], NULL);
    tool_json_end_array(&json);
    tool_json_array(&json, "exit");
    for (size_t i = 0; i < sizeof tool_exit_meanings / sizeof *tool_exit_meanings; i++)
        tool_json_item(&json, tool_int("code", (int64_t)tool_exit_meanings[i].code),
                       tool_str("meaning", tool_exit_meanings[i].meaning));
    tool_json_end_array(&json);
    tool_json_finish(&json);
}
