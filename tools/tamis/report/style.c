/* Styles of methods. Colours are those of Okabe and Ito, which the colour-blind tell apart; shapes repeat the message.
 */
#include "style.h"

#include <stdlib.h>
#include <string.h>
#include <tamis/algorithms.h>
#include <tamis/tamis.h>

#include "exit.h"
#include "markup.h"

enum { SHAPES = 7 };

/* Of papers: how the sources of their algorithms begin. */
static const char *const families[] = {"ours",        "Costa et al.", "Yu et al.", "Lin, Hsu, Chen", "Zubair, Bauinger",
                                       "Nisa et al.", "peer",         "baseline",  "other"};
enum { FAMILIES = sizeof families / sizeof *families, OURS = 0, PEER = 6, BASELINE = 7, OTHER = 8 };

static int family_of(const tool_measurement *one) {
    if (one->peer) return PEER;
    tamis_algorithm_description description;
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        if (tamis_algorithm_at(i, &description) != TAMIS_OK || strcmp(description.name, one->algorithm) != 0) continue;
        if (description.baseline) return BASELINE;
        for (int j = 0; j < FAMILIES; j++) {
            if (strncmp(description.source, families[j], strlen(families[j])) == 0) return j;
        }
    }
    return OTHER;
}

void tool_styles_build(const tool_results *results, tool_styles *styles) {
    *styles = (tool_styles){0};
    int members[FAMILIES] = {0};
    for (int i = 0; i < results->measurements; i++) {
        const tool_measurement *one = &results->measurement[i];
        if (tool_styles_of(styles, one)) continue;
        const int family = family_of(one);
        styles->at = tool_grow(styles->at, (size_t)styles->count + 1, sizeof *styles->at);
        styles->at[styles->count++] = (tool_style){.algorithm = one->algorithm,
                                                   .family = families[family],
                                                   .colour = family,
                                                   .shape = members[family]++ % (2 * SHAPES)};
    }
}

void tool_styles_free(tool_styles *styles) {
    free(styles->at);
    *styles = (tool_styles){0};
}

const tool_style *tool_styles_of(const tool_styles *styles, const tool_measurement *one) {
    for (int i = 0; i < styles->count; i++) {
        if (styles->at[i].algorithm == one->algorithm) return &styles->at[i];
    }
    return NULL;
}

tool_word tool_mark_class(int colour, int shape) {
    tool_word word;
    snprintf(word.text, sizeof word.text, "m c%d%s", colour, shape < SHAPES ? "" : " o");
    return word;
}

typedef struct point {
    double x, y;
} point;

/* The first corner in place, the others from one to the next. */
static void add_polygon(tool_text *data, const point *corners, int count, double x, double y, double radius) {
    for (int i = 0; i < count; i++) {
        const double to_x = i == 0 ? x + corners[0].x * radius : (corners[i].x - corners[i - 1].x) * radius;
        const double to_y = i == 0 ? y + corners[0].y * radius : (corners[i].y - corners[i - 1].y) * radius;
        const tool_word down = tool_word_place(to_y);
        tool_text_add(data, "%s%s%s%s",
                      i == 0   ? "M"
                      : i == 1 ? "l"
                               : " ",
                      tool_word_place(to_x).text, down.text[0] == '-' ? "" : " ", down.text);
    }
    tool_text_add(data, "z");
}

void tool_add_mark(tool_text *data, int shape, double x, double y, double radius) {
    static const point square[] = {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}};
    static const point up[] = {{0, -1.15}, {1.1, 0.85}, {-1.1, 0.85}};
    static const point diamond[] = {{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}};
    static const point down[] = {{0, 1.15}, {1.1, -0.85}, {-1.1, -0.85}};
    static const point plus[] = {{-0.4, -1.2}, {0.4, -1.2}, {0.4, -0.4}, {1.2, -0.4}, {1.2, 0.4},   {0.4, 0.4},
                                 {0.4, 1.2},   {-0.4, 1.2}, {-0.4, 0.4}, {-1.2, 0.4}, {-1.2, -0.4}, {-0.4, -0.4}};
    static const point flat[] = {{-1.3, -0.5}, {1.3, -0.5}, {1.3, 0.5}, {-1.3, 0.5}};
    switch (shape % SHAPES) {
    case 1: add_polygon(data, square, 4, x, y, radius); break;
    case 2: add_polygon(data, up, 3, x, y, radius); break;
    case 3: add_polygon(data, diamond, 4, x, y, radius); break;
    case 4: add_polygon(data, down, 3, x, y, radius); break;
    case 5: add_polygon(data, plus, 12, x, y, radius); break;
    case 6: add_polygon(data, flat, 4, x, y, radius); break;
    default: { /* an arc that all but closes */
        const tool_word size = tool_word_place(radius);
        tool_text_add(data, "M%s %sa%s %s 0 1 1 0 .1z", tool_word_place(x - radius).text, tool_word_place(y).text,
                      size.text, size.text);
    }
    }
}

void tool_add_legend(tool_text *out, const tool_styles *styles, const bool *used) {
    tool_text_add(out, "<ul class=\"legend\">");
    for (int family = 0; family < FAMILIES; family++) {
        for (int i = 0; i < styles->count; i++) {
            const tool_style *style = &styles->at[i];
            if (!used[i] || style->colour != family) continue;
            tool_text_add(out,
                          "<li><svg aria-hidden=\"true\" viewBox=\"0 0 14 14\" width=\"14\" height=\"14\">"
                          "<path class=\"%s\" d=\"",
                          tool_mark_class(style->colour, style->shape).text);
            tool_add_mark(out, style->shape, 7, 7, 4.5);
            tool_text_add(out, "\"/></svg>");
            tool_add_escaped(out, style->algorithm);
            if (family != OURS) tool_text_add(out, " <small>%s</small>", style->family);
            tool_text_add(out, "</li>");
        }
    }
    tool_text_add(out, "</ul>");
}
