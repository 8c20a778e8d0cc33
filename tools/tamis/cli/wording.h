/* Rewords messages of the library: these speak of functions and fields, users of the program know options and files. */
#ifndef TOOL_WORDING_H
#define TOOL_WORDING_H

#include <stddef.h>

/* Sets what was typed, of which no word is changed in a message. */
void tool_wording_typed(int count, char *const *words);

/* Sets the options of the command, without dashes, ended by NULL. Both stay the caller's, to the end of the process. */
void tool_wording_options(const char *const *names);

/* Returns a message of the library in the words of the program. Text between quotation marks, what was typed, and
   `name` (NULL: none) stay as they are. */
void tool_wording(const char *message, const char *name, char *ours, size_t bytes);

#endif
