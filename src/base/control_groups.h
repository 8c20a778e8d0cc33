/* Limits of processors and memory that control groups (containers) set for this process. */
#ifndef TAMIS_BASE_CONTROL_GROUPS_H
#define TAMIS_BASE_CONTROL_GROUPS_H

#include <stdint.h>

/*
 * Both functions read the groups' names from `groups`, a file like /proc/self/cgroup, and their folders under `root`,
 * such as /sys/fs/cgroup, in version 1 or 2. They return the smallest limit of the group and its ancestors; 0: no
 * limit.
 */

/* Returns the quota of processor time in processors, rounded up. */
int tamis_processors_quota(const char *groups, const char *root);

/* Returns the memory limit in bytes. */
int64_t tamis_memory_limit(const char *groups, const char *root);

#endif
