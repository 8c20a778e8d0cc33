/* Memory where a rank's device computes. */
#ifndef TAMIS_GROUP_MEMORY_H
#define TAMIS_GROUP_MEMORY_H

#include "group/rank.h"

/* Allocates at least one byte, so that empty arrays are somewhere. */
tamis_status tamis_group_allocate(const tamis_group *group, int64_t bytes, const char *what, void **memory);

/* Makes *at a copy of the host's array, in *memory; on the CPU the array itself. */
tamis_status tamis_group_put(const tamis_group *group, const void *array, int64_t bytes, const char *what,
                             void **memory, const void **at);
void tamis_group_release(const tamis_group *group, void *memory); /* NULL is allowed */

#endif
