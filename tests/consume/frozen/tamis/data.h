/*
 * Data for models: dictionaries of names, ratings with any ids, vocabularies, splits into what is fitted and what is
 * held out, and files read in mini-batches. Library: libtamis_ml.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_DATA_H
#define TAMIS_DATA_H

#include <tamis/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- names */

typedef struct tamis_names tamis_names; /* a dictionary: index 0 .. count - 1 <-> name, in the order of arrival */

/* An empty dictionary, the caller's. */
TAMIS_API tamis_status tamis_names_create(tamis_names **names);

/* Frees a dictionary; NULL is allowed. */
TAMIS_API void tamis_names_free(tamis_names *names);

/* How many names it has. */
TAMIS_API int64_t tamis_names_count(const tamis_names *names);

/* The name of an index, or NULL past the end; it lives as long as the dictionary is not added to. */
TAMIS_API const char *tamis_names_at(const tamis_names *names, int64_t index);

/* The index of a name of `length` bytes, -1 where it is not there. */
TAMIS_API int64_t tamis_names_find(const tamis_names *names, const char *name, size_t length);

/* Adds a name, or finds it where it is there. Not empty, no zero byte in it. Unique names: each has one index. */
TAMIS_API tamis_status tamis_names_add(tamis_names *names, const char *name, size_t length, int64_t *index);

/* A dictionary with the same names under the same indices, the caller's, that either may be added to by itself. On an
   error *copy is as it was. */
TAMIS_API tamis_status tamis_names_copy(const tamis_names *names, tamis_names **copy);

/* A vocabulary: a name a line, the line's number from 0 its index (plain, .gz, .xz or .zst). Empty lines at the end do
   not count. A name that comes twice is TAMIS_ERROR_FORMAT with both lines. */
TAMIS_API tamis_status tamis_names_read(const char *path, tamis_names **names);

/* ---------------------------------------------------------------------------------------------- ratings */

/* How ratings are read. Begin with TAMIS_RATINGS_OPTIONS_INIT. */
typedef struct tamis_ratings_options {
    bool header;          /* skip the first line; without, a first line whose rating is no number is skipped as well */
    double missing_value; /* of lines that have no third field (1) */
    tamis_names *users,
        *items;      /* dictionaries to go on with (new ids are added), as for a second file; NULL: new ones */
    bool known_only; /* leave out lines whose user or item is in neither dictionary (needs both), e.g. tests */
    bool (*progress)(void *context, double share);
    void *progress_context;
    uint64_t reserved[8];
} tamis_ratings_options;

/* The defaults of a tamis_ratings_options. */
#define TAMIS_RATINGS_OPTIONS_INIT                                                                                     \
    { .missing_value = 1 }

/* Reads `user item [rating [time]]` a line, ids any text without the separator, which is the first of tab, "::", comma,
   semicolon and blank that is in the first line of data. Ids may be quoted in a .csv. Comments begin with # or %.
   A pair that comes twice keeps its last rating. *ratings is CSR, users x items, fp32, sorted. *users and *items are
   new dictionaries, or the ones of the options, which an error leaves as they were. skipped (may be NULL): lines left
   out by known_only. TAMIS_ERROR_FORMAT names file and line. */
TAMIS_API tamis_status tamis_read_ratings(const char *path, const tamis_ratings_options *options,
                                          tamis_owned_sparse **ratings, tamis_names **users, tamis_names **items,
                                          int64_t *skipped);

/* ---------------------------------------------------------------------------------------------- splits */

/* What is held out. */
typedef enum tamis_split_kind {
    TAMIS_SPLIT_ENTRIES = 0,   /* of each row, a share of its entries; rows keep one entry at least */
    TAMIS_SPLIT_LEAVE_ONE = 1, /* of each row of two entries or more, one */
    TAMIS_SPLIT_ROWS = 2,      /* whole rows, of two or more at least one and not all; both results have all rows, empty
                                  where they belong to the other */
    TAMIS_SPLIT_TOKENS = 3     /* of each row of counts, a share of its words' occurrences: an entry may be divided.
                                  Each occurrence is drawn on its own. Counts must be whole numbers that the type holds
                                  exactly (fp32: up to 2^24), at most 2^31 - 1. Document completion */
} tamis_split_kind;

/* How a matrix is split. Begin with TAMIS_SPLIT_OPTIONS_INIT. */
typedef struct tamis_split_options {
    tamis_split_kind kind;
    double share;  /* that is held out, 0 < share < 1 (0.1); leave-one does not look at it */
    uint64_t seed; /* the same seed, options and matrix give the same split on every machine (1) */
    uint64_t reserved[4];
} tamis_split_options;

/* The defaults of a tamis_split_options. */
#define TAMIS_SPLIT_OPTIONS_INIT                                                                                       \
    { .share = 0.1, .seed = 1 }

/* Two CSR matrices of S's shape and types (host), the caller's: what is kept and what is held out. */
TAMIS_API tamis_status tamis_split(const tamis_sparse *S, const tamis_split_options *options, tamis_owned_sparse **kept,
                                   tamis_owned_sparse **held_out);

/* ---------------------------------------------------------------------------------------------- mini-batches of files
 */

typedef struct tamis_batches tamis_batches; /* a file that is read again and again, some rows at a time */

/* Opens a bag of words (docword.*, .ldac, .dat) or any other matrix file that the core reads for reading `rows` rows at
   a time. Bags of words are streamed: the file may be larger than memory, and docword's documents must rise
   (TAMIS_ERROR_FORMAT names the line). Other formats are read whole and cut. *batches is the caller's. */
TAMIS_API tamis_status tamis_batches_open(const char *path, int64_t rows, tamis_batches **batches);
TAMIS_API void tamis_batches_close(tamis_batches *batches); /* NULL is allowed */

/* Number of columns: known from a header, else from a first pass over the file when it is opened. */
TAMIS_API int64_t tamis_batches_columns(const tamis_batches *batches);

/* The next batch, CSR fp32 with 64-bit offsets, its rows numbered from 0; NULL after the last, after which the next
   call begins again. It lives until the next call. Has the form of a tamis_batch_source with a tamis_batches as
   context. */
TAMIS_API tamis_status tamis_batches_next(void *batches, const tamis_sparse **batch);

#ifdef __cplusplus
}
#endif

#endif
