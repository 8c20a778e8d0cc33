#include "sparse/mask_runs.h"

#include "sparse/index.h"

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

bool tamis_mask_has_runs(const tamis_mask *m) {
    return m->every == 0 && m->dilation == 1 && m->global_count == 0 && (!m->blocks || m->blocks->nnz == 0);
}

bool tamis_mask_keeps_all(const tamis_mask *m) {
    return m->left < 0 && m->right < 0 && !m->every && !m->globals && !m->global_count && !m->blocks;
}

/* A row keeps the first places and the window, both cut at the end; a global token's row everything up to the end. */
static tamis_runs runs_of_row(const tamis_mask *m, int64_t i, int64_t place, int64_t length, int64_t row_length) {
    const bool global = !m->sinks && place >= 0 && place < smaller(m->globals, m->cols);
    const int64_t end = i >= row_length ? 0 : larger(m->causal ? smaller(length, place + 1) : length, 0);
    if (global || tamis_mask_keeps_all(m)) return (tamis_runs){{0, end}, {end, end}};
    const int64_t head = smaller(m->globals, end);
    int64_t window = end, window_end = end;
    if (m->left >= 0 || m->right >= 0) window = m->left < 0 ? 0 : smaller(larger(place - m->left, 0), end);
    if (m->right >= 0) window_end = smaller(place + m->right + 1, end);
    window = larger(window, head);
    return (tamis_runs){{0, window}, {head, larger(window, window_end)}};
}

/* A column of the first places is kept by all rows that reach it. Any other by the rows of global tokens, and by those
   whose windows have it: of these two runs the later one has the earlier one's end, or all of it. */
static tamis_runs runs_of_column(const tamis_mask *m, int64_t j, int64_t ahead, int64_t length, int64_t row_length) {
    const int64_t first = m->causal ? smaller(larger(j - ahead, 0), row_length) : 0;
    const int64_t end = j < length ? row_length : first;
    if (j < m->globals || tamis_mask_keeps_all(m)) return (tamis_runs){{first, end}, {end, end}};
    const bool has_window = m->left >= 0 || m->right >= 0;
    int64_t begin = end, global_end = end, window = end, window_end = end;
    if (!m->sinks) {
        begin = smaller(larger(first, -ahead), end);
        global_end = larger(smaller(smaller(m->globals, m->cols) - ahead, end), begin);
    }
    if (has_window) window = m->right < 0 ? first : smaller(larger(j - m->right - ahead, first), end);
    if (has_window && m->left >= 0) window_end = larger(smaller(j + m->left - ahead + 1, end), window);
    if (window <= begin || global_end <= begin) return (tamis_runs){{window, window_end}, {window_end, window_end}};
    return (tamis_runs){{begin, larger(window, global_end)},
                        {global_end, larger(larger(window, global_end), window_end)}};
}

tamis_runs tamis_mask_runs(const tamis_mask *m, bool turned, int64_t row) {
    const int64_t member = row / (turned ? m->cols : m->rows), own = row - member * (turned ? m->cols : m->rows);
    const int64_t length = m->lengths ? tamis_index_load(m->lengths, m->length_type, member) : m->cols;
    const int64_t row_length = m->row_lengths ? tamis_index_load(m->row_lengths, m->length_type, member) : m->rows;
    const int64_t ahead = m->offset + (m->from_end ? length - m->rows : 0); /* of a row's place before its number */
    const int64_t before = member * (turned ? m->rows : m->cols);
    tamis_runs runs = turned ? runs_of_column(m, own, ahead, length, row_length)
                             : runs_of_row(m, own, own + ahead, length, row_length);
    for (int k = 0; k < 2; k++) {
        runs.begins[k] += before;
        runs.ends[k] += before;
    }
    return runs;
}
