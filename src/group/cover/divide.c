/*
 * A nonzero whose column another rank owns is covered by a row of B, or by a partial row of the output, that the owner
 * sends (SHIRO: arXiv 2512.20178). For each pair of ranks, covering all of them with the fewest bytes is a minimum
 * weighted vertex cover of the bipartite graph of columns and rows.
 */
#include "group/cover/divide.h"

#include "base/scope.h"
#include "group/cover/vertex_cover.h"
#include "group/shard.h"
#include "sparse/index.h"

/* ------------------------------------------------------------------------------------------ making */

tamis_status tamis_division_create(const tamis_shard_description *is, tamis_division *d) {
    static const char *const what = "what ranks compute for each other";
    *d = (tamis_division){.owners = NULL};
    TRY(tamis_allocate_zeros(is->ghost_rows, what, d->owners));
    TRY(tamis_allocate_zeros(is->ghost_rows, what, d->kept));
    TRY(tamis_allocate_zeros(is->ranks, what, d->fetched));
    TRY(tamis_allocate_zeros(is->ranks, what, d->given));
    TRY(tamis_allocate_zeros(is->ranks, what, d->taken));
    for (int r = 0; r < is->ranks; r++) {
        d->fetched[r] = is->receive_starts[r + 1] - is->receive_starts[r];
        for (int64_t g = is->receive_starts[r]; g < is->receive_starts[r + 1]; g++) {
            d->owners[g] = r;
            d->kept[g] = true;
        }
    }
    d->all_fetched = is->ghost_rows;
    return TAMIS_OK;
}

/* Returns the ghost row of an entry; negative: its column is an own one. */
static int64_t ghost_of(const tamis_shard_description *is, int64_t entry) {
    return tamis_ghost_of(is, tamis_index_load(is->local.columns, is->local.index_type, entry));
}

/* ------------------------------------------------------------------------------------------ the bound */

/* Residual capacities of a greedy flow. left: of a rank for row seen[rank]; ghosts: of each ghost row. */
typedef struct rooms {
    int64_t *left, *seen, *ghosts;
} rooms;

/* Returns the value of a greedy flow. By weak duality any flow is at most the cheapest cover. */
static double flow_of(const tamis_shard_description *is, const tamis_division *d, const tamis_cover_price *price,
                      const rooms *room) {
    double sum = 0;
    for (int64_t i = 0; i < is->local.rows; i++)
        for (int64_t t = tamis_row_start(&is->local, i); t < tamis_row_start(&is->local, i + 1); t++) {
            const int64_t g = ghost_of(is, t);
            if (g < 0 || room->ghosts[g] == 0) continue;
            const int32_t r = d->owners[g];
            if (room->seen[r] != i + 1) room->left[r] = price->sum;
            room->seen[r] = i + 1;
            const int64_t more = room->left[r] < room->ghosts[g] ? room->left[r] : room->ghosts[g];
            room->left[r] -= more;
            room->ghosts[g] -= more;
            sum += (double)more;
        }
    return sum;
}

tamis_status tamis_division_bound(const tamis_shard_description *is, const tamis_division *d,
                                  const tamis_cover_price *price, double *bytes) {
    rooms room;
    TAMIS_SCOPE;
    *bytes = 0;
    TRY(tamis_allocate_zeros(is->ranks, "a bound of covers", room.left));
    TRY(tamis_allocate_zeros(is->ranks, "a bound of covers", room.seen));
    TRY(tamis_allocate_array(is->ghost_rows, "a bound of covers", room.ghosts));
    for (int64_t g = 0; g < is->ghost_rows; g++) room.ghosts[g] = price->fetched;
    *bytes = flow_of(is, d, price, &room);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ covers */

/* The entries with ghost columns in CSC, and the numbering of rows within one pair of ranks. */
typedef struct columns {
    int64_t *starts, *own_starts; /* offsets by ghost row, ghost_rows + 2; and offsets of one pair, from 0 */
    int32_t *rows;                /* of each entry */
    int32_t *numbers;             /* by row: its number in the pair; valid if */
    int32_t *pair;                /* by row: equals the pair's owner + 1 */
} columns;

static tamis_status allocate_columns(const tamis_shard_description *is, columns *c) {
    const int64_t entries = is->local.nnz - is->own_nnz;
    TRY(tamis_allocate_zeros(is->ghost_rows + 2, "the columns of a cover", c->starts));
    TRY(tamis_allocate_array(is->ghost_rows + 1, "the columns of a cover", c->own_starts));
    TRY(tamis_allocate_array(entries, "the columns of a cover", c->rows));
    TRY(tamis_allocate_array(is->local.rows, "the rows of a cover", c->numbers));
    return tamis_allocate_zeros(is->local.rows, "the rows of a cover", c->pair);
}

static void sort_by_column(const tamis_shard_description *is, columns *c) {
    int64_t *const next = c->starts + 1;
    for (int64_t t = 0; t < is->local.nnz; t++)
        if (ghost_of(is, t) >= 0) next[ghost_of(is, t) + 1]++;
    for (int64_t g = 0; g < is->ghost_rows; g++) next[g + 1] += next[g];
    for (int64_t i = 0; i < is->local.rows; i++)
        for (int64_t t = tamis_row_start(&is->local, i); t < tamis_row_start(&is->local, i + 1); t++)
            if (ghost_of(is, t) >= 0) c->rows[next[ghost_of(is, t)]++] = (int32_t)i;
}

static int64_t greatest_divisor(int64_t x, int64_t y) { return y == 0 ? x : greatest_divisor(y, x % y); }

/* Sets the ratio of prices in lowest terms, or approximately if these do not fit 32 bits. */
static void set_prices(const tamis_cover_price *price, tamis_bipartite *graph) {
    const int64_t divisor = greatest_divisor(price->fetched, price->sum);
    int64_t left = price->fetched / divisor, right = price->sum / divisor;
    for (; left > INT32_MAX || right > INT32_MAX; left /= 2, right /= 2) continue;
    graph->left_price = left > 0 ? (int32_t)left : 1;
    graph->right_price = right > 0 ? (int32_t)right : 1;
}

/* Covers the entries whose columns one rank owns. If they are too many for 32 bits, their rows of B are fetched. */
static tamis_status cover_pair(const tamis_shard_description *is, const tamis_cover_price *price, columns *c, int rank,
                               tamis_division *d) {
    const int64_t first = is->receive_starts[rank], last = is->receive_starts[rank + 1];
    const int64_t begin = c->starts[first], end = c->starts[last];
    tamis_bipartite graph = {.left = (int32_t)(last - first), .starts = c->own_starts, .ends = c->rows + begin};
    /* the graph numbers columns and rows jointly */
    if (last - first > INT32_MAX - is->local.rows || end - begin > INT32_MAX || first == last) return TAMIS_OK;
    for (int64_t t = begin; t < end; t++) {
        const int32_t row = c->rows[t];
        if (c->pair[row] != rank + 1) {
            c->pair[row] = rank + 1;
            c->numbers[row] = graph.right++;
        }
        c->rows[t] = c->numbers[row];
    }
    for (int64_t g = first; g <= last; g++) c->own_starts[g - first] = c->starts[g] - begin;
    set_prices(price, &graph);
    return tamis_vertex_cover(&graph, d->kept + first);
}

/* Computes the division's counts. seen: by rank, 1 + the last row with a nonzero that it computes. */
static void count(const tamis_shard_description *is, int64_t *seen, tamis_division *d) {
    d->all_fetched = 0;
    for (int r = 0; r < is->ranks; r++) d->fetched[r] = seen[r] = 0;
    for (int64_t g = 0; g < is->ghost_rows; g++) d->fetched[d->owners[g]] += d->kept[g];
    for (int64_t i = 0; i < is->local.rows; i++)
        for (int64_t t = tamis_row_start(&is->local, i); t < tamis_row_start(&is->local, i + 1); t++) {
            const int64_t g = ghost_of(is, t);
            if (g < 0 || d->kept[g]) continue;
            const int32_t r = d->owners[g];
            d->given[r].rows += seen[r] != i + 1;
            d->given[r].entries++;
            seen[r] = i + 1;
        }
    for (int r = 0; r < is->ranks; r++) {
        d->all_fetched += d->fetched[r];
        d->all_given.rows += d->given[r].rows;
        d->all_given.entries += d->given[r].entries;
    }
}

tamis_status tamis_division_cover(const tamis_shard_description *is, const tamis_cover_price *price,
                                  tamis_division *d) {
    columns c;
    int64_t *seen;
    TAMIS_SCOPE;
    if (is->local.rows > INT32_MAX) return TAMIS_OK; /* every ghost row is fetched */
    TRY(allocate_columns(is, &c));
    TRY(tamis_allocate_array(is->ranks, "the rows of a cover", seen));
    sort_by_column(is, &c);
    for (int r = 0; r < is->ranks; r++) TRY(cover_pair(is, price, &c, r, d));
    count(is, seen, d);
    return TAMIS_OK;
}
