/* Cost model of moving bytes between the ranks of a group. */
#include "group/rank.h"

#include <string.h>
#include <tamis/ceilings.h>

/* Measured between two H200 of one host, over NVLink: a copy takes 30 us and then 390 GB/s each way; pinned host memory
   moves at 55 GB/s, and rows that pass through it move twice. */
static const double COPY_SECONDS = 30e-6, LINK_BYTES = 390e9, STAGED_BYTES = 27e9;

/* Seconds of a barrier of threads on one CPU. Threads copy from each other's memory: each byte is read and written. */
static const double MEET_SECONDS = 10e-6;

double tamis_group_seconds(const tamis_group *group, double bytes, int64_t steps) {
    tamis_ceilings ceilings;
    if (steps == 0) return 0;
    if (group->direct) return (double)steps * COPY_SECONDS + bytes / LINK_BYTES;
    if (strcmp(group->transport.name, "threads") != 0) return 0;
    if (tamis_group_on_device(group)) return (double)steps * COPY_SECONDS + bytes / STAGED_BYTES;
    if (tamis_device_ceilings(group->device, &ceilings) != TAMIS_OK || !(ceilings.memory_gbs[1] > 0)) return 0;
    return (double)steps * MEET_SECONDS + 2 * bytes / (1e9 * ceilings.memory_gbs[1]);
}
