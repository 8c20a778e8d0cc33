/* Small systems solved exactly: what factors are compared with. */
#ifndef TAMIS_TESTS_ELIMINATE_H
#define TAMIS_TESTS_ELIMINATE_H

#include <math.h>
#include <stdint.h>

/* Solves a k x k system in place by Gauss with pivots; the result is in b. */
static inline void eliminate(int64_t k, double *a, double *b) {
    for (int64_t c = 0; c < k; c++) {
        int64_t pivot = c;
        for (int64_t i = c + 1; i < k; i++)
            if (fabs(a[i * k + c]) > fabs(a[pivot * k + c])) pivot = i;
        for (int64_t j = 0; j < k; j++) {
            const double t = a[c * k + j];
            a[c * k + j] = a[pivot * k + j];
            a[pivot * k + j] = t;
        }
        const double t = b[c];
        b[c] = b[pivot];
        b[pivot] = t;
        for (int64_t i = c + 1; i < k; i++) {
            const double m = a[i * k + c] / a[c * k + c];
            for (int64_t j = c; j < k; j++) a[i * k + j] -= m * a[c * k + j];
            b[i] -= m * b[c];
        }
    }
    for (int64_t i = k - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < k; j++) b[i] -= a[i * k + j] * b[j];
        b[i] /= a[i * k + i];
    }
}

#endif
