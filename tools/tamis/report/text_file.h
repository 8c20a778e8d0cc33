/* A text as a file. */
#ifndef TOOL_TEXT_FILE_H
#define TOOL_TEXT_FILE_H

#include "text.h"

/* Writes the file whole or not at all; "-" is standard output. Returns 0 or an exit code, after a message. */
int tool_text_write(const tool_text *text, const char *path);

#endif
