/* Edges on the command line: by name, or as expressions with the numbers of --let. */
#ifndef TOOL_EDGES_H
#define TOOL_EDGES_H

#include <tamis/tamis.h>

/* Keeps an expression for the life of the program; returns its number, TAMIS_EDGE_TEXT or more. Returns -1 if the text
   is a word, which can only be a name, or if there are too many. */
int tool_edge_add(const char *text, size_t length);

/* The name of an edge, or its expression; NULL past the end of the names. */
const char *tool_edge_name(int edge);

/* Parses the numbers of --let, "cap=30,slope=0.2"; NULL: none. Returns 0, or TOOL_USAGE after a message. */
int tool_edges_let(const char *text);

/* Sets the edge of options, with its expression and the numbers. */
void tool_edge_put(int edge, tamis_options *options);

#endif
