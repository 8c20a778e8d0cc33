/* The registry: every algorithm on every device, under its name. */
#ifndef TAMIS_ALGORITHMS_H
#define TAMIS_ALGORITHMS_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One row of the registry. */
typedef struct tamis_algorithm_description {
    const char *name;       /* "cpu-tiled" */
    const char *device;     /* "cpu" */
    unsigned operations;    /* bit 1u << tamis_operation for each supported operation */
    const char *source;     /* authors, title and section, or "ours" */
    const char *needs;      /* preprocessing, scratch, ... */
    const char *when;       /* when it is the right choice */
    const char *parameters; /* what tamis_options.parameters may set: "chunk=32 (8..256): ..." or "" */
    bool baseline;          /* only for comparison; `auto` never chooses it */
    bool any_order;         /* the order of its sums depends on timing: needs options.any_order */
    uint64_t reserved[4];
} tamis_algorithm_description;

/* The algorithms of all devices, by number 0 .. count - 1. */
TAMIS_API int tamis_algorithm_count(void);
TAMIS_API tamis_status tamis_algorithm_at(int number, tamis_algorithm_description *description);

#ifdef __cplusplus
}
#endif

#endif
