/* Tables. Widths count characters, not bytes, so that UTF-8 names of files stay aligned. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/text.h"

void tool_table_start(tool_table *table, int columns, const tool_column *column) {
    *table = (tool_table){.columns = columns};
    memcpy(table->column, column, (size_t)columns * sizeof *column);
}

void tool_table_row(tool_table *table, const char *const *cells) {
    if (table->rows == table->capacity) {
        table->capacity = table->capacity ? table->capacity * 2 : 16;
        table->cells = tool_grow(table->cells, (size_t)table->capacity * (size_t)table->columns, sizeof *table->cells);
    }
    char **row = table->cells + (size_t)table->rows * (size_t)table->columns;
    for (int i = 0; i < table->columns; i++) row[i] = tool_copy(cells[i]);
    table->rows++;
}

static int characters(const char *text) {
    int count = 0;
    for (; *text; text++) count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void print_cell(FILE *out, const char *cell, const tool_column *column, bool last) {
    const int padding = column->width - characters(cell);
    if (column->right && padding > 0) fprintf(out, "%*s", padding, "");
    fputs(cell, out);
    if (!column->right && padding > 0 && !last) fprintf(out, "%*s", padding, "");
    if (!last) fputs("  ", out);
}

/* Prints a line without trailing blanks. */
static void print_line(const tool_table *table, FILE *out, const char *const *cells) {
    int last = table->columns - 1;
    while (last > 0 && !cells[last][0]) last--;
    for (int i = 0; i <= last; i++) print_cell(out, cells[i], &table->column[i], i == last);
    fputc('\n', out);
}

void tool_table_print_header(const tool_table *table, FILE *out) {
    const char *titles[TOOL_TABLE_COLUMNS];
    for (int i = 0; i < table->columns; i++) titles[i] = table->column[i].title;
    print_line(table, out, titles);
}

void tool_table_print_row(const tool_table *table, FILE *out, const char *const *cells) {
    print_line(table, out, cells);
}

void tool_table_print(tool_table *table, FILE *out, int indent) {
    bool titled = false;
    int start = indent;
    for (int i = 0; i < table->columns; i++) {
        tool_column *column = &table->column[i];
        if (characters(column->title) > column->width) column->width = characters(column->title);
        titled |= column->title[0] != 0;
        for (int row = 0; row < table->rows; row++) {
            const int width = characters(table->cells[(size_t)row * (size_t)table->columns + (size_t)i]);
            if (width > column->width) column->width = width;
        }
        if (i + 1 < table->columns) start += column->width + 2;
    }
    if (titled) {
        fprintf(out, "%*s", indent, "");
        tool_table_print_header(table, out);
    }
    const int width = tool_terminal_width();
    for (int row = 0; row < table->rows; row++) {
        char **cells = table->cells + (size_t)row * (size_t)table->columns;
        fprintf(out, "%*s", indent, "");
        for (int i = 0; i + 1 < table->columns; i++) print_cell(out, cells[i], &table->column[i], false);
        const tool_column *last = &table->column[table->columns - 1];
        if (last->right || start + 20 > width) {
            print_cell(out, cells[table->columns - 1], last, true);
            fputc('\n', out);
        } else {
            tool_wrap(out, cells[table->columns - 1], start, start, width);
        }
        for (int i = 0; i < table->columns; i++) free(cells[i]);
    }
    free(table->cells);
    table->cells = NULL;
    table->rows = table->capacity = 0;
}
