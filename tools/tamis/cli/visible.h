/* Text of others, such as names of files, as terminals may show it: a control byte of theirs could move the cursor or
   forge a line. */
#ifndef TOOL_VISIBLE_H
#define TOOL_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of the character that begins there, and its bytes; 0 bytes where they are no UTF-8. */
size_t tool_character(const char *text, uint32_t *number);
bool tool_is_control(uint32_t number);

/* The text with \n, \t, \r, and \x1b and the like in place of control bytes and of what is no UTF-8. It ends where
   there is no more room. */
void tool_visible_copy(const char *text, char *to, size_t bytes);

/* The same of a name: itself where it has none of these, else a copy that stays for the life of the process. */
const char *tool_visible(const char *name);

#endif
