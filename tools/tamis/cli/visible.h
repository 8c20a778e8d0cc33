/* Makes untrusted text, such as file names, safe for terminals: a control byte could move the cursor or forge a
   line. */
#ifndef TOOL_VISIBLE_H
#define TOOL_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes a UTF-8 character: returns its bytes and sets *number to its code point; 0 if it is invalid. */
size_t tool_character(const char *text, uint32_t *number);
bool tool_is_control(uint32_t number);

/* Writes the text with control bytes and invalid UTF-8 escaped as \n, \t, \r, \x1b and the like; truncated to
   `bytes`. */
void tool_visible_copy(const char *text, char *to, size_t bytes);

/* Returns a name in this form: itself if nothing is escaped, else a copy that lives as long as the process. */
const char *tool_visible(const char *name);

#endif
