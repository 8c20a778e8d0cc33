/* Input matrices: files, or "generate:KIND:rows=1000,nnz=10k,name=...". */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include <tamis/data.h>
#include <tamis/generate.h>
#include <tamis/matrix.h>
#include <tamis/structure.h>

#include "cli/json.h"
#include "cli/options.h"

typedef struct tool_source {
    tamis_owned_sparse *matrix;
    const tamis_sparse *S;
    char name[128]; /* name in tables and JSON */
    double seconds; /* for reading or generating */
    int64_t bytes;  /* of the file, 0 for a generated one */
    tamis_read_report report;
    tamis_names *rows, *columns; /* if ids are names, else NULL; the same ones for a graph */
} tool_source;

/* Options for reading a matrix, shared by commands, whose settings have a field `reading`. */
typedef struct tool_reading {
    int format;
    bool relabel, undirected, zero_based;
    int value_column; /* of tool_value_columns */
    const char *columns;
} tool_reading;

#define TOOL_READING_AT(settings, field) (offsetof(settings, reading) + offsetof(tool_reading, field))
#define TOOL_READING(settings)                                                                                         \
    TOOL_CHOICE("from", 0, "FORMAT", "auto", TOOL_READING_AT(settings, format), &tool_file_formats,                    \
                "format of the file"),                                                                                 \
        TOOL_FLAG("relabel", 0, TOOL_READING_AT(settings, relabel),                                                    \
                  "renumber the ids of edge lists and ratings as 0, 1, ..."),                                          \
        TOOL_FLAG("undirected", 0, TOOL_READING_AT(settings, undirected),                                              \
                  "store each edge of an edge list in both directions"),                                               \
        TOOL_FLAG("zero-based", 0, TOOL_READING_AT(settings, zero_based),                                              \
                  "the indices of a file of svmlight begin with 0, also if none is 0"),                                \
        TOOL_DATA_COLUMNS(TOOL_READING_AT(settings, columns)),                                                         \
        TOOL_CHOICE("value-column", 0, "COLUMN", "auto", TOOL_READING_AT(settings, value_column), &tool_value_columns, \
                    "column of the weights of an edge list; auto: the third, unless it looks like times")

/* Returns the library's options for these, with values of that type and offsets of 32 or 64 bits. They also allow lists
   whose ids are names. */
tamis_read_options tool_read_options(const tool_reading *reading, int type, tamis_index_type offset_type);

/* Opens a matrix with a progress bar. options may be NULL (fp32, int32). Returns 0 or an exit code, after a message. */
int tool_source_open(const char *spec, const tamis_read_options *options, tool_source *source);
/* Prints notes on a file's contents that are not part of the matrix. */
void tool_source_tell(const char *path, const tamis_read_report *report);
void tool_source_close(tool_source *source);

/* The options of generated matrices, for `tamis generate` and for inputs "generate:KIND:rows=..,nnz=..". */
typedef struct tool_generate_settings {
    tamis_generate_options matrix; /* options are named after its fields */
    int to;
    const char *output;
    bool json, no_clobber, quiet;
} tool_generate_settings;

extern const tool_option tool_generate_options[];

/* Writes the matrix's sizes, row statistics and class as members of an object. */
void tool_json_structure(tool_json *json, const tamis_profile *profile, const tamis_structure *structure);

#endif
