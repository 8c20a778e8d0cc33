/* libFuzzer's way in: the target is the one that the environment variable TAMIS_FUZZ_TARGET names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crafted.h"
#include "fuzz.h"

static const fuzz_target *chosen;

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    const char *const name = getenv("TAMIS_FUZZ_TARGET");
    chosen = name ? fuzz_target_named(name) : NULL;
    if (chosen) return 0;
    fprintf(stderr, "TAMIS_FUZZ_TARGET: expected one of");
    for (int i = 0; fuzz_target_at(i); i++) fprintf(stderr, " %s", fuzz_target_at(i)->name);
    fprintf(stderr, "\n");
    exit(2);
}

/* Bytes that are changed anywhere would hardly ever come behind the checks of a model's form. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    static uint8_t crafted[1 << 16];
    const size_t room = most < sizeof crafted ? most : sizeof crafted;
    const bool models = strcmp(chosen->name, "model") == 0 && seed % 8 > 0;
    const size_t made = models ? fuzz_craft_model(data, size, seed, crafted, room) : 0;
    if (made == 0) return LLVMFuzzerMutate(data, size, most);
    memcpy(data, crafted, made);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    chosen->run(chosen, data, size);
    return 0;
}
