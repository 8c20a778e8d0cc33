/* Tables in aligned columns. Rows are collected and printed together, or printed one by one in fixed widths. */
#ifndef TOOL_TABLE_H
#define TOOL_TABLE_H

#include <stdbool.h>
#include <stdio.h>

enum { TOOL_TABLE_COLUMNS = 16 };

typedef struct tool_column {
    const char *title;
    bool right; /* numbers */
    int width;  /* least width */
} tool_column;

typedef struct tool_table {
    int columns, rows;
    tool_column column[TOOL_TABLE_COLUMNS];
    char **cells; /* rows x columns */
    int capacity;
} tool_table;

void tool_table_start(tool_table *table, int columns, const tool_column *column);
/* Adds a row of `columns` strings, which are copied. */
void tool_table_row(tool_table *table, const char *const *cells);
/* Prints all rows, with the last column wrapped to the terminal if it is text, and empties the table. */
void tool_table_print(tool_table *table, FILE *out, int indent);

/* Print the header, or one row, at once, in minimum widths. */
void tool_table_print_header(const tool_table *table, FILE *out);
void tool_table_print_row(const tool_table *table, FILE *out, const char *const *cells);

#endif
