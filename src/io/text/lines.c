/*
 * Parses one nonzero per line, in parallel, window by window, so that only the entries need memory proportional to the
 * file. A window is cut at line ends into chunks. A first pass counts each chunk's lines that may hold an entry, which
 * gives every chunk its place in the result. A second pass parses the chunks into their places; gaps left by comments
 * are closed at the end. A thread only records the position of an error; the calling thread makes the message, with the
 * line number, for the first error in the file.
 */
#define _GNU_SOURCE
#include "io/text/lines.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/threads.h"

#ifndef TAMIS_LINES_CHUNK
#define TAMIS_LINES_CHUNK (256 << 10) /* the least bytes of a chunk; the fuzz build makes it a few bytes */
#endif
enum { CHUNK_MOST = 8 << 20, CHUNKS_PER_THREAD = 8 };

typedef enum line_fault {
    FAULT_NONE = 0,
    FAULT_ROW,
    FAULT_COLUMN,
    FAULT_VALUE,
    FAULT_EXTRA,
    FAULT_SEPARATOR,
    FAULT_END,
    FAULT_DIAGONAL
} line_fault;

typedef struct line_chunk {
    const char *begin, *end; /* whole lines */
    int64_t place, count;    /* position of its entries in the result, and their number */
    int64_t row_most, column_most, comments;
    int64_t below, above; /* of the diagonal */
    int64_t inexact;
    line_fault fault;
    const char *fault_at;
} line_chunk;

typedef struct line_work {
    const tamis_reading *reading;
    const tamis_line_rule *rule;
    const tamis_bounded_text *text; /* the window */
    double before, now;             /* share of the file read before this window, and including it */
    tamis_entries *entries;
    tamis_window_taker *take; /* NULL: the entries stay */
    void *context;
    int64_t passed; /* entries that were taken */
    line_chunk *chunks;
    int64_t chunk_count;
    _Atomic int64_t next;   /* the next chunk to take */
    _Atomic int64_t failed; /* the lowest chunk with an error: later ones need not be parsed */
    _Atomic bool cancelled;
    bool counting;
} line_work;

/* Counts the lines that may hold an entry: all non-empty lines. */
static int64_t count_lines(const char *p, const char *end) {
    int64_t count = p < end && *p != '\n';
    for (; p + 1 < end; p++) count += (p[0] == '\n') & (p[1] != '\n');
    return count;
}

/* Skips the separator between two fields; NULL where there is none. */
static inline const char *skip_separator(const char *p, char separator) {
    const char *const start = p;
    p = tamis_skip_blanks(p);
    if (separator == ' ') return p > start ? p : NULL;
    if (separator == ':') return p[0] == ':' && p[1] == ':' ? tamis_skip_blanks(p + 2) : NULL;
    return *p == separator ? tamis_skip_blanks(p + 1) : NULL;
}

typedef struct line_fields {
    int64_t row, column;
    double value;
    bool inexact; /* the value does not equal the file's */
    line_fault fault;
    const char *fault_at;
} line_fields;

static const char *no_field(line_fields *line, line_fault fault, const char *at) {
    line->fault = fault;
    line->fault_at = at;
    return NULL;
}

/* Records the fault that there is no separator at p, or no field if the line ends there. */
static const char *no_separator(line_fields *line, line_fault field, const char *p) {
    p = tamis_skip_blanks(p);
    return no_field(line, *p == '\n' || *p == '\0' ? field : FAULT_SEPARATOR, p);
}

static inline const char *parse_value(const tamis_line_rule *rule, const char *p, double *value) {
    if (rule->value == TAMIS_LINE_REAL) return tamis_parse_real(p, value);
    return tamis_parse_integer_real(p, rule->value == TAMIS_LINE_INTEGER, value);
}

/* Skips `count` numbers from q, the end of the previous field; NULL after a fault. */
static const char *skip_numbers(const tamis_line_rule *rule, const char *q, int count, line_fields *line) {
    for (int i = 0; i < count; i++) {
        double ignored;
        const char *const p = skip_separator(q, rule->separator);
        if (!p) return no_separator(line, FAULT_EXTRA, q);
        q = tamis_parse_real(p, &ignored);
        if (!q) return no_field(line, FAULT_EXTRA, p);
    }
    return q;
}

/* Parses an index that takes all of a field. */
static bool is_index(const tamis_field *field, int64_t size, int64_t *index) {
    return tamis_parse_id(field->begin, index) == field->begin + field->length && *index < size;
}

/* Parses the entry at p, whose columns are anywhere. */
static const char *parse_columns(const tamis_line_rule *rule, const char *p, const char *end, line_fields *line) {
    const int *const at = rule->form->columns.at;
    const int value = rule->value != TAMIS_LINE_NO_VALUE ? at[TAMIS_ROLE_RATING] : -1;
    const char *const newline = memchr(p, '\n', (size_t)(end - p)), *const last = newline ? newline : end;
    const char *fault = NULL;
    bool row = false, column = false, valued = value < 0;
    int taken = 0;
    for (; p && taken < rule->form->columns.needed; taken++) {
        const int i = taken;
        tamis_field field = {0};
        const char *const start = p;
        p = tamis_field_take(&rule->form->fields, p, last, &field, &fault);
        if (fault) return no_field(line, FAULT_SEPARATOR, fault);
        if (i == at[TAMIS_ROLE_USER] && !(row = is_index(&field, rule->rows, &line->row)))
            return no_field(line, FAULT_ROW, start);
        if (i == at[TAMIS_ROLE_ITEM] && !(column = is_index(&field, rule->cols, &line->column)))
            return no_field(line, FAULT_COLUMN, start);
        if (i != value) continue;
        if (!(valued = tamis_field_number(&rule->form->fields, &field, &line->value)))
            return no_field(line, FAULT_VALUE, start);
        line->inexact = !tamis_number_kept(field.begin, field.begin + field.length, line->value);
    }
    if (!row || !column || !valued)
        return no_field(line, !row ? FAULT_ROW : !column ? FAULT_COLUMN : FAULT_VALUE, last);
    const tamis_columns *const columns = &rule->form->columns;
    if (taken < columns->needed) return no_field(line, FAULT_EXTRA, last);
    if (p && columns->most > 0 && tamis_fields_exceed(&rule->form->fields, p, last, columns->most - taken))
        return no_field(line, FAULT_END, p);
    return newline ? newline + 1 : end;
}

/* Parses a value with a decimal comma at q again, as a field; returns q if it is not a number. */
static const char *parse_comma(const tamis_line_rule *rule, const char *p, const char *q, double *value) {
    const tamis_field_form form = {.separator = rule->separator};
    const char *end = q + 1;
    while (*end && *end != '\n' && !tamis_is_blank(*end) && *end != rule->separator) end++;
    const tamis_field field = {.begin = p, .length = (size_t)(end - p)};
    return tamis_field_number(&form, &field, value) ? end : q;
}

/* Parses the entry at p, which must not be blank; returns the character after its line. */
static inline const char *parse_line(const tamis_line_rule *rule, const char *p, const char *end, line_fields *line) {
    if (rule->form) return parse_columns(rule, p, end, line);
    const char *q = rule->ids ? tamis_parse_id(p, &line->row) : tamis_parse_index(p, &line->row);
    if (!q || line->row < rule->base || line->row - rule->base >= rule->rows) return no_field(line, FAULT_ROW, p);
    p = skip_separator(q, rule->separator);
    if (!p) return no_separator(line, FAULT_COLUMN, q);
    q = rule->ids ? tamis_parse_id(p, &line->column) : tamis_parse_index(p, &line->column);
    if (!q || line->column < rule->base || line->column - rule->base >= rule->cols)
        return no_field(line, FAULT_COLUMN, p);
    if (rule->no_diagonal && line->row == line->column) return no_field(line, FAULT_DIAGONAL, p);
    if (rule->skipped > 0 && !(q = skip_numbers(rule, q, rule->skipped, line))) return NULL;
    if (rule->value != TAMIS_LINE_NO_VALUE) {
        p = skip_separator(q, rule->separator);
        if (!p) return no_separator(line, FAULT_VALUE, q);
        q = parse_value(rule, p, &line->value);
        if (!q) return no_field(line, FAULT_VALUE, p);
        if (*q == ',' && rule->comma) q = parse_comma(rule, p, q, &line->value);
        line->inexact = !tamis_number_kept(p, q, line->value);
    }
    if (rule->extra > 0 && !(q = skip_numbers(rule, q, rule->extra, line))) return NULL;
    p = tamis_skip_blanks(q);
    if (*p == '\n') return p + 1;
    if (p >= end) return end;
    if (rule->open && (p > q || *p == rule->separator)) {
        const char *const newline = memchr(p, '\n', (size_t)(end - p));
        return newline ? newline + 1 : end;
    }
    return no_field(line, FAULT_END, p);
}

/* Finds the next line in the chunk with an entry; returns its first non-blank character, or NULL. */
static inline const char *find_entry(const tamis_line_rule *rule, const char *p, const char *end, int64_t *comments) {
    for (;;) {
        p = tamis_skip_blanks(p);
        if (p >= end) return NULL;
        if (*p == '\n')
            p++;
        else if (*p == '\0' || !strchr(rule->comments, *p))
            return p;
        else {
            const char *const newline = memchr(p, '\n', (size_t)(end - p));
            if (rule->marked && !tamis_fields_are_none(rule->marked, p, newline ? newline : end)) return p;
            ++*comments;
            if (!newline) return NULL;
            p = newline + 1;
        }
    }
}

static void parse_chunk(const line_work *work, line_chunk *chunk) {
    const tamis_line_rule rule = *work->rule; /* a copy: the compiler then knows that stores do not change it */
    const tamis_entries entries = *work->entries;
    line_fields line = {0};
    int64_t at = chunk->place, row_most = -1, column_most = -1, below = 0, above = 0, inexact = 0, comments = 0;
    for (const char *p = chunk->begin;;) {
        if (!tamis_is_digit(*p) || p >= chunk->end) {
            p = find_entry(&rule, p, chunk->end, &comments);
            if (!p) break;
        }
        p = parse_line(&rule, p, chunk->end, &line);
        if (!p) {
            chunk->fault = line.fault;
            chunk->fault_at = line.fault_at;
            break;
        }
        line.row -= rule.base;
        line.column -= rule.base;
        if (line.row > row_most) row_most = line.row;
        if (line.column > column_most) column_most = line.column;
        below += line.column < line.row;
        above += line.column > line.row;
        inexact += line.inexact;
        tamis_entries_set(&entries, at++, line.row, line.column, line.value);
    }
    chunk->below = below;
    chunk->above = above;
    chunk->inexact = inexact;
    chunk->comments = comments;
    chunk->count = at - chunk->place;
    chunk->row_most = row_most;
    chunk->column_most = column_most;
}

static void lower_to(_Atomic int64_t *least, int64_t value) {
    int64_t old = atomic_load(least);
    while (value < old && !atomic_compare_exchange_weak(least, &old, value)) continue;
}

static void run_chunks(void *context, int thread, int threads) {
    (void)threads;
    line_work *const work = context;
    for (;;) {
        const int64_t number = atomic_fetch_add(&work->next, 1);
        if (number >= work->chunk_count || atomic_load(&work->cancelled)) return;
        line_chunk *const chunk = &work->chunks[number];
        if (work->counting) {
            chunk->count = count_lines(chunk->begin, chunk->end);
            continue;
        }
        if (number > atomic_load(&work->failed)) return;
        parse_chunk(work, chunk);
        if (chunk->fault != FAULT_NONE) lower_to(&work->failed, number);
        const double share = work->before + (work->now - work->before) * (double)number / (double)work->chunk_count;
        if (thread == 0 && !tamis_progress_go_on(&work->reading->progress, share)) atomic_store(&work->cancelled, true);
    }
}

static void run(line_work *work, bool counting) {
    work->counting = counting;
    atomic_store(&work->next, 0);
    atomic_store(&work->failed, INT64_MAX);
    const int64_t most = work->chunk_count;
    tamis_threads_run(work->reading->threads < most ? work->reading->threads : (int)most, run_chunks, work);
}

static tamis_status cut(line_work *work, const char *body) {
    const tamis_bounded_text *const text = work->text;
    const int64_t bytes = text->end - body;
    int64_t size = bytes / ((int64_t)work->reading->threads * CHUNKS_PER_THREAD) + 1;
    if (size < TAMIS_LINES_CHUNK) size = TAMIS_LINES_CHUNK;
    if (size > CHUNK_MOST) size = CHUNK_MOST;
    void *memory;
    TRY(tamis_allocate_zeroed(bytes / size + 1, sizeof(line_chunk), "the list of chunks", &memory));
    work->chunks = memory;
    int64_t count = 0;
    for (const char *p = body; p < text->end;) {
        const char *const end = text->end - p > size ? tamis_next_line(text, p + size) : text->end;
        work->chunks[count++] = (line_chunk){.begin = p, .end = end};
        p = end;
    }
    work->chunk_count = count;
    return TAMIS_OK;
}

static const char *separator_name(char separator) {
    return separator == ' '   ? "a blank or a tab"
           : separator == ',' ? "a comma"
           : separator == ';' ? "a semicolon"
           : separator == ':' ? "\"::\""
                              : "a separator";
}

static tamis_status index_fault(const tamis_line_rule *rule, const tamis_bounded_text *text, const char *at,
                                const char *name, int64_t size) {
    if (size == INT64_MAX)
        return tamis_text_fail(text, at, "%s of %lld or more%s", name, (long long)rule->base,
                               *at == '0' && tamis_is_digit(at[1]) ? " without zeros before it" : "");
    if (size == 0) return tamis_text_fail(text, at, "no entry in an empty matrix");
    return tamis_text_fail(text, at, "%s from %lld to %lld", name, (long long)rule->base,
                           (long long)(rule->base + size - 1));
}

/* Returns the first non-blank character of the line of `at`. */
static const char *line_of(const tamis_bounded_text *text, const char *at) {
    const char *const newline = memrchr(text->begin, '\n', (size_t)(at - text->begin));
    return tamis_skip_blanks(newline ? newline + 1 : text->begin);
}

static tamis_status report_fault(const tamis_line_rule *rule, const tamis_bounded_text *text, line_fault fault,
                                 const char *at, tamis_read_report *report) {
    const bool id = fault == FAULT_ROW || fault == FAULT_COLUMN || fault == FAULT_SEPARATOR; /* "12X" */
    if (rule->names && id && *at != '\n' && *at != rule->separator && at < text->end && report)
        report->other_ids = true;
    if (rule->list && (fault == FAULT_VALUE || fault == FAULT_EXTRA || fault == FAULT_END))
        TRY(tamis_list_check_width(text, rule->list, line_of(text, at)));
    switch (fault) {
    case FAULT_ROW: return index_fault(rule, text, at, rule->row_name, rule->rows);
    case FAULT_COLUMN: return index_fault(rule, text, at, rule->column_name, rule->cols);
    case FAULT_VALUE: return tamis_text_fail(text, at, "%s", rule->value_name);
    case FAULT_EXTRA: return tamis_text_fail(text, at, "a number (a time)");
    case FAULT_SEPARATOR: return tamis_text_fail(text, at, "%s and the next number", separator_name(rule->separator));
    case FAULT_DIAGONAL:
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, at,
                                 "an entry on the diagonal of a skew-symmetric matrix; expected one below it");
    default: return tamis_text_fail(text, at, "the end of the line");
    }
}

/* Finds the line of entry `number` (from 0) of a chunk. */
static const char *find_line(const line_work *work, const line_chunk *chunk, int64_t number) {
    const tamis_bounded_text *const text = work->text;
    int64_t comments = 0;
    const char *p = find_entry(work->rule, chunk->begin, text->end, &comments);
    for (; p && number > 0; number--) p = find_entry(work->rule, tamis_next_line(text, p), text->end, &comments);
    return p ? p : text->end;
}

/* Rescans a chunk that has entries on the other side of the diagonal than earlier ones, line by line. */
static tamis_status note_triangles(const line_work *work, const line_chunk *chunk) {
    tamis_triangles *const triangles = work->rule->triangles;
    const int64_t others = triangles->side < 0 ? chunk->above : chunk->below;
    if (triangles->side != 0 && others == 0) return TAMIS_OK;
    int64_t comments = 0;
    const char *p = find_entry(work->rule, chunk->begin, chunk->end, &comments);
    for (int64_t i = 0; i < chunk->count; i++) {
        line_fields line = {0};
        const char *const next = parse_line(work->rule, p, chunk->end, &line);
        TRY(tamis_triangles_note(triangles, work->text, p, line.row - work->rule->base,
                                 line.column - work->rule->base));
        p = find_entry(work->rule, next, chunk->end, &comments);
    }
    return TAMIS_OK;
}

static void add_facts(tamis_line_facts *facts, const line_chunk *chunk) {
    facts->comments += chunk->comments;
    facts->entries += chunk->count;
    if (chunk->row_most > facts->row_most) facts->row_most = chunk->row_most;
    if (chunk->column_most > facts->column_most) facts->column_most = chunk->column_most;
}

/* Closes the gaps, finds the first error, and updates the size of the matrix. */
static tamis_status gather(const line_work *work) {
    tamis_entries *const entries = work->entries;
    const tamis_line_rule *const rule = work->rule;
    for (int64_t i = 0; i < work->chunk_count; i++) {
        const line_chunk *const chunk = &work->chunks[i];
        const int64_t before = work->passed + entries->count;
        if (rule->count >= 0 && before + chunk->count > rule->count)
            return tamis_text_fail(work->text, find_line(work, chunk, rule->count - before),
                                   "the end of the file after entry %lld, the last", (long long)rule->count);
        if (chunk->fault != FAULT_NONE)
            return report_fault(rule, work->text, chunk->fault, chunk->fault_at, work->reading->options.report);
        if (rule->facts) add_facts(rule->facts, chunk);
        if (rule->triangles && chunk->below + chunk->above > 0) TRY(note_triangles(work, chunk));
        if (work->reading->options.report) work->reading->options.report->inexact += chunk->inexact;
        tamis_entries_move(entries, entries->count, chunk->place, chunk->count);
        entries->count += chunk->count;
        if (chunk->row_most >= entries->rows) entries->rows = chunk->row_most + 1;
        if (chunk->column_most >= entries->cols) entries->cols = chunk->column_most + 1;
    }
    return TAMIS_OK;
}

/* Returns the capacity for these entries; if entries accumulate, it includes an estimate of the remaining windows'. */
static int64_t room_for(const line_work *work, int64_t needed) {
    if (work->take) return needed + needed / 8;
    if (work->now >= 1) return work->reading->input->ended ? needed : needed + needed / 2;
    return tamis_guess_entries(needed, work->now, work->rule->count);
}

static tamis_status make_room(const line_work *work, int64_t needed) {
    const tamis_line_rule *const rule = work->rule;
    tamis_entries *const entries = work->entries;
    if (entries->capacity > 0)
        return needed <= entries->capacity ? TAMIS_OK : tamis_entries_reserve(entries, room_for(work, needed));
    const bool any = rule->rows == INT64_MAX;
    const bool wide = !any && (tamis_needs_wide(rule->rows) || tamis_needs_wide(rule->cols));
    const bool with_values = rule->keep_values && rule->value != TAMIS_LINE_NO_VALUE;
    return tamis_entries_allocate(work->reading, room_for(work, needed), wide, with_values, entries);
}

static bool too_wide(const line_work *work) {
    int64_t most = 0;
    for (int64_t i = 0; i < work->chunk_count; i++) {
        const line_chunk *const chunk = &work->chunks[i];
        most = chunk->row_most > most ? chunk->row_most : most;
        most = chunk->column_most > most ? chunk->column_most : most;
    }
    return work->entries->index_type == TAMIS_I32 && most > INT32_MAX;
}

/* Parses a window. Ids have 32 bits until one does not fit; then its window is parsed again with 64 bits. */
static tamis_status parse_window(line_work *work) {
    run(work, true);
    int64_t needed = work->entries->count;
    for (int64_t i = 0; i < work->chunk_count; i++) {
        work->chunks[i].place = needed;
        needed += work->chunks[i].count;
        work->chunks[i].count = 0;
    }
    TRY(make_room(work, needed));
    run(work, false);
    if (!atomic_load(&work->cancelled) && too_wide(work)) {
        TRY(tamis_entries_widen(work->entries));
        run(work, false);
    }
    if (atomic_load(&work->cancelled)) return tamis_progress_cancelled(work->reading->text.name);
    return gather(work);
}

static tamis_status read_window(line_work *work, const char *body) {
    const tamis_input *const input = work->reading->input;
    work->before = work->now;
    work->now = input->ended ? 1 : tamis_input_share(input);
    TRY(cut(work, body));
    const tamis_status status = parse_window(work);
    tamis_release(work->chunks);
    return status;
}

/* Passes the window's entries to `take`. */
static tamis_status hand_on(line_work *work) {
    TRY(work->take(work->context, work->entries, work->now));
    work->passed += work->entries->count;
    work->entries->count = 0;
    return TAMIS_OK;
}

static tamis_status read_all(line_work *work, const char *body) {
    const tamis_line_rule *const rule = work->rule;
    tamis_input *const input = work->reading->input;
    TRY(read_window(work, body));
    if (work->take) TRY(hand_on(work));
    while (!input->ended) {
        TRY(tamis_input_next(input));
        TRY(read_window(work, input->text.begin));
        if (work->take) TRY(hand_on(work));
    }
    const int64_t count = work->passed + work->entries->count;
    if (rule->count < 0 || count == rule->count) return TAMIS_OK;
    return tamis_text_fail(&input->text, input->text.end, "entry %lld of %lld", (long long)count + 1,
                           (long long)rule->count);
}

tamis_status tamis_read_lines(const tamis_reading *reading, const tamis_line_rule *rule, const char *body,
                              tamis_entries *entries) {
    line_work work = {.reading = reading, .rule = rule, .text = &reading->input->text, .entries = entries};
    TRY(tamis_entries_own(entries));
    TRY(read_all(&work, body));
    if (rule->rows != INT64_MAX) entries->rows = rule->rows;
    if (rule->cols != INT64_MAX) entries->cols = rule->cols;
    return TAMIS_OK;
}

tamis_status tamis_read_windows(const tamis_reading *reading, const tamis_line_rule *rule, const char *body,
                                tamis_window_taker *take, void *context) {
    tamis_entries window;
    TAMIS_SCOPE;
    TRY(tamis_entries_own(&window));
    line_work work = {.reading = reading,
                      .rule = rule,
                      .text = &reading->input->text,
                      .entries = &window,
                      .take = take,
                      .context = context};
    return read_all(&work, body);
}

tamis_status tamis_read_line(const tamis_line_rule *rule, const tamis_bounded_text *text, const char **p,
                             tamis_line_entry *entry) {
    line_fields line = {0};
    const char *const next = parse_line(rule, *p, text->end, &line);
    if (!next) return report_fault(rule, text, line.fault, line.fault_at, NULL);
    *entry = (tamis_line_entry){line.row - rule->base, line.column - rule->base, line.value};
    *p = next;
    return TAMIS_OK;
}
