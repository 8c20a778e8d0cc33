/* What this machine is: model name, cache sizes, memory. */
#ifndef TAMIS_CPU_MACHINE_H
#define TAMIS_CPU_MACHINE_H

#include <stdint.h>

typedef struct tamis_cpu_machine {
    char model[96];
    int64_t cache_l1, cache_l2, cache_l3, memory;
} tamis_cpu_machine;

/* Read once; never fails: what the system does not tell gets a common value. */
const tamis_cpu_machine *tamis_cpu_machine_read(void);

#endif
