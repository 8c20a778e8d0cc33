/* What the parts of `tamis bench` share: the settings, one case and its results. */
#ifndef TOOL_BENCH_H
#define TOOL_BENCH_H

#include "device.h"
#include "lines.h"
#include "measure.h"
#include "mirror.h"
#include "oracle.h"
#include "source.h"

typedef struct tool_bench_settings {
    tool_chosen operations, edges, types, devices, algorithms, peers;
    tool_integers inner, threads;
    int64_t width, repeat, calls, seed;
    double seconds, beta, edge_scale;
    int values, from;
    bool cold, gather, check, relabel, undirected, share;
    const char *baseline_name, *json, *parameters;
} tool_bench_settings;

/* A matrix, an operation on it and where it runs: all that its contestants have in common. */
typedef struct tool_bench_case {
    const tool_bench_settings *settings;
    const tool_source *source;
    const tool_device *device;
    tool_problem problem;
    tool_touched touched;
    const tool_oracle *oracle; /* NULL: not checked */
    const tool_oracle *masked; /* the same for edge `mask`, which is what peers compute */
    tool_flush *flush;         /* NULL: the caches stay warm */
    int threads;
} tool_bench_case;

/* One contestant's figures. */
typedef struct tool_bench_result {
    const char *algorithm;
    char variant[64]; /* of a peer; "" of others */
    bool automatic, baseline, gather, peer, fastest;
    int threads;
    double setup, check, predicted; /* seconds */
    double initial, cleanup;        /* copying to the device and making the plan; fetching the result and freeing */
    tool_summary time;
    bool compared;
    tool_comparison comparison;
} tool_bench_result;

enum { TOOL_BENCH_CONTESTANTS = 64 };

typedef struct tool_bench_results {
    int count;
    tool_bench_result at[TOOL_BENCH_CONTESTANTS];
    tool_floor floor;
    double flops, bytes;
    double baseline, gather; /* medians in seconds; 0 where not measured */
    bool interrupted;
} tool_bench_results;

/* Measures all contestants of a case. Returns 0 or an exit code, after a message. */
int tool_bench_measure(const tool_bench_case *one, tool_bench_results *results);

/* The table on standard output and the JSON lines. */
typedef struct tool_bench_report {
    tool_lines lines;
    bool table, bold, gathered, peered;
    int64_t rows;    /* measurements reported */
    char versus[40]; /* title of the speed-ups: "x naive"; "" without a baseline */
    /* speed-ups over the baseline, for the summary: of each operation, of the chosen or only algorithm */
    struct {
        double log_sum, least;
        int count;
        char where[160];
    } speedup[3];
} tool_bench_report;

void tool_bench_report_matrix(const tool_bench_report *report, const tool_source *source);
int tool_bench_report_case(tool_bench_report *report, const tool_bench_case *one, const tool_bench_results *results);
void tool_bench_report_end(const tool_bench_report *report, const tool_device *device);

#endif
