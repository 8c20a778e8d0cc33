/*
 * Builds panels of neighbouring rows: finds which rows share which columns. See panels_kernels.h.
 *
 * A panel has two groups of three or four rows. In each column, the rows of a group that have a nonzero there are taken
 * together, whichever they are; a single row of one group and a single row of the other are a pair. So a panel has at
 * most 15 + 15 runs within groups and 16 such pairs, which are long enough to pay off, while eight rows together could
 * have 255. Runs that are still too short are dissolved into single rows, and the rest of a row joins the scattered
 * nonzeros of the panel.
 *
 * The rows of a panel are merged by their columns, in one pass. A row with unsorted columns is taken by itself.
 */
#include "cpu/methods/panels/build.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "cpu/predict.h"
#include "sparse/structure.h"

enum {
    ROWS = TAMIS_CPU_PANEL_ROWS,
    MASKS = 1 << ROWS,
    RUN_BYTES = 2560,   /* rows of B that a run of several rows must save, in bytes */
    RUN_ENTRIES = 12,   /* least entries of a run of one row */
    LOOK_PANELS = 24,   /* panels that a prediction reads */
    LOOK_NONZEROS = 128 /* a prediction reads at most 1 / LOOK_NONZEROS of the nonzeros */
};

/* How each set of rows with a nonzero in one column is cut into runs: one per group, or a pair. */
typedef struct cuts {
    uint8_t pieces[MASKS][4];
} cuts;

typedef struct panel {
    const tamis_problem *problem;
    const cuts *cuts;
    int64_t row, rows;        /* first row, and number of rows: the last panel may have fewer */
    int64_t places[ROWS + 1]; /* begin of each row, relative to the panel's first nonzero */
    int64_t begin;            /* its first nonzero */
    bool loose[ROWS];         /* the row's columns are unsorted */
    uint32_t counts[MASKS];   /* entries of each run; 0 if it is dissolved */
    bool dissolved[MASKS];
    uint32_t scattered; /* entries outside runs of known rows */
    int64_t row_bytes;  /* bytes of a row of B */
    int64_t least;      /* see tamis_cpu_build_panels */
    int64_t columns;    /* columns in the lists below */
    uint32_t *list;     /* columns of the panel, sorted */
    uint8_t *masks;     /* bit masks of the rows that have them */
} panel;

/* Bytes of a row of B, or of D. */
static int64_t row_bytes_of(const tamis_problem *problem) {
    return (int64_t)tamis_cpu_row_bytes(problem) / (problem->operation == TAMIS_OP_FUSED ? 2 : 1);
}

static bool is_single(unsigned mask) { return (mask & (mask - 1)) == 0; }

static void make_cuts(cuts *all, int64_t rows) {
    const unsigned low = (1u << rows / 2) - 1;
    memset(all, 0, sizeof *all);
    for (unsigned mask = 1; mask < MASKS; mask++) {
        const unsigned a = mask & low, b = mask & ~low;
        uint8_t *const pieces = all->pieces[mask];
        if (a && b && is_single(a) && is_single(b)) {
            pieces[0] = (uint8_t)mask;
        } else {
            int count = 0;
            if (a) pieces[count++] = (uint8_t)a;
            if (b) pieces[count] = (uint8_t)b;
        }
    }
}

static uint32_t column_of(const tamis_problem *problem, int64_t t) {
    return (uint32_t)tamis_index_load(problem->columns, problem->index_type, t);
}

static bool rises(const tamis_problem *problem, int64_t begin, int64_t end) {
    for (int64_t t = begin + 1; t < end; t++)
        if (column_of(problem, t) <= column_of(problem, t - 1)) return false;
    return true;
}

static void count_pieces(panel *p, unsigned mask) {
    const uint8_t *const pieces = p->cuts->pieces[mask];
    for (int i = 0; i < 4 && pieces[i]; i++) p->counts[pieces[i]]++;
}

/* Dissolves short runs, since a run costs a mispredicted branch, and loading and storing its sums. */
static void dissolve_short_runs(panel *p) {
    memset(p->dissolved, 0, sizeof p->dissolved);
    p->scattered = 0;
    for (unsigned mask = 1; mask < MASKS; mask++) {
        const int64_t spared = (int64_t)p->counts[mask] * (__builtin_popcount(mask) - 1) * p->row_bytes;
        const bool pays = p->least > 0 ? p->counts[mask] >= p->least : spared >= RUN_BYTES;
        if (is_single(mask) || p->counts[mask] == 0 || pays) continue;
        for (unsigned r = 0; r < ROWS; r++)
            if (mask >> r & 1) p->counts[1u << r] += p->counts[mask];
        p->counts[mask] = 0;
        p->dissolved[mask] = true;
    }
    for (unsigned r = 0; r < ROWS; r++) {
        if (p->counts[1u << r] >= (p->least > 0 ? p->least : RUN_ENTRIES)) continue;
        p->scattered += p->counts[1u << r];
        p->counts[1u << r] = 0;
        p->dissolved[1u << r] = true;
    }
}

/* Merges the rows of the panel that begins at `row`, and counts the entries of its runs. */
static void read_panel(panel *p, int64_t row, int64_t rows) {
    const tamis_problem *const problem = p->problem;
    uint32_t heads[ROWS];
    int64_t at[ROWS], end[ROWS];
    int live = 0, who[ROWS];
    p->row = row;
    p->rows = problem->rows - row < rows ? problem->rows - row : rows;
    p->begin = tamis_cpu_offset(problem, row);
    p->columns = 0;
    memset(p->counts, 0, sizeof p->counts);
    for (int64_t r = 0; r < p->rows; r++) {
        const int64_t begin = tamis_cpu_offset(problem, row + r);
        p->places[r] = begin - p->begin;
        at[r] = begin;
        end[r] = tamis_cpu_offset(problem, row + r + 1);
        p->loose[r] = !rises(problem, begin, end[r]);
        if (p->loose[r]) {
            p->counts[1u << r] += (uint32_t)(end[r] - begin);
        } else if (end[r] > begin) {
            heads[r] = column_of(problem, begin);
            who[live++] = (int)r;
        }
    }
    p->places[p->rows] = tamis_cpu_offset(problem, row + p->rows) - p->begin;
    while (live > 0) {
        uint32_t least = heads[who[0]];
        unsigned mask = 0;
        for (int i = 1; i < live; i++) least = heads[who[i]] < least ? heads[who[i]] : least;
        for (int i = 0; i < live;) {
            const int r = who[i];
            if (heads[r] != least) {
                i++;
                continue;
            }
            mask |= 1u << r;
            if (++at[r] < end[r]) {
                heads[r] = column_of(problem, at[r]);
                i++;
            } else {
                who[i] = who[--live];
            }
        }
        p->list[p->columns] = least;
        p->masks[p->columns++] = (uint8_t)mask;
        count_pieces(p, mask);
    }
    dissolve_short_runs(p);
}

/* ------------------------------------------------------------------------------------------ building */

static void write_piece(uint32_t **to, unsigned mask, uint32_t column, uint32_t *places) {
    uint32_t *entry = *to;
    *entry++ = column;
    for (unsigned r = 0; r < ROWS; r++)
        if (mask >> r & 1) *entry++ = places[r]++;
    *to = entry;
}

/* Writes one row's nonzero into the row's own run, or among the scattered ones, with the row number. */
static void write_single(const panel *p, uint32_t **to, unsigned r, uint32_t column, uint32_t *places) {
    if (!p->dissolved[1u << r]) {
        write_piece(&to[1u << r], 1u << r, column, places);
        return;
    }
    *to[0]++ = column;
    *to[0]++ = places[r]++ | (uint32_t)r << TAMIS_CPU_PANEL_PLACE_BITS;
}

/* Writes the panel's runs and entries, and advances both pointers. */
static void write_panel(const panel *p, tamis_cpu_run **next_run, uint32_t **next_entry) {
    tamis_cpu_run *runs = *next_run;
    uint32_t *entries = *next_entry, *to[MASKS], places[ROWS];
    for (int64_t r = 0; r < p->rows; r++) places[r] = (uint32_t)p->places[r];
    /* by height, so that the branch to each height's loop is predictable */
    for (int height = 1; height <= TAMIS_CPU_PANEL_HEIGHT; height++) {
        for (unsigned mask = 1; mask < MASKS; mask++) {
            if (p->counts[mask] == 0 || __builtin_popcount(mask) != height) continue;
            tamis_cpu_run run = {.count = p->counts[mask]};
            for (unsigned r = 0; r < ROWS; r++)
                if (mask >> r & 1) run.rows[run.height++] = (uint8_t)r;
            to[mask] = entries;
            entries += (int64_t)run.count * (height + 1);
            *runs++ = run;
        }
    }
    to[0] = entries;
    entries += 2 * (int64_t)p->scattered;
    if (p->scattered) *runs++ = (tamis_cpu_run){.count = p->scattered};
    *runs++ = (tamis_cpu_run){0};
    for (int64_t c = 0; c < p->columns; c++) {
        const uint8_t *const pieces = p->cuts->pieces[p->masks[c]];
        for (int i = 0; i < 4 && pieces[i]; i++) {
            if (!is_single(pieces[i]) && !p->dissolved[pieces[i]]) {
                write_piece(&to[pieces[i]], pieces[i], p->list[c], places);
                continue;
            }
            for (unsigned r = 0; r < ROWS; r++)
                if (pieces[i] >> r & 1) write_single(p, to, r, p->list[c], places);
        }
    }
    for (unsigned r = 0; r < p->rows; r++)
        for (int64_t t = p->places[r]; p->loose[r] && t < p->places[r + 1]; t++)
            write_single(p, to, r, column_of(p->problem, p->begin + t), places);
    *next_run = runs;
    *next_entry = entries;
}

typedef struct build {
    const tamis_problem *problem;
    const cuts *cuts;
    int64_t rows, most, least;
    tamis_cpu_panel_index *panels;
    uint32_t *lists;
    uint8_t *masks;
} build;

static void build_body(void *context, int thread, int threads) {
    const build *const b = context;
    const int64_t panels = tamis_cpu_panel_count(b->problem, b->rows);
    const int64_t first = tamis_partition_even(panels, threads, thread);
    const int64_t end = tamis_partition_even(panels, threads, thread + 1);
    panel p = {.problem = b->problem,
               .cuts = b->cuts,
               .row_bytes = row_bytes_of(b->problem),
               .least = b->least,
               .list = b->lists + thread * b->most,
               .masks = b->masks + thread * b->most};
    if (first == end) return;
    tamis_cpu_run *run = b->panels->runs + first * TAMIS_CPU_PANEL_RUNS;
    uint32_t *entry = b->panels->entries + 2 * tamis_cpu_offset(b->problem, first * b->rows);
    for (int64_t i = first; i < end; i++) {
        b->panels->starts[i] = (tamis_cpu_panel_start){run - b->panels->runs, entry - b->panels->entries};
        read_panel(&p, i * b->rows, b->rows);
        write_panel(&p, &run, &entry);
    }
}

int64_t tamis_cpu_panel_count(const tamis_problem *problem, int64_t rows) {
    return problem->rows / rows + (problem->rows % rows > 0);
}

int64_t tamis_cpu_panel_most(const tamis_problem *problem, int64_t rows) {
    int64_t most = 0;
    for (int64_t row = 0; row < problem->rows; row += rows) {
        const int64_t end = problem->rows - row < rows ? problem->rows : row + rows;
        const int64_t nonzeros = tamis_cpu_offset(problem, end) - tamis_cpu_offset(problem, row);
        if (nonzeros > most) most = nonzeros;
    }
    return most;
}

tamis_status tamis_cpu_build_panels(const tamis_problem *problem, int threads, int64_t least,
                                    tamis_cpu_panel_index *panels) {
    tamis_status status = TAMIS_OK;
    cuts all;
    const int64_t most = tamis_cpu_panel_most(problem, panels->rows);
    build b = {.problem = problem,
               .cuts = &all,
               .rows = panels->rows,
               .most = most > 0 ? most : 1,
               .least = least,
               .panels = panels};
    make_cuts(&all, panels->rows);
    TRY_GOTO(done,
             tamis_allocate(tamis_times(b.most, threads), sizeof *b.lists, "the columns of panels", (void **)&b.lists));
    TRY_GOTO(done, tamis_allocate(tamis_times(b.most, threads), 1, "the rows of panels' columns", (void **)&b.masks));
    tamis_threads_run(threads, build_body, &b);
done:
    tamis_release(b.lists);
    tamis_release(b.masks);
    return status;
}

/* ------------------------------------------------------------------------------------------ predicting */

tamis_cpu_panel_shares tamis_cpu_profile_panels(const tamis_problem *problem, int64_t rows) {
    enum { MOST = 8192 }; /* most nonzeros read per panel */
    uint32_t list[MOST];
    uint8_t masks[MOST];
    cuts all;
    panel p = {.problem = problem, .cuts = &all, .row_bytes = row_bytes_of(problem), .list = list, .masks = masks};
    const int64_t panels = tamis_cpu_panel_count(problem, rows);
    const int64_t least = 2048, limit = problem->nnz / LOOK_NONZEROS > least ? problem->nnz / LOOK_NONZEROS : least;
    int64_t nonzeros = 0, entries = 0, runs = 0, single = 0;
    make_cuts(&all, rows);
    for (int i = 0; i < LOOK_PANELS && i < panels && nonzeros < limit; i++) {
        const int64_t at = panels <= LOOK_PANELS ? i : tamis_cpu_sample(panels, i);
        const int64_t row = at * rows, end = problem->rows - row < rows ? problem->rows : row + rows;
        if (tamis_cpu_offset(problem, end) - tamis_cpu_offset(problem, row) > MOST) continue;
        read_panel(&p, row, rows);
        nonzeros += p.places[p.rows];
        entries += p.scattered;
        single += p.scattered;
        runs += 1;
        for (unsigned mask = 1; mask < MASKS; mask++) {
            entries += p.counts[mask];
            runs += p.counts[mask] > 0;
            if (is_single(mask)) single += p.counts[mask];
        }
    }
    if (nonzeros == 0) return (tamis_cpu_panel_shares){1, 1, 1};
    return (tamis_cpu_panel_shares){(double)entries / (double)nonzeros, (double)runs / (double)nonzeros,
                                    (double)single / (double)nonzeros};
}
