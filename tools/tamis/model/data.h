/* Data of models: ratings with any ids, bags of words and other matrices, with the names of their rows and columns; and
   what is held out of them. */
#ifndef TOOL_MODEL_DATA_H
#define TOOL_MODEL_DATA_H

#include <tamis/ml.h>

/* What is to be read, and of which model it is. A zero is: a new model, of the first method. */
typedef struct tool_data_request {
    const char *spec;       /* a file, or generate:KIND:... */
    int format;             /* a tamis_file_format */
    const char *columns_of; /* which columns of ratings are what, NULL: by their titles or order */
    tamis_method method;
    const tamis_names *rows, *columns; /* names that ids are looked up in; NULL: an id is an index */
    int64_t row_count, column_count;   /* of the model; 0 rows: any, 0 columns: a new model, which takes any names */
    bool sum;                          /* repeated entries add up, else the last one counts */
    bool new_rows;                     /* the rows are not the model's: they get names of their own */
    bool unknown_too; /* what the model does not know is kept in tool_data.whole, with names, where data have names */
} tool_data_request;

typedef struct tool_data {
    tamis_sparse S;
    tamis_sparse whole;          /* with unknown_too: S and rows and columns behind those of the model */
    tamis_names *rows, *columns; /* the data's own; NULL where ids are indices */
    char name[128];
    double seconds; /* reading took */
    tamis_owned_sparse *matrix;
    void *arrays[3]; /* where something was left out, else NULL */
} tool_data;

/* Reads it, with a progress bar. What a model does not know is left out with a warning; nothing left is an error.
   Returns 0 or an exit code, after a message. */
int tool_data_open(const tool_data_request *request, tool_data *data);
/* The same, and what is known of the same rows from another file, unless that is NULL: where the rows are new they get
   their names and number from there. */
int tool_data_open_pair(const tool_data_request *request, const char *known_spec, tool_data *data, tool_data *known);
void tool_data_close(tool_data *data);

/* Names a line for the columns, of which there are `columns`: more names make more columns. */
int tool_vocabulary_open(const char *path, int64_t *columns, tamis_names **names);

/* Whether rows are documents, of which words are held out, not users. */
bool tool_method_of_documents(tamis_method method);
/* What a method's data are: counts, of which repeated ones add up, or ratings, of which the last one counts. */
bool tool_method_of_counts(tamis_method method);

/* What is held out, and what is left to fit to. */
typedef struct tool_held_out {
    tamis_held_out view;
    tamis_owned_sparse *kept, *held; /* of a split */
    tool_data entries, observed;     /* of files */
} tool_held_out;

/* Splits the data: a share of each row's entries (of documents: words), or one entry of each. Messages name `spec`. */
int tool_hold_out_split(tamis_method method, const char *spec, const tamis_sparse *S, bool leave_one, double share,
                        int64_t seed, tool_held_out *held);
/* From a file, and what is known of its rows from `observed`. Documents without it are split in two halves, seeded. */
int tool_hold_out_read(const tool_data_request *request, const char *observed, int64_t seed, tool_held_out *held);
void tool_held_out_free(tool_held_out *held);

#endif
