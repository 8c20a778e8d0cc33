/* Seeds of topics: a file with a line of words for each. */
#ifndef TOOL_MODEL_SEEDS_H
#define TOOL_MODEL_SEEDS_H

#include <tamis/ml.h>

/* Gives the model the seeds of a file, whose words are names of columns; columns NULL: numbers of `count` columns.
   Returns 0 or an exit code. */
int tool_seeds_set(const char *path, const tamis_names *columns, int64_t count, int64_t topics, tamis_model *model);

#endif
