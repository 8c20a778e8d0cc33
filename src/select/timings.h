/* Timings of algorithms on known problems: what a fit of rates learns from. They can be written to a file and read. */
#ifndef TAMIS_SELECT_TIMINGS_H
#define TAMIS_SELECT_TIMINGS_H

#include <stdio.h>

#include "backend/backend.h"
#include "select/device_key.h"

typedef struct tamis_timing {
    const tamis_algorithm *algorithm;
    double seconds, setup_seconds; /* of a call; of a plan, 0: not known */
    int number;                    /* of the algorithm in its table: a fit sets it */
} tamis_timing;

enum { TAMIS_TIMINGS_OF_CASE = 16, TAMIS_TIMING_LABEL = 192 };

/* A problem without its pattern, which predictions do not read, and what its algorithms took. */
typedef struct tamis_timed_case {
    char label[TAMIS_TIMING_LABEL];
    tamis_problem problem;
    tamis_evidence evidence;
    tamis_timing at[TAMIS_TIMINGS_OF_CASE];
    int count;
    int pattern;    /* its number, in a cross-validation */
    bool held_back; /* from a fit */
} tamis_timed_case;

typedef struct tamis_timing_list {
    const tamis_backend *backend;
    void *device; /* the backend's handle, which predictions may read */
    tamis_timed_case **cases;
    int64_t count, room;
} tamis_timing_list;

/* Adds a timing to the case with this label, which is made from the problem if there is none. */
tamis_status tamis_timing_list_add(tamis_timing_list *list, const char *label, const tamis_problem *problem,
                                   const tamis_timing *timing);
tamis_timed_case *tamis_timing_list_find(const tamis_timing_list *list, const char *label);
void tamis_timing_list_clear(tamis_timing_list *list);

/* Writes the cases; key: of the machine. */
void tamis_timing_list_write(const tamis_timing_list *list, const char *key, FILE *file);

/* Adds the cases of a file. A case that is cut short at the end is left out. key: becomes the file's if the list is
   empty; otherwise the file's must be the same. */
tamis_status tamis_timing_list_read(tamis_timing_list *list, FILE *file, const char *path, char key[TAMIS_DEVICE_KEY]);

#endif
