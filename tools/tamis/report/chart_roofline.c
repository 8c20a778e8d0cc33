/* Rooflines: what the memory, the caches and the arithmetic of a machine allow, and what was attained. */
#include <math.h>

#include "charts.h"
#include "svg.h"

typedef struct slope {
    const char *name;
    double gbs;
} slope;

enum { SLOPES = 4 };

/* The bandwidths of all threads that are known, slowest first. */
static int slopes_of(const tool_run_record *run, slope *slopes) {
    const slope all[SLOPES] = {
        {"memory", run->memory_gbs[1]}, {"L3", run->l3_gbs[1]}, {"L2", run->l2_gbs[1]}, {"L1", run->l1_gbs[1]}};
    int count = 0;
    for (int i = 0; i < SLOPES; i++) {
        if (all[i].gbs > 0 && isfinite(all[i].gbs)) slopes[count++] = all[i];
    }
    return count;
}

static void include(double value, double *low, double *high) {
    if (!(value > 0) || !isfinite(value)) return;
    if (!(*low > 0) || value < *low) *low = value;
    if (!(*high > 0) || value > *high) *high = value;
}

void tool_roof_fit(tool_roof *roof, int points, const tool_roof_point *point) {
    for (int i = 0; i < points; i++) {
        include(point[i].intensity, &roof->low_x, &roof->high_x);
        include(point[i].gflops, &roof->low_y, &roof->high_y);
    }
    const tool_run_record *run = roof->run;
    if (run && run->fp32_gflops[1] > 0) {
        include(run->fp32_gflops[1], &roof->low_y, &roof->high_y);
        if (run->memory_gbs[1] > 0) {
            const double ridge = run->fp32_gflops[1] / run->memory_gbs[1];
            include(ridge, &roof->low_x, &roof->high_x);
            include(ridge * 2.5, &roof->low_x, &roof->high_x);
            if (points == 0) include(ridge / 100, &roof->low_x, &roof->high_x);
            if (points == 0) include(run->fp32_gflops[1] / 100, &roof->low_y, &roof->high_y);
        }
    }
}

/* A bandwidth's line up to the peak, with its name along it. */
static void add_slope(tool_text *out, const tool_axis *x, const tool_axis *y, const slope *one, double peak,
                      double above) {
    double from = x->low, to = x->high;
    if (from * one->gbs < y->low) from = y->low / one->gbs;
    const double top = peak > 0 ? fmin(peak, y->high) : y->high;
    if (to * one->gbs > top) to = top / one->gbs;
    if (!(to > from)) return;
    const double x1 = tool_axis_at(x, from), y1 = tool_axis_at(y, from * one->gbs);
    const double x2 = tool_axis_at(x, to), y2 = tool_axis_at(y, to * one->gbs);
    tool_svg_line(out, above > 0 ? "r r2" : "r", x1, y1, x2, y2);
    const double angle = atan2(y2 - y1, x2 - x1), length = hypot(x2 - x1, y2 - y1);
    if (length < 62) return;
    tool_text name = {0};
    tool_text_add(&name, "%s %s GB/s", one->name, tool_word_short(one->gbs).text);
    const double at = length > 150 ? 14 : 6;
    const double tx = x1 + at * cos(angle) + 4 * sin(angle), ty = y1 + at * sin(angle) - 4 * cos(angle);
    tool_text_add(out, "<text class=\"q\" transform=\"translate(%s %s)rotate(%s)\">%s</text>", tool_word_place(tx).text,
                  tool_word_place(ty).text, tool_word_place(angle * 180 / 3.14159265358979).text, tool_text_get(&name));
    tool_text_free(&name);
}

static void add_peak(tool_text *out, const tool_roof *roof, const tool_axis *x, const tool_axis *y, const char *name,
                     double peak, double slowest) {
    if (!(peak > 0) || peak > y->high * 1.001 || peak < y->low) return;
    const double from = slowest > 0 ? peak / slowest : x->low;
    const double place = tool_axis_at(y, peak), right = tool_axis_at(x, x->high);
    tool_svg_line(out, "r", tool_axis_at(x, fmax(from, x->low)), place, right, place);
    tool_text text = {0};
    tool_text_add(&text, "%s %s GFLOP/s", name, tool_word_short(peak).text);
    tool_svg_text(out, "e q", roof->width - 16, place - 5, tool_text_get(&text), 40);
    tool_text_free(&text);
}

static void add_points(tool_text *out, const tool_axis *x, const tool_axis *y, const tool_styles *styles, int points,
                       const tool_roof_point *point) {
    for (int i = 0; i < styles->count; i++) {
        bool begun = false;
        for (int j = 0; j < points; j++) {
            if (point[j].style != i || !(point[j].intensity > 0) || !(point[j].gflops > 0)) continue;
            if (!begun) {
                tool_text_add(out, "<path class=\"%s\" d=\"",
                              tool_mark_class(styles->at[i].colour, styles->at[i].shape).text);
            }
            begun = true;
            tool_add_mark(out, styles->at[i].shape, tool_axis_at(x, point[j].intensity),
                          tool_axis_at(y, point[j].gflops), 3.4);
        }
        if (begun) tool_text_add(out, "\"/>");
    }
}

/* The styles that occur, in columns below the chart. Returns the height that it takes; draws unless out is NULL. */
static double add_legend(tool_text *out, const tool_roof *roof, const tool_styles *styles, int points,
                         const tool_roof_point *point, double top) {
    enum { COLUMN = 176, ROW = 20 };
    const int columns = (int)((roof->width - 32) / COLUMN);
    int number = 0;
    for (int i = 0; i < styles->count; i++) {
        bool used = false;
        for (int j = 0; j < points && !used; j++) used = point[j].style == i;
        if (!used) continue;
        const int row = number / columns;
        const double x = 24 + COLUMN * (number % columns), y = top + ROW * row;
        number++;
        if (!out) continue;
        tool_text_add(out, "<path class=\"%s\" d=\"", tool_mark_class(styles->at[i].colour, styles->at[i].shape).text);
        tool_add_mark(out, styles->at[i].shape, x, y, 4.5);
        tool_text_add(out, "\"/>");
        tool_svg_text(out, "", x + 10, y + 4, styles->at[i].algorithm, 26);
    }
    return number > 0 ? 20 + ROW * ((number + columns - 1) / columns) : 0;
}

void tool_chart_roofline(tool_text *out, const tool_roof *roof, const tool_styles *styles, int points,
                         const tool_roof_point *point, const char *title, const char *description) {
    const double left = roof->style ? 60 : 44, head = roof->style ? 40 : 0, right = roof->width - 16;
    const double top = head + 16, bottom = head + roof->height - 34;
    const tool_axis x = tool_axis_log(roof->low_x / 1.3, roof->high_x * 1.2, left, right, 6);
    const tool_axis y = tool_axis_log(roof->low_y / 1.5, roof->high_y * 1.9, bottom, top, 7);
    if (roof->style) {
        const double legend = add_legend(NULL, roof, styles, points, point, 0);
        tool_svg_begin_file(out, roof->width, head + roof->height + legend, roof->style, title, description);
    } else {
        tool_svg_begin(out, roof->width, roof->height, title, description);
    }
    tool_svg_axis_x(out, &x, top, bottom, 'n');
    tool_svg_axis_y(out, &y, left, right, 'n');
    tool_svg_text(out, "q", left, top - 6, "GFLOP/s", 20);
    tool_svg_text(out, "e q", right, bottom + 30, "flop a byte", 20);
    slope slopes[SLOPES];
    const int count = roof->run ? slopes_of(roof->run, slopes) : 0;
    const double peak = roof->run ? roof->run->fp32_gflops[1] : 0;
    double fastest = 0;
    for (int i = 0; i < count; i++) {
        add_slope(out, &x, &y, &slopes[i], peak, i);
        if (slopes[i].gbs > fastest) fastest = slopes[i].gbs;
    }
    if (roof->run) {
        add_peak(out, roof, &x, &y, "fp32", peak, fastest);
        if (roof->doubles) add_peak(out, roof, &x, &y, "fp64", roof->run->fp64_gflops[1], fastest);
    }
    add_points(out, &x, &y, styles, points, point);
    if (roof->style) add_legend(out, roof, styles, points, point, head + roof->height + 8);
    tool_svg_end(out);
}
