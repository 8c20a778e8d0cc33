/* The settings of `tamis bench`, a case and its results, for all of its files. */
#ifndef TOOL_BENCH_H
#define TOOL_BENCH_H

#include <tamis/structure.h>

#include "bench/measure.h"
#include "bench/suite.h"
#include "bench/timings.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/mirror.h"
#include "cli/raster.h"
#include "cli/source.h"
#include "group/group.h"

typedef struct tool_bench_settings {
    tool_chosen operations, edges, types, devices, algorithms, peers;
    tool_group_kind group;
    tool_integers inner, threads;
    int64_t width, repeat, calls, seed, batch;
    double seconds, beta, edge_scale;
    int values, tier, effort, math;
    tool_reading reading;
    bool cold, gather, check, share;
    const char *baseline_name, *json, *parameters, *variants, *suite, *let, *timings;
} tool_bench_settings;

/* The member of a batch whose result is compared: the oracle takes the first one's number for an edge that is a text.
 */
static inline int64_t tool_bench_member(const tool_problem *problem) {
    return tool_problem_options(problem).edge == TAMIS_EDGE_TEXT ? 0 : tool_problem_batch(problem) - 1;
}

/* The current matrix, and its description. */
typedef struct tool_bench_matrix {
    const tool_source *source;
    const char *spec, *group; /* as in tool_input; for a file only its name */
    bool stand_in;
    tamis_profile profile;
    tamis_structure structure;
} tool_bench_matrix;

/* A case: the matrix, the operation and the device that its contestants have in common. */
typedef struct tool_bench_case {
    const tool_bench_settings *settings;
    const tool_bench_matrix *matrix;
    const tool_source *source; /* the matrix's */
    const tool_device *device;
    tool_problem problem;
    const tamis_oracle *oracle; /* NULL: not checked */
    const tamis_oracle *masked; /* the same for edge `mask`, which is what peers compute */
    tool_flush *flush;          /* NULL: the caches stay warm */
    int threads;
    tool_timings *timings; /* NULL, or where the timings are added */
    char label[192];       /* the case's name there */
} tool_bench_case;

/* One contestant's figures. */
typedef struct tool_bench_result {
    const char *algorithm;
    char variant[64];      /* of a peer; "" of others */
    char parameters[128];  /* as given by name; "" for the defaults */
    const char *chosen_by; /* how the plan's algorithm was chosen; NULL: no plan */
    bool automatic, baseline, gather, peer, fastest;
    int threads;
    double setup, check, predicted; /* seconds */
    double initial, cleanup;        /* copying to the device and making the plan; fetching the result and freeing */
    tool_summary time;
    tool_interval median; /* interval of the medians of its turns */
    bool compared, late;  /* late: it was correct, but not after the timed executions */
    tamis_comparison comparison;
} tool_bench_result;

enum { TOOL_BENCH_CONTESTANTS = 64 };

typedef struct tool_bench_results {
    int count;
    tool_bench_result at[TOOL_BENCH_CONTESTANTS];
    tamis_floor floor;
    double baseline, gather; /* medians in seconds; 0: not measured */
    double clock;            /* MHz just after; NaN if it is not known */
    tool_interval versus;    /* of the baseline's median */
    tamis_load load;         /* while they were measured */
    bool interrupted;
} tool_bench_results;

/* Takes the next of --variants, "preds:ts=32:iir=0,cusddmm-sm-l2:tune=2". Returns 0, or TOOL_USAGE after a message. */
int tool_bench_take_variant(const char **list, const char **name, char *parameters, size_t bytes);

/* Measures all contestants of a case. Returns 0 or an exit code, after a message. */
int tool_bench_measure(const tool_bench_case *one, tool_bench_results *results);

/* Measures a case on several devices together and on the first of them alone, prints a row, and writes a line. Returns
   0 or an exit code, after a message. */
struct tool_bench_run;
int tool_bench_group(struct tool_bench_run *run, const tool_bench_case *one);
void tool_bench_group_header(void);

/* The table on standard output, and the JSON lines. */
typedef struct tool_bench_report {
    tool_lines lines;
    bool table, bold, gathered, peered;
    int64_t rows;    /* measurements reported */
    char versus[40]; /* title of the speed-ups: "x naive"; "" without a baseline */
    /* speed-ups over the baseline, for the summary: by operation, of the chosen or only algorithm */
    struct {
        double log_sum, least;
        int count, ties; /* ties: within the noise */
        char where[160];
    } speedup[3];
    int cases, disturbed; /* summaries leave out disturbed cases */
    double others;        /* the most processors used by others in a disturbed case */
} tool_bench_report;

/* The state of the whole run. */
typedef struct tool_bench_run {
    const tool_bench_settings *settings; /* of the case under way */
    const tool_suite *suite;             /* NULL without one */
    bool full;                           /* the suite's tier */
    tool_place place;                    /* devices of the current case */
    char id[48], started[32];            /* in every line; UTC */
    tool_bench_report report;
    int64_t cases, done;
    int worst;             /* exit code so far */
    tool_timings *timings; /* NULL, or where each case's timings are added */
    bool silent;           /* nothing is reported */
} tool_bench_run;

/* Returns the number of measurements of one matrix by these settings. */
int64_t tool_bench_cases(const tool_bench_settings *settings);
bool tool_bench_is_place(const tool_device *device, tool_place place);
/* Measures one matrix on the devices that the run's place allows; records failures in the run. */
void tool_bench_input(tool_bench_run *run, const tool_input *input, const tool_device *devices);

/* Opens the matrix of an input, and records it, unless it is open. Returns 0 or an exit code, after a message. */
int tool_bench_open(tool_bench_run *run, const tool_input *input, tool_bench_matrix **matrix);
void tool_bench_close_inputs(void);

/* Measures the cases of the suite's tier. `options` is the table that `tamis bench` parses; what was given on its
   command line wins over a case's own. Returns 0 or an exit code, after a message. */
int tool_bench_suite(tool_bench_run *run, const tool_option *options, const tool_device *devices, int count,
                     char *const *files);

/* Give the run its identity; write the lines of JSON other than measurements. Return 0 or an exit code. */
void tool_bench_run_begin(tool_bench_run *run);
int tool_bench_record_run(tool_bench_run *run, const tool_device *device);
int tool_bench_describe(const tool_source *source, const tool_input *input, tool_bench_matrix *matrix);
int tool_bench_record_matrix(tool_bench_run *run, const tool_bench_matrix *matrix);
const char *tool_bench_compiler(void); /* returns the compiler that built the program */

void tool_bench_report_matrix(const tool_bench_report *report, const tool_bench_matrix *matrix, bool group);
int tool_bench_report_case(tool_bench_run *run, const tool_bench_case *one, const tool_bench_results *results);
void tool_bench_report_end(const tool_bench_report *report, const tool_device *device);

#endif
