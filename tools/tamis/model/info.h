/* tamis info of a model. */
#ifndef TOOL_MODEL_INFO_H
#define TOOL_MODEL_INFO_H

#include "cli/json.h"

/* Describes a model as text, or as an object if json is not NULL. Returns 0 or an exit code, after a message. */
int tool_model_info(const char *path, tool_json *json);

#endif
