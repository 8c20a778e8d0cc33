/* Types as the dialect's definitions name them (dialect/simt.h). */
#ifndef TAMIS_GPU_COMPILE_DEFINITIONS_H
#define TAMIS_GPU_COMPILE_DEFINITIONS_H

#include "expression/program.h"
#include "gpu/compile/jit.h"

/* The types that a kernel is compiled for. */
typedef struct tamis_gpu_kinds {
    tamis_type type;
    tamis_index_type index, offset;
} tamis_gpu_kinds;

static inline int tamis_gpu_element(tamis_type type) {
    static const int elements[] = {32, 64, 16, 116}; /* by tamis_type */
    return elements[type];
}

static inline void tamis_gpu_define_kinds(tamis_gpu_definitions *definitions, tamis_gpu_kinds kinds) {
    tamis_gpu_define(definitions, "ELEMENT", tamis_gpu_element(kinds.type));
    tamis_gpu_define(definitions, "INDEX", kinds.index == TAMIS_I64 ? 64 : 32);
    tamis_gpu_define(definitions, "OFFSET", kinds.offset == TAMIS_I64 ? 64 : 32);
}

/* How many named arrays a text has, and of what they are (dialect/texts.h). */
static inline void tamis_gpu_define_arrays(tamis_gpu_definitions *definitions, const tamis_program *p) {
    int64_t are = 0;
    for (int k = 0; k < p->arrays; k++) are |= (int64_t)(p->array[k].kind - TAMIS_STEP_ROW) << 2 * k;
    tamis_gpu_define(definitions, "ARRAYS", p->arrays);
    tamis_gpu_define(definitions, "ARRAYS_ARE", are);
}

#endif
