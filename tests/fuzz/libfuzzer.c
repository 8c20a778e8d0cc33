/* libFuzzer's way in: the target is the one that the environment variable TAMIS_FUZZ_TARGET names. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static const fuzz_target *chosen;

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    const char *const name = getenv("TAMIS_FUZZ_TARGET");
    chosen = name ? fuzz_target_named(name) : NULL;
    if (chosen) return 0;
    fprintf(stderr, "TAMIS_FUZZ_TARGET: expected one of");
    for (int i = 0; fuzz_target_at(i); i++) fprintf(stderr, " %s", fuzz_target_at(i)->name);
    fprintf(stderr, "\n");
    exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    chosen->run(chosen, data, size);
    return 0;
}
