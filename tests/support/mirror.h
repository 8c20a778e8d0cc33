/* A problem's arrays where a device wants them: as they are on the CPU, copies in its memory on a GPU. */
#ifndef TAMIS_TESTS_MIRROR_H
#define TAMIS_TESTS_MIRROR_H

#include "support/problem.h"

typedef struct mirror {
    tamis_device *device;
    bool copies; /* the device has memory of its own */
    tamis_sparse S;
    tamis_dense A, B, D, out; /* out.data is set by mirror_output */
    pattern pattern;
    twin arrays[4]; /* S's values, A, B and D */
    void *memory;   /* of the output */
    size_t out_bytes;
} mirror;

/* Every failure ends the test: what is tested is what comes after. */
mirror mirror_make(tamis_device *device, const problem *p, size_t out_bytes);
void mirror_free(mirror *m);

/* The device's output with the content of `host`; and back into it. On the CPU it is `host` itself. */
void *mirror_output(mirror *m, void *host);
void mirror_fetch(const mirror *m, void *host);

#endif
