/* A kernel's parameters, parsed from its source text: an argument is declared there, once. The host binds values by
   name, and the kernel's body is opened with the statements that its pointers need. */
#ifndef TAMIS_GPU_RUNTIME_SIGNATURE_H
#define TAMIS_GPU_RUNTIME_SIGNATURE_H

#include <stddef.h>

#include <tamis/types.h>

enum { TAMIS_GPU_PARAMETERS_MOST = 64, TAMIS_GPU_NAME_MOST = 32 };

/* A place is a pointer to a CUDA kernel, and a buffer and a byte offset to an OpenCL kernel. */
typedef enum tamis_gpu_kind {
    TAMIS_GPU_PLACE,
    TAMIS_GPU_INT32,
    TAMIS_GPU_INT64,
    TAMIS_GPU_FLOAT32,
    TAMIS_GPU_FLOAT64,
    TAMIS_GPU_TILES /* a description of a matrix, of CUDA alone */
} tamis_gpu_kind;

typedef struct tamis_gpu_signature {
    int count;
    struct {
        char name[TAMIS_GPU_NAME_MOST];
        tamis_gpu_kind kind;
        int common; /* its index in tamis_gpu_common (arguments.h), if there is one of that name and kind, or -1 */
        const char *seen; /* the launch's string literal for it: the next launch compares the address */
    } parameters[TAMIS_GPU_PARAMETERS_MOST];
} tamis_gpu_signature;

/* Parses `KERNEL name(...)` in the text of a kernel file, whose #includes are resolved. Macros with names ending in
   PARAMETERS are expanded; `real_is_double` gives the kind of `real`. */
tamis_status tamis_gpu_signature_read(const char *text, const char *kernel, bool real_is_double,
                                      tamis_gpu_signature *signature);

/* The statements that open the body of the kernel whose line begins at `at` in `text`: each pointer is taken from its
   buffer (TAKE, TAKE_OUT) and, if the kernel takes NAME_batch_stride, moved to the member of the batch (MEMBER). `body`
   is where they belong, behind the brace. */
tamis_status tamis_gpu_signature_open(const char *text, const char *at, const char **body, char *statements,
                                      size_t room);

#endif
