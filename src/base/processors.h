/* How many threads are worth having. */
#ifndef TAMIS_BASE_PROCESSORS_H
#define TAMIS_BASE_PROCESSORS_H

/* How many threads to use: OMP_NUM_THREADS if it is set, else the processors that this thread may run on, or fewer
   where a control group limits the processor time. At most 1024. */
int tamis_threads_default(void);

/* Processors that the groups of a file like /proc/self/cgroup leave, rounded up, by the folders under `root`; 0 where
   none limits. */
int tamis_processors_quota(const char *groups, const char *root);

#endif
