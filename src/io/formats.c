/* The table of file formats, and choosing one: by the ending of the name if that says enough, else by the content. A
   content that can be of one format only is never read as another. */
#include "io/formats.h"

#include <string.h>
#include <strings.h>

#include "io/input.h"

/* Rows in the order in which they are tried on a name or a content. Endings are words between blanks. After a star
   stands the beginning of a name, which decides without a look at the content; after a plus sign one that does so only
   where no ending is known; after a question mark an ending that belongs to another format unless the content says so.
 */
static const tamis_file_row rows[] = {
    {TAMIS_FILE_AUTO, false, false, "auto", "", NULL, NULL},
    {TAMIS_FILE_MATRIX_MARKET, true, true, "matrix-market", ".mtx .mm", tamis_sniff_matrix_market,
     tamis_read_matrix_market},
    {TAMIS_FILE_HARWELL_BOEING, false, true, "harwell-boeing", ".rsa .rua .rra .rza .psa .pua .pra .hb .rb",
     tamis_sniff_harwell_boeing, tamis_read_harwell_boeing},
    {TAMIS_FILE_NPZ, true, false, "npz", ".npz", tamis_sniff_npz, tamis_read_npz},
    {TAMIS_FILE_NPY, true, false, "npy", ".npy", tamis_sniff_npy, NULL},
    {TAMIS_FILE_SMTX, false, false, "smtx", ".smtx", tamis_sniff_smtx, tamis_read_smtx},
    {TAMIS_FILE_LDAC, false, true, "ldac", ".ldac .dat", tamis_sniff_ldac, tamis_read_ldac},
    {TAMIS_FILE_SVMLIGHT, false, true, "svmlight", ".svm .svmlight .libsvm ?.txt ?.dat ?.data", tamis_sniff_svmlight,
     tamis_read_svmlight},
    {TAMIS_FILE_DOCWORD, false, true, "docword", "*docword. .docword", tamis_sniff_docword, tamis_read_docword},
    {TAMIS_FILE_METIS, false, true, "metis", ".graph .metis", tamis_sniff_metis, tamis_read_metis},
    {TAMIS_FILE_EDGES, false, true, "edges", ".txt .el .edges .tsv .wel ?.csv +out.", tamis_sniff_edges,
     tamis_read_edges},
    {TAMIS_FILE_RATINGS, false, true, "ratings", ".csv .ratings .data .tsv .dat", tamis_sniff_ratings,
     tamis_read_rating_lines},
};
enum { ROWS = sizeof rows / sizeof *rows };

const tamis_file_row *tamis_file_row_of(tamis_file_format format) {
    for (int i = 0; i < ROWS; i++)
        if (rows[i].format == format) return &rows[i];
    return NULL;
}

const char *tamis_file_format_name(tamis_file_format format) {
    const tamis_file_row *const row = tamis_file_row_of(format);
    return row ? row->name : "unknown";
}

tamis_status tamis_file_format_from_name(const char *name, tamis_file_format *format) {
    tamis_clear_error();
    if (!name || !format)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected %s", name ? "format" : "name",
                          name ? "where to put the format" : "the name of a file format");
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        *format = rows[i].format;
        return TAMIS_OK;
    }
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "name = \"%s\": expected auto, matrix-market, harwell-boeing, metis, smtx, edges, docword, ldac, "
                      "ratings, npy, npz or svmlight",
                      name);
}

static const char *base_name(const char *name) {
    const char *const slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

typedef enum name_match { NO_MATCH = 0, BY_CONTENT, BY_ENDING, BY_BEGINNING, BY_WEAK_BEGINNING } name_match;

/* Does the name (of `length` characters) have one of the row's endings or beginnings? */
static name_match match_name(const tamis_file_row *row, const char *name, size_t length) {
    for (const char *word = row->endings; *word;) {
        const char mark = strchr("*?+", *word) ? *word++ : '\0';
        const size_t size = strcspn(word, " ");
        if (mark == '*' || mark == '+') {
            if (length >= size && strncasecmp(name, word, size) == 0)
                return mark == '*' ? BY_BEGINNING : BY_WEAK_BEGINNING;
        } else if (length > size && strncasecmp(name + length - size, word, size) == 0) {
            return mark == '?' ? BY_CONTENT : BY_ENDING;
        }
        word += size + (word[size] == ' ');
    }
    return NO_MATCH;
}

tamis_status tamis_check_signature(const tamis_bounded_text *text, tamis_file_format format) {
    for (int i = 1; i < ROWS; i++) {
        if (!rows[i].signature || rows[i].format == format || !rows[i].sniff(text)) continue;
        return tamis_fail(
            TAMIS_ERROR_FORMAT,
            "%s: its content is %s, but by its name or the given format it is %s: rename the file, or give "
            "its format",
            text->name, rows[i].name, tamis_file_format_name(format));
    }
    return TAMIS_OK;
}

const tamis_file_row *tamis_find_format(const tamis_bounded_text *text) {
    const char *const name = base_name(text->name);
    const size_t length = tamis_unpacked_name_length(name);
    const tamis_file_row *by_name = NULL, *by_beginning = NULL;
    for (int i = 1; i < ROWS; i++) {
        const name_match match = match_name(&rows[i], name, length);
        if (match == NO_MATCH) continue;
        if (match == BY_WEAK_BEGINNING) {
            by_beginning = &rows[i];
            continue;
        }
        if (match == BY_BEGINNING || rows[i].sniff(text)) return &rows[i];
        if (!by_name && match != BY_CONTENT) by_name = &rows[i];
    }
    if (!by_name) by_name = by_beginning;
    if (by_name) return by_name; /* its reader will say what is wrong */
    for (int i = 1; i < ROWS; i++)
        if (rows[i].sniff(text)) return &rows[i];
    return NULL;
}
