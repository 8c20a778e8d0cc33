/* Bars of one case. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "exit.h"
#include "svg.h"

enum { ROW = 18, TOP = 4, RIGHT = 284 };

static int by_median(const void *a, const void *b) {
    const tool_measurement *x = *(const tool_measurement *const *)a, *y = *(const tool_measurement *const *)b;
    return (x->median > y->median) - (x->median < y->median);
}

enum { CHOSEN, OURS, PEER, BASELINE, KINDS };

static int kind_of(const tool_case *one, const tool_measurement *at) {
    if (at->peer) return PEER;
    if (at == one->chosen && at->automatic) return CHOSEN;
    return tool_is_ours(at) ? OURS : BASELINE;
}

/* All bars of a kind are one path, which keeps the page small. */
static void add_bars(tool_text *out, const tool_case *one, const tool_measurement *const *sorted,
                     const tool_axis *axis) {
    static const char *const classes[KINDS] = {"b ba", "b bo", "b bp", "b bb"};
    for (int kind = 0; kind < KINDS; kind++) {
        bool begun = false;
        for (int i = 0; i < one->count; i++) {
            if (kind_of(one, sorted[i]) != kind) continue;
            if (!begun) tool_text_add(out, "<path class=\"%s\" d=\"", classes[kind]);
            begun = true;
            tool_text_add(out, "M%.0f %sH%sv11H%.0fz", axis->from, tool_word_place(TOP + ROW * i + 3.5).text,
                          tool_word_place(tool_axis_at(axis, sorted[i]->median)).text, axis->from);
        }
        if (begun) tool_text_add(out, "\"/>");
    }
}

/* Long names lose their middle: the end has the parameters, by which the contestants of a sweep differ. */
static void add_name(tool_text *out, const char *name) {
    enum { END = TOOL_SVG_LABEL / 2 };
    const size_t length = strlen(name);
    const bool cut = length > TOOL_SVG_LABEL;
    tool_add_escaped_short(out, name, cut ? TOOL_SVG_LABEL - END : TOOL_SVG_LABEL);
    if (!cut) return;
    const char *end = name + length - END;
    while (((unsigned char)*end & 0xc0) == 0x80) end++; /* not amid a character */
    tool_add_escaped(out, end);
}

/* The names at the left, or the medians at the right. */
static void add_words(tool_text *out, const tool_case *one, const tool_measurement *const *sorted, double x,
                      bool medians) {
    tool_text_add(out, "<g class=\"e\" transform=\"translate(%.0f)\">", x);
    for (int i = 0; i < one->count; i++) {
        const tool_measurement *at = sorted[i];
        const char *emphasis = at->passed == 0 && !at->peer ? " class=\"w\"" : at->automatic ? " class=\"s\"" : "";
        tool_text_add(out, "<text%s y=\"%d\">", emphasis, TOP + ROW * i + 13);
        if (medians)
            tool_add_escaped(out, tool_word_time(at->median).text);
        else
            add_name(out, tool_contestant_name(at).text);
        tool_text_add(out, "</text>");
    }
    tool_text_add(out, "</g>");
}

/* Whiskers from q1 to q3, where they can be seen, and a tick at the least time, as one path. */
static void add_spread(tool_text *path, const tool_axis *axis, const tool_measurement *at, double middle) {
    const double from = tool_axis_at(axis, at->q1), to = tool_axis_at(axis, at->q3);
    if (isfinite(at->q1) && isfinite(at->q3) && to - from >= 1) {
        tool_text_add(path, "M%s %sv6m0-3h%sm0-3v6", tool_word_place(from).text, tool_word_place(middle - 3).text,
                      tool_word_place(to - from).text);
    }
    if (at->min > 0) {
        tool_text_add(path, "M%s %sv11", tool_word_place(tool_axis_at(axis, at->min)).text,
                      tool_word_place(middle - 5.5).text);
    }
}

static void describe(tool_text *text, const tool_case *one, const tool_measurement *const *sorted) {
    const tool_measurement *first = sorted[0];
    tool_text_add(text, "Fastest: %s with %s", tool_contestant_name(first).text, tool_word_time(first->median).text);
    if (one->count > 1) {
        const tool_measurement *last = sorted[one->count - 1];
        tool_text_add(text, "; slowest of %d: %s with %s", one->count, tool_contestant_name(last).text,
                      tool_word_time(last->median).text);
    }
    if (one->chosen && one->chosen->automatic && one->chosen != first) {
        tool_text_add(text, "; the plan chose %s with %s", tool_contestant_name(one->chosen).text,
                      tool_word_time(one->chosen->median).text);
    }
    tool_text_add(text, ".");
}

void tool_chart_bars(tool_text *out, const tool_case *one) {
    const size_t count = (size_t)one->count;
    const tool_measurement **sorted = tool_allocate(count, sizeof(const tool_measurement *));
    double least = INFINITY, most = 0, farthest = 0;
    int longest = 0;
    for (size_t i = 0; i < count; i++) {
        const tool_measurement *at = one->at[i];
        sorted[i] = at;
        const int characters = (int)strlen(tool_contestant_name(at).text);
        if (characters > longest) longest = characters;
        if (at->median < least) least = at->median;
        if (at->min > 0 && at->min < least) least = at->min;
        if (at->median > most) most = at->median;
        if (at->median > farthest) farthest = at->median;
        if (at->q3 > farthest && at->q3 < 2 * at->median) farthest = at->q3;
    }
    qsort((void *)sorted, count, sizeof(const tool_measurement *), by_median);
    tool_text title = {0}, description = {0}, spread = {0};
    tool_text_add(&title, "Medians of %s%s", one->matrix, one->stand_in ? " (stand-in)" : "");
    describe(&description, one, sorted);
    const double left = round(tool_svg_label_width(longest)), bottom = TOP + ROW * one->count;
    const bool logarithmic = most > 15 * sorted[0]->median;
    const int ticks = (int)fmax(2, fmin(4, (RIGHT - left) / 48)); /* as many as have room for "100 ms" */
    tool_axis axis = tool_axis_linear(farthest * 1.02, left, RIGHT, ticks < 3 ? ticks : 3);
    if (logarithmic) axis = tool_axis_log(least / 1.6, farthest * 1.05, left, RIGHT, ticks);
    tool_svg_begin(out, TOOL_SVG_WIDTH, bottom + (logarithmic ? 34 : 20), tool_text_get(&title),
                   tool_text_get(&description));
    tool_svg_axis_x(out, &axis, TOP, bottom, 't');
    if (logarithmic) tool_svg_text(out, "t q", (left + RIGHT) / 2.0, bottom + 29, "logarithmic axis", 20);
    add_words(out, one, sorted, left - 6, false);
    add_words(out, one, sorted, TOOL_SVG_WIDTH, true);
    add_bars(out, one, sorted, &axis);
    for (int i = 0; i < one->count; i++) add_spread(&spread, &axis, sorted[i], TOP + ROW * i + 9);
    tool_text_add(out, "<path class=\"i\" d=\"%s\"/>", tool_text_get(&spread));
    tool_svg_end(out);
    tool_text_free(&title);
    tool_text_free(&description);
    tool_text_free(&spread);
    free((void *)sorted);
}
