/* What the control groups of this process, as containers are, leave of the machine. */
#ifndef TAMIS_BASE_CONTROL_GROUPS_H
#define TAMIS_BASE_CONTROL_GROUPS_H

#include <stdint.h>

/*
 * Both read the groups' names from a file like /proc/self/cgroup and their folders under `root`, such as
 * /sys/fs/cgroup, of version 1 and 2. The least limit of a group and of those around it counts; 0: nothing limits.
 */

/* Returns the processors that the processor time makes, rounded up. */
int tamis_processors_quota(const char *groups, const char *root);

/* Returns bytes of memory. */
int64_t tamis_memory_limit(const char *groups, const char *root);

#endif
