/* Dots in rows on one logarithmic axis of ratios. */
#include <math.h>
#include <string.h>

#include "charts.h"
#include "svg.h"

enum { ROW = 18, TOP = 4, RIGHT = 292 };

static tool_axis ratios_axis(int rows, const tool_dot_row *row, double left) {
    double low = 1, high = 1;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < row[i].dots; j++) {
            const double at = row[i].dot[j].at;
            if (!(at > 0) || !isfinite(at)) continue;
            if (at < low) low = at;
            if (at > high) high = at;
        }
    }
    const double room = fmax(1.03, pow(high / low, 0.06));
    return tool_axis_log(low / room, high * room, left, RIGHT, 5);
}

void tool_chart_dots(tool_text *out, const char *title, const char *description, const char *lower, const char *upper,
                     int rows, const tool_dot_row *row) {
    int longest = 0;
    for (int i = 0; i < rows; i++) {
        const int characters = (int)strlen(row[i].label) + row[i].starred;
        if (characters > longest) longest = characters;
    }
    const double left = round(tool_svg_label_width(longest));
    const tool_axis axis = ratios_axis(rows, row, left);
    const double bottom = TOP + ROW * rows;
    tool_svg_begin(out, TOOL_SVG_WIDTH, bottom + 36, title, description);
    tool_svg_axis_x(out, &axis, TOP, bottom, 'x');
    const double one = tool_axis_at(&axis, 1);
    tool_svg_line(out, "u", one, TOP, one, bottom);
    tool_svg_text(out, "q", left, bottom + 31, lower, 40);
    tool_svg_text(out, "e q", RIGHT, bottom + 31, upper, 40);
    for (int i = 0; i < rows; i++) {
        const double y = TOP + ROW * i + ROW / 2.0;
        tool_text label = {0};
        tool_text_add(&label, "%.*s%s", 80, row[i].label, row[i].starred ? "*" : "");
        tool_svg_text(out, "e", left - 6, y + 4, tool_text_get(&label), TOOL_SVG_LABEL);
        tool_text_free(&label);
        if (row[i].word.text[0]) tool_svg_text(out, "e", TOOL_SVG_WIDTH, y + 4, row[i].word.text, 12);
        tool_svg_line(out, "h", left, y, RIGHT, y);
        for (int j = 0; j < row[i].dots; j++) {
            const tool_dot *dot = &row[i].dot[j];
            if (!(dot->at > 0) || !isfinite(dot->at)) continue;
            tool_text_add(out, "<path class=\"%s\" d=\"", tool_mark_class(dot->colour, dot->shape).text);
            tool_add_mark(out, dot->shape, tool_axis_at(&axis, dot->at), y, 4.2);
            tool_text_add(out, "\"/>");
        }
    }
    tool_svg_end(out);
}
