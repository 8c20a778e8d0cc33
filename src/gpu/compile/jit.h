/* Kernels specialised by constants: compiled on first use, and cached in the process and on disk. */
#ifndef TAMIS_GPU_COMPILE_JIT_H
#define TAMIS_GPU_COMPILE_JIT_H

#include "gpu/runtime/runtime.h"

/* A kernel file, or a header of kernels, as the build embeds it. */
typedef struct tamis_gpu_source {
    const char *name; /* "sddmm_nonzeros.simt" */
    const unsigned char *text;
    size_t bytes;
} tamis_gpu_source;

extern const tamis_gpu_source tamis_gpu_sources[];
extern const int tamis_gpu_source_count;

/* The text of a kernel file with its #include lines resolved among the embedded files; tamis_release frees it. */
tamis_status tamis_gpu_source_text(const char *name, char **text);

/* Definitions under construction: "-D TEAM=8 -D BATCH=8 ". */
/* Definitions may be followed by a line break and lines that the compiler reads before the file. */
typedef struct tamis_gpu_definitions {
    char text[1024];
    size_t used;
} tamis_gpu_definitions;
void tamis_gpu_define(tamis_gpu_definitions *definitions, const char *name, int64_t value);
void tamis_gpu_define_text(tamis_gpu_definitions *definitions, const char *name, const char *value);

/* The definitions, and code as lines after them; the caller must release it with tamis_release. */
tamis_status tamis_gpu_with_code(const tamis_gpu_definitions *definitions, const char *code, char **all);

/* The code that gives kernels the macro EDGE_TEXT (dialect/edges.h): `declarations` as src/expression/text.c writes
   them. With `places`, kernels that know places take TEXT_PARAMETERS. The caller must release it with
   tamis_release. */
tamis_status tamis_gpu_edge_code(const char *declarations, bool places, char **code);

/* Returns a kernel of a file under these definitions, compiled if needed. The caller has it alone, and it stays loaded
   until released. */
tamis_status tamis_gpu_kernel_get(tamis_gpu_device *device, const char *name, const char *definitions,
                                  const char *kernel, int64_t shared_bytes, tamis_gpu_kernel **made);

/* True if tamis_gpu_kernel_get would not compile. */
bool tamis_gpu_is_compiled(tamis_gpu_device *device, const char *name, const char *definitions);
void tamis_gpu_kernel_release(tamis_gpu_kernel *kernel); /* NULL is allowed */

/* Unloads the least recently used idle modules, if there are more than 256 (or TAMIS_MODULES) and new ones came since.
   It waits for the device, which would break a graph capture: so only the making of plans, which is never captured,
   calls it. */
void tamis_gpu_unload_idle(tamis_gpu_device *device);

/* Sets *found if the kernel cache on disk has code of a file under these definitions. */
tamis_status tamis_gpu_is_on_disk(tamis_gpu_device *device, const char *name, const char *definitions, bool *found);

#endif
