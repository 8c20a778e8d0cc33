/* Problems as plans would hand them to the GPU's methods, on chips that are not here (fake.h). */
#ifndef TAMIS_TESTS_GPU_INSTANCES_H
#define TAMIS_TESTS_GPU_INSTANCES_H

#include "backend/backend.h"
#include "base/random.h"
#include "fake.h"

extern const int64_t instance_widths[];
extern const int instance_width_count;

/* What rows that lie together have in common: columns, as the cells of tensor cores are chosen by. */
typedef enum instance_pattern {
    INSTANCE_ALIKE, /* all they have */
    INSTANCE_MESH,  /* 64 rows nearly as much as 128: cells of 64 x 64 */
    INSTANCE_DENSE, /* few rows, and 128 have all columns: cells of neighbouring ones */
    INSTANCE_PATTERNS
} instance_pattern;

typedef struct instance {
    fake_device *device;
    const tamis_algorithm *algorithm;
    tamis_operation operation;
    tamis_edge edge;
    const tamis_edge_text *text; /* NULL: the edge is a row */
    tamis_type type, output_type;
    tamis_math math;
    bool unsorted; /* columns do not rise within rows; never drawn */
    tamis_index_type index_type, offset_type;
    int64_t inner, width;
    int64_t rows; /* and columns */
    instance_pattern pattern;
    bool has_values, hub, once;
    int64_t calls, batch;
    bool keep_softmax;
    const char *parameters;
} instance;

/* Matrices of even rows, of which most are as large as real ones. Columns and operands are zeros, which nobody
   reads but the host's samples of them. */
enum { INSTANCE_ROWS = 1 << 17, INSTANCE_DENSE_ROWS = 1 << 10, INSTANCE_LENGTH = 32 };

/* What is left open is drawn; the edge is the next of all, so that few draws meet each. K is the width of SpMM. */
instance instance_draw(fake_device *device, const tamis_algorithm *algorithm, tamis_operation operation,
                       tamis_type type, int64_t k, tamis_random *random);

void instance_set_pattern(instance *x, instance_pattern pattern); /* and the rows that go with it */

/* Prepares it. TAMIS_ERROR_UNSUPPORTED with the reason when the algorithm declines. */
tamis_status instance_prepare(const instance *x, tamis_prepared **prepared);

/* Prepares, and releases, the gradient of attention in one piece. */
tamis_status instance_prepare_back(const instance *x);

/* The zeros that are columns and operands; as many bytes as the largest has for 64-bit nonzeros. */
const void *instance_zeros(void);

/* All kernels that plans share: probes, checks, orders, sorts, profiles, staging. The status of the first that fails.
 */
tamis_status instance_utilities(fake_device *device);

#endif
