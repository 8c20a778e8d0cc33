#include "gpu/runtime/arguments.h"

#include <stddef.h>
#include <string.h>

#include "base/status.h"

/* The fields of tamis_gpu_common that kernels take. */
static const struct {
    const char *name;
    int kind; /* of tamis_gpu_named */
    size_t at;
} fields[] = {
#define FIELD(kind, name)                                                                                              \
    { #name, kind, offsetof(tamis_gpu_common, name) }
    FIELD(TAMIS_GPU_IS_INTEGER, rows),
    FIELD(TAMIS_GPU_IS_INTEGER, cols),
    FIELD(TAMIS_GPU_IS_INTEGER, nnz),
    FIELD(TAMIS_GPU_IS_INTEGER, inner),
    FIELD(TAMIS_GPU_IS_INTEGER, width),
    FIELD(TAMIS_GPU_IS_PLACE, offsets),
    FIELD(TAMIS_GPU_IS_PLACE, columns),
    FIELD(TAMIS_GPU_IS_PLACE, values),
    FIELD(TAMIS_GPU_IS_PLACE, a),
    FIELD(TAMIS_GPU_IS_PLACE, b),
    FIELD(TAMIS_GPU_IS_PLACE, d),
    FIELD(TAMIS_GPU_IS_PLACE, out),
    FIELD(TAMIS_GPU_IS_PLACE, pairs),
    FIELD(TAMIS_GPU_IS_INTEGER, a_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, b_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, d_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, out_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, values_apart),
    FIELD(TAMIS_GPU_IS_INTEGER, a_apart),
    FIELD(TAMIS_GPU_IS_INTEGER, b_apart),
    FIELD(TAMIS_GPU_IS_INTEGER, d_apart),
    FIELD(TAMIS_GPU_IS_INTEGER, out_apart),
    FIELD(TAMIS_GPU_IS_INTEGER, scratch_apart),
    FIELD(TAMIS_GPU_IS_INTEGER, pairs_apart),
    FIELD(TAMIS_GPU_IS_INTEGER, edge_kind),
    FIELD(TAMIS_GPU_IS_INTEGER, has_values),
    FIELD(TAMIS_GPU_IS_INTEGER, wide),
    FIELD(TAMIS_GPU_IS_INTEGER, keeps),
    FIELD(TAMIS_GPU_IS_REAL, edge_scale),
    FIELD(TAMIS_GPU_IS_REAL, edge_slope),
    FIELD(TAMIS_GPU_IS_REAL, edge_epsilon),
    FIELD(TAMIS_GPU_IS_REAL, alpha),
    FIELD(TAMIS_GPU_IS_REAL, beta),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

int tamis_gpu_common_number(const char *name) {
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0) return i;
    return -1;
}

static tamis_gpu_named common_field(const tamis_gpu_common *common, int number) {
    const void *const at = (const char *)common + fields[number].at;
    switch (fields[number].kind) {
    case TAMIS_GPU_IS_INTEGER: return tamis_gpu_integer(fields[number].name, *(const int64_t *)at);
    case TAMIS_GPU_IS_REAL: return tamis_gpu_real(fields[number].name, *(const double *)at);
    default: return tamis_gpu_place(fields[number].name, *(const tamis_place *)at);
    }
}

/* The value as the kernel takes it. */
static tamis_status convert(const tamis_gpu_kernel *kernel, const tamis_gpu_named *from, tamis_gpu_kind kind,
                            tamis_gpu_argument *to) {
    static const int wanted[] = {[TAMIS_GPU_PLACE] = TAMIS_GPU_IS_PLACE,
                                 [TAMIS_GPU_INT32] = TAMIS_GPU_IS_INTEGER,
                                 [TAMIS_GPU_INT64] = TAMIS_GPU_IS_INTEGER,
                                 [TAMIS_GPU_FLOAT32] = TAMIS_GPU_IS_REAL,
                                 [TAMIS_GPU_FLOAT64] = TAMIS_GPU_IS_REAL};
    static const char *const kinds[] = {"a place in memory", "an integer", "a real number"};
    if ((int)from->kind != wanted[kind])
        return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s takes %s as %s, its launch gives %s", kernel->name,
                          from->name, kinds[wanted[kind]], kinds[from->kind]);
    to->kind = kind;
    switch (kind) {
    case TAMIS_GPU_PLACE: to->value.place = from->value.place; break;
    case TAMIS_GPU_INT64: to->value.int64 = from->value.integer; break;
    case TAMIS_GPU_FLOAT32: to->value.float32 = (float)from->value.real; break;
    case TAMIS_GPU_FLOAT64: to->value.float64 = from->value.real; break;
    case TAMIS_GPU_INT32:
        if (from->value.integer != (int32_t)from->value.integer)
            return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s takes %s in 32 bits, its launch gives %lld",
                              kernel->name, from->name, (long long)from->value.integer);
        to->value.int32 = (int32_t)from->value.integer;
        break;
    }
    return TAMIS_OK;
}

static const tamis_gpu_named *find(const tamis_gpu_named *own, const char *name) {
    for (; own->name; own++)
        if (strcmp(own->name, name) == 0) return own;
    return NULL;
}

static tamis_status not_taken(const tamis_gpu_kernel *kernel, const tamis_gpu_named *own) {
    for (; own->name; own++) {
        int i = 0;
        while (i < kernel->signature.count && strcmp(kernel->signature.parameters[i].name, own->name) != 0) i++;
        if (i == kernel->signature.count)
            return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s does not take %s, which its launch gives", kernel->name,
                              own->name);
    }
    return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s: its launch gives an argument twice", kernel->name);
}

tamis_status tamis_gpu_bind(const tamis_gpu_kernel *kernel, const tamis_gpu_common *common, const tamis_gpu_named *own,
                            tamis_gpu_argument *values) {
    static const tamis_gpu_named none = {.name = NULL};
    const tamis_gpu_signature *const s = &kernel->signature;
    const tamis_gpu_named *next = own ? own : &none; /* lists are in the kernel's order, as a rule */
    int used = 0, given = 0;
    for (int i = 0; i < s->count; i++) {
        const char *const name = s->parameters[i].name;
        const bool is_next = next->name && next->name[0] == name[0] && strcmp(next->name, name) == 0;
        const bool is_common = !is_next && common && s->parameters[i].common >= 0;
        tamis_gpu_named field;
        if (is_common) field = common_field(common, s->parameters[i].common);
        const tamis_gpu_named *const from = is_next ? next : is_common ? &field : own ? find(own, name) : NULL;
        if (!from)
            return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s takes %s, which its launch does not give", kernel->name,
                              name);
        if (!is_common) {
            used++;
            next = from + 1;
        }
        TRY(convert(kernel, from, s->parameters[i].kind, &values[i]));
    }
    while (own && own[given].name) given++;
    return used == given ? TAMIS_OK : not_taken(kernel, own);
}
