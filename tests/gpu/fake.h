/*
 * Chips that are not here: a device whose limits are a real chip's and whose memory is the host's. What it is asked to
 * compile goes to a hook of the test; kernels are found and launched without effect. With it a test meets exactly the
 * definitions that the methods give to a compiler on that chip, and work that goes astray between streams is seen.
 */
#ifndef TAMIS_TESTS_GPU_FAKE_H
#define TAMIS_TESTS_GPU_FAKE_H

#include "gpu/runtime/runtime.h"

typedef struct fake_chip {
    const char *model;
    int architecture; /* 90: sm_90 */
    int multiprocessors;
    int64_t shared_most, shared_of_multiprocessor, cache_l2, memory;
} fake_chip;

extern const fake_chip fake_chips[];
extern const int fake_chip_count;

typedef struct fake_device fake_device;
struct fake_device {
    tamis_gpu_device shared; /* first: verbs get a pointer to it */
    const fake_chip *chip;
    /* called once for each file and definitions; NULL: everything compiles */
    tamis_status (*compile)(fake_device *self, const char *name, const char *source, const char *definitions);
    void
        *stream; /* work in another one is an error, and so is memory that is released with another than it came with */
    long launches, released_wrongly;
};

/* Named cuda:`number` (0 to 1023), by which its runtime opens it until another has that number. */
void fake_device_make(fake_device *device, const fake_chip *chip, int number);

#endif
