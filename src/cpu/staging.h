/* Column-major operands on their way to and from the kernels, which are row-major. */
#ifndef TAMIS_CPU_STAGING_H
#define TAMIS_CPU_STAGING_H

#include <tamis/tamis.h>

void tamis_cpu_stage_in(tamis_type type, int threads, void *to, const void *from, int64_t from_stride, int64_t rows,
                        int64_t cols);
void tamis_cpu_stage_out(tamis_type type, int threads, void *to, int64_t to_stride, const void *from, int64_t rows,
                         int64_t cols);

#endif
