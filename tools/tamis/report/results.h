/* The records of JSON lines that `tamis bench` writes: runs, matrices and measurements, loaded from files. Texts are
   interned: equal texts have equal addresses, and what a line lacks is NULL. Numbers that a line lacks are NaN, or 0
   where they are counts. */
#ifndef TOOL_RESULTS_H
#define TOOL_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

/* A machine's device in one run, with its ceilings: [0] of one thread, [1] of all. */
typedef struct tool_run_record {
    const char *run, *started, *suite, *tier, *title, *paper, *version, *compiler, *system, *processor, *device, *model,
        *instruction_set, *driver;
    int64_t processors, threads, multiprocessors, cache_l1, cache_l2, cache_l3, memory, ceiling_threads;
    bool measured;
    double fp32_gflops[2], fp64_gflops[2], l1_gbs[2], l2_gbs[2], l3_gbs[2], memory_gbs[2];
    double gather_gbs[6], gather_bytes[6];
    int file;
} tool_run_record;

typedef struct tool_matrix_record {
    const char *run, *matrix, *spec, *group, *class_name, *class_reason, *spy;
    bool stand_in;
    int64_t rows, cols, nnz, max, empty_rows, bandwidth, spy_rows, spy_cols;
    double density, mean, variation;
    int file;
} tool_matrix_record;

typedef struct tool_measurement {
    const char *run, *suite, *operation, *edge, *matrix, *group, *class_name, *type, *device, *model, *driver,
        *algorithm, *parameters, *variant, *instruction_set, *version, *compiler, *started;
    bool stand_in, automatic, baseline, peer, cold, disturbed;
    int passed; /* 1 or 0; -1: was not compared */
    int64_t rows, cols, nnz, inner, width, batch, threads, samples, calls, seed;
    double setup, initial, median, low, high, q1, q3, min, max, cleanup; /* milliseconds */
    double gflops, bytes, floor, floor_ratio, error, tolerance, share, speedup, gather, check, predicted, clock, others,
        stolen;
    int file, line;
} tool_measurement;

/* What one number of column tiles read from memory, by a GPU's counters. */
typedef struct tool_traffic_record {
    const char *run, *matrix, *device, *model, *algorithm, *parameters;
    bool stand_in;
    int64_t rows, cols, nnz, inner, tiles, tile_columns;
    double median;                                     /* milliseconds */
    double read, written, dense_a_bytes, sparse_bytes; /* bytes: counted, and by the paper's model */
    int file;
} tool_traffic_record;

typedef struct tool_results {
    tool_pool pool;
    int files, runs, matrices, measurements, traffics;
    const char **file;
    tool_run_record *run;
    tool_matrix_record *matrix;
    tool_measurement *measurement;
    tool_traffic_record *traffic;
} tool_results;

/* Adds what a file holds. A last line that is broken is a warning, any other broken line an error that names it.
   Returns 0 or an exit code, after a message. */
int tool_results_load(tool_results *results, const char *path);
void tool_results_free(tool_results *results);

/* The run that a measurement is of, and the matrix; NULL where the files do not have them. */
const tool_run_record *tool_results_run(const tool_results *results, const tool_measurement *one);
const tool_matrix_record *tool_results_matrix(const tool_results *results, const tool_measurement *one);

/* The class of its matrix: as the measurement says, or the record of the matrix; NULL where neither does. */
const char *tool_results_class(const tool_results *results, const tool_measurement *one);

/* One line of a file, put where it belongs; false with a reason where it is no record. A line without "record" is a
   measurement; records of other kinds are passed over. */
bool tool_results_line(tool_results *results, const char *text, size_t length, int line, char reason[160]);

/* Whether lines can be read at all: false in a program built without jansson. */
bool tool_results_readable(void);

#endif
