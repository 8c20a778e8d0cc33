/* The pattern of a plan in host memory, as src/base/backend.h asks for it. */
#ifndef TAMIS_CPU_PATTERN_H
#define TAMIS_CPU_PATTERN_H

#include "base/backend.h"

tamis_status tamis_cpu_validate(void *device, void *stream, int threads, const tamis_sparse *S);
tamis_status tamis_cpu_order_rows(const tamis_problem *problem, const tamis_sparse *S, bool transpose,
                                  tamis_row_order *order);
tamis_status tamis_cpu_look(tamis_problem *problem, tamis_profile *profile);

#endif
