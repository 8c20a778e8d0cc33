/* Operands that the kernels cannot use as they lie, on their way in and out: column-major ones, values out of row
 * order. */
#ifndef TAMIS_CPU_STAGING_H
#define TAMIS_CPU_STAGING_H

#include "base/backend.h"

tamis_status tamis_cpu_ready(void *device, tamis_type type, bool transposes, bool permutes);
tamis_status tamis_cpu_transpose(void *device, void *stream, const tamis_transposition *transposition);
tamis_status tamis_cpu_permute(void *device, void *stream, const tamis_permutation *permutation);

#endif
