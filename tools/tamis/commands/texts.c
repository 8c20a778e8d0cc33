/* The text of commands.txt on a command: paragraphs, then examples. A paragraph ends at an empty line, a line with "* "
   is an entry of a list, and the line after an example "$ COMMAND" explains it. */
#include <string.h>

#include "cli/command.h"
#include "cli/embedded.h"

const char *tool_shell_text(const char *name) {
    for (int i = 0; i < tool_shell_text_count; i++)
        if (strcmp(tool_shell_texts[i].name, name) == 0) return (const char *)tool_shell_texts[i].text;
    return NULL;
}

/* Returns the line after the one at `at`, whose length it sets. */
static const char *take_line(const char *at, size_t *length) {
    *length = strcspn(at, "\n");
    return at[*length] ? at + *length + 1 : at + *length;
}

/* Finds the text below "== NAME". */
static const char *section(const char *name) {
    const char *at = tool_shell_text("commands.txt");
    const size_t wanted = strlen(name);
    while (*at) {
        size_t length = 0;
        const char *line = at;
        at = take_line(at, &length);
        if (length == wanted + 3 && strncmp(line, "== ", 3) == 0 && memcmp(line + 3, name, wanted) == 0) return at;
    }
    return at;
}

void tool_about(const char *name, tool_text *description, tool_text *examples) {
    size_t length = 0;
    bool paragraph = false;
    for (const char *at = section(name); *at && strncmp(at, "== ", 3) != 0;) {
        const char *line = at;
        at = take_line(at, &length);
        if (*line == '$' || (examples->length && length > 0)) {
            const int skipped = *line == '$' ? 2 : 0;
            tool_text_add(examples, "%.*s\n", (int)length - skipped, line + skipped);
        } else if (length == 0) {
            paragraph = true;
        } else {
            const bool entry = strncmp(line, "* ", 2) == 0, first = description->length == 0;
            tool_text_add(description, "%s", first ? "" : paragraph ? "\n\n" : entry ? "\n" : " ");
            tool_text_add(description, "%.*s", (int)length - (entry ? 2 : 0), line + (entry ? 2 : 0));
            paragraph = false;
        }
    }
}
