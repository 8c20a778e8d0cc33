/* Spy plots: where the nonzeros of a matrix are, from the raster of its record. */
#include <math.h>

#include "charts.h"
#include "svg.h"

/* Cells of one level as one path of strokes as wide as a cell: runs of neighbours are one stroke. */
static void add_level(tool_text *out, const tool_matrix_record *matrix, char level) {
    bool begun = false;
    for (int64_t i = 0; i < matrix->spy_rows; i++) {
        const char *row = matrix->spy + i * matrix->spy_cols;
        for (int64_t j = 0; j < matrix->spy_cols; j++) {
            if (row[j] != level) continue;
            int64_t run = 1;
            while (j + run < matrix->spy_cols && row[j + run] == level) run++;
            if (!begun) tool_text_add(out, "<path class=\"p%c\" d=\"", level);
            begun = true;
            tool_text_add(out, "M%d %dh%d", (int)j, (int)i, (int)run);
            j += run - 1;
        }
    }
    if (begun) tool_text_add(out, "\"/>");
}

static void describe(tool_text *out, const tool_matrix_record *matrix) {
    tool_text_add(out, "<title>Nonzeros of ");
    tool_add_escaped(out, matrix->matrix);
    tool_text_add(out, "%s</title><desc>%s rows by %s columns, %s nonzeros", matrix->stand_in ? " (stand-in)" : "",
                  tool_word_count(matrix->rows).text, tool_word_count(matrix->cols).text,
                  tool_word_count(matrix->nnz).text);
    if (matrix->class_name) {
        tool_text_add(out, "; ");
        tool_add_escaped(out, matrix->class_name);
    }
    tool_text_add(out, ". Darker cells hold more.</desc>");
}

void tool_chart_spy(tool_text *out, const tool_matrix_record *matrix, int number, double size, bool again) {
    /* the picture has the shape of the matrix, within limits that keep it visible; its units are cells */
    const double shape = matrix->rows > 0 && matrix->cols > 0 ? (double)matrix->cols / (double)matrix->rows : 1;
    const double bounded = fmin(fmax(shape, 0.25), 4);
    tool_text_add(out,
                  "<svg class=\"spy\" viewBox=\"0 0 %d %d\" width=\"%.0f\" height=\"%.0f\" "
                  "preserveAspectRatio=\"none\" ",
                  (int)matrix->spy_cols, (int)matrix->spy_rows, bounded >= 1 ? size : size * bounded,
                  bounded >= 1 ? size / bounded : size);
    if (again) {
        tool_text_add(out, "aria-hidden=\"true\"><use href=\"#spy%d\"/></svg>", number);
        return;
    }
    tool_text_add(out, "role=\"img\">");
    describe(out, matrix);
    tool_text_add(out, "<g id=\"spy%d\" transform=\"translate(0 .5)\">", number);
    for (int level = '1'; level <= '9'; level++) add_level(out, matrix, (char)level);
    tool_text_add(out, "</g></svg>");
}
