/* Elements of SVG. */
#include "svg.h"

#include <math.h>

void tool_svg_begin(tool_text *out, double width, double height, const char *title, const char *description) {
    tool_text_add(out, "<svg role=\"img\" viewBox=\"0 0 %.0f %.0f\"><title>", width, ceil(height));
    tool_add_escaped(out, title);
    tool_text_add(out, "</title><desc>");
    tool_add_escaped(out, description);
    tool_text_add(out, "</desc>");
}

void tool_svg_begin_file(tool_text *out, double width, double height, const char *style, const char *title,
                         const char *description) {
    tool_text_add(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                  "height=\"%.0f\"><title>",
                  width, ceil(height), width, ceil(height));
    tool_add_escaped(out, title);
    tool_text_add(out, "</title><desc>");
    tool_add_escaped(out, description);
    tool_text_add(out, "</desc>\n<style>\n%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
                  style);
    tool_svg_text(out, "head", 16, 24, title, 90);
}

void tool_svg_end(tool_text *out) { tool_text_add(out, "</svg>\n"); }

double tool_svg_label_width(int characters) {
    if (characters > TOOL_SVG_LABEL) characters = TOOL_SVG_LABEL;
    return characters < 10 ? 76 : 8 + 6.8 * characters;
}

static void add_class(tool_text *out, const char *class_name) {
    if (*class_name) tool_text_add(out, " class=\"%s\"", class_name);
}

void tool_svg_text(tool_text *out, const char *class_name, double x, double y, const char *text, int most) {
    tool_text_add(out, "<text");
    add_class(out, class_name);
    tool_text_add(out, " x=\"%s\" y=\"%s\">", tool_word_place(x).text, tool_word_place(y).text);
    tool_add_escaped_short(out, text, most);
    tool_text_add(out, "</text>");
}

void tool_svg_line(tool_text *out, const char *class_name, double x1, double y1, double x2, double y2) {
    tool_text_add(out, "<path");
    add_class(out, class_name);
    tool_text_add(out, " d=\"M%s %sL%s %s\"/>", tool_word_place(x1).text, tool_word_place(y1).text,
                  tool_word_place(x2).text, tool_word_place(y2).text);
}

static tool_word tick_word(double value, char kind) {
    tool_word word;
    if (kind == 't') {
        static const struct {
            double scale;
            const char *unit;
        } units[] = {{1e6, "ns"}, {1e3, "\u00b5s"}, {1, "ms"}, {1e-3, "s"}};
        if (value == 0) return (tool_word){"0"};
        const int unit = value < 0.9999e-3 ? 0 : value < 0.9999 ? 1 : value < 999.9 ? 2 : 3;
        snprintf(word.text, sizeof word.text, "%.4g\u00a0%s", value * units[unit].scale, units[unit].unit);
    } else if (kind == 'x') {
        snprintf(word.text, sizeof word.text, "%.4g\u00d7", value);
    } else if (value >= 999.9) {
        static const char *const units[] = {"", "\u00a0k", "\u00a0M", "\u00a0G", "\u00a0T"};
        int unit = 0;
        while (value >= 999.9 && unit < 4) value /= 1000, unit++;
        snprintf(word.text, sizeof word.text, "%.4g%s", value, units[unit]);
    } else {
        snprintf(word.text, sizeof word.text, "%.4g", value);
    }
    return word;
}

void tool_svg_axis_x(tool_text *out, const tool_axis *axis, double top, double bottom, char kind) {
    tool_text_add(out, "<path class=\"g\" d=\"");
    for (int i = 0; i < axis->ticks; i++) {
        tool_text_add(out, "M%s %sV%s", tool_word_place(tool_axis_at(axis, axis->tick[i])).text,
                      tool_word_place(top).text, tool_word_place(bottom).text);
    }
    tool_text_add(out, "\"/>");
    tool_text_add(out, "<g class=\"t\" transform=\"translate(0 %s)\">", tool_word_place(bottom + 14).text);
    for (int i = 0; i < axis->ticks; i++) {
        tool_text_add(out, "<text x=\"%s\">%s</text>", tool_word_place(tool_axis_at(axis, axis->tick[i])).text,
                      tick_word(axis->tick[i], kind).text);
    }
    tool_text_add(out, "</g>");
}

void tool_svg_axis_y(tool_text *out, const tool_axis *axis, double left, double right, char kind) {
    tool_text_add(out, "<path class=\"g\" d=\"");
    for (int i = 0; i < axis->ticks; i++) {
        tool_text_add(out, "M%s %sH%s", tool_word_place(left).text,
                      tool_word_place(tool_axis_at(axis, axis->tick[i])).text, tool_word_place(right).text);
    }
    tool_text_add(out, "\"/>");
    tool_text_add(out, "<g class=\"e\" transform=\"translate(%s)\">", tool_word_place(left - 5).text);
    for (int i = 0; i < axis->ticks; i++) {
        tool_text_add(out, "<text y=\"%s\">%s</text>", tool_word_place(tool_axis_at(axis, axis->tick[i]) + 4).text,
                      tick_word(axis->tick[i], kind).text);
    }
    tool_text_add(out, "</g>");
}
