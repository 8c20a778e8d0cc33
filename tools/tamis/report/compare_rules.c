/* Matching, spans and the rule of a change. */
#include "compare_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "exit.h"

tool_span tool_span_of(const tool_measurement *one) {
    tool_span span = {.median = one->median, .min = one->min, .lines = 1};
    const double least = one->min > 0 ? one->min : one->median;
    span.low = isfinite(one->q1) ? one->q1 : least;
    span.high = isfinite(one->q3) ? one->q3 : 2 * one->median - least;
    return span;
}

tool_change tool_change_of(const tool_span *a, const tool_span *b, double threshold) {
    const double ratio = b->median / a->median;
    const bool least = a->min > 0 && b->min > 0;
    if (ratio > 1 + threshold && b->low > a->high && (!least || b->min > a->min)) return TOOL_SLOWER;
    if (ratio < 1 / (1 + threshold) && b->high < a->low && (!least || b->min < a->min)) return TOOL_FASTER;
    return TOOL_SAME;
}

/* ---- the contestants of a file, each once */

typedef struct entry {
    const tool_measurement *one;
    double *medians;
    tool_span span;
    bool passed, failed, matched;
} entry;

static bool same_key(const tool_measurement *a, const tool_measurement *b) {
    return a->matrix == b->matrix && a->operation == b->operation && a->edge == b->edge && a->inner == b->inner &&
           a->width == b->width && a->batch == b->batch && a->type == b->type && a->device == b->device &&
           a->threads == b->threads && a->cold == b->cold && tool_same_contestant(a, b);
}

static void widen(entry *at, const tool_measurement *one) {
    const tool_span span = tool_span_of(one);
    at->medians = tool_grow(at->medians, (size_t)at->span.lines + 1, sizeof *at->medians);
    at->medians[at->span.lines] = span.median;
    if (at->span.lines == 0) {
        at->span = span;
    } else {
        at->span.lines++;
        at->span.low = fmin(at->span.low, span.low);
        at->span.high = fmax(at->span.high, span.high);
        at->span.min = fmin(at->span.min, span.min);
    }
    at->passed |= one->passed == 1;
    at->failed |= one->passed == 0;
}

static int collect(const tool_results *results, int file, entry **entries) {
    int count = 0;
    *entries = NULL;
    for (int i = 0; i < results->measurements; i++) {
        const tool_measurement *one = &results->measurement[i];
        if (one->file != file) continue;
        int at = 0;
        while (at < count && !same_key((*entries)[at].one, one)) at++;
        if (at == count) {
            *entries = tool_grow(*entries, (size_t)count + 1, sizeof **entries);
            (*entries)[count++] = (entry){.one = one};
        }
        widen(&(*entries)[at], one);
    }
    for (int i = 0; i < count; i++) {
        entry *one = &(*entries)[i];
        one->span.median = tool_median(one->medians, one->span.lines);
        free(one->medians);
        one->medians = NULL;
    }
    return count;
}

/* ---- pairs */

static int by_size(const void *a, const void *b) {
    const tool_pair *x = a, *y = b;
    const double p = fabs(log(x->ratio)), q = fabs(log(y->ratio));
    if (p != q) return p < q ? 1 : -1;
    return x->one->line - y->one->line;
}

/* What the same machine takes for code that is not ours tells how much the machine itself has changed. */
static void find_drift(tool_comparison_result *result) {
    tool_mean drift = {0};
    for (int i = 0; i < result->count; i++) {
        const tool_pair *pair = &result->pair[i];
        if (!tool_is_ours(pair->one)) tool_mean_add(&drift, pair->ratio, pair);
    }
    result->drift = tool_mean_get(&drift);
    result->drift_count = drift.count;
}

static void scale(tool_span *span, double factor) {
    span->median *= factor;
    span->low *= factor;
    span->high *= factor;
    span->min *= factor;
}

static void judge(tool_comparison_result *result, double threshold, bool drifted) {
    for (int i = 0; i < result->count; i++) {
        tool_pair *pair = &result->pair[i];
        if (drifted && isfinite(result->drift)) scale(&pair->b, 1 / result->drift);
        pair->ratio = pair->b.median / pair->a.median;
        pair->change = tool_change_of(&pair->a, &pair->b, threshold);
        result->faster += pair->change == TOOL_FASTER;
        result->slower += pair->change == TOOL_SLOWER;
        result->wrong += pair->passed_a && pair->failed_b;
        tool_mean_add(&result->all, pair->ratio, pair);
    }
    qsort(result->pair, (size_t)result->count, sizeof *result->pair, by_size);
}

void tool_compare_files(const tool_results *results, int a, int b, double threshold, bool drifted,
                        tool_comparison_result *result) {
    entry *before = NULL, *after = NULL;
    const int count_a = collect(results, a, &before), count_b = collect(results, b, &after);
    *result = (tool_comparison_result){.pair = tool_allocate((size_t)count_a, sizeof *result->pair)};
    for (int i = 0; i < count_a; i++) {
        int j = 0;
        while (j < count_b && (after[j].matched || !same_key(before[i].one, after[j].one))) j++;
        if (j == count_b) {
            result->only_a++;
            continue;
        }
        after[j].matched = true;
        result->pair[result->count++] = (tool_pair){
            .one = before[i].one,
            .a = before[i].span,
            .b = after[j].span,
            .passed_a = before[i].passed && !before[i].failed,
            .failed_b = after[j].failed,
            .ratio = after[j].span.median / before[i].span.median,
        };
    }
    result->only_b = count_b - result->count;
    find_drift(result);
    judge(result, threshold, drifted);
    free(before);
    free(after);
}

void tool_compare_free(tool_comparison_result *result) {
    free(result->pair);
    *result = (tool_comparison_result){0};
}
