/*
 * The columns that a row of a mask keeps, where they are at most two runs: the same as sparse/mask_runs.c, on the
 * device. Kernels that take RUNS_PARAMETERS begin with `const mask_runs mask = MASK_RUNS;`.
 */
typedef struct mask_runs {
    int64 rows, cols, from_place, left, right, globals; /* of a member */
    GLOBAL const int32 *lengths, *row_lengths;          /* NULL: all */
    int32 length_wide, from_end, causal, everything, sinks, turned;
} mask_runs;

#define RUNS_PARAMETERS                                                                                                \
    int64 of_rows, int64 of_cols, int64 from_place, int64 left, int64 right, int64 globals, IN(int32, lengths),        \
        int32 has_lengths, IN(int32, row_lengths), int32 has_row_lengths, int32 length_wide, int32 from_end,           \
        int32 causal, int32 everything, int32 sinks, int32 turned
#define MASK_RUNS                                                                                                      \
    {                                                                                                                  \
        of_rows, of_cols, from_place, left, right, globals, has_lengths ? lengths : 0,                                 \
            has_row_lengths ? row_lengths : 0, length_wide, from_end, causal, everything, sinks, turned                \
    }

/* Two runs begin[k] .. end[k] - 1, in order, apart; an empty one may have any begin. */
typedef struct row_runs {
    int64 begin[2], end[2];
} row_runs;

FUNCTION int64 length_at(GLOBAL const int32 *from, int64 member, int32 is_wide, int64 all) {
    return !from ? all : is_wide ? ((GLOBAL const int64 *)from)[member] : (int64)from[member];
}

FUNCTION row_runs two_runs(int64 begin, int64 end, int64 second, int64 second_end) {
    row_runs runs;
    runs.begin[0] = begin;
    runs.end[0] = max64(begin, end);
    runs.begin[1] = second;
    runs.end[1] = max64(second, second_end);
    return runs;
}

FUNCTION row_runs runs_of_row(mask_runs m, int64 i, int64 place, int64 length, int64 row_length) {
    const int32 is_global = !m.sinks && place >= 0 && place < min64(m.globals, m.cols);
    const int64 end = i >= row_length ? 0 : max64(m.causal ? min64(length, place + 1) : length, 0);
    if (is_global || m.everything) return two_runs(0, end, end, end);
    const int64 head = min64(m.globals, end);
    int64 window = end, window_end = end;
    if (m.left >= 0 || m.right >= 0) window = m.left < 0 ? 0 : min64(max64(place - m.left, 0), end);
    if (m.right >= 0) window_end = min64(place + m.right + 1, end);
    return two_runs(0, head, max64(window, head), window_end);
}

/* The rows that keep column j. */
FUNCTION row_runs runs_of_column(mask_runs m, int64 j, int64 ahead, int64 length, int64 row_length) {
    const int64 first = m.causal ? min64(max64(j - ahead, 0), row_length) : 0;
    const int64 end = j < length ? row_length : first;
    if (j < m.globals || m.everything) return two_runs(first, end, end, end);
    const int32 has_window = m.left >= 0 || m.right >= 0;
    int64 begin = end, global_end = end, window = end, window_end = end;
    if (!m.sinks) {
        begin = min64(max64(first, -ahead), end);
        global_end = max64(min64(min64(m.globals, m.cols) - ahead, end), begin);
    }
    if (has_window) window = m.right < 0 ? first : min64(max64(j - m.right - ahead, first), end);
    if (has_window && m.left >= 0) window_end = max64(min64(j + m.left - ahead + 1, end), window);
    if (window <= begin || global_end <= begin) return two_runs(window, window_end, window_end, window_end);
    return two_runs(begin, global_end, max64(window, global_end), window_end);
}

/* The runs of row r, of the transpose if `turned`. */
FUNCTION row_runs runs_of(mask_runs m, int64 r) {
    const int64 member = r / (m.turned ? m.cols : m.rows), own = r - member * (m.turned ? m.cols : m.rows);
    const int64 length = length_at(m.lengths, member, m.length_wide, m.cols);
    const int64 row_length = length_at(m.row_lengths, member, m.length_wide, m.rows);
    const int64 ahead = m.from_place + (m.from_end ? length - m.rows : 0); /* of a row's place before its number */
    const int64 before = member * (m.turned ? m.rows : m.cols);
    row_runs runs = m.turned ? runs_of_column(m, own, ahead, length, row_length)
                             : runs_of_row(m, own, own + ahead, length, row_length);
    for (int k = 0; k < 2; k++) {
        runs.begin[k] += before;
        runs.end[k] += before;
    }
    return runs;
}
