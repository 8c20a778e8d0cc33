/* Rewords messages of the library, which name functions and fields, for users of the program, who know options and
   files. */
#ifndef TOOL_WORDING_H
#define TOOL_WORDING_H

#include <stddef.h>

/* Sets the command line; its words are not changed in messages. */
void tool_wording_typed(int count, char *const *words);

/* Sets the options of the command, without dashes, terminated by NULL. Both arrays must live as long as the process. */
void tool_wording_options(const char *const *names);

/* Translates a message of the library into the words of the program. Text in quotation marks, words of the command
   line, and `name` (NULL: none) stay as they are. */
void tool_wording(const char *message, const char *name, char *ours, size_t bytes);

#endif
