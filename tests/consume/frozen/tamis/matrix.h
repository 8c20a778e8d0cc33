/*
 * Owned matrices, and the files that they are read from and written to. A matrix made here is looked at through the
 * views of <tamis/types.h> and freed by the caller.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_MATRIX_H
#define TAMIS_MATRIX_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tamis_owned_sparse tamis_owned_sparse; /* an owned sparse matrix */
typedef struct tamis_owned_dense tamis_owned_dense;   /* an owned dense matrix */

/* The view of an owned matrix; it lives as long as the matrix. Never NULL for a non-NULL matrix. */
TAMIS_API const tamis_sparse *tamis_owned_sparse_view(const tamis_owned_sparse *matrix);
TAMIS_API const tamis_dense *tamis_owned_dense_view(const tamis_owned_dense *array);
TAMIS_API void tamis_owned_sparse_free(tamis_owned_sparse *matrix); /* NULL is allowed */
TAMIS_API void tamis_owned_dense_free(tamis_owned_dense *array);    /* NULL is allowed */

/* A packed dense matrix of zeros. */
TAMIS_API tamis_status tamis_owned_dense_create(int64_t rows, int64_t cols, tamis_type type, tamis_layout layout,
                                                tamis_owned_dense **array);

/* Fills a dense matrix with uniform values in [low, high): counter-based (Philox), the same on every machine, in
   every type up to rounding, whatever the layout and stride. */
TAMIS_API tamis_status tamis_fill_uniform(const tamis_dense *dense, uint64_t seed, double low, double high);

/* What becomes of entries at the same place. */
typedef enum tamis_duplicates { TAMIS_DUPLICATES_KEEP = 0, TAMIS_DUPLICATES_SUM = 1 } tamis_duplicates;

/* Which values the result has. */
typedef enum tamis_values {
    TAMIS_VALUES_AS_FILED = 0, /* those of the source; none when it is a pattern */
    TAMIS_VALUES_NONE = 1,     /* drop them: a pattern */
    TAMIS_VALUES_ONES = 2      /* ones where the source has none */
} tamis_values;

/* What a converted copy is to be. Begin with TAMIS_CONVERT_OPTIONS_INIT: CSR, int32, fp32, values as they are. */
typedef struct tamis_convert_options {
    tamis_format format;
    tamis_index_type index_type, offset_type;
    tamis_type value_type;
    tamis_values values;
    tamis_duplicates duplicates; /* summing sorts each row */
    bool sort;                   /* sort the columns of each row (COO: by row, then column) */
    bool transpose;
    uint64_t reserved[6];
} tamis_convert_options;

/* The defaults of a tamis_convert_options. */
#define TAMIS_CONVERT_OPTIONS_INIT                                                                                     \
    { .format = TAMIS_CSR }

/* A copy of any host view in the format and types asked for; COO from CSR and back, values converted. */
TAMIS_API tamis_status tamis_convert(const tamis_sparse *S, const tamis_convert_options *options,
                                     tamis_owned_sparse **matrix);

/* ---------------------------------------------------------------------------------------------- files */

/* Formats of files, with the endings of names that they are known by. */
typedef enum tamis_file_format {
    TAMIS_FILE_AUTO = 0,       /* by the name, then by the content */
    TAMIS_FILE_MATRIX_MARKET,  /* .mtx: coordinate or array; real, integer, pattern; general, symmetric, skew-symmetric
                                */
    TAMIS_FILE_HARWELL_BOEING, /* .rsa .rua .psa .pua .hb .rb: assembled real or pattern */
    TAMIS_FILE_METIS,          /* .graph: 1-based adjacency, optional vertex and edge weights */
    TAMIS_FILE_SMTX,           /* .smtx: DLMC patterns */
    TAMIS_FILE_EDGES,          /* SNAP edge lists (.txt .el .edges .tsv): comments with # or %, two ids, weight, time */
    TAMIS_FILE_DOCWORD,        /* UCI bag of words (docword.*.txt): documents x words */
    TAMIS_FILE_LDAC,           /* lda-c (.ldac .dat): documents x words */
    TAMIS_FILE_RATINGS, /* user item rating [time] with comma, tab, blank or "::" between (.csv .tsv .ratings .data) */
    TAMIS_FILE_NPY,     /* dense .npy, C or Fortran order, f2 f4 f8 */
    TAMIS_FILE_NPZ      /* .npz as SciPy's save_npz writes CSR and COO */
} tamis_file_format;

/* "matrix-market", "harwell-boeing", "metis", "smtx", "edges", "docword", "ldac", "ratings", "npy", "npz", "auto" */
TAMIS_API const char *tamis_file_format_name(tamis_file_format format);
TAMIS_API tamis_status tamis_file_format_from_name(const char *name, tamis_file_format *format);

/* What the matrix read is to be. Begin with TAMIS_READ_OPTIONS_INIT: CSR, int32, fp32, values as in the file. */
typedef struct tamis_read_options {
    tamis_file_format file_format;
    tamis_format format;         /* of the result: CSR by default */
    tamis_type value_type;       /* of the result */
    tamis_index_type index_type; /* of the result; a file that needs 64 bits is refused with 32, with the reason */
    tamis_index_type offset_type;
    tamis_values values;
    tamis_duplicates duplicates;
    bool undirected; /* edge lists: store each edge both ways */
    bool relabel;    /* edge lists and ratings: number the ids that occur 0, 1, ...; without, an id is an index */
    int threads;     /* parser threads; 0: all */
    bool (*progress)(void *context, double share); /* called now and then from the calling thread; false cancels */
    void *progress_context;
    uint64_t reserved[8];
} tamis_read_options;

/* The defaults of a tamis_read_options. */
#define TAMIS_READ_OPTIONS_INIT                                                                                        \
    { .file_format = TAMIS_FILE_AUTO }

/* Reads a sparse matrix. Names ending in .gz, .xz or .zst are unpacked on the way (where built in).
   TAMIS_ERROR_FORMAT: the message says "FILE:LINE: what was found, what was expected". options may be NULL. */
TAMIS_API tamis_status tamis_read_sparse(const char *path, const tamis_read_options *options,
                                         tamis_owned_sparse **matrix);

/* The same from memory: `bytes` of (possibly compressed) content; `name` is used for messages and the format. */
TAMIS_API tamis_status tamis_read_sparse_memory(const char *name, const void *data, size_t bytes,
                                                const tamis_read_options *options, tamis_owned_sparse **matrix);

/* Writes .mtx (coordinate), .npz (compressed CSR or COO as SciPy reads it) by the ending of the name, or .mtx.gz.
   Written beside and renamed: a failure leaves an old file as it was. fp16 and bf16 values are written as fp32. */
TAMIS_API tamis_status tamis_write_sparse(const char *path, const tamis_sparse *S);

/* Reads a dense matrix: .npy (1-D becomes one column), or Matrix Market array. type: of the result. */
TAMIS_API tamis_status tamis_read_dense(const char *path, tamis_type type, tamis_owned_dense **array);
TAMIS_API tamis_status tamis_read_dense_memory(const char *name, const void *data, size_t bytes, tamis_type type,
                                               tamis_owned_dense **array);

/* Writes .npy (keeping the layout; bf16 as f4) or, by the ending, a Matrix Market array. */
TAMIS_API tamis_status tamis_write_dense(const char *path, const tamis_dense *dense);

#ifdef __cplusplus
}
#endif

#endif
