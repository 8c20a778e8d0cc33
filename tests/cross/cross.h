/* Running one problem through every algorithm, and the table of cases. */
#ifndef TAMIS_TESTS_CROSS_H
#define TAMIS_TESTS_CROSS_H

#include "support/expect.h"

typedef struct cross_case {
    const char *name, *reason;
    int64_t rows, cols, nnz, inner, width;
    enum shape shape;
    unsigned flags;
    double special;
} cross_case;

enum { /* what a case insists on; the rest is drawn at random */
       CASE_COO = 1,
       CASE_UNSORTED = 2,
       CASE_WIDE_INDEX = 4,
       CASE_WIDE_OFFSET = 8,
       CASE_COLUMN_MAJOR = 16,
       CASE_PADDED = 32,
       CASE_UNALIGNED = 64,
       CASE_PATTERN = 128,
       CASE_BATCH = 256,
       CASE_MANY_THREADS = 512,
       CASE_BETA = 1024,
       CASE_ALPHA_ZERO = 2048,
       CASE_DEFAULTS = 4096,  /* parameters as they come */
       CASE_SHARED = 8192,    /* some operands of a batch are one for all members */
       CASE_DISTINCT = 16384, /* no place twice; without this and the next flag half of the problems are so */
       CASE_REPEATS = 32768
};

extern const cross_case cross_cases[];
extern const int cross_case_count;

/* Rows of the dense operands narrower than a vector: the sizes are for width 1, and test_narrow() tries others. */
extern const cross_case cross_narrow_cases[];
extern const int cross_narrow_case_count;

/* A problem with what is to be done. */
typedef struct cross_card {
    cross_case problem;
    tamis_operation operation;
    tamis_edge edge;
    tamis_type type;
} cross_card;

/* Every width of a list for every operation and type: see sweep.c. */
extern const int cross_sweep_count;
cross_card cross_sweep_card(int number);

/* The CPU's instruction sets, whether one runs here, and the one that cross_run() takes; NULL, as at first: drawn. */
enum { CROSS_ISAS = 10 };
extern const char *const cross_isas[CROSS_ISAS];
extern const char *cross_isa;
bool cross_isa_runs(const char *isa);

/* The types, as bits, of which no set before it has the same kernels (support/variants.h); 0: it does not run here. */
unsigned cross_isa_types(const char *isa);

/* Whether an algorithm of the CPU, or auto, is to decline a problem. */
bool cross_declines(const char *algorithm, tamis_operation operation, tamis_edge edge, const problem *p);

typedef struct cross_counts {
    long run, declined, failed;
    long special, finite, unbounded; /* of cases with NaN or infinity: elements; finite ones; those without a bound */
} cross_counts;

/* One problem, operation, edge and type: all algorithms of the device (of the CPU: on a drawn instruction set and
   thread count), as plans (twice, bitwise the same) and as a one-shot call. Prints what fails. `most`: not all but so
   many, drawn, and the one-shot call among them, for devices whose kernels take long to compile; 0: all. */
void cross_run(const char *device_name, const cross_case *c, tamis_operation operation, tamis_edge edge,
               tamis_type type, int most, tamis_random *random, cross_counts *counts);

#endif
