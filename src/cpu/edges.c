/*
 * Edges and their derivatives on the CPU, in double; texts by the kernels of the instruction set
 * (kernels/expression.h). With a few reads and writes per nonzero, they are memory-bound. Threads take stretches of
 * nonzeros, which depend on nnz only. If a stretch cuts a row of a softmax, the row's parts are merged in order between
 * the two passes. So the result does not depend on the number of threads.
 */
#include "cpu/parts.h"

#include <math.h>

#include "base/status.h"
#include "base/threads.h"
#include "sparse/element.h"
#include "sparse/structure.h"

enum { CHUNK = 256, STRETCH = TAMIS_EDGE_STRETCH, PARTS = TAMIS_EDGE_PARTS };

/* A run of nonzeros of one member. */
typedef struct span {
    const tamis_edge_job *job;
    const tamis_cpu_dense *kernels, *wide; /* of texts, and of fp64 */
    int64_t member, first;
    int count;
} span;

/* ------------------------------------------------------------------------------------------ memory */

TAMIS_INLINE int64_t place_of(const span *r, const tamis_edge_array *a, int64_t t) {
    const int64_t *const permutation = a->scattered ? r->job->permutation : NULL;
    return r->member * a->batch_stride + (permutation ? permutation[r->first + t] : r->first + t);
}

/* Calls `function` with a constant type as its last argument. */
#define BY_TYPE(type, function, ...)                                                                                   \
    switch (type) {                                                                                                    \
    case TAMIS_F32: function(__VA_ARGS__, TAMIS_F32); return;                                                          \
    case TAMIS_F64: function(__VA_ARGS__, TAMIS_F64); return;                                                          \
    case TAMIS_F16: function(__VA_ARGS__, TAMIS_F16); return;                                                          \
    case TAMIS_BF16: function(__VA_ARGS__, TAMIS_BF16); return;                                                        \
    }

TAMIS_INLINE void load_type(double *to, const span *r, const tamis_edge_array *a, tamis_type type) {
    const char *const from = (const char *)a->at.base + a->at.bytes;
    for (int t = 0; t < r->count; t++) to[t] = tamis_element_load(from, type, place_of(r, a, t));
}

static void load(double *to, const span *r, const tamis_edge_array *a){BY_TYPE(a->type, load_type, to, r, a)}

TAMIS_INLINE void store_type(const double *from, const span *r, const tamis_edge_array *a, double factor, double keep,
                             tamis_type type) {
    char *const to = (char *)a->at.base + a->at.bytes;
    for (int t = 0; t < r->count; t++) {
        const int64_t at = place_of(r, a, t);
        const double before = keep != 0 ? keep * tamis_element_load(to, type, at) : 0;
        tamis_element_store(to, type, at, factor * from[t] + before);
    }
}

static void store(const double *from, const span *r, const tamis_edge_array *a, double factor, double keep) {
    if (!a->at.base) return;
    BY_TYPE(a->type, store_type, from, r, a, factor, keep)
}

static void load_or(double *to, const span *r, const tamis_edge_array *a, double otherwise) {
    if (a->at.base) {
        load(to, r, a);
        return;
    }
    for (int t = 0; t < r->count; t++) to[t] = otherwise;
}

/* ------------------------------------------------------------------------------------------ edges by themselves */

#define NUMBER(x)                          (x)
#define SELECT(condition, this, otherwise) ((condition) ? (this) : (otherwise))
#define EXPONENTIAL(z)                     exp(z)
#define NONE                               0

/* Returns p for x and s; *by_x and *by_s get its derivatives. */
TAMIS_INLINE double edge_of(const tamis_edge_job *job, tamis_edge edge, double x, double s, double *by_x,
                            double *by_s) {
    const double scale = job->constants.scale, slope = job->constants.slope, epsilon = job->constants.epsilon;
    const double y = scale * x;
    switch (edge) {
#define ROW(NAME, number, name, entry, shape, e_is, f_is, gradient_e, gradient_f, df_dx)                               \
    case TAMIS_EDGE_##NAME: {                                                                                          \
        const double e = gradient_e, f = gradient_f;                                                                   \
        (void)e;                                                                                                       \
        *by_x = TAMIS_EDGE_S_IS_FACTOR(entry) ? s * (df_dx) : (df_dx);                                                 \
        *by_s = entry == TAMIS_S_ADDED ? 1 : f;                                                                        \
        return TAMIS_EDGE_S_IS_FACTOR(entry) ? s * f : TAMIS_EDGE_VALUE(entry, s, f);                                  \
    }
        TAMIS_EDGES(ROW)
#undef ROW
    case TAMIS_EDGE_TEXT: break; /* run_text */
    }
    return x;
}

/* Binary search: the last row that begins at nonzero t or before. */
static int64_t row_of(const tamis_edge_job *job, int64_t t) {
    return tamis_index_first(job->offsets, job->offset_type, 1, job->rows, t + 1) - 1;
}

/* The rows of the nonzeros. */
static void load_rows(double *to, const span *r) {
    const tamis_edge_job *const job = r->job;
    int64_t row = row_of(job, r->first);
    for (int t = 0; t < r->count; t++) {
        while (tamis_index_load(job->offsets, job->offset_type, row + 1) <= r->first + t) row++;
        to[t] = (double)row;
    }
}

TAMIS_INLINE void run_edge(const span *r, tamis_edge edge) {
    const tamis_edge_job *const job = r->job;
    double x[CHUNK], s[CHUNK], dp[CHUNK], p[CHUNK];
    load_or(x, r, &job->x, 0);
    if (tamis_edge_entry(edge) == TAMIS_S_UNREAD) {
        for (int t = 0; t < r->count; t++) s[t] = 1;
    } else {
        load_or(s, r, &job->values, 1);
    }
    load_or(dp, r, &job->dp, 0);
    for (int t = 0; t < r->count; t++) {
        double by_x, by_s;
        p[t] = edge_of(job, edge, x[t], s[t], &by_x, &by_s);
        x[t] = job->dp_factor * dp[t] * by_x;
        s[t] = job->dp_factor * dp[t] * by_s;
    }
    store(p, r, &job->p, job->p_factor, job->p_keep);
    store(x, r, &job->dx, 1, 0);
    store(s, r, &job->ds, 1, job->ds_keep);
}

/* A named array's numbers of the nonzeros, whose rows and columns are i and j. */
static void load_named(double *to, const span *r, int kind, const tamis_edge_array *a, const double *i,
                       const double *j) {
    const char *const from = (const char *)a->at.base + a->at.bytes;
    const int64_t *const permutation = a->scattered ? r->job->permutation : NULL;
    const int64_t start = (r->job->first_member + r->member) * a->batch_stride;
    for (int t = 0; t < r->count; t++) {
        const int64_t entry = permutation ? permutation[r->first + t] : r->first + t;
        const int64_t at = kind == TAMIS_STEP_ROW     ? (int64_t)i[t]
                           : kind == TAMIS_STEP_COL   ? (int64_t)j[t]
                           : kind == TAMIS_STEP_ENTRY ? entry
                                                      : 0;
        to[t] = tamis_element_load(from, a->type, start + at);
    }
}

/* An edge that is a text. */
static void run_text(const span *r) {
    const tamis_edge_job *const job = r->job;
    const tamis_edge_text *const text = job->constants.text;
    double x[CHUNK], s[CHUNK], i[CHUNK] = {0}, j[CHUNK] = {0}, dp[CHUNK], p[CHUNK], by_x[CHUNK], by_s[CHUNK];
    double named[TAMIS_PROGRAM_ARRAYS][CHUNK];
    const double *arrays[TAMIS_PROGRAM_ARRAYS];
    const tamis_variables variables = {x, s, i, j, (double)(job->first_member + r->member), text->scalars, arrays};
    double *const results[TAMIS_PROGRAM_RESULTS] = {p, by_x, by_s};
    const bool derivatives = job->dx.at.base || job->ds.at.base;
    load_or(x, r, &job->x, 0);
    load_or(s, r, &job->values, 1);
    load_or(dp, r, &job->dp, 0);
    if (tamis_edge_text_reads_row(text)) load_rows(i, r);
    for (int t = 0; t < r->count && tamis_edge_text_reads_column(text); t++)
        j[t] = (double)tamis_index_load(job->columns, job->index_type, r->first + t);
    for (int k = 0; k < text->value.arrays; k++) {
        const int kind = text->value.array[k].kind;
        arrays[k] = named[k];
        if (tamis_edge_text_reads(text, kind)) /* not "where(0, row.b, x)", for which no rows are loaded */
            load_named(named[k], r, kind, &job->named[k], i, j);
    }
    r->kernels->program(derivatives ? &text->all : &text->value, &variables, r->count, results);
    for (int t = 0; t < r->count && derivatives; t++) {
        by_x[t] *= job->dp_factor * dp[t];
        by_s[t] *= job->dp_factor * dp[t];
    }
    store(p, r, &job->p, job->p_factor, job->p_keep);
    store(by_x, r, &job->dx, 1, 0);
    store(by_s, r, &job->ds, 1, job->ds_keep);
}

static void run_chunk(const span *r) {
    switch (r->job->edge) {
    case TAMIS_EDGE_TEXT: run_text(r); return;
#define ROW(NAME, ...)                                                                                                 \
    case TAMIS_EDGE_##NAME: run_edge(r, TAMIS_EDGE_##NAME); return;
        TAMIS_EDGES(ROW)
#undef ROW
    }
}

/* ------------------------------------------------------------------------------------------ softmax */

/* The part of row i that lies in a stretch. */
typedef struct piece {
    int begin, end; /* its nonzeros within the stretch */
    bool before, after;
} piece;

static int64_t offset_at(const tamis_edge_job *job, int64_t i) {
    return tamis_index_load(job->offsets, job->offset_type, i);
}

static piece piece_of(const span *r, int64_t i) {
    const int64_t begin = offset_at(r->job, i) - r->first, end = offset_at(r->job, i + 1) - r->first;
    return (piece){begin < 0 ? 0 : (int)begin, end > r->count ? r->count : (int)end, begin<0, end> r->count};
}

static double *parts_of(const span *r, bool before) {
    double *const parts = (double *)(void *)((char *)r->job->parts.base + r->job->parts.bytes);
    const int64_t stretch = r->member * tamis_edge_stretches(r->job->nnz) + r->first / STRETCH;
    return parts + (2 * stretch + !before) * PARTS;
}

typedef struct scores {
    double y[STRETCH], dp[STRETCH], e[STRETCH];
} scores;

/* Loads the softmax state that the forward call has kept for row i; returns false if it kept none. */
static bool kept_of(const span *r, int64_t i, double *part) {
    const tamis_edge_job *const job = r->job;
    if (!job->softmax_rows.base) return false;
    const char *const kept = (const char *)job->softmax_rows.base + job->softmax_rows.bytes;
    const tamis_type type = tamis_sum_type(job->type);
    const int64_t at = 2 * (r->member * job->rows + i);
    part[0] = tamis_element_load(kept, type, at);
    part[1] = tamis_element_load(kept, type, at + 1);
    return true;
}

static void load_scores(const span *r, scores *x) {
    double bias[STRETCH];
    load(x->y, r, &r->job->x);
    load_or(bias, r, &r->job->values, 0);
    for (int t = 0; t < r->count; t++) x->y[t] = r->job->constants.scale * x->y[t] + bias[t];
    load_or(x->dp, r, &r->job->dp, 0);
    for (int t = 0; t < r->count; t++) x->dp[t] *= r->job->dp_factor;
}

/* The shift of scores before exp: exponentials of an all-masked row or piece are zeros, not NaN. */
static double shift_of(double most) { return most == -INFINITY ? 0 : most; }

static void take_exponentials(const span *r, scores *x, piece row, double most) {
    r->wide->exponentials(x->y + row.begin, shift_of(most), row.end - row.begin, x->e + row.begin);
}

/* Computes the largest score, the sum of exponentials, and the sum of exponentials times dp. An all-masked piece adds
   nothing. */
static void sum_piece(const span *r, scores *x, piece row, double *part) {
    double most = -INFINITY, sum = 0, weighted = 0;
    for (int t = row.begin; t < row.end; t++) most = x->y[t] > most ? x->y[t] : most;
    take_exponentials(r, x, row, most);
    for (int t = row.begin; t < row.end; t++) {
        sum += x->e[t];
        weighted += x->e[t] * x->dp[t];
    }
    part[0] = most, part[1] = sum, part[2] = weighted;
}

/* The same if the largest score and the sum of exponentials are known. */
static void weigh_piece(const span *r, scores *x, piece row, double *part) {
    double weighted = 0;
    take_exponentials(r, x, row, part[0]);
    for (int t = row.begin; t < row.end; t++) weighted += x->e[t] * x->dp[t];
    part[2] = weighted;
}

/* Turns y into p, and dp into ds; e: the exponentials. */
static void finish_piece(scores *x, piece row, const double *part) {
    const double sum = part[1] == 0 ? 1 : part[1], mean = part[2] / sum; /* all masked: zeros */
    for (int t = row.begin; t < row.end; t++) {
        x->y[t] = x->e[t] / sum;
        x->dp[t] = x->y[t] * (x->dp[t] - mean);
    }
}

static void store_piece(const span *r, const scores *x, int begin, int end) {
    const tamis_edge_job *const job = r->job;
    const span run = {job, r->kernels, r->wide, r->member, r->first + begin, end - begin};
    store(x->y + begin, &run, &job->p, job->p_factor, job->p_keep);
    store(x->dp + begin, &run, &job->dx, job->constants.scale, 0);
    store(x->dp + begin, &run, &job->ds, 1, job->ds_keep);
}

/* Finishes the rows that lie within the stretch, and stores the parts of the others. */
static void begin_stretch(const span *r, scores *x) {
    const int64_t low = row_of(r->job, r->first), high = row_of(r->job, r->first + r->count - 1);
    int begin = 0, end = r->count;
    load_scores(r, x);
    for (int64_t i = low; i <= high; i++) {
        const piece row = piece_of(r, i);
        double part[PARTS], *const kept = row.before || row.after ? parts_of(r, row.before) : part;
        if (kept_of(r, i, kept))
            weigh_piece(r, x, row, kept);
        else
            sum_piece(r, x, row, kept);
        if (kept == part)
            finish_piece(x, row, part);
        else if (row.before)
            begin = row.end;
        if (kept != part && row.after) end = row.begin;
    }
    if (begin < end) store_piece(r, x, begin, end);
}

/* Finishes the rows that the stretch cuts. */
static void end_stretch(const span *r, scores *x) {
    const int64_t low = row_of(r->job, r->first), high = row_of(r->job, r->first + r->count - 1);
    const piece first = piece_of(r, low), last = piece_of(r, high);
    if (!first.before && !last.after) return;
    load_scores(r, x);
    if (first.before) {
        take_exponentials(r, x, first, parts_of(r, true)[0]);
        finish_piece(x, first, parts_of(r, true));
        store_piece(r, x, first.begin, first.end);
    }
    if (last.after && !(low == high && first.before)) {
        take_exponentials(r, x, last, parts_of(r, false)[0]);
        finish_piece(x, last, parts_of(r, false));
        store_piece(r, x, last.begin, last.end);
    }
}

typedef struct call {
    const tamis_edge_job *job;
    const tamis_cpu_dense *kernels, *wide;
} call;

static void over_stretches(const call *c, int thread, int threads, void (*each)(const span *r, scores *x)) {
    const tamis_edge_job *const job = c->job;
    const int64_t stretches = tamis_edge_stretches(job->nnz);
    scores x;
    TAMIS_EACH_OF_SHARE(i, stretches * job->batch, threads, thread) {
        const int64_t first = i % stretches * STRETCH;
        const int64_t count = job->nnz - first < STRETCH ? job->nnz - first : STRETCH;
        each(&(span){job, c->kernels, c->wide, i / stretches, first, (int)count}, &x);
    }
}

/* An edge that needs no row: chunk by chunk. */
static void edge_stretch(const span *r, scores *x) {
    (void)x;
    for (int t = 0; t < r->count; t += CHUNK)
        run_chunk(
            &(span){r->job, r->kernels, r->wide, r->member, r->first + t, r->count - t < CHUNK ? r->count - t : CHUNK});
}

static void body_edges(void *context, int thread, int threads) {
    over_stretches(context, thread, threads, edge_stretch);
}

static void body_begin(void *context, int thread, int threads) {
    over_stretches(context, thread, threads, begin_stretch);
}

static void body_end(void *context, int thread, int threads) { over_stretches(context, thread, threads, end_stretch); }

/* Merges the parts of the row that begins in stretch `first` and ends in stretch `last`. The largest score and the sum
   of exponentials may already be known. */
static void merge(const tamis_edge_job *job, int64_t member, int64_t first, int64_t last) {
    const bool known = job->softmax_rows.base != NULL;
    double whole[PARTS] = {-INFINITY, 0, 0};
    for (int64_t s = first; s <= last; s++) {
        const double *const part = parts_of(&(span){job, NULL, NULL, member, s * STRETCH, 0}, s > first);
        whole[0] = part[0] > whole[0] ? part[0] : whole[0];
    }
    for (int64_t s = first; s <= last; s++) {
        const double *const part = parts_of(&(span){job, NULL, NULL, member, s * STRETCH, 0}, s > first);
        const double factor = known ? 1 : exp(part[0] - shift_of(whole[0]));
        whole[1] = known ? part[1] : whole[1] + factor * part[1];
        whole[2] += factor * part[2];
    }
    for (int64_t s = first; s <= last; s++) {
        double *const part = parts_of(&(span){job, NULL, NULL, member, s * STRETCH, 0}, s > first);
        for (int k = 0; k < PARTS; k++) part[k] = whole[k];
    }
}

static void merge_cut_rows(const tamis_edge_job *job) {
    const int64_t stretches = tamis_edge_stretches(job->nnz);
    for (int64_t s = 0; s + 1 < stretches;) {
        const int64_t row = row_of(job, (s + 1) * STRETCH - 1), end = offset_at(job, row + 1);
        const int64_t last = (end - 1) / STRETCH;
        if (last > s)
            for (int64_t member = 0; member < job->batch; member++) merge(job, member, s, last);
        s = last > s ? last : s + 1;
    }
}

/* ------------------------------------------------------------------------------------------ table */

static tamis_status ready(const tamis_edge_job *job, bool keep_softmax) {
    (void)job;
    (void)keep_softmax;
    return TAMIS_OK;
}

static tamis_status run(const tamis_edge_job *job) {
    const tamis_cpu_variant *variant;
    const bool softmax = job->edge == TAMIS_EDGE_SOFTMAX;
    const int64_t items = tamis_edge_stretches(job->nnz) * job->batch;
    const int threads = items < job->threads ? (int)items : job->threads;
    if (items == 0) return TAMIS_OK;
    TRY(tamis_cpu_variant_choose(&variant));
    call mine = {job, variant->dense[job->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32], variant->dense[TAMIS_F64]};
    tamis_threads_run(threads, softmax ? body_begin : body_edges, &mine);
    if (!softmax || tamis_edge_stretches(job->nnz) == 1) return TAMIS_OK; /* no row is cut */
    merge_cut_rows(job);
    tamis_threads_run(threads, body_end, &mine);
    return TAMIS_OK;
}

const tamis_edge_functions tamis_cpu_edge_functions = {.ready = ready, .run = run};
