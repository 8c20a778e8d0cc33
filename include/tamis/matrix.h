/*
 * Owned matrices, and reading and writing them. A matrix made here is accessed through the views of <tamis/types.h>,
 * and the caller must free it.
 */
#ifndef TAMIS_MATRIX_H
#define TAMIS_MATRIX_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tamis_owned_sparse tamis_owned_sparse; /* an owned sparse matrix */
typedef struct tamis_owned_dense tamis_owned_dense;   /* an owned dense matrix */

/* Return the view of an owned matrix, valid as long as the matrix. Never NULL for a non-NULL matrix. The arrays are in
   host memory; a matrix from <tamis/mask.h> has them on its device. */
TAMIS_API const tamis_sparse *tamis_owned_sparse_view(const tamis_owned_sparse *matrix);
TAMIS_API const tamis_dense *tamis_owned_dense_view(const tamis_owned_dense *array);
TAMIS_API void tamis_owned_sparse_free(tamis_owned_sparse *matrix); /* NULL is allowed */
TAMIS_API void tamis_owned_dense_free(tamis_owned_dense *array);    /* NULL is allowed */

/* Makes a packed dense matrix of zeros. */
TAMIS_API tamis_status tamis_owned_dense_create(int64_t rows, int64_t cols, tamis_type type, tamis_layout layout,
                                                tamis_owned_dense **array);

/* Fills a dense matrix with uniform values in [low, high). The generator is counter-based (Philox): the values are the
   same on every machine, up to rounding in every type, and for any layout and stride. */
TAMIS_API tamis_status tamis_fill_uniform(const tamis_dense *dense, uint64_t seed, double low, double high);

/* How to treat entries at the same place. */
typedef enum tamis_duplicates {
    TAMIS_DUPLICATES_KEEP = 0,
    TAMIS_DUPLICATES_SUM = 1, /* sums; for a pattern with duplicates: the number of occurrences of each place */
    TAMIS_DUPLICATES_LAST = 2 /* the last one in the input's order */
} tamis_duplicates;

/* Which values the result has. */
typedef enum tamis_values {
    TAMIS_VALUES_AS_FILED = 0, /* the source's values; none if it is a pattern */
    TAMIS_VALUES_NONE = 1,     /* no values: a pattern */
    TAMIS_VALUES_ONES = 2      /* ones if the source has none */
} tamis_values;

/* The form of a converted copy. TAMIS_CONVERT_OPTIONS_INIT means CSR, int32, fp32, values unchanged. */
typedef struct tamis_convert_options {
    tamis_format format;
    tamis_index_type index_type, offset_type;
    tamis_type value_type;
    tamis_values values;
    tamis_duplicates duplicates; /* anything but KEEP sorts each row */
    bool sort;                   /* sort the columns of each row (COO: by row, then column) */
    bool transpose;
    uint64_t reserved[6];
} tamis_convert_options;

/* The defaults of a tamis_convert_options. */
#ifdef __cplusplus
#define TAMIS_CONVERT_OPTIONS_INIT                                                                                     \
    ([] {                                                                                                              \
        tamis_convert_options tamis_initial = {};                                                                      \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_CONVERT_OPTIONS_INIT                                                                                     \
    { .format = TAMIS_CSR }
#endif

/* Makes a copy of any host view in the requested format and types; converts between COO and CSR, and values. */
TAMIS_API tamis_status tamis_convert(const tamis_sparse *S, const tamis_convert_options *options,
                                     tamis_owned_sparse **matrix);

/* ---------------------------------------------------------------------------------------------- files */

/* File formats, and the extensions by which they are recognised. */
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
    TAMIS_FILE_RATINGS,  /* user item rating [time] separated by comma, tab, blank or "::" (.csv .tsv .ratings .data
                            .inter) */
    TAMIS_FILE_NPY,      /* dense .npy, C or Fortran order, f2 f4 f8 */
    TAMIS_FILE_NPZ,      /* CSR and COO in .npz, as written by SciPy's save_npz */
    TAMIS_FILE_SVMLIGHT, /* svmlight and libsvm (.svm .svmlight .libsvm): rows, without their labels */
    TAMIS_FILE_SVMLIGHT_ZERO_BASED /* the same with indices from 0, even if none is 0, as in a part of such a file */
} tamis_file_format;

/* "matrix-market", "harwell-boeing", "metis", "smtx", "edges", "docword", "ldac", "ratings", "npy", "npz",
   "svmlight", "svmlight-zero-based", "auto" */
TAMIS_API const char *tamis_file_format_name(tamis_file_format format);
TAMIS_API tamis_status tamis_file_format_from_name(const char *name, tamis_file_format *format);

/* Findings of a reader that are not part of the matrix. */
typedef struct tamis_read_report {
    int64_t inexact;  /* numbers that fp64 cannot represent: integers beyond 2^53, and numbers beyond its range */
    int times_column; /* edge lists: the column that holds times (3 or 4), which are not read; 0: none was found */
    bool undirected;  /* edge lists: KONECT's first line says that edges have no direction, but each is stored once */
    bool bipartite;   /* edge lists: KONECT's first line says that the two ids of a line are of different kinds */
    bool labels;      /* svmlight: there are labels, which are not part of the matrix */
    bool other_ids;   /* lists of ids: some are not integers, or are quoted, which is an error here; tamis_read_ratings
                         reads them */
    bool graph;       /* with other_ids: both ids of a line are of the same kind */
    bool weights;     /* with other_ids: the first line has a value */
    uint64_t reserved[8];
} tamis_read_report;

/* Size of the buffer for a line that describes the columns of a list. */
#define TAMIS_FOUND_BYTES 256

/* The form of a matrix that is read. TAMIS_READ_OPTIONS_INIT means CSR, int32, fp32, values as in the file. */
typedef struct tamis_read_options {
    tamis_file_format file_format;
    tamis_format format;         /* of the result: CSR by default */
    tamis_type value_type;       /* of the result */
    tamis_index_type index_type; /* of the result; 32 bits is an error if the file needs 64 */
    tamis_index_type offset_type;
    tamis_values values;
    tamis_duplicates duplicates;
    bool undirected; /* edge lists: store each edge in both directions */
    bool relabel;    /* edge lists and ratings: renumber the ids that occur as 0, 1, ...; else an id is an index */
    int threads;     /* parser threads; 0: all */
    bool (*progress)(void *context, double share); /* called occasionally on the calling thread; false cancels.
                                                      Neither this nor `relabelled` may throw or longjmp */
    void *progress_context;
    bool *titles; /* edge lists and ratings: set to whether the first line was skipped as titles; NULL: not wanted */
    /* With relabel: called for the rows and then for the columns with the ids that became 0, 1, ... in this order, on
       the calling thread; false cancels. Both get the same ids of an edge list. */
    bool (*relabelled)(void *context, bool of_columns, const int64_t *ids, int64_t count);
    void *relabelled_context;
    tamis_read_report *report; /* filled, also after an error; NULL: not wanted */
    int value_column; /* edge lists: the column of the weights, 3 or 4; 0: the third, unless it looks like times */
    char *found; /* edge lists and ratings: room for TAMIS_FOUND_BYTES, set to one line that says what the columns are;
                    "" for other files. NULL: not wanted */
    const char *columns; /* edge lists and ratings: as in tamis_ratings_options, or "from=NAME,to=NAME" for a graph,
                            optionally weight= and time=. NULL: detected */
    uint64_t reserved[1];
} tamis_read_options;

/* The defaults of a tamis_read_options. */
#ifdef __cplusplus
#define TAMIS_READ_OPTIONS_INIT                                                                                        \
    ([] {                                                                                                              \
        tamis_read_options tamis_initial = {};                                                                         \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_READ_OPTIONS_INIT                                                                                        \
    { .file_format = TAMIS_FILE_AUTO }
#endif

/* Reads a sparse matrix. Files whose names end in .gz, .xz or .zst are decompressed (if the build supports it). The
   message of TAMIS_ERROR_FORMAT is "FILE:LINE: what was found, what was expected". options may be NULL. */
TAMIS_API tamis_status tamis_read_sparse(const char *path, const tamis_read_options *options,
                                         tamis_owned_sparse **matrix);

/* The same from memory: `bytes` of possibly compressed content. `name` determines the format and appears in messages.
 */
TAMIS_API tamis_status tamis_read_sparse_memory(const char *name, const void *data, size_t bytes,
                                                const tamis_read_options *options, tamis_owned_sparse **matrix);

/* Writes .mtx (coordinate), .mtx.gz or .npz (compressed CSR or COO that SciPy can read), according to the extension. It
   writes a temporary file and renames it, so a failure leaves an existing file unchanged. fp16 and bf16 values are
   written as fp32. */
TAMIS_API tamis_status tamis_write_sparse(const char *path, const tamis_sparse *S);

/* Reads a dense matrix: .npy (1-D becomes one column) or a Matrix Market array. type: of the result. */
TAMIS_API tamis_status tamis_read_dense(const char *path, tamis_type type, tamis_owned_dense **array);
TAMIS_API tamis_status tamis_read_dense_memory(const char *name, const void *data, size_t bytes, tamis_type type,
                                               tamis_owned_dense **array);

/* Reads a dense matrix and fills *report. Only `inexact` applies to a dense matrix. */
TAMIS_API tamis_status tamis_read_dense_reported(const char *path, tamis_type type, tamis_read_report *report,
                                                 tamis_owned_dense **array);

/* Writes .npy (keeping the layout; bf16 as f4) or a Matrix Market array, according to the extension. */
TAMIS_API tamis_status tamis_write_dense(const char *path, const tamis_dense *dense);

#ifdef __cplusplus
}
#endif

#endif
