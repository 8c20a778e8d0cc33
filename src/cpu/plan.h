/* Methods prepared for one problem. */
#ifndef TAMIS_CPU_PLAN_H
#define TAMIS_CPU_PLAN_H

#include "cpu/method.h"

/* `kernel` is the method's for the problem's operation. */
tamis_status tamis_cpu_make(const tamis_cpu_method *method, const tamis_cpu_kernels *kernels, tamis_cpu_kernel *kernel,
                            const tamis_problem *problem, tamis_prepared **prepared);
void tamis_cpu_sizes(const tamis_prepared *prepared, tamis_prepared_sizes *sizes);
void tamis_cpu_release(tamis_prepared *prepared);

#endif
