/*
 * Slabs whose rows of B come in tiles. A tile is a range of columns, restricted to the columns that the slab's nonzeros
 * need: few for a mesh, almost all for a random graph. The first step finds the ends of slabs and tiles and each tile's
 * rows of B; the second makes the pieces' patterns.
 */
#include "base/scope.h"
#include "slabs/slabs.h"

#include "base/memory.h"
#include "base/status.h"

typedef struct cutting {
    tamis_slab_plan *plan;
    int64_t slab_most, piece_most; /* bytes */
    int64_t rows, nnz, b_rows;     /* capacity of a piece's buffers; 0: not decided yet */
    int64_t nnz_least, b_least;    /* their minimum: the longest row or column; the row with the most columns */
    int64_t *counts;               /* by column: the slab's nonzeros there */
    int64_t low, high;             /* range of the slab's columns; high < low: empty */
    int32_t *numbers, *tiles;      /* by column: its index in its tile, and its tile in the slab */
} cutting;

static int64_t column_of(const tamis_sparse *S, int64_t entry) {
    return tamis_index_load(S->columns, S->index_type, S->offset_base + entry);
}

/* Returns the bytes of a piece's rows: rows + 1 offsets, and the scratch of the call. */
static int64_t piece_row_bytes(const cutting *c, int64_t rows) {
    int64_t bytes;
    return __builtin_mul_overflow(rows + 1, c->plan->bytes.piece_row, &bytes) ? INT64_MAX : bytes;
}

/* ------------------------------------------------------------------------------------------ slabs */

/* A piece gets 1/8 of 15/16 of the memory, for softmax three times as much; its rows get half of that. */
enum { TIMES_SOFTMAX = 3, TIMES_PIECE = 9, TIMES_ROWS = 18 };

/* Reports that a row or column `number` (named by `what`) takes `bytes` bytes, which its share of the memory does not
   hold. The memory must be at least `times` times as large as `bytes`. */
static tamis_status too_small(const cutting *c, const char *what, int64_t number, int64_t bytes, int times) {
    int64_t needed;
    const bool of_softmax = times == TIMES_SOFTMAX;
    if (__builtin_mul_overflow(bytes, times, &needed) || __builtin_add_overflow(needed, 256, &needed))
        needed = INT64_MAX;
    c->plan->memory_needed = needed;
    return tamis_fail(TAMIS_ERROR_MEMORY,
                      "slabs.device_memory = %lld: expected at least %lld, since %s %lld of S takes %lld bytes%s",
                      (long long)c->plan->report.device_memory, (long long)needed, what, (long long)number,
                      (long long)bytes, of_softmax ? " with its rows of B and D, which softmax needs at once" : "");
}

/* Returns the bytes of a piece with these numbers of rows, nonzeros and rows of B; INT64_MAX if they exceed 32-bit
   indices. */
static int64_t piece_bytes(const cutting *c, int64_t rows, int64_t nnz, int64_t b_rows) {
    const tamis_slab_bytes *const b = &c->plan->bytes;
    int64_t entries, of_b, bytes;
    if (nnz > INT32_MAX || b_rows > INT32_MAX || __builtin_mul_overflow(nnz, b->entry, &entries) ||
        __builtin_mul_overflow(b_rows, b->b_row, &of_b) || __builtin_add_overflow(entries, of_b, &bytes) ||
        __builtin_add_overflow(bytes, piece_row_bytes(c, rows), &bytes))
        return INT64_MAX;
    return bytes;
}

/* Returns true if a piece fits: by its bytes, or by each buffer once their sizes are decided. */
static bool fits(const cutting *c, int64_t rows, int64_t nnz, int64_t b_rows) {
    if (c->rows == 0) return piece_bytes(c, rows, nnz, b_rows) <= c->piece_most;
    return rows <= c->rows && nnz <= c->nnz && b_rows <= c->b_rows;
}

/* Adds (step 1) or removes (-1) a row's nonzeros in the counts. Returns the number of columns that become used. */
static int64_t count_row(cutting *c, int64_t row, int step) {
    const tamis_sparse *const S = &c->plan->S;
    const int64_t end = tamis_slab_entry(S, row + 1);
    int64_t new_ones = 0;
    for (int64_t t = tamis_slab_entry(S, row); t < end; t++) {
        const int64_t column = column_of(S, t);
        new_ones += c->counts[column] == 0;
        c->counts[column] += step;
        if (column < c->low) c->low = column;
        if (column > c->high) c->high = column;
    }
    return new_ones;
}

/* Adds rows from `first` on to the slab while they fit, and counts their columns. */
static tamis_status take_rows(cutting *c, int64_t first, tamis_slab *slab) {
    const tamis_sparse *const S = &c->plan->S;
    const bool softmax = tamis_is_softmax(&c->plan->options);
    const int64_t row_bytes = c->plan->bytes.row, begin = tamis_slab_entry(S, first);
    int64_t end = first, b_rows = 0;
    c->low = S->cols;
    c->high = -1;
    while (end < S->rows) {
        const int64_t rows = end + 1 - first, nnz = tamis_slab_entry(S, end + 1) - begin;
        if ((row_bytes > 0 && rows > c->slab_most / row_bytes) || piece_row_bytes(c, rows) > c->piece_most / 2) break;
        const int64_t more = count_row(c, end, 1);
        const int64_t of_row = tamis_slab_entry(S, end + 1) - tamis_slab_entry(S, end);
        if (softmax) {
            tamis_slab_raise(&c->nnz_least, of_row);
            tamis_slab_raise(&c->b_least, of_row < S->cols ? of_row : S->cols);
        }
        if (softmax && !fits(c, rows, nnz, b_rows + more)) {
            (void)count_row(c, end, -1);
            if (end > first) break;
            return too_small(c, "row", first, piece_bytes(c, 1, nnz, more), TIMES_SOFTMAX);
        }
        b_rows += more;
        end++;
    }
    if (end == first) return too_small(c, "row", first, row_bytes + piece_row_bytes(c, 1), TIMES_ROWS);
    *slab = (tamis_slab){.first_row = first,
                         .rows = end - first,
                         .first_entry = begin,
                         .nnz = tamis_slab_entry(S, end) - begin,
                         .first_piece = c->plan->report.pieces};
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ tiles */

static tamis_status add_row_of_b(tamis_slab_tiles *tiles, int64_t column) {
    if (tiles->count == tiles->room) {
        const int64_t more = tiles->room ? 2 * tiles->room : 256;
        TRY(tamis_reallocate(tiles->room, more, sizeof column, "the list of rows of B", (void **)&tiles->rows_of_b));
        tiles->room = more;
    }
    tiles->rows_of_b[tiles->count++] = column;
    return TAMIS_OK;
}

/* Ends the current piece, and begins the next one. */
static tamis_status end_piece(cutting *c, tamis_slab *slab, tamis_slab_piece *piece) {
    TRY(tamis_slab_add_piece(c->plan, piece));
    slab->pieces++;
    *piece = (tamis_slab_piece){.slab = piece->slab,
                                .first_entry = piece->first_entry + piece->nnz,
                                .first_b = piece->first_b + piece->b_rows,
                                .first_offset = piece->first_offset + slab->rows + 1};
    return TAMIS_OK;
}

/* Cuts the slab's columns, which have been counted, into tiles, and clears the counts. */
static tamis_status cut_columns(cutting *c, tamis_slab *slab, tamis_slab_piece *piece) {
    piece->slab = c->plan->report.slabs;
    for (int64_t column = c->low; column <= c->high; column++) {
        const int64_t nnz = c->counts[column];
        c->counts[column] = 0;
        if (nnz == 0) continue;
        if (!tamis_is_softmax(&c->plan->options)) tamis_slab_raise(&c->nnz_least, nnz);
        if (!fits(c, slab->rows, nnz, 1))
            return too_small(c, "column", column, piece_bytes(c, slab->rows, nnz, 1), TIMES_PIECE);
        if (!fits(c, slab->rows, piece->nnz + nnz, piece->b_rows + 1)) TRY(end_piece(c, slab, piece));
        TRY(add_row_of_b(&c->plan->tiles, column));
        piece->nnz += nnz;
        piece->b_rows++;
    }
    return end_piece(c, slab, piece); /* even for a slab without nonzeros, whose output is beta times the old one */
}

static tamis_status cut_all(cutting *c) {
    tamis_slab_plan *const plan = c->plan;
    tamis_slab_piece piece = {.nnz = 0};
    for (int64_t first = 0; first < plan->S.rows;) {
        tamis_slab slab;
        TRY(take_rows(c, first, &slab));
        TRY(cut_columns(c, &slab, &piece));
        TRY(tamis_slab_add(plan, &slab));
        first += slab.rows;
    }
    plan->report.b_rows = plan->tiles.count;
    return TAMIS_OK;
}

/*
 * A set's buffers have the largest rows, nonzeros and rows of B of all pieces, perhaps of three different pieces. So S
 * is cut twice: first by bytes, which gives the mean number of nonzeros per row of B; then with buffer sizes in this
 * proportion.
 */
static void decide(cutting *c) {
    tamis_slab_plan *const plan = c->plan;
    const tamis_slab_bytes *const b = &plan->bytes;
    const int64_t room = c->piece_most - piece_row_bytes(c, plan->report.rows_most);
    const double each = plan->tiles.count > 0 ? (double)plan->S.nnz / (double)plan->tiles.count : 0;
    c->rows = plan->report.rows_most;
    c->nnz = (int64_t)(each * (double)room / (each * (double)b->entry + (double)b->b_row + 1));
    tamis_slab_raise(&c->nnz, c->nnz_least);
    if (b->b_row > 0 && c->nnz * b->entry + c->b_least * b->b_row > room)
        c->nnz = (room - c->b_least * b->b_row) / b->entry;
    if (c->nnz > INT32_MAX) c->nnz = INT32_MAX; /* limit of the 32-bit offsets within a piece */
    c->b_rows = b->b_row > 0 ? (room - c->nnz * b->entry) / b->b_row : INT32_MAX;
    if (c->b_rows > INT32_MAX) c->b_rows = INT32_MAX;
    plan->report.slabs = plan->report.pieces = plan->report.rows_most = plan->report.nnz_most = plan->tiles.count = 0;
}

/* ------------------------------------------------------------------------------------------ patterns */

static tamis_status make_room(tamis_slab_plan *plan) {
    tamis_slab_tiles *const tiles = &plan->tiles;
    int64_t offsets = 0;
    for (int64_t i = 0; i < plan->report.pieces; i++) offsets += plan->slabs[plan->pieces[i].slab].rows + 1;
    TRY(tamis_allocate(plan->S.nnz, sizeof(int32_t), "the columns of pieces", (void **)&tiles->columns));
    TRY(tamis_allocate(offsets, sizeof(int32_t), "the offsets of pieces", (void **)&tiles->offsets));
    plan->report.kept_bytes = (int64_t)sizeof(int32_t) * (plan->S.nnz + offsets);
    if (plan->report.pieces == plan->report.slabs) return TAMIS_OK;
    plan->report.kept_bytes += (int64_t)sizeof(int64_t) * plan->S.nnz;
    return tamis_allocate(plan->S.nnz, sizeof(int64_t), "the entries of pieces", (void **)&tiles->entries);
}

/* Sets each column's tile, and its index there. */
static void number_columns(cutting *c, const tamis_slab *slab) {
    for (int64_t i = 0; i < slab->pieces; i++) {
        const tamis_slab_piece *const piece = &c->plan->pieces[slab->first_piece + i];
        for (int64_t j = 0; j < piece->b_rows; j++) {
            const int64_t column = c->plan->tiles.rows_of_b[piece->first_b + j];
            c->numbers[column] = (int32_t)j;
            c->tiles[column] = (int32_t)i;
        }
    }
}

/* Fills the pieces' CSRs and their entries' indices. fill[i]: entries of piece i so far. */
static void fill_slab(const cutting *c, const tamis_slab *slab, int32_t *fill) {
    const tamis_sparse *const S = &c->plan->S;
    const tamis_slab_tiles *const tiles = &c->plan->tiles;
    const tamis_slab_piece *const pieces = &c->plan->pieces[slab->first_piece];
    for (int64_t i = 0; i < slab->pieces; i++) tiles->offsets[pieces[i].first_offset] = fill[i] = 0;
    for (int64_t row = 0; row < slab->rows; row++) {
        const int64_t end = tamis_slab_entry(S, slab->first_row + row + 1);
        for (int64_t t = tamis_slab_entry(S, slab->first_row + row); t < end; t++) {
            const int64_t column = column_of(S, t);
            const int32_t tile = c->tiles[column];
            const int64_t at = pieces[tile].first_entry + fill[tile]++;
            tiles->columns[at] = c->numbers[column];
            if (tiles->entries) tiles->entries[at] = t - slab->first_entry;
        }
        for (int64_t i = 0; i < slab->pieces; i++) tiles->offsets[pieces[i].first_offset + row + 1] = fill[i];
    }
}

static tamis_status fill_all(cutting *c) {
    tamis_slab_plan *const plan = c->plan;
    TAMIS_SCOPE;
    int32_t *fill;
    int64_t most = 0;
    for (int64_t s = 0; s < plan->report.slabs; s++)
        if (plan->slabs[s].pieces > most) most = plan->slabs[s].pieces;
    TRY(make_room(plan));
    TRY(tamis_allocate_array(most, "counts of pieces", fill));
    for (int64_t s = 0; s < plan->report.slabs; s++) {
        number_columns(c, &plan->slabs[s]);
        fill_slab(c, &plan->slabs[s], fill);
    }
    return TAMIS_OK;
}

tamis_status tamis_slab_cut_tiles(tamis_slab_plan *plan, int64_t slab_most, int64_t piece_most) {
    cutting c = {.plan = plan, .slab_most = slab_most, .piece_most = piece_most};
    const int64_t cols = plan->S.cols;
    TAMIS_SCOPE;
    TRY(tamis_allocate_zeros(cols, "counts of columns", c.counts));
    c.b_least = 1;
    TRY(cut_all(&c));
    if (plan->report.pieces > 0) {
        decide(&c);
        TRY(cut_all(&c));
    }
    TRY(tamis_allocate_array(cols, "the numbers of columns", c.numbers));
    TRY(tamis_allocate_array(cols, "the tiles of columns", c.tiles));
    return fill_all(&c);
}
