/* The library speaks of its functions and fields; who uses the program knows options and files. */
#ifndef TOOL_WORDING_H
#define TOOL_WORDING_H

#include <stddef.h>

/* What was typed, to the end of the process: no word of it is changed in a message. */
void tool_wording_typed(int count, char *const *words);

/* The options of the command, without dashes; NULL ends them. Both stay the caller's. */
void tool_wording_options(const char *const *names);

/* A message of the library in the words of the program. What stands between quotation marks, what was typed, and
   `name` (NULL: none) stay as they are. */
void tool_wording(const char *message, const char *name, char *ours, size_t bytes);

#endif
