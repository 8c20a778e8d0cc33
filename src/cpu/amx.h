/* Whether this process may use AMX's tiles. */
#ifndef TAMIS_CPU_AMX_H
#define TAMIS_CPU_AMX_H

#include <stdbool.h>

/* Whether processor and system have tiles and products of bf16. */
bool tamis_cpu_amx_runs(void);

/* Asks the system for the tiles, once for the process and its children, since each thread then has 8 KiB more of
   registers to save; NULL, or why they are not to be had. */
const char *tamis_cpu_amx_refused(void);

#endif
