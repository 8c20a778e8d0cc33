/* The default number of threads. */
#ifndef TAMIS_BASE_PROCESSORS_H
#define TAMIS_BASE_PROCESSORS_H

/* Returns the number of threads to use, at most 1024: OMP_NUM_THREADS if it is set, else tamis_processors(). */
int tamis_threads_default(void);

/* Returns the number of processors on which this thread may run, or fewer if a control group limits processor time; at
   least 1. */
int tamis_processors(void);

#endif
