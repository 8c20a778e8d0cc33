/* Amortisation: what each of n calls costs when the set-up is shared among them. */
#include <math.h>
#include <stdlib.h>

#include "charts.h"
#include "exit.h"
#include "svg.h"

enum { TOP = 16, LEFT = 52, RIGHT = 322, BOTTOM = 206, HEIGHT = 240 };

static const double most_calls = 1e5;

static double cost(const tool_measurement *at, double calls) {
    return at->median + (isfinite(at->setup) ? at->setup : 0) / calls;
}

/* The methods that are worth drawing: ours without parameters of their own, and peers. */
static int candidates(const tool_case *one, const tool_measurement **result) {
    int count = 0;
    for (int i = 0; i < one->count; i++) {
        if (!one->at[i]->parameters || one->at[i]->automatic) result[count++] = one->at[i];
    }
    return count;
}

/* The cheapest at that many calls; among equals the one with the shorter call. */
static const tool_measurement *cheapest(const tool_measurement *const *at, int count, double calls) {
    const tool_measurement *best = at[0];
    for (int i = 1; i < count; i++) {
        const double a = cost(at[i], calls), b = cost(best, calls);
        if (a < b || (a == b && at[i]->median < best->median)) best = at[i];
    }
    return best;
}

/* The number of calls from which the second is cheaper than the first; infinity where it never is. */
static double crossing(const tool_measurement *first, const tool_measurement *second) {
    const double gain = first->median - second->median, price = cost(second, 1) - cost(first, 1) + gain;
    return gain > 0 ? fmax(floor(price / gain) + 1, 1) : (double)INFINITY;
}

/* "1 to 12 calls: a; from 13: b" */
static void find_crossings(const tool_measurement *const *at, int count, tool_text *findings) {
    double calls = 1;
    const tool_measurement *now = cheapest(at, count, calls);
    for (int step = 0; step < 16; step++) {
        const tool_measurement *next = NULL;
        double when = INFINITY;
        for (int i = 0; i < count; i++) {
            const double from = at[i] == now ? (double)INFINITY : crossing(now, at[i]);
            if (from < when || (from == when && next && at[i]->median < next->median)) when = from, next = at[i];
        }
        const tool_word name = tool_contestant_name(now);
        if (!next || when > most_calls) {
            if (calls > 1) {
                tool_text_add(findings, "from %s: %s", tool_word_count((int64_t)calls).text, name.text);
            } else {
                tool_text_add(findings, "%s for any number of calls", name.text);
            }
            return;
        }
        if (when > calls) {
            if (when - 1 > calls) {
                tool_text_add(findings, "%s to %s calls: %s; ", tool_word_count((int64_t)calls).text,
                              tool_word_count((int64_t)(when - 1)).text, name.text);
            } else {
                tool_text_add(findings, "%s call%s: %s; ", tool_word_count((int64_t)calls).text, calls > 1 ? "s" : "",
                              name.text);
            }
            calls = when;
        }
        now = next;
    }
}

static void add_curve(tool_text *out, const tool_axis *x, const tool_axis *y, const tool_style *style,
                      const tool_measurement *at) {
    tool_text_add(out, "<path class=\"l c%d%s\" d=\"", style->colour, at->automatic ? " ls" : "");
    for (int i = 0; i <= 14; i++) {
        const double calls = pow(most_calls, i / 14.0);
        tool_text_add(out, "%s%s %s", i == 0 ? "M" : "L", tool_word_place(tool_axis_at(x, calls)).text,
                      tool_word_place(tool_axis_at(y, cost(at, calls))).text);
    }
    tool_text_add(out, "\"/><path class=\"%s\" d=\"", tool_mark_class(style->colour, style->shape).text);
    for (int i = 0; i <= 5; i++) {
        const double calls = pow(10, i);
        tool_add_mark(out, style->shape, tool_axis_at(x, calls), tool_axis_at(y, cost(at, calls)), 3.2);
    }
    tool_text_add(out, "\"/>");
}

void tool_chart_calls(tool_text *out, const tool_case *one, const char *setting, const tool_styles *styles,
                      tool_text *findings) {
    const tool_measurement **at = tool_allocate((size_t)one->count, sizeof(const tool_measurement *));
    const int count = candidates(one, at);
    double low = INFINITY, high = 0;
    for (int i = 0; i < count; i++) {
        low = fmin(low, at[i]->median);
        high = fmax(high, cost(at[i], 1));
    }
    if (count > 0) {
        find_crossings(at, count, findings);
        tool_text title = {0}, description = {0};
        tool_text_add(&title, "%s of %s%s: time a call, set-up included, against the number of calls", setting,
                      one->matrix, one->stand_in ? " (stand-in)" : "");
        tool_text_add(&description, "The cheapest: %s.", tool_text_get(findings));
        const tool_axis x = tool_axis_log(1, most_calls, LEFT, RIGHT, 6);
        const tool_axis y = tool_axis_log(low / 1.25, high * 1.25, BOTTOM, TOP, 6);
        tool_svg_begin(out, TOOL_SVG_WIDTH, HEIGHT, tool_text_get(&title), tool_text_get(&description));
        tool_svg_axis_x(out, &x, TOP, BOTTOM, 'n');
        tool_svg_axis_y(out, &y, LEFT, RIGHT, 't');
        tool_svg_text(out, "q", LEFT, 10, "time a call", 20);
        tool_svg_text(out, "e q", RIGHT, HEIGHT - 4, "calls", 20);
        for (int i = 0; i < count; i++) add_curve(out, &x, &y, tool_styles_of(styles, at[i]), at[i]);
        tool_svg_end(out);
        tool_text_free(&title);
        tool_text_free(&description);
    }
    free((void *)at);
}
