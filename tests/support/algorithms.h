/* The CPU's algorithms, from the registry: a new one is tested without being named. */
#ifndef TAMIS_TESTS_ALGORITHMS_H
#define TAMIS_TESTS_ALGORITHMS_H

#include <stdlib.h>
#include <string.h>
#include <tamis/algorithms.h>

enum { CPU_ALGORITHMS_MOST = 16 };

/* Cells have no place for values of S: tests of patterns name them. */
static inline bool cpu_takes_values(const char *algorithm) { return strcmp(algorithm, "cpu-cells") != 0; }

/* AMX multiplies bf16 alone, where the instruction set has it: tests of those name it. */
static inline bool cpu_takes_all(const char *algorithm) {
    return cpu_takes_values(algorithm) && strcmp(algorithm, "cpu-amx") != 0;
}
static inline bool cpu_isa_has_amx(void) {
    const char *const isa = getenv("TAMIS_CPU_ISA");
    return isa && strstr(isa, "amx");
}

/* Puts the names of those that serve the operation with any type and with values of S into names[], whose baselines are
   left out if `baselines` is not set, and "auto" after them. Returns how many names there are without it. */
static inline int cpu_algorithms(tamis_operation operation, bool baselines,
                                 const char *names[CPU_ALGORITHMS_MOST + 1]) {
    tamis_algorithm_description about;
    int count = 0;
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        if (tamis_algorithm_at(i, &about) != TAMIS_OK || count == CPU_ALGORITHMS_MOST) abort();
        if (strcmp(about.device, "cpu") == 0 && cpu_takes_all(about.name) && about.operations & 1u << operation &&
            (baselines || !about.baseline))
            names[count++] = about.name;
    }
    names[count] = "auto";
    return count;
}

/* The same for operands of a type of 16 bits. */
static inline int cpu_algorithms_of_halves(tamis_operation operation, tamis_type type,
                                           const char *names[CPU_ALGORITHMS_MOST + 1]) {
    int count = cpu_algorithms(operation, false, names);
    if (type != TAMIS_BF16 || operation == TAMIS_OP_FUSED || !cpu_isa_has_amx()) return count;
    if (count == CPU_ALGORITHMS_MOST) abort();
    names[count++] = "cpu-amx";
    names[count] = "auto";
    return count;
}

#endif
