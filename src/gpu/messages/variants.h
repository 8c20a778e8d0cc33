/* Variants of the message-passing kernels: compiled on first use and kept for the process. */
#ifndef TAMIS_GPU_MESSAGES_VARIANTS_H
#define TAMIS_GPU_MESSAGES_VARIANTS_H

#include "expression/message.h"
#include "gpu/runtime/arguments.h"

typedef enum tamis_gpu_message_kernel {
    TAMIS_MESSAGE_SUMS,
    TAMIS_MESSAGE_LARGEST,
    TAMIS_MESSAGE_VECTORS,
    TAMIS_MESSAGE_NUMBERS,
    TAMIS_ATTENTION_KERNEL, /* gpu/attention */
    TAMIS_ATTENTION_ROWS_KERNEL,
    TAMIS_ATTENTION_COLUMNS_KERNEL,
    TAMIS_SEGMENTS_KERNEL,
    TAMIS_SEGMENTS_FINISH,
    TAMIS_ORDER_MERGE
} tamis_gpu_message_kernel;

/* The constants of a kernel (simt.h, message_kernels.h). -1: the kernel's argument decides. */
typedef struct tamis_gpu_message_variant {
    int32_t kernel; /* tamis_gpu_message_kernel */
    int32_t element, index, offset, other, argument;
    int32_t group, team, unit, units, full, loads, near, share, by_group, by_entries;
    int32_t term, numbers, taken, permuted, ordered, weighted, mean;
    int32_t has_e, whole, stores;   /* attention_kernels.h */
    int32_t op, back;               /* segments.simt */
    int32_t kind, each;             /* merge.simt */
    int32_t reads, turned, here;    /* of a text */
    const tamis_message_text *text; /* NULL: none; in the list of kernels it lives as long as they do */
} tamis_gpu_message_variant;

/* Launches the variant; the list of arguments ends with one without a name. */
tamis_status tamis_gpu_message_launch(tamis_gpu_device *device, void *stream, const tamis_gpu_message_variant *variant,
                                      const int64_t groups[2], const tamis_gpu_named *arguments);

#endif
