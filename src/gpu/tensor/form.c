#include "gpu/tensor/form.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/model.h"

/* A row holds from its capability up to the next row's. Shared memory from the CUDA programming guide's table of
   compute capabilities. */
static const struct {
    int architecture;
    tamis_tensor_chip chip;
} chips[] = {
    {0, {TAMIS_TENSOR_NONE, 0}},          {80, {TAMIS_TENSOR_MMA, 164 << 10}},  {86, {TAMIS_TENSOR_MMA, 100 << 10}},
    {87, {TAMIS_TENSOR_MMA, 164 << 10}},  {89, {TAMIS_TENSOR_MMA, 100 << 10}},  {90, {TAMIS_TENSOR_WGMMA, 228 << 10}},
    {100, {TAMIS_TENSOR_MMA, 228 << 10}}, {120, {TAMIS_TENSOR_MMA, 100 << 10}},
};

tamis_tensor_chip tamis_tensor_chip_of(int architecture) {
    size_t i = sizeof chips / sizeof chips[0] - 1;
    while (i > 0 && chips[i].architecture > architecture) i--;
    return chips[i].chip;
}

tamis_tensor_chip tamis_tensor_of(const tamis_gpu_device *device) {
    const char *const wish = getenv("TAMIS_TENSOR_CORES");
    if (strcmp(device->runtime->name, "cuda") != 0) return chips[0].chip;
    tamis_tensor_chip chip = tamis_tensor_chip_of(tamis_gpu_compute_capability(device));
    if (chip.form == TAMIS_TENSOR_WGMMA && wish && strcmp(wish, "mma") == 0) chip.form = TAMIS_TENSOR_MMA;
    return chip;
}

int64_t tamis_tensor_group_bytes(tamis_tensor_chip chip, int64_t groups) {
    enum { RESERVED = 1 << 10 }; /* per group */
    return chip.shared / groups - RESERVED;
}

double tamis_tensor_issue(const tamis_problem *p, double picoseconds) {
    static const double mma = 1.26; /* mma.sync's time relative to wgmma */
    return tamis_gpu_issue(p, tamis_tensor_of(p->device).form == TAMIS_TENSOR_MMA ? mma * picoseconds : picoseconds);
}

void tamis_tensor_define(tamis_gpu_definitions *definitions, const tamis_prepared *p, int group) {
    tamis_gpu_define_problem(definitions, p, group, 32);
    tamis_gpu_define(definitions, "MMA", tamis_tensor_of(p->device).form == TAMIS_TENSOR_MMA);
}
