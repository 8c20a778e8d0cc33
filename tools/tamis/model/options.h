/* The options of training: what is asked on the command line, and how it becomes the library's options. */
#ifndef TOOL_MODEL_OPTIONS_H
#define TOOL_MODEL_OPTIONS_H

#include <tamis/ml.h>

#include "cli/command.h"
#include "cli/options.h"

typedef struct tool_train_settings {
    tamis_model_options model; /* options have the names of its fields */
    int device, transport, spread;
    tool_chosen devices; /* several: one rank each */
    /* the data */
    const char *columns, *vocabulary, *held_out, *observed;
    int from, duplicates;
    int64_t split_seed;
    double hold_out;
    bool leave_one_out, stream;
    /* what is written */
    const char *output, *checkpoint, *resume, *base, *json;
    bool no_clobber, verbose, quiet;
} tool_train_settings;

/* What the library says of a method, and the options of its training. They are made when the program starts. */
void tool_train_options_prepare(void);
const tamis_method_description *tool_method_about(tamis_method method);
const tool_option *tool_train_options(tamis_method method);
/* The same as commands, which end with no name. */
extern tool_command tool_train_methods[];

/* Whether an option is a number that the model keeps, or what uses count. --topics, the other name of --factors, is
   not. */
bool tool_train_of_model(const tool_option *option);

/* For a training that goes on: fills the settings' model from that of the checkpoint, with what was given on the
   command line over it. Returns 0, or TOOL_USAGE where it would change what the numbers are. */
int tool_train_go_on(tamis_method method, const tamis_model_options *checkpoint, tool_train_settings *settings);

#endif
