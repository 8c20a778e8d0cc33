/*
 * Data for models: dictionaries of names, ratings with arbitrary ids, vocabularies, splits into training and held-out
 * data, and files read in mini-batches. Library: libtamis_ml.
 */
#ifndef TAMIS_DATA_H
#define TAMIS_DATA_H

#include <tamis/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- names */

/* A dictionary: index 0 .. count - 1 <-> name, in the order in which names were added. */
typedef struct tamis_names tamis_names;

/* Makes an empty dictionary, which the caller must free. */
TAMIS_API tamis_status tamis_names_create(tamis_names **names);

/* Frees a dictionary; NULL is allowed. */
TAMIS_API void tamis_names_free(tamis_names *names);

/* The number of names. */
TAMIS_API int64_t tamis_names_count(const tamis_names *names);

/* Returns the name with an index, or NULL past the end. It is valid until a name is added. */
TAMIS_API const char *tamis_names_at(const tamis_names *names, int64_t index);

/* Returns the index of a name of `length` bytes, or -1. */
TAMIS_API int64_t tamis_names_find(const tamis_names *names, const char *name, size_t length);

/* Adds a name, or finds it if it exists. A name is not empty and contains no zero byte. Each name has one index. */
TAMIS_API tamis_status tamis_names_add(tamis_names *names, const char *name, size_t length, int64_t *index);

/* Makes an independent copy with the same names and indices, which the caller must free. After an error *copy is
   unchanged. */
TAMIS_API tamis_status tamis_names_copy(const tamis_names *names, tamis_names **copy);

/* Reads a vocabulary: one name per line, whose index is the line's number from 0 (plain, .gz, .xz or .zst). Empty lines
   at the end do not count. A repeated name gives TAMIS_ERROR_FORMAT with both lines. */
TAMIS_API tamis_status tamis_names_read(const char *path, tamis_names **names);

/* ---------------------------------------------------------------------------------------------- ratings */

/* How to read ratings. Initialise with TAMIS_RATINGS_OPTIONS_INIT. */
typedef struct tamis_ratings_options {
    bool header;          /* skip the first line; it is also skipped if it has titles in place of numbers */
    double missing_value; /* the rating of lines without a third field (1) */
    tamis_names *users,
        *items;      /* existing dictionaries to extend with new ids, for instance for a second file; NULL: new ones */
    bool known_only; /* skip lines whose user or item is not in its dictionary (needs both), e.g. for test data */
    bool (*progress)(void *context, double share); /* as in tamis_read_options; it must not throw or longjmp */
    void *progress_context;
    bool *titles;          /* set to whether the first line was skipped without `header`; NULL: not wanted */
    bool sum;              /* a repeated pair: the sum of its ratings, as for counts; else the last one */
    int keep;              /* 1: a repeated pair keeps all its ratings, in the order of the file */
    tamis_type value_type; /* of the result: fp32 or fp64 */
    const char *columns;   /* "user=NAME,item=NAME", optionally rating= and time=: titles of the first line, or numbers
                              from 1; other columns are not read. NULL: detected */
    tamis_owned_sparse **times; /* set to a second matrix whose values are the times of the entries, fp64; to NULL if a
                                   line has no time. NULL: not wanted */
    char
        *found;     /* room for TAMIS_FOUND_BYTES, set to one line that says what the columns are and what was skipped:
                       "ratings: user = column 2 'userId', item = column 3 'movieId'; 1 line of titles". NULL: not wanted */
    bool positions; /* values are the entries' positions in their row, 1 for the earliest: by times if each line has
                       one, and else in the order of the lines, which `found` then says. Excludes sum */
    uint64_t reserved[1];
} tamis_ratings_options;

/* The defaults of a tamis_ratings_options. */
#ifdef __cplusplus
#define TAMIS_RATINGS_OPTIONS_INIT                                                                                     \
    ([] {                                                                                                              \
        tamis_ratings_options tamis_initial = {};                                                                      \
        tamis_initial.missing_value = 1;                                                                               \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_RATINGS_OPTIONS_INIT                                                                                     \
    { .missing_value = 1 }
#endif

/* Reads lines of users, items, ratings and times; other columns are ignored. Ids are any text without the separator: a
   tab, "::", a comma, a semicolon or blanks, whichever separates each of the first lines. Ids may be quoted in a .csv.
   Comments begin with # or % before the first line of data; a later such line is a comment if it has no second field or
   blanks surround the mark. options.columns names the columns. Otherwise titles do, such as userId, movie_id, rating
   and timestamp (RecBole's "user_id:token", too); without titles the order is user, item, rating, time. Titles that do
   not identify the columns, and five or more fields without titles, are errors, unless the lines are lists of integers
   of different lengths, "user item item ...": their entries have the value missing_value. Decimal commas are accepted
   unless commas separate. A repeated pair keeps its last rating, by times if each line has one (a number or a date
   YYYY-MM-DD[ HH:MM[:SS]]), or the sum of its ratings. *ratings is CSR, users x items, fp32 (or value_type), sorted.
   *users and *items are new dictionaries, or the options' dictionaries, which are unchanged after an error. The caller
   must free *ratings and new dictionaries. skipped (may be NULL): the number of lines that known_only left out.
   TAMIS_ERROR_FORMAT names file and line. */
TAMIS_API tamis_status tamis_read_ratings(const char *path, const tamis_ratings_options *options,
                                          tamis_owned_sparse **ratings, tamis_names **users, tamis_names **items,
                                          int64_t *skipped);

/* ---------------------------------------------------------------------------------------------- texts */

/* How words are counted. Initialise with TAMIS_TEXT_OPTIONS_INIT. */
typedef struct tamis_text_options {
    int64_t min_documents; /* words in fewer documents are left out (2) */
    double max_share;      /* words in more than this share of the documents are left out, 0 < max_share <= 1 (0.5) */
    const tamis_names *words; /* words to count, such as a model's: others are left out, and the two limits do not hold;
                                 NULL: all */
    bool pairs;               /* count pairs of words too that follow each other in a document, such as "new york", but
                                 for pairs with a word of too many documents; with `words`: the pairs among these */
    bool reserved_flags[7];
    uint64_t reserved[4];
} tamis_text_options;

/* The defaults of a tamis_text_options. */
#ifdef __cplusplus
#define TAMIS_TEXT_OPTIONS_INIT                                                                                        \
    ([] {                                                                                                              \
        tamis_text_options tamis_initial = {};                                                                         \
        tamis_initial.min_documents = 2;                                                                               \
        tamis_initial.max_share = 0.5;                                                                                 \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_TEXT_OPTIONS_INIT                                                                                        \
    { .min_documents = 2, .max_share = 0.5 }
#endif

/* Counts the words of texts in UTF-8: of a file, one document a line (plain, .gz, .xz or .zst), or of a folder, whose
   .txt files are documents, in the order of their names. A word is a run of letters, combining marks and digits of any
   script (Unicode 14) with a letter in it, in lower case by simple case folding; single letters of alphabets (below
   U+2E80) are no words, ideographs are, and words longer than 256 bytes are cut. Nothing is normalised: a letter with
   an accent differs from the letter with a combining one. *counts is documents x words, CSR fp32 with 64-bit offsets;
   empty lines are empty documents. *words has the words, in the order in which they come first; *documents the files of
   a folder, NULL for lines. The caller must free all results. TAMIS_ERROR_FORMAT: bytes that are not UTF-8, by file,
   line and byte of the line; or no words are left. */
TAMIS_API tamis_status tamis_read_texts(const char *path, const tamis_text_options *options,
                                        tamis_owned_sparse **counts, tamis_names **documents, tamis_names **words);

/* Sets *texts to true for a folder, and for a .txt file (or .txt.gz, ...) whose first lines are no list and no matrix:
   most have letters, and they have neither the same number of fields between blanks nor of tabs, commas, semicolons or
   "::". */
TAMIS_API tamis_status tamis_is_texts(const char *path, bool *texts);

/* As tamis_read_texts, for `count` texts in memory, with their sizes in bytes; they may have several lines. */
TAMIS_API tamis_status tamis_count_words(const char *const *documents, const int64_t *bytes, int64_t count,
                                         const tamis_text_options *options, tamis_owned_sparse **counts,
                                         tamis_names **words);

/* ---------------------------------------------------------------------------------------------- splits */

/* How to choose the entries to hold out. */
typedef enum tamis_split_kind {
    TAMIS_SPLIT_ENTRIES = 0,   /* a share of each row's entries; every row keeps at least one entry */
    TAMIS_SPLIT_LEAVE_ONE = 1, /* one entry of each row that has two or more */
    TAMIS_SPLIT_ROWS = 2,      /* whole rows, at least one but not all if there are two or more; both results have all
                                  rows, and rows of the other part are empty */
    TAMIS_SPLIT_TOKENS = 3 /* a share of each row's word occurrences, for document completion: an entry may be split.
                              Each occurrence is drawn independently. Counts must be integers that the type
                              represents exactly (fp32: up to 2^24), at most 2^31 - 1 */
} tamis_split_kind;

/* How to split a matrix. Initialise with TAMIS_SPLIT_OPTIONS_INIT. */
typedef struct tamis_split_options {
    tamis_split_kind kind;
    double share;  /* the held-out share, 0 < share < 1 (0.1); ignored by leave-one */
    uint64_t seed; /* the same seed, options and matrix give the same split on every machine (1) */
    uint64_t reserved[4];
} tamis_split_options;

/* The defaults of a tamis_split_options. */
#ifdef __cplusplus
#define TAMIS_SPLIT_OPTIONS_INIT                                                                                       \
    ([] {                                                                                                              \
        tamis_split_options tamis_initial = {};                                                                        \
        tamis_initial.share = 0.1;                                                                                     \
        tamis_initial.seed = 1;                                                                                        \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_SPLIT_OPTIONS_INIT                                                                                       \
    { .share = 0.1, .seed = 1 }
#endif

/* Makes two CSR matrices of S's shape and types (host), for the caller to free: the training and the held-out part. */
TAMIS_API tamis_status tamis_split(const tamis_sparse *S, const tamis_split_options *options, tamis_owned_sparse **kept,
                                   tamis_owned_sparse **held_out);

/* ---------------------------------------------------------------------------------------------- mini-batches of files
 */

typedef struct tamis_batches tamis_batches; /* a file that is read repeatedly, some rows at a time */

/* Opens a file for reading `rows` rows at a time: a bag of words (docword.*, .ldac, .dat) or any other matrix file that
   the core reads. Bags of words are streamed: the file may be larger than memory, and docword's documents must be in
   increasing order (TAMIS_ERROR_FORMAT names the line). Other formats are read completely and then split. The caller
   must close *batches. */
TAMIS_API tamis_status tamis_batches_open(const char *path, int64_t rows, tamis_batches **batches);
TAMIS_API void tamis_batches_close(tamis_batches *batches); /* NULL is allowed */

/* Returns the number of columns, from a header or from a first pass over the file when it is opened. */
TAMIS_API int64_t tamis_batches_columns(const tamis_batches *batches);

/* Returns the next batch, CSR fp32 with 64-bit offsets, rows numbered from 0, or NULL after the last; the next call
   then starts again. The batch is valid until the next call. The function is a tamis_batch_source with a tamis_batches
   as context. */
TAMIS_API tamis_status tamis_batches_next(void *batches, const tamis_sparse **batch);

#ifdef __cplusplus
}
#endif

#endif
