#include "gpu/runtime/arguments.h"

#include <stddef.h>
#include <string.h>

#include "base/status.h"

/* The fields of tamis_gpu_common that kernels can take by name. */
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
    FIELD(TAMIS_GPU_IS_INTEGER, values_batch_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, a_batch_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, b_batch_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, d_batch_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, out_batch_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, scratch_batch_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, pairs_batch_stride),
    FIELD(TAMIS_GPU_IS_INTEGER, edge_kind),
    FIELD(TAMIS_GPU_IS_INTEGER, has_values),
    FIELD(TAMIS_GPU_IS_INTEGER, wide),
    FIELD(TAMIS_GPU_IS_INTEGER, keeps),
    FIELD(TAMIS_GPU_IS_REAL, edge_scale),
    FIELD(TAMIS_GPU_IS_REAL, edge_slope),
    FIELD(TAMIS_GPU_IS_REAL, edge_epsilon),
    FIELD(TAMIS_GPU_IS_REAL, alpha),
    FIELD(TAMIS_GPU_IS_REAL, beta),
    FIELD(TAMIS_GPU_IS_INTEGER, first_member),
#undef FIELD
#define FIELD(kind, name, field)                                                                                       \
    { name, kind, offsetof(tamis_gpu_common, arrays.field) }
#define ARRAY(k)                                                                                                       \
    FIELD(TAMIS_GPU_IS_PLACE, "n" #k, at[k]), FIELD(TAMIS_GPU_IS_INTEGER, "n" #k "_batch_stride", batch_stride[k])
    ARRAY(0),
    ARRAY(1),
    ARRAY(2),
    ARRAY(3),
    ARRAY(4),
    ARRAY(5),
    ARRAY(6),
    ARRAY(7),
    FIELD(TAMIS_GPU_IS_INTEGER, "array_kinds", kinds),
#undef ARRAY
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

int32_t tamis_gpu_array_kind(const tamis_edge_array *array, tamis_type type) {
    if (!array->at.base) return 0;
    return TAMIS_GPU_KIND_THERE | (array->type != type ? TAMIS_GPU_KIND_REALS : 0) |
           (array->scattered ? TAMIS_GPU_KIND_SCATTERED : 0);
}

tamis_gpu_arrays tamis_gpu_arrays_of(const tamis_edge_text *text, const tamis_edge_array *named, tamis_type type) {
    tamis_gpu_arrays arrays = {.kinds = 0};
    for (int k = 0; text && named && k < text->value.arrays; k++) {
        arrays.at[k] = named[k].at;
        arrays.batch_stride[k] = named[k].batch_stride;
        arrays.kinds |= (int64_t)tamis_gpu_array_kind(&named[k], type) << 4 * k;
    }
    arrays.kinds = (int32_t)(uint32_t)arrays.kinds; /* the parameter has 32 bits */
    return arrays;
}

int tamis_gpu_add_arrays(const tamis_gpu_arrays *arrays, tamis_gpu_named *to) {
    int count = 0;
    for (int f = 0; f < FIELDS; f++) { /* the fields of tamis_gpu_arrays */
        if (fields[f].at < offsetof(tamis_gpu_common, arrays)) continue;
        const void *const at = (const char *)arrays + (fields[f].at - offsetof(tamis_gpu_common, arrays));
        to[count++] = fields[f].kind == TAMIS_GPU_IS_PLACE ? tamis_gpu_place(fields[f].name, *(const tamis_place *)at)
                                                           : tamis_gpu_integer(fields[f].name, *(const int64_t *)at);
    }
    return count;
}

/* True if an argument of this kind can be passed for a parameter of that kind. */
static bool goes_with(int given, tamis_gpu_kind taken) {
    return given == (taken == TAMIS_GPU_PLACE                               ? TAMIS_GPU_IS_PLACE
                     : taken == TAMIS_GPU_TILES                             ? TAMIS_GPU_IS_TILES
                     : taken == TAMIS_GPU_INT32 || taken == TAMIS_GPU_INT64 ? TAMIS_GPU_IS_INTEGER
                                                                            : TAMIS_GPU_IS_REAL);
}

void tamis_gpu_signature_common(tamis_gpu_signature *s) {
    for (int i = 0; i < s->count; i++) {
        s->parameters[i].common = -1;
        for (int f = 0; f < FIELDS; f++)
            if (strcmp(fields[f].name, s->parameters[i].name) == 0 && goes_with(fields[f].kind, s->parameters[i].kind))
                s->parameters[i].common = (int)fields[f].at;
    }
}

/* Converts a value to the kernel's type; false if it does not fit. */
static bool convert(const void *from, tamis_gpu_kind kind, tamis_gpu_argument *to) {
    to->kind = kind;
    switch (kind) {
    case TAMIS_GPU_PLACE: to->value.place = *(const tamis_place *)from; break;
    case TAMIS_GPU_INT64: to->value.int64 = *(const int64_t *)from; break;
    case TAMIS_GPU_FLOAT32: to->value.float32 = (float)*(const double *)from; break;
    case TAMIS_GPU_FLOAT64: to->value.float64 = *(const double *)from; break;
    case TAMIS_GPU_TILES: to->value.tiles = *(const tamis_gpu_tiles *const *)from; break;
    case TAMIS_GPU_INT32:
        to->value.int32 = (int32_t) * (const int64_t *)from;
        return to->value.int32 == *(const int64_t *)from;
    }
    return true;
}

static tamis_status wrong_kind(const tamis_gpu_kernel *kernel, const tamis_gpu_named *from, tamis_gpu_kind kind) {
    static const char *const kinds[] = {"a place in memory", "an integer", "a real number", "tiles"};
    int taken = TAMIS_GPU_IS_PLACE;
    while (!goes_with(taken, kind)) taken++;
    if (taken == (int)from->kind)
        return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s takes %s in 32 bits, its launch gives %lld", kernel->name,
                          from->name, (long long)from->value.integer);
    return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s takes %s as %s, its launch gives %s", kernel->name, from->name,
                      kinds[taken], kinds[from->kind]);
}

/* Lists are usually in the kernel's order, so `next` is tried first. */
static const tamis_gpu_named *find(tamis_gpu_signature *s, int i, const tamis_gpu_named *own,
                                   const tamis_gpu_named *next) {
    if (!own) return NULL;
    if (next->name && next->name == __atomic_load_n(&s->parameters[i].seen, __ATOMIC_RELAXED)) return next;
    if (!next->name || strcmp(next->name, s->parameters[i].name) != 0)
        for (next = own; next->name && strcmp(next->name, s->parameters[i].name) != 0;) next++;
    if (!next->name) return NULL;
    __atomic_store_n(&s->parameters[i].seen, next->name, __ATOMIC_RELAXED);
    return next;
}

static tamis_status not_taken(const tamis_gpu_kernel *kernel, const tamis_gpu_named *own) {
    const tamis_gpu_signature *const s = kernel->signature;
    for (; own->name; own++) {
        int i = 0;
        while (i < s->count && strcmp(s->parameters[i].name, own->name) != 0) i++;
        if (i == s->count)
            return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s does not take %s, which its launch gives", kernel->name,
                              own->name);
    }
    return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s: its launch gives an argument twice", kernel->name);
}

tamis_status tamis_gpu_bind(const tamis_gpu_kernel *kernel, const tamis_gpu_common *common, const tamis_gpu_named *own,
                            tamis_gpu_argument *values) {
    tamis_gpu_signature *const s = kernel->signature;
    const tamis_gpu_named *next = own;
    int used = 0, given = 0;
    for (int i = 0; i < s->count; i++) {
        const tamis_gpu_kind kind = s->parameters[i].kind;
        if (common && s->parameters[i].common >= 0) {
            if (!convert((const char *)common + s->parameters[i].common, kind, &values[i]))
                return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s takes %s in 32 bits, and it has more", kernel->name,
                                  s->parameters[i].name);
            continue;
        }
        const tamis_gpu_named *const from = find(s, i, own, next);
        if (!from)
            return tamis_fail(TAMIS_ERROR_INTERNAL, "kernel %s takes %s, which its launch does not give", kernel->name,
                              s->parameters[i].name);
        if (!goes_with(from->kind, kind) || !convert(&from->value, kind, &values[i]))
            return wrong_kind(kernel, from, kind);
        used++;
        next = from + 1;
    }
    while (own && own[given].name) given++;
    return used == given ? TAMIS_OK : not_taken(kernel, own);
}
