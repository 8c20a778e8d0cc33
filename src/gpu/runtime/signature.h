/* A kernel's parameters: their names and kinds, as its own text declares them. The host binds arguments by them. */
#ifndef TAMIS_GPU_RUNTIME_SIGNATURE_H
#define TAMIS_GPU_RUNTIME_SIGNATURE_H

#include <tamis/types.h>

enum { TAMIS_GPU_PARAMETERS_MOST = 48, TAMIS_GPU_NAME_MOST = 32 };

/* A place is one pointer to a CUDA kernel, a buffer and a byte offset to an OpenCL one. */
typedef enum tamis_gpu_kind {
    TAMIS_GPU_PLACE,
    TAMIS_GPU_INT32,
    TAMIS_GPU_INT64,
    TAMIS_GPU_FLOAT32,
    TAMIS_GPU_FLOAT64
} tamis_gpu_kind;

typedef struct tamis_gpu_signature {
    int count;
    struct {
        char name[TAMIS_GPU_NAME_MOST];
        tamis_gpu_kind kind;
        int common; /* where it lies in tamis_gpu_common (arguments.h), which has one of that name and kind, or -1 */
        const char *seen; /* the launch's own name for it, which is a constant: told by its address the next time */
    } parameters[TAMIS_GPU_PARAMETERS_MOST];
} tamis_gpu_signature;

/* Reads `KERNEL name(...)` in the text of a kernel file, its #includes resolved. Macros whose names end in PARAMETERS
   stand for the parameters that they are defined as; `real_is_double` says which kind `real` is. */
tamis_status tamis_gpu_signature_read(const char *text, const char *kernel, bool real_is_double,
                                      tamis_gpu_signature *signature);

#endif
