/* A trained model in use: opened on a device, with the names of its rows and columns and its data. */
#ifndef TOOL_MODEL_USE_H
#define TOOL_MODEL_USE_H

#include <tamis/ml.h>

#include "cli/command.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/outputs.h"
#include "model/data.h"

/* Common options, as the first member of the commands' settings. */
typedef struct tool_use_settings {
    int device, from;
    const char *columns;
    int64_t threads;
    const char *output;
    bool json, no_clobber;
} tool_use_settings;

#define TOOL_USE_AT(settings, field)  (offsetof(settings, use) + offsetof(tool_use_settings, field))
#define TOOL_USE_JSON(settings, what) TOOL_FLAG("json", 'j', TOOL_USE_AT(settings, json), what)
#define TOOL_USE_OUTPUT(settings)                                                                                      \
    TOOL_OUTPUT("output", 'o', "FILE", TOOL_USE_AT(settings, output), "write to a file"),                              \
        TOOL_NO_CLOBBER(TOOL_USE_AT(settings, no_clobber))
#define TOOL_USE_DEVICE(settings)                                                                                      \
    TOOL_CHOICE("device", 'd', "DEVICE", "cpu", TOOL_USE_AT(settings, device), &tool_devices, "the device to use")
#define TOOL_USE_COMPUTING(settings)                                                                                   \
    TOOL_USE_DEVICE(settings), TOOL_INTEGER("threads", 0, "T", "0", TOOL_USE_AT(settings, threads), 0,                 \
                                            TOOL_THREADS_MOST, "CPU threads; 0: the device's setting")
#define TOOL_USE_DATA(settings)                                                                                        \
    TOOL_CHOICE("from", 0, "FORMAT", "auto", TOOL_USE_AT(settings, from), &tool_file_formats, "format of the data"),   \
        TOOL_DATA_COLUMNS(TOOL_USE_AT(settings, columns)), TOOL_USE_COMPUTING(settings)

typedef struct tool_use {
    const tool_use_settings *settings;
    const char *path;
    tool_device device;
    tamis_model *model;
    tamis_model_description description;
    tamis_method method;
    const tamis_names *rows, *columns; /* the model's, or NULL */
    tool_output_file file;             /* file of --output */
    FILE *out;                         /* `file`, or standard output */
} tool_use;

/* Returns true if a file begins like a model. */
bool tool_is_model(const char *path);

/* Open the model and the output; close them. Opening returns 0, or an exit code after a message. Closing keeps the
   output if `code` is 0. It returns `code`, or the exit code of a failure to close. */
int tool_use_open(const tool_use_settings *settings, const char *path, tool_use *use);
int tool_use_close(tool_use *use, int code);

/* Opens the model of the first operand, calls the body, and closes. settings begin with tool_use_settings. */
int tool_use_run(const void *settings, int count, char **operands, tool_use_body *body);

/* Returns a request for data of the model's rows, or of new rows. */
tool_data_request tool_use_request(const tool_use *use, const char *spec, bool new_rows);

/* Computes the factors of new rows; the caller frees *W with tamis_owned_dense_free(). Returns 0, or an exit code after
   a message. */
int tool_use_transform(const tool_use *use, const tamis_sparse *S, tamis_owned_dense **W);

/* Looks up the requested rows or columns (none: all), by names, or without names by numbers below `all`. what, where:
   for messages, such as "row". The caller frees the indices. Returns 0 or TOOL_USAGE. */
int tool_use_choose(const tamis_names *names, int64_t all, int count, char **requested, const char *what,
                    const char *where, int64_t **chosen, int64_t *chosen_count);

/* Refuses what needs rows that the model does not store; names the methods that do. */
int tool_use_no_rows(const tool_use *use, const char *option);

/* The member of a row or column: its name, or without names its index. */
tool_member tool_named(const char *member, const tamis_names *names, int64_t index);

/* Writes a line of results: tab-separated, or with --json an object. Tabs and line ends in names become blanks. */
void tool_use_line(const tool_use *use, int count, const tool_member *members);

#endif
