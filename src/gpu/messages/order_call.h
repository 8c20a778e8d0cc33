/*
 * Launches over the rows of an order of a graph: messages, attention and segments. Arguments are listed by name. Rows
 * that are cut store the parts of their results in memory of the call.
 */
#ifndef TAMIS_GPU_MESSAGES_ORDER_CALL_H
#define TAMIS_GPU_MESSAGES_ORDER_CALL_H

#include "backend/message.h"
#include "gpu/messages/variants.h"
#include "gpu/rows/cuts.h"

typedef struct tamis_gpu_order_call {
    tamis_gpu_device *device;
    void *stream;
    const tamis_message_order *order;
    const tamis_gpu_cuts *cuts;        /* the rows that are cut */
    tamis_gpu_message_variant variant; /* the kernel that computes rows and pieces */
    tamis_place parts, places;         /* of the pieces: results, and places of entries; base NULL: absent */
} tamis_gpu_order_call;

/* A list of arguments; the functions that launch end it. */
enum { TAMIS_GPU_LIST_MOST = 48 };
typedef struct tamis_gpu_list {
    int count;
    tamis_gpu_named of[TAMIS_GPU_LIST_MOST];
} tamis_gpu_list;

static inline void tamis_gpu_list_add(tamis_gpu_list *to, tamis_gpu_named argument) { to->of[to->count++] = argument; }

/* Memory that may be absent: OpenCL needs a buffer for every argument. */
void tamis_gpu_list_place(tamis_gpu_list *to, const tamis_gpu_order_call *call, const char *name, tamis_place place);
static inline void tamis_gpu_list_array(tamis_gpu_list *to, const tamis_gpu_order_call *call, const char *name,
                                        const void *memory) {
    tamis_gpu_list_place(to, call, name, (tamis_place){(void *)(uintptr_t)memory, 0});
}
void tamis_gpu_list_matrix(tamis_gpu_list *to, const tamis_gpu_order_call *call, const char *name, const char *stride,
                           const tamis_matrix *x);

/* The arguments of TASK_OF (rows/task_kernels.h), and the order's `entries` with `permuted`. */
void tamis_gpu_list_rows(tamis_gpu_list *to, const tamis_gpu_order_call *call);

/* Launches a kernel with a team for each of `tasks`, and `slices` in y. */
tamis_status tamis_gpu_order_launch(const tamis_gpu_order_call *call, const tamis_gpu_message_variant *variant,
                                    int64_t tasks, int64_t slices, tamis_gpu_list *arguments);

/* How merge.simt joins the parts of the pieces, and what gets the results. */
typedef enum tamis_gpu_merge_kind { TAMIS_MERGE_SUM, TAMIS_MERGE_SOFTMAX, TAMIS_MERGE_LARGEST } tamis_gpu_merge_kind;
typedef struct tamis_gpu_merge {
    tamis_gpu_merge_kind kind;
    int64_t heads, width; /* a part has `width` numbers for each head, after two of a softmax */
    int64_t before;       /* reals before the parts */
    double factor;        /* of sums and maxima */
    bool mean, keeps;     /* divides by a row's entries; the result goes to the row's first part, in place of `out` */
    tamis_place out;
    int64_t out_row, out_head; /* elements between rows and heads of `out` */
    tamis_matrix log_sums;
    tamis_place argument;
} tamis_gpu_merge;

/* Merges the rows of a call that are cut. */
tamis_status tamis_gpu_order_merge(const tamis_gpu_order_call *call, const tamis_gpu_merge *merge);

/* Runs `run` with memory of `parts` bytes, and of `places` bytes (0: none), for the pieces of cut rows. */
tamis_status tamis_gpu_order_in_parts(tamis_gpu_order_call *call, size_t parts, size_t places,
                                      tamis_status (*run)(void *pass), void *pass);

/* Bits of an index, as kernels are told. */
static inline int32_t tamis_gpu_index_bits(tamis_index_type type) { return type == TAMIS_I64 ? 64 : 32; }

#endif
