/*
 * What all headers of Tamis share: status numbers, element and index types, the views of matrices.
 *
 * How structures grow. One rule holds for every public structure, of inputs and outputs alike: its size never changes.
 * Each ends in reserved words, and a later version gives some of them names.
 *   - What you hand over begins with its _INIT macro, or with designated fields, which set the others to zero. A
 *     reserved word that is not zero is TAMIS_ERROR_UNSUPPORTED: a field that this version does not know was set.
 *     Zero in a field that was reserved once means what the library did before it had the field.
 *   - What the library fills in it fills in whole, with zeros in what is reserved: start from anything.
 *   - So structures may be copied, embedded and put into arrays, and a program that was compiled with an older header
 *     runs with a newer library as it did, a newer one with an older library as long as it sets nothing new.
 * Numbers of enumerations never change their meaning; functions keep their arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_TYPES_H
#define TAMIS_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/version.h>

#if defined(__GNUC__) || defined(__clang__)
#define TAMIS_API __attribute__((visibility("default")))
#else
#define TAMIS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- status */

/* Error numbers. They are part of the ABI: a number never changes its meaning. */
typedef enum tamis_status {
    TAMIS_OK = 0,
    TAMIS_ERROR_ARGUMENT = 1,    /* an argument is out of its range or disagrees with another */
    TAMIS_ERROR_PATTERN = 2,     /* the arrays of a sparse view break its format (offsets, column indices) */
    TAMIS_ERROR_MEMORY = 3,      /* an allocation failed */
    TAMIS_ERROR_UNSUPPORTED = 4, /* valid, but this device, algorithm or build cannot do it; the message says why */
    TAMIS_ERROR_OVERFLOW = 5,    /* a size does not fit the index type or the address space */
    TAMIS_ERROR_FILE = 6,        /* a file cannot be opened, read or written */
    TAMIS_ERROR_FORMAT = 7,      /* a file's content breaks its format; the message names file and line */
    TAMIS_ERROR_DEVICE = 8,      /* a device is absent or failed */
    TAMIS_ERROR_CANCELLED = 9,   /* a callback asked to stop */
    TAMIS_ERROR_INTERNAL = 10    /* a defect in Tamis itself: please report it */
} tamis_status;

/* The last error's message of this thread, or "" when its last call that returns a status succeeded. Valid until the
   next such call in it. */
TAMIS_API const char *tamis_last_error(void);

/* A short name of a status: "ok", "argument", "pattern", ... Never NULL; "unknown" for other numbers. */
TAMIS_API const char *tamis_status_name(tamis_status status);

/* ---------------------------------------------------------------------------------------------- version */

/* The library's version, "MAJOR.MINOR.PATCH". Compare with TAMIS_VERSION_STRING of <tamis/version.h>. */
TAMIS_API const char *tamis_version(void);

/* How the library was built: compiler, flags that matter, instruction sets, OpenMP, compression. One line each. */
TAMIS_API const char *tamis_build_information(void);

/* ---------------------------------------------------------------------------------------------- types */

/* Element types. Half types store 16 bits and are accumulated in fp32. */
typedef enum tamis_type { TAMIS_F32 = 0, TAMIS_F64 = 1, TAMIS_F16 = 2, TAMIS_BF16 = 3 } tamis_type;

/* Types of column indices, row indices and offsets. */
typedef enum tamis_index_type { TAMIS_I32 = 0, TAMIS_I64 = 1 } tamis_index_type;

/* How a sparse view is arranged: see tamis_sparse. */
typedef enum tamis_format { TAMIS_CSR = 0, TAMIS_COO = 1 } tamis_format;

/* How a dense view is arranged: see tamis_dense. */
typedef enum tamis_layout { TAMIS_ROW_MAJOR = 0, TAMIS_COLUMN_MAJOR = 1 } tamis_layout;

/* Whose memory a view's arrays are in. */
typedef enum tamis_location { TAMIS_HOST = 0, TAMIS_DEVICE = 1 } tamis_location;

/* The operations, as the top of <tamis/tamis.h> defines them. */
typedef enum tamis_operation { TAMIS_OP_SDDMM = 0, TAMIS_OP_SPMM = 1, TAMIS_OP_FUSED = 2 } tamis_operation;

/*
 * What becomes of the sampled dot product x = <A_i, B_j> and the stored value s = S_ij.
 * Beware: "SDDMM" means `scale` in DGL and in most papers, but `mask` in cuSPARSE and PyTorch. Both are here under
 * their own names.
 */
typedef enum tamis_edge {
    TAMIS_EDGE_SCALE = 0,      /* s * x */
    TAMIS_EDGE_MASK = 1,       /* x; S is a pattern, its values are not read */
    TAMIS_EDGE_RESIDUAL = 2,   /* s - x */
    TAMIS_EDGE_QUOTIENT = 3,   /* s / max(x, edge_epsilon) */
    TAMIS_EDGE_SIGMOID = 4,    /* 1 / (1 + exp(-edge_scale * x)), times s where S has values */
    TAMIS_EDGE_EXP = 5,        /* exp(edge_scale * x), times s where S has values */
    TAMIS_EDGE_LEAKY_RELU = 6, /* y = edge_scale * x, edge_slope * y where y < 0; times s where S has values */
    TAMIS_EDGE_SOFTMAX = 7     /* row softmax of edge_scale * x (+ s as a bias where S has values) */
} tamis_edge;

/* Names as the command line, JSON and messages write them: "fp32", "int64", "csr", "sddmm", "scale", ... Never NULL. */
TAMIS_API const char *tamis_type_name(tamis_type type);
TAMIS_API const char *tamis_index_type_name(tamis_index_type type);
TAMIS_API const char *tamis_format_name(tamis_format format);
TAMIS_API const char *tamis_layout_name(tamis_layout layout);
TAMIS_API const char *tamis_operation_name(tamis_operation operation);
TAMIS_API const char *tamis_edge_name(tamis_edge edge);

/* The reverse: parse a name. TAMIS_ERROR_ARGUMENT lists the names that exist. */
TAMIS_API tamis_status tamis_type_from_name(const char *name, tamis_type *type);
TAMIS_API tamis_status tamis_operation_from_name(const char *name, tamis_operation *operation);
TAMIS_API tamis_status tamis_edge_from_name(const char *name, tamis_edge *edge);

/* Bytes of one element or index: 2, 4 or 8; 0 for a value that is no type. */
TAMIS_API size_t tamis_type_size(tamis_type type);
TAMIS_API size_t tamis_index_size(tamis_index_type type);

/* Round to nearest, ties to even. fp16 and bf16 elements are plain 16-bit words in memory. */
TAMIS_API uint16_t tamis_f16_from_f32(float value);
TAMIS_API float tamis_f32_from_f16(uint16_t bits);
TAMIS_API uint16_t tamis_bf16_from_f32(float value);
TAMIS_API float tamis_f32_from_bf16(uint16_t bits);

/* ---------------------------------------------------------------------------------------------- views */

/*
 * A sparse matrix in the caller's arrays.
 *   CSR: offsets has rows + 1 entries, offsets[0] = offset_base, never falling, offsets[rows] = offset_base + nnz. The
 *        entries of row i are columns[offsets[i]] .. columns[offsets[i + 1] - 1], and values likewise. Columns of a row
 *        may be unsorted and repeated.
 *   COO: row_indices and columns have nnz entries each, in any order, repeats allowed; offset_base is 0.
 * values has as many entries as columns, of value_type, or is NULL, which means ones (for softmax: no bias).
 * Zero rows, zero columns, nnz = 0 and empty rows are all fine; arrays of zero entries may be NULL.
 *
 * Rows r .. r + n - 1 of a larger CSR matrix are a view without a copy: rows = n, offsets + r, columns and values as
 * they are, offset_base = offsets[r], nnz = offsets[r + n] - offsets[r]. What has an element a nonzero, as the samples
 * of SDDMM, has nnz elements then, those of the slice.
 */
typedef struct tamis_sparse {
    tamis_format format;
    tamis_location location;
    int64_t rows, cols, nnz;
    tamis_index_type index_type;  /* of columns and row_indices */
    tamis_index_type offset_type; /* of offsets, on its own: 64-bit offsets with 32-bit columns are usual */
    tamis_type value_type;
    const void *offsets;     /* CSR only */
    const void *row_indices; /* COO only */
    const void *columns;
    const void *values;
    int64_t batch_stride; /* elements from one value set to the next in a batch; 0: all sets are the same */
    int64_t offset_base;  /* offsets[0]; 0 but for a slice of rows */
    uint64_t reserved[4]; /* zero */
} tamis_sparse;

/*
 * A dense matrix in the caller's array. Row-major: element (i, j) is data[i * stride + j], stride >= cols;
 * column-major: data[j * stride + i], stride >= rows. The address need only be aligned to one element.
 * stride = 0 means packed (cols or rows). A vector of n elements is an n x 1 matrix.
 */
typedef struct tamis_dense {
    void *data;
    int64_t rows, cols;
    int64_t stride;
    tamis_type type;
    tamis_layout layout;
    tamis_location location;
    int64_t batch_stride; /* elements from one matrix of a batch to the next; 0: all are the same (inputs only) */
    uint64_t reserved[4]; /* zero */
} tamis_dense;

#ifdef __cplusplus
}
#endif

#endif
