/*
 * The compiled kernel variants. This file is built without instruction set flags, since it must run on every machine to
 * find out which variants can. src/cpu/CMakeLists.txt decides which variants exist (TAMIS_CPU_HAS_...).
 */
#include "cpu/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "cpu/amx.h"
#include "cpu/runs.h"

typedef struct variant_row {
    tamis_cpu_variant variant;
    const char *alias;
    bool (*runs)(void);
} variant_row;

/* Declares the tables of an instruction set, whose names src/cpu/CMakeLists.txt makes up: all are declared; those that
   are not compiled are not used. */
#define DECLARE(isa)                                                                                                   \
    extern const tamis_cpu_kernels tamis_cpu_##isa##_f32, tamis_cpu_##isa##_f64, tamis_cpu_##isa##_f16,                \
        tamis_cpu_##isa##_bf16;                                                                                        \
    extern const tamis_cpu_probe tamis_cpu_##isa##_probe_f32, tamis_cpu_##isa##_probe_f64;                             \
    extern const tamis_cpu_dense tamis_cpu_##isa##_dense_f32, tamis_cpu_##isa##_dense_f64;                             \
    extern const tamis_cpu_messages tamis_cpu_##isa##_messages_f32, tamis_cpu_##isa##_messages_f64,                    \
        tamis_cpu_##isa##_messages_f16, tamis_cpu_##isa##_messages_bf16;
DECLARE(v4)
DECLARE(v3)
DECLARE(v2)
DECLARE(sve512)
DECLARE(sve256)
DECLARE(sve128)
DECLARE(neon)
DECLARE(generic)
extern const tamis_cpu_kernels tamis_cpu_v4_bf16_pairs;
extern const tamis_cpu_amx_kernels tamis_cpu_v4_amx, tamis_cpu_v4_emulated, tamis_cpu_v3_emulated,
    tamis_cpu_v2_emulated;

#define VARIANT(isa, bf16, amx, name, alias, runs)                                                                     \
    {                                                                                                                  \
        {name,                                                                                                         \
         {&tamis_cpu_##isa##_f32, &tamis_cpu_##isa##_f64, &tamis_cpu_##isa##_f16, &tamis_cpu_##bf16},                  \
         {&tamis_cpu_##isa##_probe_f32, &tamis_cpu_##isa##_probe_f64},                                                 \
         {&tamis_cpu_##isa##_dense_f32, &tamis_cpu_##isa##_dense_f64},                                                 \
         {&tamis_cpu_##isa##_messages_f32, &tamis_cpu_##isa##_messages_f64, &tamis_cpu_##isa##_messages_f16,           \
          &tamis_cpu_##isa##_messages_bf16},                                                                           \
         amx},                                                                                                         \
            alias, runs                                                                                                \
    }

#if defined(__x86_64__)
UNUSED static bool runs_v4_amx(void) { return runs_v4_bf16() && runs_v4_vbmi2() && tamis_cpu_amx_runs(); }
#endif

static const variant_row variants[] = {
#if defined(TAMIS_CPU_HAS_V4)
    VARIANT(v4, v4_bf16_pairs, &tamis_cpu_v4_amx, "x86-64-v4-amx", "v4-amx", runs_v4_amx),
    VARIANT(v4, v4_bf16_pairs, NULL, "x86-64-v4-bf16", "v4-bf16", runs_v4_bf16),
    VARIANT(v4, v4_bf16, NULL, "x86-64-v4", "v4", runs_v4),
#endif
#if defined(TAMIS_CPU_HAS_V3)
    VARIANT(v3, v3_bf16, NULL, "x86-64-v3", "v3", runs_v3),
#endif
#if defined(TAMIS_CPU_HAS_V2)
    VARIANT(v2, v2_bf16, NULL, "x86-64-v2", "v2", runs_v2),
#endif
#if defined(TAMIS_CPU_HAS_SVE512)
    VARIANT(sve512, sve512_bf16, NULL, "sve512", "sve", runs_sve512),
#endif
#if defined(TAMIS_CPU_HAS_SVE256)
    VARIANT(sve256, sve256_bf16, NULL, "sve256", "sve", runs_sve256),
#endif
#if defined(TAMIS_CPU_HAS_SVE128)
    VARIANT(sve128, sve128_bf16, NULL, "sve128", "sve", runs_sve128),
#endif
#if defined(TAMIS_CPU_HAS_NEON)
    VARIANT(neon, neon_bf16, NULL, "neon", "aarch64", runs_always),
#endif
#if defined(TAMIS_CPU_HAS_GENERIC)
    VARIANT(generic, generic_bf16, NULL, "generic", "baseline", runs_always),
#endif
#if TAMIS_LAB && defined(TAMIS_CPU_HAS_V4) /* for tests: AMX with its tiles in memory */
    VARIANT(v4, v4_bf16, &tamis_cpu_v4_emulated, "x86-64-v4-amx-emulated", "v4-amx-emulated", runs_v4_vbmi2),
#endif
#if TAMIS_LAB && defined(TAMIS_CPU_HAS_V2)
    VARIANT(v2, v2_bf16, &tamis_cpu_v2_emulated, "x86-64-v2-amx-emulated", "amx-emulated", runs_v2),
#elif TAMIS_LAB && defined(TAMIS_CPU_HAS_V3)
    VARIANT(v3, v3_bf16, &tamis_cpu_v3_emulated, "x86-64-v3-amx-emulated", "amx-emulated", runs_v3),
#endif
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

const tamis_cpu_variant *tamis_cpu_variant_at(int number) {
    return number >= 0 && number < VARIANTS ? &variants[number].variant : NULL;
}

bool tamis_cpu_variant_runs(const tamis_cpu_variant *variant) {
    for (int i = 0; i < VARIANTS; i++)
        if (&variants[i].variant == variant) return variants[i].runs();
    return false;
}

static tamis_status refuse(const char *wanted) {
    char list[256] = "";
    for (int i = 0; i < VARIANTS; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s%s", used ? ", " : "", variants[i].variant.name,
                 variants[i].runs() ? "" : " (not on this machine)");
    }
    if (wanted)
        return tamis_fail(TAMIS_ERROR_DEVICE, "TAMIS_CPU_ISA = \"%s\": the kernels were compiled for %s", wanted, list);
    return tamis_fail(TAMIS_ERROR_DEVICE, "this machine supports none of the compiled instruction sets: %s", list);
}

tamis_status tamis_cpu_variant_choose(const tamis_cpu_variant **variant) {
    const char *const given = getenv("TAMIS_CPU_ISA"), *const wanted = given && *given ? given : NULL;
    for (int i = 0; i < VARIANTS; i++) {
        const bool named =
            !wanted || strcmp(wanted, variants[i].variant.name) == 0 || strcmp(wanted, variants[i].alias) == 0;
        if (!named || !variants[i].runs()) continue;
        *variant = &variants[i].variant;
        return TAMIS_OK;
    }
    return refuse(wanted);
}
