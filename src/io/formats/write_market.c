/* Writes Matrix Market files; every number reads back exactly. */
#include <string.h>

#include "base/status.h"
#include "io/formats/writing.h"
#include "io/text/number.h"
#include "sparse/element.h"

/* Room for a line: three numbers, blanks and the line end. */
enum { LINE = 3 * TAMIS_REAL_TEXT };

static tamis_status write_text(tamis_output *output, const char *text) {
    return tamis_output_write(output, text, (int64_t)strlen(text));
}

static tamis_status write_sizes(tamis_output *output, const int64_t *sizes, int count) {
    char line[LINE];
    int length = 0;
    for (int i = 0; i < count; i++) {
        length += tamis_format_integer(line + length, sizes[i]);
        line[length++] = i + 1 < count ? ' ' : '\n';
    }
    return tamis_output_write(output, line, length);
}

static tamis_status write_entry(tamis_output *output, const tamis_sparse *S, int64_t row, int64_t at) {
    char line[LINE];
    int length = tamis_format_integer(line, row + 1);
    line[length++] = ' ';
    length += tamis_format_integer(line + length, tamis_index_load(S->columns, S->index_type, at) + 1);
    if (S->values) {
        line[length++] = ' ';
        length += tamis_format_real(line + length, tamis_element_load(S->values, S->value_type, at),
                                    S->value_type != TAMIS_F64);
    }
    line[length++] = '\n';
    return tamis_output_write(output, line, length);
}

tamis_status tamis_write_market_sparse(tamis_output *output, const tamis_sparse *S) {
    const int64_t sizes[] = {S->rows, S->cols, S->nnz};
    TRY(write_text(output, S->values ? "%%MatrixMarket matrix coordinate real general\n"
                                     : "%%MatrixMarket matrix coordinate pattern general\n"));
    TRY(write_sizes(output, sizes, 3));
    if (S->format == TAMIS_COO) {
        for (int64_t t = 0; t < S->nnz; t++)
            TRY(write_entry(output, S, tamis_index_load(S->row_indices, S->index_type, t), t));
        return TAMIS_OK;
    }
    for (int64_t row = 0; row < S->rows; row++) {
        const int64_t end = tamis_row_start(S, row + 1);
        for (int64_t t = tamis_row_start(S, row); t < end; t++) TRY(write_entry(output, S, row, t));
    }
    return TAMIS_OK;
}

tamis_status tamis_write_market_dense(tamis_output *output, const tamis_dense *dense) {
    const int64_t sizes[] = {dense->rows, dense->cols};
    const bool by_rows = dense->layout == TAMIS_ROW_MAJOR;
    TRY(write_text(output, "%%MatrixMarket matrix array real general\n"));
    TRY(write_sizes(output, sizes, 2));
    const int64_t columns =
        dense->rows > 0 ? dense->cols : 0; /* a dense matrix without rows may have any number of columns */
    for (int64_t column = 0; column < columns; column++) {
        for (int64_t row = 0; row < dense->rows; row++) {
            const int64_t at = by_rows ? row * dense->stride + column : column * dense->stride + row;
            char line[TAMIS_REAL_TEXT + 1];
            int length =
                tamis_format_real(line, tamis_element_load(dense->data, dense->type, at), dense->type != TAMIS_F64);
            line[length++] = '\n';
            TRY(tamis_output_write(output, line, length));
        }
    }
    return TAMIS_OK;
}
