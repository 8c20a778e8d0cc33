/* A trained model that is used: opened on a device, with the names of its rows and columns and the data that go with
   it. */
#ifndef TOOL_MODEL_USE_H
#define TOOL_MODEL_USE_H

#include <tamis/ml.h>

#include "command.h"
#include "device.h"
#include "json.h"
#include "model_data.h"
#include "output_file.h"

/* The options that all of them share, as the first member of their settings. */
typedef struct tool_use_settings {
    int device, from;
    int64_t threads;
    const char *output;
    bool json, no_clobber;
} tool_use_settings;

#define TOOL_USE_AT(settings, field) (offsetof(settings, use) + offsetof(tool_use_settings, field))
#define TOOL_USE_JSON(settings, what)                                                                                  \
    { "json", 'j', TOOL_FLAG, NULL, NULL, what, TOOL_USE_AT(settings, json), 0, 0, NULL }
#define TOOL_USE_OUTPUT(settings)                                                                                      \
    {"output", 'o', TOOL_OUTPUT, "FILE", NULL, "write to a file", TOOL_USE_AT(settings, output), 0, 0, NULL},          \
        TOOL_NO_CLOBBER(TOOL_USE_AT(settings, no_clobber))
#define TOOL_USE_FROM(settings)                                                                                        \
    {                                                                                                                  \
        "from", 0, TOOL_CHOICE, "FORMAT", "auto", "format of the data", TOOL_USE_AT(settings, from), 0, 0,             \
            &tool_file_formats                                                                                         \
    }
#define TOOL_USE_DEVICE(settings)                                                                                      \
    {                                                                                                                  \
        "device", 'd', TOOL_CHOICE, "DEVICE", "cpu", "the device to use", TOOL_USE_AT(settings, device), 0, 0,         \
            &tool_devices                                                                                              \
    }
#define TOOL_USE_THREADS(settings)                                                                                     \
    {                                                                                                                  \
        "threads", 0, TOOL_INTEGER, "T", "0", "CPU threads; 0: the device's setting", TOOL_USE_AT(settings, threads),  \
            0, TOOL_THREADS_MOST, NULL                                                                                 \
    }

typedef struct tool_use {
    const tool_use_settings *settings;
    const char *path;
    tool_device device;
    tamis_model *model;
    tamis_model_description description;
    tamis_method method;
    const tamis_names *rows, *columns; /* the model's, or NULL */
    tool_output_file file;             /* of --output */
    FILE *out;                         /* that, or standard output */
} tool_use;

/* Opens the model, which must be one of the group's method, and the output. Returns 0 or an exit code, after a message.
   Closing keeps the output where `code` is 0, and returns it, or what became of it. */
int tool_use_open(const tool_command *group, const tool_use_settings *settings, const char *path, tool_use *use);
int tool_use_close(tool_use *use, int code);

/* Data for the model: of its rows, or of new ones. */
tool_data_request tool_use_request(const tool_use *use, const char *spec, bool new_rows);

/* The factors of new rows, to be freed with tamis_owned_dense_free(). Returns 0 or an exit code, after a message. */
int tool_use_transform(const tool_use *use, const tamis_sparse *S, tamis_owned_dense **W);

/* Writes a row's or column's name, or its number where there is none. A tab or the end of a line in it becomes a
   blank. */
void tool_write_name(FILE *out, const tamis_names *names, int64_t index);
/* The same as a member of a JSON object: a text, or a number. */
void tool_json_name(tool_json *json, const char *member, const tamis_names *names, int64_t index);

#endif
