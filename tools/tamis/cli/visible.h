/* Text of others, such as names of files, as terminals may show it: a control byte could move the cursor or forge a
   line. */
#ifndef TOOL_VISIBLE_H
#define TOOL_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the character that begins there, and sets its number; 0 if they are no UTF-8. */
size_t tool_character(const char *text, uint32_t *number);
bool tool_is_control(uint32_t number);

/* Writes the text with \n, \t, \r, \x1b and the like in place of control bytes and of what is no UTF-8. It is cut at
   the end of the room. */
void tool_visible_copy(const char *text, char *to, size_t bytes);

/* Returns a name in this form: itself if it has no such bytes, else a copy that lives as long as the process. */
const char *tool_visible(const char *name);

#endif
