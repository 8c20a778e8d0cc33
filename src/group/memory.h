/* Memory of a rank's device; on the CPU host memory. */
#ifndef TAMIS_GROUP_MEMORY_H
#define TAMIS_GROUP_MEMORY_H

#include "group/rank.h"

/* Allocates at least one byte, so that pointers to empty arrays are not NULL. */
tamis_status tamis_group_allocate(const tamis_group *group, int64_t bytes, const char *what, void **memory);

/* Copies a host array to *memory and sets *at to it; on the CPU *at is the array itself. */
tamis_status tamis_group_put(const tamis_group *group, const void *array, int64_t bytes, const char *what,
                             void **memory, const void **at);
void tamis_group_release(const tamis_group *group, void *memory); /* NULL is allowed */

#endif
