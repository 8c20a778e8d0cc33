/* How many threads are worth having. */
#ifndef TAMIS_BASE_PROCESSORS_H
#define TAMIS_BASE_PROCESSORS_H

/* Returns how many threads to use, at most 1024: OMP_NUM_THREADS if it is set, else the processors that this thread may
   run on, or fewer if a control group limits the processor time. */
int tamis_threads_default(void);

/* Returns the processors that this thread may run on, or fewer if a control group limits the processor time; at least
   1. */
int tamis_processors(void);

#endif
