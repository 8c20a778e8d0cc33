/* The table of file formats, and the choice of one: by the name's ending if that suffices, else by the content. Content
   with the signature of one format is never read as another. */
#include "io/formats/formats.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "io/files/input.h"

extern const tamis_file_row tamis_matrix_market_file, tamis_harwell_boeing_file, tamis_npz_file, tamis_npy_file,
    tamis_smtx_file, tamis_ldac_file, tamis_svmlight_file, tamis_docword_file, tamis_metis_file, tamis_edges_file,
    tamis_svmlight_zero_file, tamis_ratings_file;

/* In the order in which names and contents are matched. */
static const tamis_file_row *const rows[] = {
    &tamis_matrix_market_file, &tamis_harwell_boeing_file, &tamis_npz_file,      &tamis_npy_file,
    &tamis_smtx_file,          &tamis_ldac_file,           &tamis_svmlight_file, &tamis_svmlight_zero_file,
    &tamis_docword_file,       &tamis_metis_file,          &tamis_edges_file,    &tamis_ratings_file,
};
enum { ROWS = (int)(sizeof rows / sizeof rows[0]) };

static const tamis_file_row automatic = {.format = TAMIS_FILE_AUTO, .name = "auto", .endings = ""};

const tamis_file_row *tamis_file_row_of(tamis_file_format format) {
    for (int i = 0; i < ROWS; i++)
        if (rows[i]->format == format) return rows[i];
    return format == TAMIS_FILE_AUTO ? &automatic : NULL;
}

int tamis_file_format_count(void) { return ROWS + 1; }

const char *tamis_file_format_name(tamis_file_format format) {
    const tamis_file_row *const row = tamis_file_row_of(format);
    return row ? row->name : "unknown";
}

tamis_status tamis_file_format_from_name(const char *name, tamis_file_format *format) {
    char names[512] = "auto";
    size_t used = strlen(names);
    tamis_clear_error();
    if (!name || !format)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected %s", name ? "format" : "name",
                          name ? "where to put the format" : "the name of a file format");
    for (int i = 0; i < tamis_file_format_count(); i++) {
        const char *const known = tamis_file_format_name((tamis_file_format)i);
        if (strcmp(known, name) == 0) {
            *format = (tamis_file_format)i;
            return TAMIS_OK;
        }
        if (i > 0 && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i < ROWS ? ", " : " or ", known);
    }
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "name = \"%s\": expected %s", name, names);
}

/* ------------------------------------------------------------------------------------------ names of files */

static const char *base_name(const char *name) {
    const char *const slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

typedef enum name_match {
    NO_MATCH = 0,
    BY_CONTENT,
    BY_DOCUMENTS,
    BY_ENDING,
    BY_BEGINNING,
    BY_WEAK_BEGINNING
} name_match;

/* Matches a name (of `length` characters) with the row's endings and beginnings. *matched: the length of the match. */
static name_match match_name(const tamis_file_row *row, const char *name, size_t length, size_t *matched) {
    static const char marks[] = "*+?&";
    static const name_match matches[] = {BY_BEGINNING, BY_WEAK_BEGINNING, BY_CONTENT, BY_DOCUMENTS};
    for (const char *word = row->endings; *word;) {
        const char *const mark = strchr(marks, *word);
        if (mark) word++;
        const size_t size = *matched = strcspn(word, " ");
        const bool beginning = mark && mark - marks < 2;
        if (beginning ? length >= size && strncasecmp(name, word, size) == 0
                      : length > size && strncasecmp(name + length - size, word, size) == 0)
            return mark ? matches[mark - marks] : BY_ENDING;
        word += size + (word[size] == ' ');
    }
    return NO_MATCH;
}

/* Returns the shape by the name; *known: the name belongs to a format. */
static tamis_file_shape shape_by_name(const char *path, bool documents, bool *known) {
    const char *const name = base_name(path);
    const size_t length = tamis_unpacked_name_length(name);
    bool ids = false, counted = false;
    *known = false;
    for (int i = 0; i < ROWS; i++) {
        size_t matched;
        const name_match match = match_name(rows[i], name, length, &matched);
        *known |= match != NO_MATCH && match != BY_WEAK_BEGINNING;
        if (match == BY_BEGINNING) return rows[i]->shape;
        ids |= rows[i]->shape == TAMIS_SHAPE_IDS && match == BY_ENDING;
        counted |= rows[i]->shape == TAMIS_SHAPE_COUNTED && (match == BY_ENDING || match == BY_DOCUMENTS);
    }
    if (ids && !(documents && counted)) return TAMIS_SHAPE_IDS;
    return counted ? TAMIS_SHAPE_COUNTED : TAMIS_SHAPE_STATED;
}

tamis_status tamis_file_shape_of(const char *path, bool documents, tamis_file_shape *shape) {
    const tamis_progress progress = {0};
    tamis_input input;
    struct stat about;
    bool known;
    *shape = shape_by_name(path, documents, &known);
    const bool list = *shape == TAMIS_SHAPE_IDS; /* by its name, which another format may share */
    if ((known && !list) || stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return TAMIS_OK;
    TRY(tamis_input_open_window(path, 0, &progress, &input));
    const tamis_file_row *const row = tamis_find_format(&input.text);
    if (!known)
        *shape = row ? row->shape : TAMIS_SHAPE_IDS; /* content of no other format: ids may be names */
    else if (row && row->shape != TAMIS_SHAPE_IDS && row->sniff(&input.text))
        *shape = row->shape;
    tamis_input_close(&input);
    return TAMIS_OK;
}

size_t tamis_file_stem_length(const char *name) {
    size_t length = tamis_unpacked_name_length(name);
    for (int i = 0; i < ROWS; i++) {
        size_t matched;
        const name_match match = match_name(rows[i], name, length, &matched);
        if (match == NO_MATCH || match == BY_BEGINNING || match == BY_WEAK_BEGINNING) continue;
        length -= matched;
        i = -1; /* "x.mtx.txt" has two */
    }
    return length;
}

/* ------------------------------------------------------------------------------------------ choosing */

tamis_status tamis_check_signature(const tamis_bounded_text *text, tamis_file_format format) {
    for (int i = 0; i < ROWS; i++) {
        if (!rows[i]->signature || rows[i]->format == format || !rows[i]->sniff(text)) continue;
        return tamis_fail(
            TAMIS_ERROR_FORMAT,
            "%s: its content is %s, but by its name or the given format it is %s: rename the file, or give "
            "its format",
            text->name, rows[i]->name, tamis_file_format_name(format));
    }
    return TAMIS_OK;
}

const tamis_file_row *tamis_find_format(const tamis_bounded_text *text) {
    const char *const name = base_name(text->name);
    const size_t length = tamis_unpacked_name_length(name);
    const tamis_file_row *by_name = NULL, *by_beginning = NULL;
    for (int i = 0; i < ROWS; i++) {
        size_t matched;
        const name_match match = match_name(rows[i], name, length, &matched);
        if (match == NO_MATCH) continue;
        if (match == BY_WEAK_BEGINNING) {
            by_beginning = rows[i];
            continue;
        }
        if (match == BY_BEGINNING || rows[i]->sniff(text)) return rows[i];
        if (!by_name && match == BY_ENDING) by_name = rows[i];
    }
    if (!by_name) by_name = by_beginning;
    if (by_name) return by_name; /* its reader reports the error */
    for (int i = 0; i < ROWS; i++)
        if (rows[i]->sniff(text) && !(rows[i]->declines && rows[i]->declines(text))) return rows[i];
    return NULL;
}
