/* Lists whose ids are names, as matrices. */
#ifndef TOOL_SOURCE_NAMES_H
#define TOOL_SOURCE_NAMES_H

#include "source.h"

/* Reads what source->report says are names, by the reader of `train`: sets the matrix and the names. Returns 0 or an
   exit code, after a message. */
int tool_source_read_names(const char *path, const tamis_read_options *reading, tool_source *source);

#endif
