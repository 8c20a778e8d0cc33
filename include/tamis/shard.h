/*
 * One rank's share of a sparse matrix that is distributed by rows: which rows of B it needs, from which rank, and which
 * of its own rows the others need. It needs no communication library: a program exchanges rows by its own means, such
 * as MPI or torch.distributed. <tamis/group.h> also does the exchange.
 *
 * Rank r of p has a range of rows of S, with global columns, and the same rows of A, C and E. It also has a range of
 * the rows of B and D, its own rows. Its ghost rows are the other ranks' rows that its nonzeros need. A matrix X of
 * own_rows + ghost_rows rows has the own rows first, then the ghost rows in ascending order; S's columns are renumbered
 * to rows of X. Then any plan of <tamis/tamis.h> computes this rank's rows of SDDMM, SpMM and fused, softmax included,
 * since all nonzeros of a row are on one rank.
 *
 *                 columns      0 .. 3 (rank 0)   4 .. 7 (rank 1)   8 .. 11 (rank 2)
 *   rank 1, row 0:  1 5 9      ghost 0           own 1             ghost 2            ghost rows: 1, 8, 9
 *           row 1:  4 8                          own 0             ghost 1            local: 4 1 6 | 0 5
 *
 * To set up, each rank
 *   1. makes its shard;
 *   2. tells each other rank which of that rank's rows it needs: ghosts[receive_starts[r] .. receive_starts[r + 1] - 1]
 *      go to rank r (one all-to-all of the counts, one of the numbers), and passes what it receives to
 *      tamis_shard_set_requests;
 *   3. makes a plan for `local`.
 * Each time B has changed, rank q sends to rank r its own rows sends[send_starts[r] .. send_starts[r + 1] - 1], in this
 * order, and puts what it receives from rank r at row own_rows + receive_starts[r] of X (with in_order at row
 * receive_starts[r] if r comes before it).
 */
#ifndef TAMIS_SHARD_H
#define TAMIS_SHARD_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tamis_shard tamis_shard; /* immutable, except for tamis_shard_set_requests */

/* How S is distributed. TAMIS_SHARD_OPTIONS_INIT means one rank; column_starts must be set. */
typedef struct tamis_shard_options {
    int rank, ranks;              /* 0 <= rank < ranks */
    const int64_t *column_starts; /* ranks + 1 entries that never decrease, from 0 to S.cols: rank r owns the rows
                                     column_starts[r] .. column_starts[r + 1] - 1 of B */
    bool split; /* also make the own and the ghost part, for programs that overlap computation and communication */
    bool trust_input; /* skip the check of S's arrays; wrong indices then cause undefined behaviour */
    bool all_rows;    /* every row of the other ranks is a ghost row, needed or not: B is replicated */
    bool in_order;    /* X has its rows in the order of their global numbers, so sorted columns stay sorted:
                         ghost rows of the ranks before this one, own rows, the other ghost rows */
    uint64_t reserved[6];
} tamis_shard_options;

/* The defaults of a tamis_shard_options. */
#ifdef __cplusplus
#define TAMIS_SHARD_OPTIONS_INIT                                                                                       \
    ([] {                                                                                                              \
        tamis_shard_options tamis_initial = {};                                                                        \
        tamis_initial.ranks = 1;                                                                                       \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_SHARD_OPTIONS_INIT                                                                                       \
    { .ranks = 1 }
#endif

/*
 * Makes a rank's shard. S is a CSR on the host with this rank's rows and the columns of the whole matrix; a slice of
 * rows is fine (tamis_partition and tamis_slice make them). The shard copies the pattern, in the narrowest index types
 * that hold it, and refers to S's values.
 */
TAMIS_API tamis_status tamis_shard_create(const tamis_sparse *S, const tamis_shard_options *options,
                                          tamis_shard **shard);
TAMIS_API void tamis_shard_destroy(tamis_shard *shard); /* NULL is allowed */

/*
 * Sets the lists of this rank's rows that other ranks need: counts[r] rows for rank r. `rows` has their global numbers,
 * for rank 0, then rank 1, ... counts has an entry for each rank, 0 for this one. A later call replaces the lists.
 */
TAMIS_API tamis_status tamis_shard_set_requests(tamis_shard *shard, const int64_t *counts, const int64_t *rows);

/* Describes a shard. The arrays live as long as the shard. */
typedef struct tamis_shard_description {
    int rank, ranks;
    int64_t first_own;             /* global number of the first own row of B */
    int64_t own_rows, ghost_rows;  /* of B */
    int64_t send_rows;             /* own rows to send, counted once for each rank that needs them */
    int64_t own_nnz;               /* nonzeros whose column is an own row */
    int sources, targets;          /* number of ranks to receive from, and to send to: messages */
    const int64_t *ghosts;         /* ghost_rows global numbers, ascending: grouped by owner */
    const int64_t *receive_starts; /* ranks + 1: ghosts[receive_starts[r] .. receive_starts[r + 1] - 1] are rank r's */
    const int64_t *sends;          /* send_rows local numbers, 0 .. own_rows - 1. NULL before set_requests */
    const int64_t *send_starts;    /* ranks + 1: sends[send_starts[r] .. send_starts[r + 1] - 1] are for rank r */
    /* This rank's rows of S over [own rows | ghost rows], or as options.in_order says. Entries and values keep S's
       order. */
    tamis_sparse local;
    /*
     * With options.split, the entries with own columns and those with ghost columns, numbered from the first ghost row.
     * C = own B then C = C + ghost X is SpMM, and likewise fused with each edge except softmax. Entry t of a part is
     * entry own_entries[t] or ghost_entries[t] of `local`. The parts have no values: gather them by these numbers.
     */
    tamis_sparse own, ghost;
    const int64_t *own_entries, *ghost_entries;
    int64_t ghosts_before; /* ghost rows in front of the own rows in X: 0 without options.in_order */
    uint64_t reserved[7];
} tamis_shard_description;

/* Describes a shard. */
TAMIS_API tamis_status tamis_shard_describe(const tamis_shard *shard, tamis_shard_description *description);

/* Communication volume of a distribution of a whole matrix. One exchange of B with K columns moves ghosts * K elements;
   an all-gather would move S.cols * (ranks - 1) * K. */
typedef struct tamis_shard_volume {
    int64_t nnz_most;     /* largest number of nonzeros of a rank */
    double imbalance;     /* nnz_most / mean, 1 if all ranks have the same number; 1 if nnz = 0 */
    int64_t ghosts;       /* sum of ghost rows over all ranks */
    int64_t ghosts_most;  /* largest number of ghost rows of a rank */
    int64_t sends_most;   /* largest number of rows that a rank sends */
    int64_t messages;     /* ordered pairs of ranks (sender, receiver) */
    int64_t sources_most; /* largest number of messages that a rank receives */
    uint64_t reserved[9];
} tamis_shard_volume;

/*
 * Computes the volume of a valid CSR S on the host, all of whose rows are here, for `ranks` ranks. first_rows and
 * column_starts have ranks + 1 entries each: the rows of S and of B by rank. NULL: first_rows as tamis_partition makes
 * them, with equal nonzeros; column_starts like the rows of a square S, else equal numbers of rows of B.
 */
TAMIS_API tamis_status tamis_shard_survey(const tamis_sparse *S, int ranks, const int64_t *first_rows,
                                          const int64_t *column_starts, tamis_shard_volume *volume);

/*
 * Partitions a square matrix by METIS into parts with about equal nonzeros and a small communication volume of rows of
 * B. The rows and the same columns of each part belong to one rank. S is a valid CSR on the host. order has S.rows
 * entries: row i of the partitioned matrix is row order[i] of S, and column order[j] of S is its column j. Part p has
 * its rows first_rows[p] .. first_rows[p + 1] - 1 (parts + 1 entries); some parts may be empty. Within a part the order
 * is S's. The graph takes up to 16 bytes per nonzero. METIS (version 5, with 32- or 64-bit integers) is opened at run
 * time: libmetis.so.5, or the file that TAMIS_METIS names. TAMIS_ERROR_UNSUPPORTED if it is not found.
 */
TAMIS_API tamis_status tamis_shard_partition(const tamis_sparse *S, int parts, int64_t *order, int64_t *first_rows);

#ifdef __cplusplus
}
#endif

#endif
