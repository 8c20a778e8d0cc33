/* The charts of the page. Each adds one drawing. */
#ifndef TOOL_CHARTS_H
#define TOOL_CHARTS_H

#include "cases.h"
#include "style.h"

/* Bars of the medians of a case, fastest first, with the quartiles as whiskers and the least time as a tick. */
void tool_chart_bars(tool_text *out, const tool_case *one);

/* Points in rows along one logarithmic axis of ratios, with a line at 1. */
typedef struct tool_dot {
    double at;
    int colour, shape;
} tool_dot;

typedef struct tool_dot_row {
    const char *label;
    bool starred;   /* a stand-in */
    tool_word word; /* at the right; "" for none */
    int dots;
    tool_dot *dot;
} tool_dot_row;

void tool_chart_dots(tool_text *out, const char *title, const char *description, const char *lower, const char *upper,
                     int rows, const tool_dot_row *row);

/* Attained speed over flops a byte, below the ceilings of the run. */
typedef struct tool_roof_point {
    double intensity, gflops;
    int style;
} tool_roof_point;

typedef struct tool_roof {
    const tool_run_record *run; /* NULL: no ceilings are known */
    bool doubles;               /* fp64 has its own ceiling */
    double low_x, high_x, low_y, high_y;
    double width, height;
    const char *style; /* of a drawing that is a file of its own, with its legend below; NULL: part of the page */
} tool_roof;

/* The measurements of a machine's cases, of one class or of all, but those with parameters of their own: at most as
   many as there are measurements. Marks the styles that occur in `used`. */
int tool_roof_points(const tool_cases *cases, const tool_styles *styles, int machine, const char *class_name, bool all,
                     tool_roof_point *points, bool *used);

/* Widens the ranges so that points and ceilings lie within them. */
void tool_roof_fit(tool_roof *roof, int points, const tool_roof_point *point);
void tool_chart_roofline(tool_text *out, const tool_roof *roof, const tool_styles *styles, int points,
                         const tool_roof_point *point, const char *title, const char *description);

/* The raster of a matrix, `size` units along its longer side; `number` is its own on the page. Again: the same one in
   another place, hidden from readers. */
void tool_chart_spy(tool_text *out, const tool_matrix_record *matrix, int number, double size, bool again);

/* What n calls cost each, set-up included, against n. Adds to `findings` which method is the cheapest for how many
 * calls. */
void tool_chart_calls(tool_text *out, const tool_case *one, const char *setting, const tool_styles *styles,
                      tool_text *findings);

#endif
