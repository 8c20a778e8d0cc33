/* Functions in backend.c's table, by the file that defines them. */
#ifndef TAMIS_CPU_PARTS_H
#define TAMIS_CPU_PARTS_H

#include "backend/attention.h"
#include "backend/cached_attention.h"
#include "backend/edge.h"
#include "backend/edge_network.h"
#include "cpu/variants.h"

/* The host address of a place; NULL for none. */
static inline char *tamis_cpu_address(tamis_place place) {
    return place.base ? (char *)place.base + place.bytes : NULL;
}

/* ceilings.c: measures *ceilings for one thread and for `threads`, each with local memory (first touch), in two passes,
   which agree unless they are doubtful. It takes less than 0.2 s and 128 MiB, at most an eighth of the memory. brief:
   one pass and 16 MiB; the rates of memory, and of larger tables, stay as they are. */
enum { TAMIS_CEILING_THREADS = 256 };
tamis_status tamis_cpu_measure_ceilings(const tamis_cpu_variant *variant, int threads, bool brief,
                                        tamis_ceilings *ceilings);

/* dense.c, edges.c: the dense companions; edges of samples that have been computed, and their derivatives. */
extern const tamis_dense_functions tamis_cpu_dense_functions;
extern const tamis_edge_functions tamis_cpu_edge_functions;

/* messages/messages.c, messages/attention.c: message passing; attention on graphs and segments. */
extern const tamis_message_functions tamis_cpu_message_functions;
extern const tamis_attention_functions tamis_cpu_attention_functions;

/* edge_network/edge_network.c: networks on edges. */
extern const tamis_edge_network_functions tamis_cpu_edge_network_functions;

/* messages/cached.c: attention to caches. */
tamis_status tamis_cpu_cached_attend(const tamis_cached_job *job);

/* messages/shares.c: rejects rows with more entries than the kernels of max and min can count. */
tamis_status tamis_cpu_check_places(const tamis_message_order *order);

/* machine.c: a description of this machine, read once. It never fails: unknown numbers get usual values. */
typedef struct tamis_cpu_machine {
    char model[96];
    int processors, at_once;                /* that this process may use; that a limit of its CPU time amounts to */
    int64_t cache_l1, cache_l2, cache_l3;   /* bytes of one cache */
    int sharers_l1, sharers_l2, sharers_l3; /* processors that share it */
    int64_t memory;                         /* bytes available to this process; 0 if unknown */
    bool several_memories;                  /* near to some of the processors each */
} tamis_cpu_machine;
const tamis_cpu_machine *tamis_cpu_machine_read(void);

/* A thread's share of a cache of `bytes` that `sharers` processors share, with this many threads. */
int64_t tamis_cpu_cache_of_thread(int64_t bytes, int sharers, int threads);

/* pattern.c: checks, orders and profiles a pattern in host memory. */
tamis_status tamis_cpu_validate(void *device, void *stream, int threads, const tamis_sparse *S);
tamis_status tamis_cpu_order_rows(const tamis_problem *problem, const tamis_sparse *S, bool transpose,
                                  tamis_row_order *order);
tamis_status tamis_cpu_profile(const tamis_problem *problem, tamis_evidence *evidence);

/* gather.c: gathers rows of a matrix. */
tamis_status tamis_cpu_gather(void *device, void *stream, const tamis_gathering *gathering);

/* mask.c: builds the patterns of masks. */
tamis_status tamis_cpu_mask_offsets(void *device, void *stream, int threads, const tamis_mask *mask,
                                    tamis_index_type offset_type, void *offsets, int64_t *nnz);
tamis_status tamis_cpu_mask_columns(void *device, void *stream, int threads, const tamis_mask *mask,
                                    tamis_index_type offset_type, const void *offsets, tamis_index_type index_type,
                                    void *columns);

/* add_rows.c: adds rows. */
tamis_status tamis_cpu_add_rows(void *device, void *stream, const tamis_row_sum *sum);

/* staging.c: copies operands that kernels cannot use in place: column-major matrices, and values out of row order. */
tamis_status tamis_cpu_ready(void *device, tamis_type type, bool transposes, bool permutes);
tamis_status tamis_cpu_transpose(void *device, void *stream, const tamis_transposition *transposition);
tamis_status tamis_cpu_permute(void *device, void *stream, const tamis_permutation *permutation);

#endif
