/* The kernels of cpu-amx belong to the variant and are compiled separately (kernels/amx_table.c); the plan takes them
   from there. */
#ifndef TAMIS_CPU_METHODS_AMX_AMX_KERNELS_H
#define TAMIS_CPU_METHODS_AMX_AMX_KERNELS_H

static tamis_cpu_kernel *const amx_kernels[] = {NULL, NULL, NULL};

#endif
