/* The compiled kernel variants, and the one that this machine uses. */
#ifndef TAMIS_CPU_VARIANTS_H
#define TAMIS_CPU_VARIANTS_H

#include "cpu/kernels/kernels.h"

/* All compiled variants, best first, by number; NULL past the end. */
const tamis_cpu_variant *tamis_cpu_variant_at(int number);

/* True if this machine can run it. */
bool tamis_cpu_variant_runs(const tamis_cpu_variant *variant);

/* The best variant that runs here, or the one that TAMIS_CPU_ISA names ("v2", "x86-64-v3", "sve", "neon", ...), which
   is read at each call. If the name is wrong, TAMIS_ERROR_DEVICE lists what was compiled and what runs here. */
tamis_status tamis_cpu_variant_choose(const tamis_cpu_variant **variant);

#endif
