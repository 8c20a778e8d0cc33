/*
 * Common types of all headers: status numbers, element and index types, views of matrices.
 *
 * How structures grow. The size of a public structure, input or output, never changes. Each ends in reserved words. A
 * later version gives names to some of them.
 *   - Initialise inputs with the _INIT macro, or with designated initialisers, which set the other fields to zero. A
 *     nonzero reserved word gives TAMIS_ERROR_UNSUPPORTED: a field that this version does not know was set. Zero in a
 *     formerly reserved field means what the library did before the field existed.
 *   - The library fills outputs completely and sets reserved words to zero. Outputs need no initialisation.
 *   - So structures may be copied, embedded and put into arrays. A program compiled with an older header runs
 *     unchanged with a newer library. A program compiled with a newer header runs with an older library if it sets no
 *     new fields.
 * Enumeration values never change their meaning, and functions keep their arguments.
 *
 * Callbacks. Tamis calls functions of the caller's for memory, progress, iterations, mini-batches, the work of ranks
 * and transports. Each must return: it must not throw a C++ exception or longjmp, since Tamis would leak memory and
 * locks and leave work unfinished. To stop a call, return the callback's value for that.
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
    TAMIS_ERROR_ARGUMENT = 1, /* an argument is out of its range or disagrees with another */
    TAMIS_ERROR_PATTERN = 2,  /* the arrays of a sparse view violate its format (offsets, column indices) */
    TAMIS_ERROR_MEMORY = 3,   /* an allocation failed */
    TAMIS_ERROR_UNSUPPORTED =
        4,                    /* valid, but this device, algorithm or build does not support it; the message says why */
    TAMIS_ERROR_OVERFLOW = 5, /* a size does not fit the index type or the address space */
    TAMIS_ERROR_FILE = 6,     /* a file cannot be opened, read or written */
    TAMIS_ERROR_FORMAT = 7,   /* a file's content violates its format; the message names file and line */
    TAMIS_ERROR_DEVICE = 8,   /* a device is absent or failed */
    TAMIS_ERROR_CANCELLED = 9, /* a callback asked to stop */
    TAMIS_ERROR_INTERNAL = 10  /* a defect in Tamis itself: please report it */
} tamis_status;

/* Returns the message of this thread's last error, or "" if its last call that returns a status succeeded. Valid until
   the next such call in this thread. */
TAMIS_API const char *tamis_last_error(void);

/* A short name of a status: "ok", "argument", "pattern", ... Never NULL; "unknown" for other numbers. */
TAMIS_API const char *tamis_status_name(tamis_status status);

/* ---------------------------------------------------------------------------------------------- version */

/* The library's version, "MAJOR.MINOR.PATCH". Compare with TAMIS_VERSION_STRING of <tamis/version.h>. */
TAMIS_API const char *tamis_version(void);

/* Returns a description of the build: compiler, relevant flags, instruction sets, OpenMP, compression. One line
   each. */
TAMIS_API const char *tamis_build_information(void);

/* ---------------------------------------------------------------------------------------------- types */

/* Element types. Half types store 16 bits and are accumulated in fp32. */
typedef enum tamis_type { TAMIS_F32 = 0, TAMIS_F64 = 1, TAMIS_F16 = 2, TAMIS_BF16 = 3 } tamis_type;

/* Types of column indices, row indices and offsets. */
typedef enum tamis_index_type { TAMIS_I32 = 0, TAMIS_I64 = 1 } tamis_index_type;

/* The storage format of a sparse view: see tamis_sparse. */
typedef enum tamis_format { TAMIS_CSR = 0, TAMIS_COO = 1 } tamis_format;

/* The storage order of a dense view: see tamis_dense. */
typedef enum tamis_layout { TAMIS_ROW_MAJOR = 0, TAMIS_COLUMN_MAJOR = 1 } tamis_layout;

/* Which memory holds a view's arrays. */
typedef enum tamis_location { TAMIS_HOST = 0, TAMIS_DEVICE = 1 } tamis_location;

/* The operations, as the top of <tamis/tamis.h> defines them. */
typedef enum tamis_operation { TAMIS_OP_SDDMM = 0, TAMIS_OP_SPMM = 1, TAMIS_OP_FUSED = 2 } tamis_operation;

/*
 * How the sampled dot product x = <A_i, B_j> and the stored value s = S_ij are combined.
 * Note: "SDDMM" means `scale` in DGL and in most papers, but `mask` in cuSPARSE and PyTorch.
 */
typedef enum tamis_edge {
    TAMIS_EDGE_SCALE = 0,      /* s * x */
    TAMIS_EDGE_MASK = 1,       /* x; S is a pattern, its values are not read */
    TAMIS_EDGE_RESIDUAL = 2,   /* s - x */
    TAMIS_EDGE_QUOTIENT = 3,   /* s / max(x, edge_epsilon) */
    TAMIS_EDGE_SIGMOID = 4,    /* 1 / (1 + exp(-edge_scale * x)), times s where S has values */
    TAMIS_EDGE_EXP = 5,        /* exp(edge_scale * x), times s where S has values */
    TAMIS_EDGE_LEAKY_RELU = 6, /* y = edge_scale * x, edge_slope * y where y < 0; times s where S has values */
    TAMIS_EDGE_SOFTMAX = 7,    /* row softmax of edge_scale * x (+ s as a bias where S has values) */
    TAMIS_EDGE_TEXT = 100      /* the expression edge_text */
} tamis_edge;

/* Names as used on the command line, in JSON and in messages: "fp32", "int64", "csr", "sddmm", "scale", ... Never NULL.
 */
TAMIS_API const char *tamis_type_name(tamis_type type);
TAMIS_API const char *tamis_index_type_name(tamis_index_type type);
TAMIS_API const char *tamis_format_name(tamis_format format);
TAMIS_API const char *tamis_layout_name(tamis_layout layout);
TAMIS_API const char *tamis_operation_name(tamis_operation operation);
TAMIS_API const char *tamis_edge_name(tamis_edge edge); /* TAMIS_EDGE_TEXT: "text", which no name stands for */

/* The reverse: parse a name. The message of TAMIS_ERROR_ARGUMENT lists the valid names. */
TAMIS_API tamis_status tamis_type_from_name(const char *name, tamis_type *type);
TAMIS_API tamis_status tamis_operation_from_name(const char *name, tamis_operation *operation);
TAMIS_API tamis_status tamis_edge_from_name(const char *name, tamis_edge *edge);

/* Bytes of one element or index: 2, 4 or 8; 0 for an invalid type. */
TAMIS_API size_t tamis_type_size(tamis_type type);
TAMIS_API size_t tamis_index_size(tamis_index_type type);

/* Conversions; they round to nearest, ties to even. fp16 and bf16 elements are plain 16-bit words in memory. */
TAMIS_API uint16_t tamis_f16_from_f32(float value);
TAMIS_API float tamis_f32_from_f16(uint16_t bits);
TAMIS_API uint16_t tamis_bf16_from_f32(float value);
TAMIS_API float tamis_f32_from_bf16(uint16_t bits);

/* ---------------------------------------------------------------------------------------------- views */

/*
 * A sparse matrix in the caller's arrays.
 *   CSR: offsets has rows + 1 entries and never decreases; offsets[0] = offset_base, offsets[rows] = offset_base + nnz.
 *        The entries of row i are columns[offsets[i]] .. columns[offsets[i + 1] - 1], and values likewise. The columns
 *        of a row may be unsorted and may repeat.
 *   COO: row_indices and columns have nnz entries each, in any order, and may repeat; offset_base is 0.
 * values has as many entries as columns, of type value_type. NULL means ones (for softmax: no bias).
 * Zero rows, zero columns, nnz = 0 and empty rows are valid. Arrays of zero entries may be NULL. Every size, stride and
 * offset of a view is at most 2^55 - 1, and so are inner, width and batch of options, whether or not they need memory.
 *
 * Rows r .. r + n - 1 of a larger CSR matrix can be viewed without a copy: rows = n, offsets + r, the same columns and
 * values, offset_base = offsets[r], nnz = offsets[r + n] - offsets[r]. Arrays with one element per nonzero, such as the
 * samples of SDDMM, then have the nnz elements of the slice.
 *
 * columns may be NULL in a CSR that is the pattern of a mask of attention (<tamis/mask.h>), for plans and gradients
 * alone: where nothing needs the list of columns, none is made; otherwise the plan makes it for itself.
 */
typedef struct tamis_sparse {
    tamis_format format;
    tamis_location location;
    int64_t rows, cols, nnz;
    tamis_index_type index_type;  /* of columns and row_indices */
    tamis_index_type offset_type; /* of offsets; independent: 64-bit offsets with 32-bit columns are common */
    tamis_type value_type;
    const void *offsets;     /* CSR only */
    const void *row_indices; /* COO only */
    const void *columns;
    const void *values;
    int64_t batch_stride; /* elements from one value set to the next in a batch; 0: all members share one set */
    int64_t offset_base;  /* offsets[0]; 0 except for a slice of rows */
    const struct tamis_mask *mask; /* what the columns are if they are NULL; else NULL */
    uint64_t reserved[3];          /* zero */
} tamis_sparse;

/*
 * A dense matrix in the caller's array. Row-major: element (i, j) is data[i * stride + j], stride >= cols;
 * column-major: data[j * stride + i], stride >= rows. The address must be aligned to one element.
 * stride = 0 means packed (cols or rows). A vector of n elements is an n x 1 matrix.
 */
typedef struct tamis_dense {
    void *data;
    int64_t rows, cols;
    int64_t stride;
    tamis_type type;
    tamis_layout layout;
    tamis_location location;
    int64_t batch_stride; /* elements from one matrix of a batch to the next; 0: all members share it (inputs only) */
    uint64_t reserved[4]; /* zero */
} tamis_dense;

#ifdef __cplusplus
}
#endif

#endif
