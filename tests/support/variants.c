#include "support/variants.h"

#include <stdlib.h>

#include "cpu/variants.h"

static bool differ(const tamis_cpu_variant *a, const tamis_cpu_variant *b, test_tables of, int type) {
    if (of == TEST_MESSAGES) return a->messages[type] != b->messages[type];
    if (of == TEST_DENSE) return type <= TAMIS_F64 && a->dense[type] != b->dense[type];
    return a->kernels[type] != b->kernels[type] || (type == TAMIS_BF16 && a->amx != b->amx);
}

static unsigned types_of(const tamis_cpu_variant *variant, test_tables of) {
    unsigned types = tamis_cpu_variant_runs(variant) ? 15 : 0;
    for (int i = 0; tamis_cpu_variant_at(i) && tamis_cpu_variant_at(i) != variant; i++)
        for (int type = TAMIS_F32; type <= TAMIS_BF16 && tamis_cpu_variant_runs(tamis_cpu_variant_at(i)); type++)
            if (!differ(tamis_cpu_variant_at(i), variant, of, type)) types &= ~(1u << type);
    return types;
}

unsigned test_variant_types(test_tables of) {
    const tamis_cpu_variant *variant;
    return tamis_cpu_variant_choose(&variant) == TAMIS_OK ? types_of(variant, of) : 0;
}

const char *test_variant_next(int *next, test_tables of, unsigned *types) {
    for (const tamis_cpu_variant *v; (v = tamis_cpu_variant_at(*next));) {
        *types = types_of(v, of);
        ++*next;
        if (*types == 0) continue;
        setenv("TAMIS_CPU_ISA", v->name, 1);
        return v->name;
    }
    return NULL;
}
