/* Output of training: a line for each iteration, a progress bar with the time left, lines of JSON, and a summary. */
#ifndef TOOL_MODEL_REPORT_H
#define TOOL_MODEL_REPORT_H

#include <tamis/ml.h>

#include "cli/json.h"
#include "cli/table.h"
#include "group/group.h"

typedef struct tool_training_report {
    tool_table table;
    bool shown;  /* the table is requested */
    bool titled; /* its titles were printed */
    tool_lines lines;
    int written; /* exit code of writing the lines */
    tamis_iteration last;
    double loss;       /* of the last iteration */
    bool rose;         /* a loss has risen, which was reported */
    double elbo;       /* of the last iteration; NaN: not requested */
    double seconds[4]; /* in sddmm, spmm, fused and in all, of this run */
    double start;      /* when the fitting began, */
    double begun;      /* share done at that time; below 0: not known */
} tool_training_report;

/* json: the file of --json, NULL for none. Returns 0 or an exit code, after a message. */
int tool_training_report_open(tool_training_report *report, const char *json, bool verbose, bool quiet);
int tool_training_report_close(tool_training_report *report);

/* The callback of a fit, with the report as context: false after Ctrl-C. */
bool tool_training_report_add(void *context, const tamis_iteration *iteration);

/* Returns the name of a method's metric: "RMSE", "recall" or "perplexity". */
const char *tool_metric_name(tamis_method method);

/* Contents of the summary beside the model's description. */
typedef struct tool_training_summary {
    const char *model, *data; /* the file, and the data's name */
    const char *device;
    int devices;              /* requested devices of this process; 0: one, or processes */
    tool_group_choice choice; /* between these */
    int64_t rows, held_out;   /* held_out: entries, -1 if there are none */
    double baseline;          /* of the metric; NaN: none */
    double read_seconds, fit_seconds;
    bool features[2];                 /* of rows and columns were given */
    const tamis_model_options *asked; /* options as requested, before the fit's own choices */
} tool_training_summary;

/* Writes the summary to standard output unless quiet, and as a line of JSON if requested. */
void tool_training_report_end(tool_training_report *report, const tool_training_summary *summary,
                              const tamis_model_description *description, bool quiet);

#endif
