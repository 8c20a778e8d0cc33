/* Availability of AMX's tiles for this process. */
#ifndef TAMIS_CPU_AMX_H
#define TAMIS_CPU_AMX_H

#include <stdbool.h>

/* True if the processor and the system support tiles and products of bf16. */
bool tamis_cpu_amx_runs(void);

/* Requests the tiles from the system, once for the process and its children, since each thread then has 8 KiB more of
   registers to save. Returns NULL, or the reason for the refusal. */
const char *tamis_cpu_amx_refused(void);

#endif
