/*
 * Reads a file in mini-batches. Bags of words are streamed: docword by document numbers, lda-c by lines. Other formats
 * are read whole and then cut; the columns and values stay where they are.
 */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <tamis/data.h>
#include <tamis/structure.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/input.h"
#include "ml/stream.h"

enum { FIRST_ENTRIES = 4096, FIRST_ROWS = 256 };
#define COLUMNS_MOST ((int64_t)INT32_MAX + 1) /* 32-bit column indices reach one less */

typedef enum batches_kind { WHOLE = 0, DOCWORD, LDAC } batches_kind;

/* One line of a docword file. */
typedef struct entry {
    int64_t document, word; /* counted from 0 */
    double value;
} entry;

struct tamis_batches {
    batches_kind kind;
    int64_t rows;    /* of a batch */
    int64_t columns; /* -1 while a first pass looks for them */
    int64_t next;    /* the first row of the next batch */
    bool begun;      /* within a pass */

    tamis_owned_sparse *whole;

    ml_stream *stream;
    int64_t documents, count, taken; /* docword: what the header says, and the entries that were read */
    entry ahead;                     /* docword: was read, but belongs to a later document */
    bool has_ahead;

    int64_t *offsets;
    int32_t *column_indices;
    float *values;
    int64_t offsets_room, entries_room;
    bool falls;        /* docword: columns fall somewhere in a row of the batch at hand */
    tamis_sparse view; /* the batch at hand */
};

/* ---- the batch at hand */

static tamis_status reserve_offset(tamis_batches *batches, int64_t row) {
    if (row < batches->offsets_room) return TAMIS_OK;
    const int64_t room = batches->offsets_room > 0 ? batches->offsets_room * 2 : FIRST_ROWS;
    void *offsets = batches->offsets;
    TRY(tamis_reallocate(batches->offsets_room, room, sizeof(int64_t), "a batch's offsets", &offsets));
    batches->offsets = offsets;
    batches->offsets_room = room;
    return TAMIS_OK;
}

static tamis_status start_batch(tamis_batches *batches) {
    TRY(reserve_offset(batches, 0));
    batches->offsets[0] = 0;
    batches->falls = false;
    batches->view = (tamis_sparse){.cols = batches->columns, .offset_type = TAMIS_I64};
    return TAMIS_OK;
}

static tamis_status end_row(tamis_batches *batches) {
    const int64_t row = ++batches->view.rows;
    TRY(reserve_offset(batches, row));
    batches->offsets[row] = batches->view.nnz;
    return TAMIS_OK;
}

static tamis_status add_entry(tamis_batches *batches, int64_t column, double value) {
    const int64_t at = batches->view.nnz;
    if (at >= batches->entries_room) {
        const int64_t room = batches->entries_room > 0 ? batches->entries_room * 2 : FIRST_ENTRIES;
        void *columns = NULL, *values = batches->values;
        TRY(tamis_allocate(room, sizeof(int32_t), "a batch's columns", &columns));
        const tamis_status status =
            tamis_reallocate(batches->entries_room, room, sizeof(float), "a batch's values", &values);
        if (status != TAMIS_OK) {
            tamis_release(columns);
            return status;
        }
        if (at > 0) memcpy(columns, batches->column_indices, (size_t)at * sizeof(int32_t));
        tamis_release(batches->column_indices);
        batches->column_indices = columns;
        batches->values = values;
        batches->entries_room = room;
    }
    batches->column_indices[at] = (int32_t)column;
    batches->values[at] = (float)value;
    batches->view.nnz++;
    return TAMIS_OK;
}

/* The columns of each row sorted, as the core has them where it makes rows of single entries. */
static tamis_status sort_batch(tamis_batches *batches) {
    if (!batches->falls) return TAMIS_OK;
    tamis_status status = TAMIS_OK;
    void *columns = NULL, *values = NULL;
    tamis_sparse view = batches->view;
    view.offsets = batches->offsets;
    view.columns = batches->column_indices;
    view.values = batches->values;
    TRY_GOTO(failed, tamis_allocate(batches->entries_room, sizeof(int32_t), "a batch's columns", &columns));
    TRY_GOTO(failed, tamis_allocate(batches->entries_room, sizeof(float), "a batch's values", &values));
    TRY_GOTO(failed, tamis_sort(&view, columns, values, NULL));
    tamis_release(batches->column_indices);
    tamis_release(batches->values);
    batches->column_indices = columns;
    batches->values = values;
    return TAMIS_OK;
failed:
    tamis_release(columns);
    tamis_release(values);
    return status;
}

/* *batch = NULL where there are no more rows. */
static void finish_batch(tamis_batches *batches, const tamis_sparse **batch) {
    batches->next += batches->view.rows;
    batches->view.offsets = batches->offsets;
    batches->view.columns = batches->column_indices;
    batches->view.values = batches->values;
    batches->begun = batches->view.rows > 0;
    *batch = batches->begun ? &batches->view : NULL;
}

/* ---- docword */

static tamis_status take_docword_header(tamis_batches *batches) {
    const struct {
        const char *what;
        int64_t *number, most;
    } lines[] = {{"a document count", &batches->documents, TAMIS_SIZE_MOST},
                 {"a word count", &batches->columns, COLUMNS_MOST},
                 {"a nonzero count", &batches->count, TAMIS_SIZE_MOST}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const bool again = lines[i].number == &batches->columns && batches->columns >= 0; /* must not change */
        const int64_t low = again ? batches->columns : 0, high = again ? batches->columns : lines[i].most;
        TRY(ml_stream_index(batches->stream, low, high, lines[i].what, lines[i].number));
        TRY(ml_stream_line_end(batches->stream, lines[i].what));
    }
    batches->taken = 0;
    batches->has_ahead = false;
    return TAMIS_OK;
}

static tamis_status take_field_gap(ml_stream *stream) {
    const int next = ml_stream_peek(stream);
    if (next == ' ' || next == '\t' || next == '\r' || next == '\n' || next == ML_STREAM_END) return TAMIS_OK;
    return ml_stream_fail(stream, "a blank and the next number");
}

/* The next line into `ahead`. */
static tamis_status take_docword_entry(tamis_batches *batches) {
    ml_stream *const stream = batches->stream;
    const int64_t last = batches->taken > 0 ? batches->ahead.document + 1 : 1;
    int64_t document = 0, word = 0;
    if (ml_stream_skip_lines(stream) == ML_STREAM_END)
        return ml_stream_fail(stream, "entry %lld of %lld", (long long)batches->taken + 1, (long long)batches->count);
    if (batches->documents == 0 || batches->columns == 0) return ml_stream_fail(stream, "no entry in an empty matrix");
    TRY(ml_stream_index(stream, last, batches->documents,
                        last > 1 ? "a document number in non-decreasing order" : "a document number", &document));
    TRY(take_field_gap(stream));
    TRY(ml_stream_index(stream, 1, batches->columns, "a word number", &word));
    TRY(take_field_gap(stream));
    ml_stream_skip_blanks(stream);
    TRY(ml_stream_real(stream, "a count", &batches->ahead.value));
    TRY(ml_stream_line_end(stream, "the count"));
    batches->ahead.document = document - 1;
    batches->ahead.word = word - 1;
    batches->has_ahead = true;
    batches->taken++;
    return TAMIS_OK;
}

static tamis_status check_docword_end(tamis_batches *batches) {
    if (ml_stream_skip_lines(batches->stream) == ML_STREAM_END) return ml_stream_status(batches->stream);
    return ml_stream_fail(batches->stream, "the end of the file after entry %lld, the last", (long long)batches->count);
}

static tamis_status next_docword(tamis_batches *batches, const tamis_sparse **batch) {
    if (!batches->begun) TRY(take_docword_header(batches));
    TRY(start_batch(batches));
    while (batches->view.rows < batches->rows && batches->next + batches->view.rows < batches->documents) {
        for (;;) {
            if (!batches->has_ahead) {
                if (batches->taken == batches->count) break;
                TRY(take_docword_entry(batches));
            }
            if (batches->ahead.document > batches->next + batches->view.rows) break;
            const int64_t at = batches->view.nnz, begin = batches->offsets[batches->view.rows];
            batches->falls |= at > begin && batches->ahead.word < batches->column_indices[at - 1];
            TRY(add_entry(batches, batches->ahead.word, batches->ahead.value));
            batches->has_ahead = false;
        }
        TRY(end_row(batches));
    }
    if (batches->documents == 0 && batches->count > 0) TRY(take_docword_entry(batches)); /* is refused */
    if (batches->next + batches->view.rows == batches->documents) TRY(check_docword_end(batches));
    TRY(sort_batch(batches));
    finish_batch(batches, batch);
    return TAMIS_OK;
}

/* ---- lda-c */

/* The line that the stream is at. While the columns are looked for, *columns rises and nothing is added. */
static tamis_status take_document(tamis_batches *batches, int64_t *columns) {
    ml_stream *const stream = batches->stream;
    const int64_t last_id = columns ? COLUMNS_MOST - 1 : batches->columns - 1;
    int64_t terms = 0;
    TRY(ml_stream_index(stream, 0, TAMIS_SIZE_MOST, "a number of terms", &terms));
    for (int64_t i = 0; i < terms; i++) {
        int64_t id = 0;
        double count = 0;
        const int behind = ml_stream_peek(stream), next = ml_stream_skip_blanks(stream);
        if (behind == next || next == '\n' || next == ML_STREAM_END)
            return ml_stream_fail(stream, "term %lld of %lld", (long long)i + 1, (long long)terms);
        TRY(ml_stream_index(stream, 0, last_id, "a term id", &id));
        if (ml_stream_peek(stream) != ':') return ml_stream_fail(stream, "a colon after the term id");
        ml_stream_take(stream);
        TRY(ml_stream_real(stream, "a count", &count));
        if (!columns)
            TRY(add_entry(batches, id, count));
        else if (id >= *columns)
            *columns = id + 1;
    }
    return ml_stream_line_end(stream, "the last term");
}

static tamis_status find_columns(tamis_batches *batches) {
    int64_t columns = 0;
    TRY(ml_stream_rewind(batches->stream));
    while (ml_stream_skip_lines(batches->stream) != ML_STREAM_END) TRY(take_document(batches, &columns));
    TRY(ml_stream_status(batches->stream));
    batches->columns = columns;
    return TAMIS_OK;
}

static tamis_status next_ldac(tamis_batches *batches, const tamis_sparse **batch) {
    TRY(start_batch(batches));
    while (batches->view.rows < batches->rows && ml_stream_skip_lines(batches->stream) != ML_STREAM_END) {
        TRY(take_document(batches, NULL));
        TRY(end_row(batches));
    }
    TRY(ml_stream_status(batches->stream));
    finish_batch(batches, batch);
    return TAMIS_OK;
}

/* ---- other formats */

static tamis_status next_of_whole(tamis_batches *batches, const tamis_sparse **batch) {
    const tamis_sparse *const S = tamis_owned_sparse_view(batches->whole);
    const int64_t *const offsets = S->offsets;
    const int64_t first = batches->next, left = S->rows - first, start = offsets[first];
    TRY(start_batch(batches));
    while (batches->view.rows < batches->rows && batches->view.rows < left) {
        batches->view.nnz = offsets[first + batches->view.rows + 1] - start;
        TRY(end_row(batches));
    }
    finish_batch(batches, batch);
    batches->view.columns = S->nnz > 0 ? (const int32_t *)S->columns + start : NULL;
    batches->view.values = S->nnz > 0 ? (const float *)S->values + start : NULL;
    return TAMIS_OK;
}

static tamis_status open_whole(tamis_batches *batches, const char *path) {
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.offset_type = TAMIS_I64;
    options.values = TAMIS_VALUES_ONES;
    TRY(tamis_read_sparse(path, &options, &batches->whole));
    batches->columns = tamis_owned_sparse_view(batches->whole)->cols;
    return TAMIS_OK;
}

/* ---- which it is */

/* Three lines of one number. */
static bool looks_like_docword(ml_stream *stream) {
    int64_t ignored;
    for (int i = 0; i < 3; i++) {
        if (ml_stream_index(stream, 0, INT64_MAX, "a count", &ignored) != TAMIS_OK) return false;
        const int next = ml_stream_skip_blanks(stream);
        if (next != '\n' && next != ML_STREAM_END) return false;
        ml_stream_take(stream);
    }
    return ml_stream_status(stream) == TAMIS_OK;
}

/* The first document that is not empty tells. */
static bool looks_like_ldac(ml_stream *stream) {
    while (ml_stream_skip_lines(stream) != ML_STREAM_END) {
        int64_t terms, ignored;
        if (ml_stream_index(stream, 0, INT64_MAX, "a number of terms", &terms) != TAMIS_OK) return false;
        if (terms == 0) continue;
        return ml_stream_index(stream, 0, INT64_MAX, "a term id", &ignored) == TAMIS_OK &&
               ml_stream_peek(stream) == ':';
    }
    return false;
}

static bool ends_with(const char *name, size_t length, const char *ending) {
    const size_t size = strlen(ending);
    return length > size && strncasecmp(name + length - size, ending, size) == 0;
}

/* By name and content, as the core knows formats. What is not certainly a bag of words is left to the core, and so are
   pipes, which cannot be read again, and files that cannot be opened, which it has the words for. */
static tamis_status find_kind(tamis_batches *batches, const char *path) {
    const char *const slash = strrchr(path, '/');
    const char *const name = slash ? slash + 1 : path;
    const size_t length = tamis_unpacked_name_length(name);
    const bool maybe_ldac = ends_with(name, length, ".ldac") || ends_with(name, length, ".dat");
    const bool maybe_docword = strncasecmp(name, "docword.", 8) == 0 || ends_with(name, length, ".docword");
    struct stat state;
    if ((!maybe_ldac && !maybe_docword) || stat(path, &state) != 0 || !S_ISREG(state.st_mode)) return TAMIS_OK;
    const tamis_status status = ml_stream_open(path, &batches->stream);
    if (status == TAMIS_ERROR_MEMORY) return status;
    if (status != TAMIS_OK) return TAMIS_OK;
    if (maybe_ldac && looks_like_ldac(batches->stream)) batches->kind = LDAC;
    if (batches->kind == WHOLE && maybe_docword) {
        TRY(ml_stream_rewind(batches->stream));
        if (looks_like_docword(batches->stream)) batches->kind = DOCWORD;
    }
    return TAMIS_OK;
}

static tamis_status open_batches(tamis_batches *batches, const char *path) {
    TRY(find_kind(batches, path));
    if (batches->kind == LDAC) return find_columns(batches);
    if (batches->kind == DOCWORD) {
        TRY(ml_stream_rewind(batches->stream));
        return take_docword_header(batches);
    }
    ml_stream_close(batches->stream);
    batches->stream = NULL;
    return open_whole(batches, path);
}

/* ---- public */

tamis_status tamis_batches_open(const char *path, int64_t rows, tamis_batches **batches) {
    tamis_clear_error();
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path = NULL: expected the name of a file");
    if (rows < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows = %lld, expected 1 or more", (long long)rows);
    if (!batches) return tamis_fail(TAMIS_ERROR_ARGUMENT, "batches = NULL: expected an address for the batches");
    void *memory;
    TRY(tamis_allocate_zeroed(1, sizeof(tamis_batches), "batches of a file", &memory));
    tamis_batches *const made = memory;
    made->rows = rows;
    made->columns = -1;
    const tamis_status status = open_batches(made, path);
    if (status != TAMIS_OK) {
        tamis_batches_close(made);
        return status;
    }
    tamis_clear_error(); /* of the looks at what it is not */
    *batches = made;
    return TAMIS_OK;
}

void tamis_batches_close(tamis_batches *batches) {
    if (!batches) return;
    tamis_owned_sparse_free(batches->whole);
    ml_stream_close(batches->stream);
    tamis_release(batches->offsets);
    tamis_release(batches->column_indices);
    tamis_release(batches->values);
    tamis_release(batches);
}

int64_t tamis_batches_columns(const tamis_batches *batches) { return batches ? batches->columns : 0; }

/* One batch; a pass begins where none is going on. */
static tamis_status next_batch(tamis_batches *batches, const tamis_sparse **batch) {
    if (!batches->begun) {
        batches->next = 0;
        if (batches->stream) TRY(ml_stream_rewind(batches->stream));
    }
    switch (batches->kind) {
    case DOCWORD: return next_docword(batches, batch);
    case LDAC: return next_ldac(batches, batch);
    case WHOLE: return next_of_whole(batches, batch);
    }
    return tamis_fail(TAMIS_ERROR_INTERNAL, "a kind of batches without a row here");
}

tamis_status tamis_batches_next(void *batches, const tamis_sparse **batch) {
    tamis_clear_error();
    if (!batches) return tamis_fail(TAMIS_ERROR_ARGUMENT, "batches = NULL: expected batches of a file");
    if (!batch) return tamis_fail(TAMIS_ERROR_ARGUMENT, "batch = NULL: expected an address for the batch");
    tamis_batches *const opened = batches;
    const tamis_status status = next_batch(opened, batch);
    if (status != TAMIS_OK) opened->begun = false; /* the next call begins again */
    return status;
}
