/* Lists whose ids are names, as matrices. */
#ifndef TOOL_LIST_NAMES_H
#define TOOL_LIST_NAMES_H

#include <tamis/data.h>

/* The matrix of a list, and the names of its rows and columns, which are the same for a graph. */
typedef struct tool_named_list {
    tamis_owned_sparse *matrix;
    tamis_names *rows, *columns;
} tool_named_list;

/* Reads a list by the reader of `train`, after another reader has reported that its ids are names. Returns 0 or an exit
   code, after a message. */
int tool_list_read_names(const char *path, const tamis_read_options *reading, const tamis_read_report *report,
                         tool_named_list *list);
void tool_named_list_free(tool_named_list *list);

#endif
