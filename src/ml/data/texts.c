/*
 * Counts of the words of texts: a file with a document a line, or a folder whose .txt files are documents. Words are
 * runs of letters, marks and digits with a letter in them (words.h), in lower case. Those of few documents or of many
 * are left out, unless the words are given. A pair of words is a word with a blank.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tamis/data.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/scope.h"
#include "base/status.h"
#include "io/files/input.h"
#include "ml/data/names.h"
#include "ml/data/words.h"

enum { FIRST_ROOM = 1024, WORD_MOST = 256 }; /* bytes of a word; the rest of a longer one is not looked at */
enum { WORD_ROOM = WORD_MOST + 4 };

/* A list of numbers that grows. */
typedef struct list {
    int64_t *at;
    int64_t count, room;
} list;

typedef struct texts {
    const tamis_text_options *options;
    tamis_names *words;       /* all words that were met, or a copy of the given ones */
    tamis_names *documents;   /* NULL: lines have no names */
    bool pairs;               /* are counted */
    char pair[2 * WORD_ROOM]; /* the last word of the document, a blank, and room for one more */
    int last;                 /* the size of that word; 0: there is none */
    list tokens;              /* the words of all documents, one after another */
    list ends;                /* of each document's tokens */
} texts;

static tamis_status append(list *to, int64_t number) {
    if (to->count == to->room) {
        const int64_t room = to->room > 0 ? 2 * to->room : FIRST_ROOM;
        TRY(tamis_reallocate(to->room, room, sizeof *to->at, "the words of texts", (void **)&to->at));
        to->room = room;
    }
    to->at[to->count++] = number;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ words */

/* A word that is read. */
typedef struct word {
    char bytes[WORD_ROOM];
    int size, characters;
    bool letters, whole;
} word;

static tamis_status take_name(texts *to, const char *bytes, int size) {
    int64_t index;
    if (to->options->words)
        index = tamis_names_find(to->words, bytes, (size_t)size);
    else
        TRY(tamis_names_add(to->words, bytes, (size_t)size, &index));
    return index < 0 ? TAMIS_OK : append(&to->tokens, index);
}

/* Takes a pair of the last word and this one, which becomes the last. */
static tamis_status take_pair(texts *to, const word *of) {
    if (to->last > 0) {
        to->pair[to->last] = ' ';
        memcpy(to->pair + to->last + 1, of->bytes, (size_t)of->size);
        TRY(take_name(to, to->pair, to->last + 1 + of->size));
    }
    memcpy(to->pair, of->bytes, (size_t)of->size);
    to->last = of->size;
    return TAMIS_OK;
}

/* Takes a finished word, if it is one, and begins the next. */
static tamis_status finish_word(texts *to, word *of) {
    if (of->letters && (of->characters > 1 || of->whole)) {
        TRY(take_name(to, of->bytes, of->size));
        if (to->pairs) TRY(take_pair(to, of));
    }
    *of = (word){.size = 0};
    return TAMIS_OK;
}

static void extend_word(word *of, uint32_t point, ml_character kind) {
    if (of->size >= WORD_MOST) return;
    of->size += ml_utf8_put(ml_folded(point), of->bytes + of->size);
    of->characters++;
    of->letters |= kind == ML_LETTER;
    of->whole |= ml_is_whole_word(point);
}

/* Takes the words from `at` to `end`, which are one document. line: where messages count bytes from. */
static tamis_status take_document(texts *to, const tamis_bounded_text *text, const char *at, const char *end) {
    word now = {.size = 0};
    const char *line = at;
    while (at < end) {
        uint32_t point;
        const int size = ml_utf8_take(at, end, &point);
        if (size == 0)
            return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, at,
                                     "byte %lld is 0x%02x, which is not UTF-8: convert the text, for instance by iconv",
                                     (long long)(at - line) + 1, (unsigned)(unsigned char)*at);
        const ml_character kind = ml_character_of(point);
        if (kind != ML_APART)
            extend_word(&now, point, kind);
        else
            TRY(finish_word(to, &now));
        if (*at == '\n') line = at + 1;
        at += size;
    }
    TRY(finish_word(to, &now));
    to->last = 0;
    return append(&to->ends, to->tokens.count);
}

/* ------------------------------------------------------------------------------------------ files */

/* Skips a byte order mark. */
static const char *begin_of(const tamis_bounded_text *text) {
    const bool mark = text->end - text->begin >= 3 && memcmp(text->begin, "\xEF\xBB\xBF", 3) == 0;
    return text->begin + (mark ? 3 : 0);
}

static tamis_status take_lines(texts *to, const tamis_bounded_text *text) {
    for (const char *line = begin_of(text), *next; line < text->end; line = next) {
        next = tamis_next_line(text, line);
        TRY(take_document(to, text, line, next));
    }
    return TAMIS_OK;
}

static tamis_status read_file(texts *to, const char *path, bool whole) {
    tamis_status status = TAMIS_OK;
    tamis_input input = {0};
    TRY_GOTO(end, tamis_input_open(path, &(tamis_progress){.high = 1}, &input));
    const tamis_bounded_text *const text = &input.text;
    TRY_GOTO(end, whole ? take_document(to, text, begin_of(text), text->end) : take_lines(to, text));
end:
    tamis_input_close(&input);
    return status;
}

/* Returns true for a .txt file, or a link to one: a pipe or a device may never end. */
static bool is_text(DIR *folder, const char *name) {
    struct stat found;
    const size_t length = strlen(name);
    return name[0] != '.' && length > 4 && strcmp(name + length - 4, ".txt") == 0 &&
           fstatat(dirfd(folder), name, &found, 0) == 0 && S_ISREG(found.st_mode);
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void close_folder(void *folder) { (void)closedir(folder); }

/* Sets *names to the .txt files of a folder, in the order of their bytes. They belong to the scope. */
static tamis_status list_folder(const char *path, char ***names, int64_t *count) {
    DIR *const folder = opendir(path);
    int64_t room = 0;
    *count = 0;
    if (!folder) return tamis_fail(TAMIS_ERROR_FILE, "%s: cannot read the folder", path);
    TRY(tamis_scope_own(close_folder, folder));
    for (const struct dirent *entry; (entry = readdir(folder));) room += is_text(folder, entry->d_name);
    if (room == 0) return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the folder has no .txt files", path);
    TRY(tamis_allocate_array(room, "the files of a folder", *names));
    rewinddir(folder);
    for (const struct dirent *entry; *count < room && (entry = readdir(folder));) {
        if (!is_text(folder, entry->d_name)) continue;
        const size_t bytes = strlen(entry->d_name) + 1;
        char *copy;
        TRY(tamis_allocate_array((int64_t)bytes, "the name of a file", copy));
        memcpy(copy, entry->d_name, bytes);
        (*names)[(*count)++] = copy;
    }
    qsort(*names, (size_t)*count, sizeof **names, by_bytes);
    return TAMIS_OK;
}

static tamis_status read_folder(texts *to, const char *path) {
    char **names;
    int64_t count, index;
    TAMIS_SCOPE;
    TRY(list_folder(path, &names, &count));
    TRY(tamis_names_create(&to->documents));
    for (int64_t i = 0; i < count; i++) {
        const int64_t bytes = (int64_t)(strlen(path) + strlen(names[i]) + 2);
        char *file;
        TRY(tamis_allocate_array(bytes, "the name of a file", file));
        snprintf(file, (size_t)bytes, "%s/%s", path, names[i]);
        TRY(read_file(to, file, true));
        TRY(tamis_names_add(to->documents, names[i], strlen(names[i]), &index));
        tamis_scope_drop(file);
    }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ what is a text */

enum { LINES_LOOKED_AT = 100 };

/* Numbers that the first lines have in common. */
typedef struct look {
    int lines, fields;         /* of the first line, between blanks */
    int letters;               /* lines with letters */
    int64_t separators[4];     /* of the first line: tabs, commas, semicolons, "::" */
    bool same_fields, same[4]; /* all lines have as many */
} look;

static void look_at_line(look *at, const char *line, const char *end) {
    int64_t separators[4] = {0};
    int fields = 0;
    bool within = false, letters = false;
    for (const char *p = line; p < end; p++) {
        separators[0] += *p == '\t';
        separators[1] += *p == ',';
        separators[2] += *p == ';';
        separators[3] += *p == ':' && p + 1 < end && p[1] == ':';
        const bool blank = *p == ' ' || *p == '\t' || *p == '\r';
        fields += !blank && !within;
        within = !blank;
        letters |= (unsigned char)*p >= 0x80 || ml_character_of((unsigned char)*p) == ML_LETTER;
    }
    if (fields == 0 || *line == '%' || *line == '#') return; /* a comment of a matrix */
    at->letters += letters;
    const bool first = at->lines++ == 0;
    if (first) at->fields = fields;
    at->same_fields = first || (at->same_fields && fields == at->fields);
    for (int i = 0; i < 4; i++) {
        if (first) at->separators[i] = separators[i];
        at->same[i] = separators[i] > 0 && (first || (at->same[i] && separators[i] == at->separators[i]));
    }
}

tamis_status tamis_is_texts(const char *path, bool *found) {
    struct stat about;
    tamis_input input;
    look at = {0};
    tamis_clear_error();
    if (!path || !found) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", path ? "texts" : "path");
    const bool there = stat(path, &about) == 0;
    *found = there && S_ISDIR(about.st_mode);
    const size_t length = (size_t)tamis_unpacked_name_length(path);
    const bool named = length > 4 && memcmp(path + length - 4, ".txt", 4) == 0;
    if (!there || !S_ISREG(about.st_mode) || !named) return TAMIS_OK;
    TRY(tamis_input_open_window(path, 0, &(tamis_progress){.high = 1}, &input));
    for (const char *line = input.text.begin; line < input.text.end && at.lines < LINES_LOOKED_AT;) {
        const char *const next = tamis_next_line(&input.text, line);
        if (next > line && next[-1] == '\n') look_at_line(&at, line, next - 1);
        line = next;
    }
    tamis_input_close(&input);
    *found = at.letters > at.lines / 2 && !at.same_fields && !at.same[0] && !at.same[1] && !at.same[2] && !at.same[3];
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ counts */

/* Returns true for a pair with a word of too many documents. */
static bool has_common(const texts *from, const char *name, const int64_t *in, double most) {
    const char *const blank = strchr(name, ' ');
    if (!blank) return false;
    return (double)in[tamis_names_find(from->words, name, (size_t)(blank - name))] > most ||
           (double)in[tamis_names_find(from->words, blank + 1, strlen(blank + 1))] > most;
}

/* Sets numbers[i] to the number of word i among those that stay, or -1; words in too few or too many documents go. */
static tamis_status choose_words(const texts *from, int64_t *numbers, tamis_names *stay) {
    const tamis_text_options *const o = from->options;
    const int64_t words = tamis_names_count(from->words), documents = from->ends.count;
    int64_t *last, *in;
    TAMIS_SCOPE;
    TRY(tamis_allocate_zeros(words, "the words of texts", last));
    TRY(tamis_allocate_zeros(words, "the words of texts", in));
    for (int64_t d = 0, t = 0; d < documents; d++)
        for (; t < from->ends.at[d]; t++) {
            const int64_t i = from->tokens.at[t];
            in[i] += last[i] != d + 1;
            last[i] = d + 1;
        }
    for (int64_t i = 0; i < words; i++) {
        const char *const name = tamis_names_at(from->words, i);
        const double most = o->max_share * (double)documents;
        const bool stays =
            in[i] >= o->min_documents && (double)in[i] <= most && !(from->pairs && has_common(from, name, in, most));
        numbers[i] = -1;
        if (o->words)
            numbers[i] = i;
        else if (stays)
            TRY(tamis_names_add(stay, name, strlen(name), &numbers[i]));
    }
    if (words > 0 && !o->words && tamis_names_count(stay) == 0)
        return tamis_fail(
            TAMIS_ERROR_FORMAT,
            "no word is in %lld documents or more and in a share of %g of all %lld or less: use a smaller "
            "min_documents or a larger max_share",
            (long long)o->min_documents, o->max_share, (long long)documents);
    return TAMIS_OK;
}

static tamis_status make_counts(const texts *from, tamis_names *stay, tamis_owned_sparse **counts) {
    int64_t *numbers, *rows, *columns, nnz = 0;
    float *ones;
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(tamis_names_count(from->words), "the words of texts", numbers));
    TRY(tamis_allocate_array(from->tokens.count, "the words of texts", rows));
    TRY(tamis_allocate_array(from->tokens.count, "the words of texts", columns));
    TRY(tamis_allocate_array(from->tokens.count, "the words of texts", ones));
    TRY(choose_words(from, numbers, stay));
    for (int64_t d = 0, t = 0; d < from->ends.count; d++)
        for (; t < from->ends.at[d]; t++) {
            if (numbers[from->tokens.at[t]] < 0) continue;
            rows[nnz] = d;
            columns[nnz] = numbers[from->tokens.at[t]];
            ones[nnz++] = 1;
        }
    const tamis_sparse S = {.format = TAMIS_COO,
                            .rows = from->ends.count,
                            .cols = tamis_names_count(from->options->words ? from->options->words : stay),
                            .nnz = nnz,
                            .index_type = TAMIS_I64,
                            .value_type = TAMIS_F32,
                            .row_indices = rows,
                            .columns = columns,
                            .values = ones};
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.offset_type = TAMIS_I64;
    options.duplicates = TAMIS_DUPLICATES_SUM;
    return tamis_convert(&S, &options, counts);
}

/* ------------------------------------------------------------------------------------------ the calls */

static tamis_status check(const tamis_text_options *options) {
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options is NULL");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(TAMIS_RESERVED_FLAGS(options, "options"));
    if (options->min_documents < 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "min_documents = %lld, expected 1 or more",
                          (long long)options->min_documents);
    if (!(options->max_share > 0 && options->max_share <= 1))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "max_share = %g, expected above 0 to 1", options->max_share);
    return TAMIS_OK;
}

static tamis_status begin(const tamis_text_options *options, texts *to) {
    *to = (texts){.options = options, .pairs = options && options->pairs};
    TRY(check(options));
    return options->words ? tamis_names_copy(options->words, &to->words) : tamis_names_create(&to->words);
}

/* Makes the results from what was read, or frees it after an error. */
static tamis_status finish(tamis_status status, texts *from, tamis_owned_sparse **counts, tamis_names **documents,
                           tamis_names **words) {
    tamis_names *stay = NULL;
    tamis_owned_sparse *made = NULL;
    if (status == TAMIS_OK) status = tamis_names_create(&stay);
    if (status == TAMIS_OK) status = make_counts(from, stay, &made);
    if (status == TAMIS_OK && from->options->words) {
        tamis_names_free(stay);
        stay = from->words;
        from->words = NULL;
    }
    tamis_names_free(from->words);
    tamis_release(from->tokens.at);
    tamis_release(from->ends.at);
    if (status != TAMIS_OK) {
        tamis_names_free(stay);
        tamis_names_free(from->documents);
        return status;
    }
    *counts = made;
    *words = stay;
    if (documents) *documents = from->documents;
    return TAMIS_OK;
}

static tamis_status read_texts(texts *to, const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) ? read_folder(to, path) : read_file(to, path, false);
}

tamis_status tamis_read_texts(const char *path, const tamis_text_options *options, tamis_owned_sparse **counts,
                              tamis_names **documents, tamis_names **words) {
    texts to;
    tamis_clear_error();
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path = NULL: expected the name of a file or folder");
    if (!counts || !documents || !words)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", !counts ? "counts" : !words ? "words" : "documents");
    tamis_status status = begin(options, &to);
    if (status == TAMIS_OK) status = read_texts(&to, path);
    return finish(status, &to, counts, documents, words);
}

tamis_status tamis_count_words(const char *const *documents, const int64_t *bytes, int64_t count,
                               const tamis_text_options *options, tamis_owned_sparse **counts, tamis_names **words) {
    texts to;
    tamis_clear_error();
    if (count < 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "count = %lld is negative", (long long)count);
    if ((count > 0 && (!documents || !bytes)) || !counts || !words)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "an array or an address for a result is NULL");
    for (int64_t i = 0; i < count; i++)
        if (bytes[i] < 0 || (!documents[i] && bytes[i] > 0))
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "documents[%lld] is %s, bytes[%lld] = %lld", (long long)i,
                              documents[i] ? "there" : "NULL", (long long)i, (long long)bytes[i]);
    tamis_status status = begin(options, &to);
    for (int64_t i = 0; i < count && status == TAMIS_OK; i++) {
        char name[40];
        snprintf(name, sizeof name, "text %lld", (long long)i);
        const tamis_bounded_text text = {.name = name, .begin = documents[i], .end = documents[i] + bytes[i]};
        status = take_document(&to, &text, text.begin, text.end);
    }
    return finish(status, &to, counts, NULL, words);
}
