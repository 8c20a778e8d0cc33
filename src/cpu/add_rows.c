/* Adds rows whose partial sums several ranks of a group have computed. Sums are double and have a fixed order, so the
   result does not depend on the number of threads. */
#include <math.h>

#include "backend/edge.h"
#include "base/threads.h"
#include "cpu/parts.h"
#include "sparse/element.h"
#include "sparse/structure.h"

enum { CHUNK = 256, SMALL = 1 << 14 /* fewer elements do not pay for a second thread */ };

/* The largest score and the sum of exponentials over all parts of a softmax. */
typedef struct whole {
    double most, sum;
} whole;

typedef struct job {
    const tamis_row_sum *x;
    tamis_type type; /* of the parts */
    const int64_t *starts, *places;
    const char *own, *others;
} job;

/* Part p of row i: part 0 is the row's own, the others follow. */
static const char *part_of(const job *j, int64_t i, int64_t p) {
    const int64_t bytes = j->x->part_stride * (int64_t)tamis_type_size(j->type);
    return p == 0 ? j->own + i * bytes : j->others + j->places[j->starts[i] + p - 1] * bytes;
}

static int64_t parts_of(const job *j, int64_t i) { return 1 + j->starts[i + 1] - j->starts[i]; }

static whole pair_of(const job *j, const char *part) {
    return (whole){tamis_element_load(part, j->type, j->x->pair), tamis_element_load(part, j->type, j->x->pair + 1)};
}

static whole merge(const job *j, int64_t i) {
    whole all = {-INFINITY, 0};
    const int64_t parts = parts_of(j, i);
    for (int64_t p = 0; p < parts; p++) all.most = fmax(all.most, pair_of(j, part_of(j, i, p)).most);
    for (int64_t p = 0; p < parts && all.most != -INFINITY; p++) {
        const whole one = pair_of(j, part_of(j, i, p));
        if (one.most != -INFINITY) all.sum += one.sum * exp(one.most - all.most);
    }
    return all;
}

/* The weight of a part. A part whose scores are all -infinity adds nothing, unless all parts are like that. */
static double weight_of(const job *j, const char *part, const whole *all) {
    if (!j->x->weighted || all->most == -INFINITY) return 1;
    const whole one = pair_of(j, part);
    return one.most == -INFINITY ? 0 : one.sum * exp(one.most - all->most) / all->sum;
}

TAMIS_INLINE void add(double *sums, const char *part, tamis_type type, int64_t first, int64_t count, double weight) {
    for (int64_t k = 0; k < count; k++) sums[k] += weight * tamis_element_load(part, type, first + k);
}

static void store(const job *j, int64_t i, int64_t first, int64_t count, const double *sums) {
    const tamis_row_sum *const x = j->x;
    char *const to = tamis_cpu_address(x->to);
    for (int64_t k = 0; k < count; k++) {
        const int64_t column = first + k;
        const int64_t at = x->layout == TAMIS_ROW_MAJOR ? i * x->stride + column : column * x->stride + i;
        const double before = x->keep != 0 ? x->keep * tamis_element_load(to, x->type, at) : 0;
        tamis_element_store(to, x->type, at, x->factor * sums[k] + before);
    }
}

static void add_row(const job *j, int64_t i) {
    const tamis_row_sum *const x = j->x;
    const whole all = x->weighted ? merge(j, i) : (whole){0, 0};
    const int64_t parts = parts_of(j, i);
    if (!j->own && parts == 1) return;
    for (int64_t first = 0; first < x->cols; first += CHUNK) {
        const int64_t count = x->cols - first < CHUNK ? x->cols - first : CHUNK;
        double sums[CHUNK] = {0};
        for (int64_t p = j->own ? 0 : 1; p < parts; p++) {
            const char *const part = part_of(j, i, p);
            const double weight = weight_of(j, part, &all);
            if (weight == 0) continue;
            if (j->type == TAMIS_F64) /* with a constant type the conversion is one load */
                add(sums, part, TAMIS_F64, first, count, weight);
            else
                add(sums, part, TAMIS_F32, first, count, weight);
        }
        store(j, i, first, count, sums);
    }
    if (!x->merged.base) return;
    char *const merged = tamis_cpu_address(x->merged);
    tamis_element_store(merged, j->type, 2 * i, all.most);
    tamis_element_store(merged, j->type, 2 * i + 1, all.sum);
}

static void add_share(void *context, int thread, int threads) {
    const job *const j = context;
    TAMIS_EACH_OF_SHARE(i, j->x->count, threads, thread) add_row(j, i);
}

tamis_status tamis_cpu_add_rows(void *device, void *stream, const tamis_row_sum *sum) {
    job j = {.x = sum,
             .type = tamis_sum_type(sum->type),
             .starts = sum->starts,
             .places = sum->places,
             .own = tamis_cpu_address(sum->own),
             .others = tamis_cpu_address(sum->others)};
    (void)device;
    (void)stream;
    if (sum->count > 0) tamis_threads_run(sum->count * (sum->cols + 1) < SMALL ? 1 : sum->threads, add_share, &j);
    return TAMIS_OK;
}
