/*
 * Scores that are texts (dialect/texts.h) in cells of attention: what takes the place of scale times a product. Without
 * a text nothing of this is compiled. Included after cell_kernels.h; SIDE is defined, and BY_COLUMNS if a panel's own
 * rows may be columns of S.
 */
#if defined(EDGE_TEXT)
#define SCORES_ARE_TEXTS 1

/* A text in a kernel of cells: what it reads of the group's member. */
typedef struct cell_text {
    text_source source;
    text_place member;
    int64 cols;
} cell_text;

/* Where the columns of a cell are: contiguous from `start`, or if that is -1 in a list. */
typedef struct cell_columns {
    const index *list;
    int32 start, last;
} cell_columns;

FUNCTION cell_columns columns_of(const cell_record *cell, int32 start, const index *lists) {
    return {lists + cell->list, start, cell->last};
}

#ifndef BY_COLUMNS
#define BY_COLUMNS 0
#endif
#define OF_OWN   (BY_COLUMNS ? OF_COLUMN : OF_ROW)
#define OF_OTHER (BY_COLUMNS ? OF_ROW : OF_COLUMN)

/* A score of a panel's own row and one of the others, and its derivative by x. */
FUNCTION text_results score_at(const cell_text &text, float x, float s, const text_place &own,
                               const text_place &other) {
    return text_at(&text.source, x, s, BY_COLUMNS ? &other : &own, BY_COLUMNS ? &own : &other, &text.member);
}
FUNCTION text_results text_score(const cell_text &text, float x, float s, int64 row, int64 column) {
    text_place own, other;
    own.at = (float)row, other.at = (float)column;
    read_arrays(&own, &text.source, OF_OWN, row, 0);
    read_arrays(&other, &text.source, OF_OTHER, column, 0);
    return score_at(text, x, s, own, other);
}

/* Replaces the products of a thread's two rows, `row` and row + 8, by scores; padding gets scores, too. slopes: the
   scores' derivatives, NULL: not wanted; s: the values of S, NULL: there are none. Column numbers are exact up to
   2^24. */
FUNCTION void text_scores(float *x, float *slopes, const float *s, const cell_text &text, const cell_columns &cell,
                          int64 row, int64 rows, int lane) {
    const int first = lane % 4 * 2;
    const float start = (float)(cell.start + first);
    text_place own[2], other[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        own[half].at = (float)(row + 8 * half);
        read_arrays(&own[half], &text.source, OF_OWN, min64(row + 8 * half, rows - 1), 0);
    }
#pragma unroll
    for (int j = 0; j < SIDE / 8; j++) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const int at = 8 * j + first + k;
            int64 column = min64(cell.start + at, text.cols - 1);
            other[k].at = start + (float)(8 * j + k);
            if (cell.start < 0) {
                column = (int64)cell.list[min(at, cell.last)];
                other[k].at = (float)(uint32)column;
            }
            read_arrays(&other[k], &text.source, OF_OTHER, column, 0);
        }
#pragma unroll
        for (int i = 4 * j; i < 4 * j + 4; i++) {
            const text_results found = score_at(text, x[i], s ? s[i] : 1, own[i / 2 % 2], other[i % 2]);
            x[i] = found.p;
            if (slopes) slopes[i] = found.by_x;
        }
    }
}

/* In a kernel: the text of its member. */
#define TAKE_SCORES                                                                                                    \
    cell_text scores;                                                                                                  \
    {                                                                                                                  \
        TAKE_TEXT(first_member + GROUP_Z);                                                                             \
        scores.source = text, scores.cols = cols;                                                                      \
        read_arrays(&scores.member, &text, OF_MEMBER, 0, 0);                                                           \
    }
#define AND_SCORES , scores
#else
#define SCORES_ARE_TEXTS 0
#define TAKE_SCORES
#define AND_SCORES
#endif
