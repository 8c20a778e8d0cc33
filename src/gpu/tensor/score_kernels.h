/*
 * Scores that are texts (dialect/texts.h) in cells of attention: what takes the place of scale times a product. Without
 * a text nothing of this is compiled. Included after cell_kernels.h; SIDE is defined.
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

/* A score anywhere. */
FUNCTION float text_score(const cell_text &text, float x, float s, int64 row, int64 column) {
    text_place of_row, of_column;
    of_row.at = (float)row, of_column.at = (float)column;
    read_arrays(&of_row, &text.source, OF_ROW, row, 0);
    read_arrays(&of_column, &text.source, OF_COLUMN, column, 0);
    return text_at(&text.source, x, s, &of_row, &of_column, &text.member).p;
}

/* Replaces the products of a thread's two rows, `row` and row + 8, by scores; padding gets scores, too. s:
   the values of S, NULL: there are none. Column numbers are exact up to 2^24. */
FUNCTION void text_scores(float *x, const float *s, const cell_text &text, const cell_columns &cell, int64 row,
                          int64 rows, int lane) {
    const int own = lane % 4 * 2;
    const float first = (float)(cell.start + own);
    text_place of_row[2], of_column[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        of_row[half].at = (float)(row + 8 * half);
        read_arrays(&of_row[half], &text.source, OF_ROW, min64(row + 8 * half, rows - 1), 0);
    }
#pragma unroll
    for (int j = 0; j < SIDE / 8; j++) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const int at = 8 * j + own + k;
            int64 column = min64(cell.start + at, text.cols - 1);
            of_column[k].at = first + (float)(8 * j + k);
            if (cell.start < 0) {
                column = (int64)cell.list[min(at, cell.last)];
                of_column[k].at = (float)(uint32)column;
            }
            read_arrays(&of_column[k], &text.source, OF_COLUMN, column, 0);
        }
#pragma unroll
        for (int i = 4 * j; i < 4 * j + 4; i++)
            x[i] = text_at(&text.source, x[i], s ? s[i] : 1, &of_row[i / 2 % 2], &of_column[i % 2], &text.member).p;
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
