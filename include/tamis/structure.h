/* Work on the structure of sparse matrices: checks, profiles, conversions, transposes, partitions, samples. */
#ifndef TAMIS_STRUCTURE_H
#define TAMIS_STRUCTURE_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All functions need host data. Output arrays are the caller's. They have S's index, offset and value types unless a
   comment says otherwise, and must not overlap the inputs. Pointers marked (optional) may be NULL. */

/* Checks every entry of S's arrays. TAMIS_ERROR_PATTERN names the first bad entry, its value and the bound. */
TAMIS_API tamis_status tamis_validate(const tamis_sparse *S);

/* Statistics of the rows of a matrix. */
typedef struct tamis_profile {
    int64_t rows, cols, nnz;
    double mean;      /* nonzeros per row */
    double variation; /* coefficient of variation of the nonzeros per row: standard deviation / mean, 0 if nnz = 0 */
    int64_t max, min; /* longest and shortest row */
    int64_t empty_rows;
    int64_t bandwidth;  /* max |column - row| over the nonzeros */
    double mean_span;   /* mean over nonempty rows of last - first + 1 column */
    double density;     /* nnz / (rows * cols), 0 when that is 0 */
    bool sorted;        /* columns never decrease within a row (COO: entries ordered by row, then column) */
    int64_t duplicates; /* entries equal to their predecessor in a sorted row; -1 if not sorted */
    uint64_t reserved[6];
} tamis_profile;

/* Computes the row profile of a valid S in one pass over the arrays. */
TAMIS_API tamis_status tamis_row_profile(const tamis_sparse *S, tamis_profile *profile);

/* The structure class of a matrix: a name for where its nonzeros lie, with the numbers that decided it. */
typedef struct tamis_structure {
    const char *name;       /* "banded", "power law", ...; static lifetime */
    char reason[192];       /* the rule that held, with its numbers */
    double run;             /* mean length of runs of consecutive columns */
    double near_share;      /* share of nonzeros within 5 % of the columns from the diagonal */
    double diagonal;        /* share of the diagonal that is stored */
    int64_t histogram[64];  /* rows of length 0, 1, 2 to 3, 4 to 7, ... */
    int64_t histogram_bins; /* how many of these are used */
    uint64_t reserved[6];
} tamis_structure;

/* Finds the class of a valid CSR S in one pass. profile: its tamis_row_profile, NULL to have it computed. */
TAMIS_API tamis_status tamis_structure_find(const tamis_sparse *S, const tamis_profile *profile,
                                            tamis_structure *structure);

/* All rules in the order in which they are tried, one per line. */
TAMIS_API const char *tamis_structure_rules(void);

/* CSR -> COO: row_indices[nnz]. Columns and values stay S's. */
TAMIS_API tamis_status tamis_csr_to_coo(const tamis_sparse *S, void *row_indices);

/* COO (any order) -> CSR, stable within a row: offsets[rows + 1], columns[nnz], values[nnz] (optional; ones if S has
   none), permutation[nnz] (optional): entry t of the CSR is entry permutation[t] of S. */
TAMIS_API tamis_status tamis_coo_to_csr(const tamis_sparse *S, void *offsets, void *columns, void *values,
                                        int64_t *permutation);

/* Transposes CSR or COO to CSR (cols x rows); the entries of each column stay in the order of S: offsets[cols + 1],
   columns[nnz], values[nnz] (optional), permutation[nnz] (optional) as above. */
TAMIS_API tamis_status tamis_transpose(const tamis_sparse *S, void *offsets, void *columns, void *values,
                                       int64_t *permutation);

/* Sorts the columns of each row of a CSR matrix, stably: columns[nnz], values[nnz] (optional), permutation[nnz]
   (optional). Offsets stay S's. */
TAMIS_API tamis_status tamis_sort(const tamis_sparse *S, void *columns, void *values, int64_t *permutation);

/* Splits the rows of a valid CSR S into `parts` ranges with numbers of nonzeros as equal as whole rows allow. Part p
   has the rows first_rows[p] .. first_rows[p + 1] - 1. first_rows has parts + 1 entries; the first is 0, the last
   S.rows. Each part can be viewed without a copy: see tamis_sparse.offset_base and tamis_slice. */
TAMIS_API tamis_status tamis_partition(const tamis_sparse *S, int parts, int64_t *first_rows);

/* Makes a view of rows first .. first + rows - 1 of a CSR matrix in S's own arrays. For device data the caller must
   pass two offsets, since they are in device memory: begin = offsets[first], end = offsets[first + rows]. For host data
   the function reads them and ignores begin and end. OpenCL memory has no addresses: there, set the slice's offsets to
   a separate copy, and leave columns and values unchanged. */
TAMIS_API tamis_status tamis_slice(const tamis_sparse *S, int64_t first, int64_t rows, int64_t begin, int64_t end,
                                   tamis_sparse *slice);

/* Samples entries of some rows of a valid CSR S, such as neighbours of nodes: `fanout` of row rows[i], or all if it has
   no more, every set of them with the same probability; with `replace` independent ones, `fanout` of each row that has
   any. The entries of rows[i], in their order, are entries[offsets[i]] .. entries[offsets[i + 1] - 1], numbers of
   S's entries from 0. offsets[count + 1] is always set; entries (optional) has offsets[count] elements, so that a first
   call without it gives its size. A row may be in `rows` more than once. What is drawn depends on the seed, the number
   of the row and its length alone: it is the same for any number of threads, and beside any other rows. */
TAMIS_API tamis_status tamis_sample(const tamis_sparse *S, const int64_t *rows, int64_t count, int64_t fanout,
                                    bool replace, uint64_t seed, int64_t *offsets, int64_t *entries);

#ifdef __cplusplus
}
#endif

#endif
