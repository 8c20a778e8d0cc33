/* Measuring the machine's ceilings. */
#ifndef TAMIS_CPU_CEILINGS_H
#define TAMIS_CPU_CEILINGS_H

#include "cpu/variants.h"

enum { TAMIS_CEILING_THREADS = 256 };

/* Fills *ceilings for one thread and for `threads`. Takes about a third of a second and 128 MiB a thread. */
tamis_status tamis_cpu_measure_ceilings(const tamis_cpu_variant *variant, int threads, int64_t cache_l1,
                                        int64_t cache_l2, int64_t cache_l3, tamis_ceilings *ceilings);

#endif
