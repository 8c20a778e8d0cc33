/*
 * Top-n selection with a heap: arrays of n columns and n scores whose root is the worst score kept; finally sorted,
 * best first. Among equal scores the lower column is better. NaN and -infinity are never kept, since they cannot be
 * ranked.
 */
#ifndef TAMIS_ML_BEST_H
#define TAMIS_ML_BEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ml_best {
    int64_t *columns;
    double *scores;
    int n, kept;
} ml_best;

static inline bool ml_best_is_worse(const ml_best *best, int a, int b) {
    if (best->scores[a] != best->scores[b]) return best->scores[a] < best->scores[b];
    return best->columns[a] > best->columns[b];
}

static inline void ml_best_swap(ml_best *best, int a, int b) {
    const int64_t column = best->columns[a];
    const double score = best->scores[a];
    best->columns[a] = best->columns[b];
    best->scores[a] = best->scores[b];
    best->columns[b] = column;
    best->scores[b] = score;
}

/* Sifts down element `at` in the heap of the first `count`. */
static inline void ml_best_sink(ml_best *best, int at, int count) {
    for (;;) {
        int worst = at;
        const int left = count - at > at + 1 ? 2 * at + 1 : count; /* 2 at + 1 may have no int */
        if (left < count && ml_best_is_worse(best, left, worst)) worst = left;
        if (left < count - 1 && ml_best_is_worse(best, left + 1, worst)) worst = left + 1;
        if (worst == at) return;
        ml_best_swap(best, at, worst);
        at = worst;
    }
}

static inline void ml_best_insert(ml_best *best, int64_t column, double score) {
    if (best->kept < best->n) {
        int at = best->kept++;
        best->columns[at] = column;
        best->scores[at] = score;
        for (; at > 0 && ml_best_is_worse(best, at, (at - 1) / 2); at = (at - 1) / 2)
            ml_best_swap(best, at, (at - 1) / 2);
    } else {
        best->columns[0] = column;
        best->scores[0] = score;
        ml_best_sink(best, 0, best->n);
    }
}

/* Offers a column with its score. Columns must come in rising order: then a score equal to the worst kept is worse, and
   one comparison decides. */
static inline void ml_best_offer(ml_best *best, int64_t column, double score) {
    if (!(score > -INFINITY)) return;
    if (best->kept < best->n || (best->n > 0 && score > best->scores[0])) ml_best_insert(best, column, score);
}

/* The same for columns in any order. Returns true if the column was kept. */
static inline bool ml_best_offer_any(ml_best *best, int64_t column, double score) {
    if (!(score > -INFINITY)) return false;
    if (best->kept >= best->n &&
        (best->n == 0 || score < best->scores[0] || (!(score > best->scores[0]) && column > best->columns[0])))
        return false;
    ml_best_insert(best, column, score);
    return true;
}

/* Sorts the kept columns, best first; fills the rest with -1 and NaN. */
static inline void ml_best_finish(ml_best *best) {
    for (int count = best->kept - 1; count > 0; count--) {
        ml_best_swap(best, 0, count);
        ml_best_sink(best, 0, count);
    }
    for (int i = best->kept; i < best->n; i++) {
        best->columns[i] = -1;
        best->scores[i] = NAN;
    }
}

#endif
