/* Data of models: ratings with any ids, bags of words and other matrices, with names of rows and columns; and held-out
   data. */
#ifndef TOOL_MODEL_DATA_H
#define TOOL_MODEL_DATA_H

#include <tamis/ml.h>

/* Request to read data for a model. All zeros: for a new model of the first method. */
typedef struct tool_data_request {
    const char *spec;       /* a file, or generate:KIND:... */
    int format;             /* a tamis_file_format */
    const char *columns_of; /* roles of the columns of ratings; NULL: by titles or order */
    tamis_method method;
    const tamis_names *rows, *columns; /* names in which ids are looked up; NULL: ids are indices */
    int64_t row_count,
        column_count;      /* of the model; 0 rows: any number; 0 columns: a new model, which takes any names */
    bool sum;              /* sum repeated entries, else the last one counts */
    bool new_rows;         /* the rows are not the model's: they get their own names */
    bool texts;            /* DATA are texts, also if they look like a list */
    int64_t min_documents; /* of texts for a new model, as in tamis_text_options */
    double max_share;
    bool pairs;       /* a model with pairs counts them anyway */
    bool unknown_too; /* rows and columns that the model does not know are kept in tool_data.whole, with names if there
                         are any */
} tool_data_request;

typedef struct tool_data {
    tamis_sparse S;
    tamis_sparse whole;          /* with unknown_too: S, extended by unknown rows and columns behind the model's */
    tamis_names *rows, *columns; /* the data's own names; NULL if ids are indices */
    char name[128];
    double seconds; /* time of reading */
    tamis_owned_sparse *matrix;
    void *arrays[3]; /* copies without what was left out, else NULL */
} tool_data;

/* Reads the data, with a progress bar. Rows and columns that a model does not know are left out with a warning; it is
   an error if nothing remains. Returns 0, or an exit code after a message. */
int tool_data_open(const tool_data_request *request, tool_data *data);
/* The same, and reads the known entries of the same rows from another file (NULL: none), which then determines names
   and number of new rows. */
int tool_data_open_pair(const tool_data_request *request, const char *known_spec, tool_data *data, tool_data *known);
void tool_data_close(tool_data *data);

/* Reads features of the data's rows, or columns, by the data's names. Those that only the file has become new rows or
   columns of the data, without entries. */
int tool_features_open(const char *path, tamis_method method, bool rows, tool_data *data, tool_data *features);

/* Reads column names, one per line. *columns is the number of columns; more names increase it. */
int tool_vocabulary_open(const char *path, int64_t *columns, tamis_names **names);

/* Returns true if rows are documents, whose words are held out, rather than users. */
bool tool_method_of_documents(tamis_method method);
/* Returns true if a method's data are counts, whose repeated entries are summed; false for ratings, where the last one
   counts. */
bool tool_method_of_counts(tamis_method method);

/* Held-out data, and the rest to fit to. */
typedef struct tool_held_out {
    tamis_held_out view;
    tamis_owned_sparse *kept, *held; /* from a split */
    tool_data entries, observed;     /* from files */
} tool_held_out;

/* Splits the data: holds out a share of each row's entries (for documents: words), or one entry of each row. Messages
   name `spec`. */
int tool_hold_out_split(tamis_method method, const char *spec, const tamis_sparse *S, bool leave_one, double share,
                        int64_t seed, tool_held_out *held);
/* Reads held-out entries from a file, and the known entries of the same rows from `observed`. Without it, documents are
   split into two halves by the seed. */
int tool_hold_out_read(const tool_data_request *request, const char *observed, int64_t seed, tool_held_out *held);
void tool_held_out_free(tool_held_out *held);

#endif
