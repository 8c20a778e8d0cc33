/* How a method looks: its colour tells the family (ours, each paper, baselines, peers), its shape the member. */
#ifndef TOOL_STYLE_H
#define TOOL_STYLE_H

#include "cases.h"

typedef struct tool_style {
    const char *algorithm;
    const char *family; /* "ours", "Nisa et al.", "peer", "baseline" */
    int colour;         /* of the classes c0 .. c8 in page.css */
    int shape;
} tool_style;

typedef struct tool_styles {
    int count;
    tool_style *at;
} tool_styles;

/* A style for every algorithm that occurs. */
void tool_styles_build(const tool_results *results, tool_styles *styles);
void tool_styles_free(tool_styles *styles);
const tool_style *tool_styles_of(const tool_styles *styles, const tool_measurement *one);

/* The classes of a mark; a family with more members than there are shapes goes on with hollow ones. */
tool_word tool_mark_class(int colour, int shape);

/* Adds the outline of a mark around (x, y) to the data of a path. */
void tool_add_mark(tool_text *data, int shape, double x, double y, double radius);

/* Adds a legend of the algorithms of the cases (HTML); every style that `used` says. */
void tool_add_legend(tool_text *out, const tool_styles *styles, const bool *used);

#endif
