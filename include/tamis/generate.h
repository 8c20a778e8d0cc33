/* Seeded generators of sparse matrices. */
#ifndef TAMIS_GENERATE_H
#define TAMIS_GENERATE_H

#include <tamis/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of generated matrices. */
typedef enum tamis_kind {
    TAMIS_KIND_UNIFORM = 0, /* the same number of nonzeros in every row, uniform distinct columns */
    TAMIS_KIND_RMAT,        /* power law, a = 0.57, b = c = 0.19, nodes shuffled */
    TAMIS_KIND_BANDED,      /* uniform within a band */
    TAMIS_KIND_FEM,         /* 3-D mesh, dense blocks of `block` unknowns per node */
    TAMIS_KIND_BLOCK,       /* random dense blocks of size `block` */
    TAMIS_KIND_SCATTER,     /* diagonal plus scattered entries, as in circuits */
    TAMIS_KIND_WINDOW       /* sliding-window attention mask with global rows and columns */
} tamis_kind;

/* "uniform", "rmat", "banded", "fem", "block", "scatter", "window", and the reverse. */
TAMIS_API const char *tamis_kind_name(tamis_kind kind);
TAMIS_API tamis_status tamis_kind_from_name(const char *name, tamis_kind *kind);

/* Options of a generated matrix. Initialise with TAMIS_GENERATE_OPTIONS_INIT. */
typedef struct tamis_generate_options {
    tamis_kind kind;
    int64_t rows, cols; /* cols 0: the same as rows */
    int64_t nnz;        /* target; exact for uniform, rmat, banded and scatter; as near as whole blocks allow for fem
                           and block, and as a whole width allows for window; 0: from density */
    double density;     /* used if nnz is 0 */
    uint64_t seed;
    int64_t band;   /* banded: largest |column - row|; window: width of the window, which overrides nnz; 0: from nnz,
                       or a default from the sizes */
    int64_t block;  /* fem: unknowns per node (3); block: size of a block (16) */
    int64_t global; /* window: global rows and columns (0) */
    bool pattern;   /* no values; else uniform in [-1, 1) */
    tamis_type value_type;
    tamis_index_type index_type, offset_type;
    uint64_t reserved[8];
} tamis_generate_options;

/* The defaults of a tamis_generate_options. */
#ifdef __cplusplus
#define TAMIS_GENERATE_OPTIONS_INIT                                                                                    \
    ([] {                                                                                                              \
        tamis_generate_options tamis_initial = {};                                                                     \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_GENERATE_OPTIONS_INIT                                                                                    \
    { .kind = TAMIS_KIND_UNIFORM }
#endif

/* Generates a CSR matrix with sorted columns and no duplicates. The same options give the same matrix on every machine.
 */
TAMIS_API tamis_status tamis_generate(const tamis_generate_options *options, tamis_owned_sparse **matrix);

#ifdef __cplusplus
}
#endif

#endif
