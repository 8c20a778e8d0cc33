/* The options of training: the command line's settings, and their conversion to the library's options. */
#ifndef TOOL_MODEL_OPTIONS_H
#define TOOL_MODEL_OPTIONS_H

#include <tamis/ml.h>

#include "cli/command.h"
#include "cli/options.h"

typedef struct tool_train_settings {
    tamis_model_options model; /* options are named after its fields */
    int device, transport, spread;
    tool_chosen devices; /* several: one rank each */
    /* the data */
    const char *columns, *vocabulary, *held_out, *observed, *seeds;
    const char *features[2]; /* of rows and columns */
    int from, duplicates;
    int64_t split_seed;
    int64_t min_documents;
    double hold_out, max_share;
    bool leave_one_out, stream, texts, pairs;
    /* what is written */
    const char *output, *checkpoint, *resume, *base, *json;
    bool no_clobber, verbose, quiet;
} tool_train_settings;

/* The library's description of a method, and the options of its training. tool_train_options_prepare makes them when
   the program starts. */
void tool_train_options_prepare(void);
const tamis_method_description *tool_method_about(tamis_method method);
const tool_option *tool_train_options(tamis_method method);
/* The methods as commands; the last has no name. */
extern tool_command tool_train_methods[];

/* Returns true if an option is a number that the model keeps, or the weights of uses; false for --topics, an alias of
   --factors. */
bool tool_train_of_model(const tool_option *option);

/* For a resumed training: sets the settings' model to the checkpoint's options, overridden by the command line. Returns
   0, or TOOL_USAGE if an option would change the results. */
int tool_train_go_on(tamis_method method, const tamis_model_options *checkpoint, tool_train_settings *settings);

#endif
