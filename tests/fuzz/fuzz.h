/* What is fuzzed: one target a format of files, each a function of some bytes. */
#ifndef TAMIS_FUZZ_H
#define TAMIS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_target {
    const char *name; /* also the folder of its seeds */
    void (*run)(const struct fuzz_target *target, const uint8_t *data, size_t size);
    int format; /* tamis_file_format */
} fuzz_target;

/* NULL past the end, and for a name that is none. */
const fuzz_target *fuzz_target_at(int number);
const fuzz_target *fuzz_target_named(const char *name);

/* Ends the process with what does not hold. */
void fuzz_demand(bool holds, const char *what);

/* kept.c */
void fuzz_model(const fuzz_target *target, const uint8_t *data, size_t size);
void fuzz_plans(const fuzz_target *target, const uint8_t *data, size_t size);
void fuzz_program(const fuzz_target *target, const uint8_t *data, size_t size);
void fuzz_timings(const fuzz_target *target, const uint8_t *data, size_t size);
void fuzz_rates(const fuzz_target *target, const uint8_t *data, size_t size);

#endif
