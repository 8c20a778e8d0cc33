/*
 * See local.h. The weights of EASE for a column j minimise |x_j - X b|^2 + lambda |b|^2 with b_j = 0. Here b is 0 but
 * for the `neighbours` columns N whose cosine with column j is largest in size, so that
 *
 *   b_N = (G_NN + lambda)^-1 G_Nj,   G = X^T X
 *
 * is a dense system of that size for each column, and no column depends on another (Steck 2019, "Markov random fields
 * for collaborative filtering", has the idea of small systems along a sparse pattern; SANSA of Spišák et al. 2023
 * factors the whole matrix approximately instead). Where all others are neighbours it is EASE; columns whose
 * product with j is 0 never are.
 *
 * G is never stored. Its column j is added up from the rows that have j. Of G_NN, pairs of the HUBS columns with the
 * most uses come from a table, which is made first, since they have very many rows in common. The other pairs are added
 * up from the rows that have a column of N that is no hub: these are few.
 *
 * Work is on the host: sums with scattered places, and systems of a hundred unknowns. Each column is computed by one
 * thread, in one order.
 */
#include "ml/methods/local.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "base/threads.h"
#include "ml/factors.h"
#include "ml/methods/items.h"
#include "ml/methods/pairs.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/popular.h"

enum { HUBS = 8192, BLOCK = 2048, AT_ONCE = 16, PIVOTS = 4 }; /* columns of a block, and that a thread takes at once */

/* An entry of a row in a column of N: the next one of the same row, -1 behind the last, and its place in N. */
typedef struct link {
    int64_t next;
    int32_t place;
    double value;
} link;

/* Scratch of a thread. */
typedef struct lane {
    ml_pair_sums G; /* column j of G */
    int64_t *first; /* of each row: its first link, -1: none */
    int64_t *rows;  /* rows that have links */
    link *links;
    int32_t *place; /* of each column: its place in N, -1: not in N */
    int64_t *near;  /* N, hubs first */
    double *scores, *A, *g;
    int32_t *places; /* of one row */
    double *values;
} lane;

struct ml_local {
    const tamis_model *model;
    ml_pairs X;
    double *squares; /* the diagonal of G */
    int32_t *hub_of; /* of each column: its number among the hubs, -1: it is none */
    int64_t *hubs;
    int64_t hub_count;
    void *table; /* G of hubs: the lower triangle, packed */
    int64_t neighbours;
    double lambda;
    tamis_type type;
    lane *lanes;
    int threads;
    void *lines; /* of a block */
    int64_t begin, end;
    bool of_hubs; /* the table is being made */
    atomic_llong next;
};

static int64_t packed(int64_t i, int64_t j) { return i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i; }

static int64_t uses_of(const ml_local *local, int64_t column) {
    return local->X.begin[column + 1] - local->X.begin[column];
}

double ml_local_bytes(const tamis_model *model, int neighbours, int64_t cols, int threads) {
    const double size = (double)tamis_type_size(model->options.type), n = neighbours, nnz = (double)model->nnz;
    const double hubs = cols < HUBS ? (double)cols : HUBS, k = cols < neighbours ? (double)cols : n;
    const double own = 20.0 * (double)cols + 16.0 * (double)model->rows + 8 * k * k; /* and links, known later */
    return 2 * n * size * (double)cols + hubs * hubs / 2 * size + 24 * nnz + 12.0 * (double)cols + threads * own;
}

/* ------------------------------------------------------------------------------------------ making */

static tamis_status make_lane(const ml_local *local, int64_t links, lane *own) {
    const int64_t rows = local->X.rows, cols = local->X.cols, k = local->neighbours;
    TRY(tamis_allocate_array(cols, "products of columns", own->G.sums));
    TRY(tamis_allocate_zeros(cols, "products of columns", own->G.seen));
    TRY(tamis_allocate_array(cols, "products of columns", own->G.met));
    TRY(tamis_allocate_array(rows, "rows of neighbours", own->first));
    TRY(tamis_allocate_array(rows, "rows of neighbours", own->rows));
    TRY(tamis_allocate_array(links, "rows of neighbours", own->links));
    TRY(tamis_allocate_array(cols, "places of neighbours", own->place));
    TRY(tamis_allocate_array(k, "neighbours", own->near));
    TRY(tamis_allocate_array(k, "neighbours", own->scores));
    TRY(tamis_allocate_array(k, "neighbours", own->places));
    TRY(tamis_allocate_array(k, "neighbours", own->values));
    TRY(tamis_allocate_array(k, "weights of neighbours", own->g));
    TRY(tamis_allocate_array(tamis_times(k, k), "products of neighbours", own->A));
    for (int64_t i = 0; i < rows; i++) own->first[i] = -1;
    for (int64_t j = 0; j < cols; j++) own->place[j] = -1;
    return TAMIS_OK;
}

static tamis_status find_hubs(ml_local *local, int64_t *links) {
    const int64_t cols = local->X.cols, k = local->neighbours;
    double *counts;
    int64_t *order;
    TRY(tamis_allocate_array(cols, "columns by their uses", counts));
    for (int64_t j = 0; j < cols; j++) counts[j] = (double)uses_of(local, j);
    TRY(ml_order_by_count(counts, cols, &order));
    *links = 0;
    for (int64_t i = 0; i < k; i++) *links += uses_of(local, order[i]);
    local->hub_count = cols < HUBS ? cols : HUBS;
    for (int64_t j = 0; j < cols; j++) local->hub_of[j] = -1;
    for (int64_t h = 0; h < local->hub_count; h++) local->hub_of[order[h]] = (int32_t)h;
    local->hubs = order;
    const int64_t pairs = tamis_times(local->hub_count, local->hub_count + 1) / 2;
    return tamis_scope_allocate_zeroed(pairs, tamis_type_size(local->type), "products of columns", &local->table);
}

tamis_status ml_local_make(const tamis_model *model, const tamis_sparse *data, ml_local **made) {
    ml_local *local;
    int64_t links;
    TRY(tamis_allocate_zeros(1, "the work of ease", local));
    local->model = model;
    local->type = model->options.type;
    local->neighbours = model->options.neighbours < data->cols ? model->options.neighbours : data->cols;
    TRY(ml_host_threads(model, &local->threads));
    if (local->threads < 1) local->threads = 1;
    TRY(ml_pairs_make(data, &local->X));
    TRY(ml_pairs_turn(&local->X));
    TRY(tamis_allocate_zeros(data->cols, "squares of columns", local->squares));
    for (int64_t t = 0; t < data->nnz; t++) local->squares[ml_column(data, t)] += ml_value(data, t) * ml_value(data, t);
    TRY(tamis_allocate_array(data->cols, "hubs", local->hub_of));
    TRY(find_hubs(local, &links));
    TRY(tamis_allocate_zeros(local->threads, "the work of ease", local->lanes));
    for (int i = 0; i < local->threads; i++) TRY(make_lane(local, links, &local->lanes[i]));
    const int64_t numbers = tamis_times(BLOCK, 2 * (int64_t)model->options.neighbours);
    TRY(tamis_scope_allocate(numbers, tamis_type_size(local->type), "weights of neighbours", &local->lines));
    *made = local;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ one column */

static void add_products(const ml_local *local, lane *own, int64_t j) {
    own->G.column = (int32_t)j;
    own->G.count = 0;
    ml_pairs_products(&local->X, &own->G);
}

/* Finds N among the columns that were met: the largest cosines. Returns their number; the first *hubs of them are hubs.
 */
static int64_t find_near(const ml_local *local, const lane *own, int64_t j, int64_t *hubs) {
    ml_best best = {.columns = own->near, .scores = own->scores, .n = (int)local->neighbours};
    for (int64_t s = 0; s < own->G.count; s++) {
        const int64_t i = own->G.met[s];
        const double product = own->G.sums[i];
        if (i != j && product != 0) ml_best_offer_any(&best, i, product * product / local->squares[i]);
    }
    ml_best_finish(&best);
    *hubs = 0;
    for (int64_t a = 0; a < best.kept; a++)
        if (local->hub_of[own->near[a]] >= 0) {
            const int64_t hub = own->near[a];
            own->near[a] = own->near[*hubs];
            own->near[(*hubs)++] = hub;
        }
    return best.kept;
}

static void add_link(lane *own, int64_t row, int64_t place, double value, int64_t *links) {
    own->links[*links] = (link){.next = own->first[row], .place = (int32_t)place, .value = value};
    own->first[row] = (*links)++;
}

/* Links the entries of the rows that have a column of N from `hubs` on, in all columns of N, by rows. Returns the
   number of these rows. */
static int64_t link_rows(const ml_local *local, lane *own, int64_t hubs, int64_t near) {
    const ml_pairs *const X = &local->X;
    int64_t rows = 0, links = 0, through_rows = 0, through_hubs = 0;
    for (int64_t a = hubs; a < near; a++)
        for (int64_t k = X->begin[own->near[a]]; k < X->begin[own->near[a] + 1]; k++) {
            const int64_t t = X->where[k], row = X->rows_of[t];
            if (own->first[row] < 0) own->rows[rows++] = row;
            add_link(own, row, a, X->values[t], &links);
        }
    for (int64_t r = 0; r < rows; r++) through_rows += X->offsets[own->rows[r] + 1] - X->offsets[own->rows[r]];
    for (int64_t a = 0; a < hubs; a++) through_hubs += uses_of(local, own->near[a]);
    if (through_rows < through_hubs) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t t = X->offsets[own->rows[r]]; t < X->offsets[own->rows[r] + 1]; t++) {
                const int32_t place = own->place[X->columns[t]];
                if (place >= 0 && place < hubs) add_link(own, own->rows[r], place, X->values[t], &links);
            }
        return rows;
    }
    for (int64_t a = 0; a < hubs; a++)
        for (int64_t k = X->begin[own->near[a]]; k < X->begin[own->near[a] + 1]; k++) {
            const int64_t t = X->where[k];
            if (own->first[X->rows_of[t]] >= 0) add_link(own, X->rows_of[t], a, X->values[t], &links);
        }
    return rows;
}

/* Adds the products of a row's entries, except for two hubs, and takes its links away. */
static void add_pairs(lane *own, int64_t row, int64_t hubs, int64_t near) {
    int64_t count = 0;
    for (int64_t at = own->first[row]; at >= 0; at = own->links[at].next) {
        own->places[count] = own->links[at].place;
        own->values[count++] = own->links[at].value;
    }
    own->first[row] = -1;
    for (int64_t a = 0; a < count; a++)
        for (int64_t b = a + 1; b < count; b++) {
            const int64_t i = own->places[a], k = own->places[b];
            if (i < hubs && k < hubs) continue;
            own->A[i < k ? i * near + k : k * near + i] += own->values[a] * own->values[b];
        }
}

/* Makes the upper triangle of G_NN + lambda, and G_Nj. */
static void make_system(const ml_local *local, lane *own, int64_t hubs, int64_t near) {
    for (int64_t a = 0; a < near; a++) own->place[own->near[a]] = (int32_t)a;
    for (int64_t a = 0; a < near; a++) {
        const int32_t hub = local->hub_of[own->near[a]];
        for (int64_t b = a; b < near; b++)
            own->A[a * near + b] =
                b < hubs ? ml_number(local->table, local->type, packed(hub, local->hub_of[own->near[b]])) : 0;
        own->A[a * near + a] = local->squares[own->near[a]] + local->lambda;
        own->g[a] = own->G.sums[own->near[a]];
    }
    const int64_t rows = link_rows(local, own, hubs, near);
    for (int64_t r = 0; r < rows; r++) add_pairs(own, own->rows[r], hubs, near);
    for (int64_t a = 0; a < near; a++) own->place[own->near[a]] = -1;
}

/* Subtracts multiples of four lines: a number that is loaded and stored has four uses. */
static void subtract(double *restrict to, const double *const lines[PIVOTS], const double factors[PIVOTS],
                     int64_t count) {
    const double *restrict const a = lines[0], *restrict const b = lines[1], *restrict const c = lines[2],
                                 *restrict const d = lines[3];
    const double p = factors[0], q = factors[1], r = factors[2], s = factors[3];
    for (int64_t k = 0; k < count; k++) to[k] -= p * a[k] + q * b[k] + r * c[k] + s * d[k];
}

/* Takes the pivots first .. first + count - 1 out of line r, from its diagonal on, and out of g. */
static void eliminate(double *A, double *g, int64_t n, int64_t first, int64_t count, int64_t r) {
    const double *lines[PIVOTS];
    double factors[PIVOTS];
    for (int64_t k = 0; k < PIVOTS; k++) { /* those that are too many count for nothing */
        const int64_t pivot = k < count ? first + k : first;
        lines[k] = A + pivot * n + r;
        factors[k] = k < count ? A[pivot * n + r] / A[pivot * n + pivot] : 0;
        g[r] -= factors[k] * g[pivot];
    }
    subtract(A + r * n + r, lines, factors, n - r);
}

/* Replaces g by A^-1 g, by A = U^T D U. No eigenvalue of A is below `least`, so no pivot is, but for rounding. */
static void solve(double *A, double *g, int64_t n, double least) {
    for (int64_t p = 0; p < n; p += PIVOTS) {
        const int64_t end = p + PIVOTS < n ? p + PIVOTS : n;
        for (int64_t r = p; r < n; r++) {
            const int64_t count = r < end ? r - p : end - p;
            if (count > 0) eliminate(A, g, n, p, count, r);
            if (r < end && !(A[r * n + r] > least)) A[r * n + r] = least;
        }
    }
    for (int64_t p = n - 1; p >= 0; p--) {
        double sum = g[p];
        for (int64_t r = p + 1; r < n; r++) sum -= A[p * n + r] * g[r];
        g[p] = sum / A[p * n + p];
    }
}

static void fit_column(const ml_local *local, lane *own, int64_t j) {
    int64_t hubs;
    add_products(local, own, j);
    const int64_t near = find_near(local, own, j, &hubs);
    make_system(local, own, hubs, near);
    solve(own->A, own->g, near, local->lambda);
    ml_items_put_list(local->model, local->lines, j - local->begin, near, own->near, own->g);
}

/* Writes the products of a hub with itself and those before it. */
static void fill_table(const ml_local *local, lane *own, int64_t h) {
    add_products(local, own, local->hubs[h]);
    for (int64_t s = 0; s < own->G.count; s++) {
        const int32_t other = local->hub_of[own->G.met[s]];
        if (other >= 0 && other <= h)
            ml_put_number(local->table, local->type, packed(h, other), own->G.sums[own->G.met[s]]);
    }
}

/* ------------------------------------------------------------------------------------------ all columns */

static void run_share(void *given, int share, int shares) {
    ml_local *const local = given;
    (void)shares;
    for (;;) {
        const int64_t first = atomic_fetch_add(&local->next, AT_ONCE);
        if (first >= local->end) return;
        for (int64_t j = first; j < first + AT_ONCE && j < local->end; j++)
            if (local->of_hubs)
                fill_table(local, &local->lanes[share], j);
            else
                fit_column(local, &local->lanes[share], j);
    }
}

/* Runs the columns of a block, or some hubs. */
static void run_block(ml_local *local, int64_t begin, int64_t end) {
    local->begin = begin;
    local->end = end;
    atomic_store(&local->next, begin);
    tamis_threads_run(local->threads, run_share, local);
}

tamis_status ml_local_fit(tamis_model *model, ml_local *local) {
    const int64_t cols = model->cols, all = local->hub_count + cols, width = 2 * (int64_t)model->options.neighbours;
    const size_t line = (size_t)width * tamis_type_size(local->type);
    local->lambda = ml_lambda(model);
    local->of_hubs = true;
    for (int64_t h = 0; h < local->hub_count; h += BLOCK) {
        const int64_t end = h + BLOCK < local->hub_count ? h + BLOCK : local->hub_count;
        run_block(local, h, end);
        TRY(ml_items_go_on(model, end, all));
    }
    local->of_hubs = false;
    for (int i = 0; i < local->threads; i++) /* a thread may have seen columns for one that it is given again */
        memset(local->lanes[i].G.seen, 0, (size_t)cols * sizeof(int32_t));
    for (int64_t first = 0; first < cols; first += BLOCK) {
        const int64_t end = first + BLOCK < cols ? first + BLOCK : cols;
        run_block(local, first, end);
        TRY(tamis_device_upload(model->device, NULL, model->column_factors.data, (size_t)first * line, local->lines,
                                (size_t)(end - first) * line));
        TRY(ml_items_go_on(model, local->hub_count + end, all));
    }
    return TAMIS_OK;
}
