/*
 * Memory that ends: a call is made again and again, and each time one allocation more succeeds, until the call does.
 *
 *   EACH_FAULT(w) {
 *       tamis_names *names = NULL;
 *       FAULTY(w, tamis_names_read(path, &names));
 *       tamis_names_free(names);
 *   }
 *
 * Every failure must be TAMIS_ERROR_MEMORY with a message that says so, and every turn must leave as many blocks as it
 * found. A call that allocates nothing fails the test: then nothing was tested. So does one that works although an
 * allocation failed.
 */
#ifndef TAMIS_TESTS_FAULTS_H
#define TAMIS_TESTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <tamis/tamis.h>

typedef struct fault_walk {
    int64_t n;           /* the allocation that fails; all after it fail too */
    int64_t step, least; /* of n, and failures in all; 1 by default: long calls may leave some out */
    bool elsewhere;      /* the message is another thread's */
    int64_t failures, live, count;
    tamis_status status; /* of the call in this turn */
} fault_walk;

/* True if there is another turn; checks the last one. */
bool fault_next(fault_walk *w);

/* Around what is to fail, where that is more than one call. The status that it was given. */
void fault_begin(fault_walk *w);
tamis_status fault_end(fault_walk *w, tamis_status status);

#define EACH_FAULT(w)         for (fault_walk w = {0}; fault_next(&(w));)
#define EACH_FAULT_OF(w, ...) for (fault_walk w = {__VA_ARGS__}; fault_next(&(w));)
#define FAULTY(w, ...)        (fault_begin(&(w)), fault_end(&(w), (__VA_ARGS__)))

#endif
