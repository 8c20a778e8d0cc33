/* Kernels to compile, by as many processes as there are processors; what the assembler says of each. */
#ifndef TAMIS_TESTS_GPU_COMPILE_JOBS_H
#define TAMIS_TESTS_GPU_COMPILE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct job {
    int architecture;
    char *name, *definitions, *source; /* source: with code before the file's text; NULL: the text alone */
} job;

enum { JOB_WAITING, JOB_STARTED, JOB_DONE, JOB_REFUSED };

typedef struct job_result {
    int state;
    bool reported;                                           /* the log names resources, or holds an error */
    int registers, stack, spill_stores, spill_loads, shared; /* bytes but for registers; the most of all kernels */
    double seconds;
    char message[1024];
} job_result;

typedef struct job_list {
    job *jobs;
    job_result *results; /* after jobs_run */
    int64_t count, room;
} job_list;

void job_add(job_list *list, int architecture, const char *name, const char *definitions, const char *source);
/* The first of each file and architecture come first, or with `any_chip` of each file; the others in an order that is
   drawn. Those not begun after `seconds` stay waiting. */
void jobs_run(job_list *list, uint64_t seed, int seconds, bool any_chip);
void jobs_free(job_list *list);

/* What `log` of the assembler says, into `result`. */
void job_read_log(const char *log, job_result *result);

#endif
