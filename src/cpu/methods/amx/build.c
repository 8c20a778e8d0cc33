/*
 * Finds the cells of each panel. A thread marks the cells of a panel in a bitmap, scans it between the first and the
 * last, which gives them in order, and then sets a bit for each nonzero. The bitmap is clear between panels.
 */
#include "cpu/methods/amx/build.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/structure.h"

enum { ROWS = TAMIS_CPU_AMX_ROWS, SIDE = TAMIS_CPU_AMX_SIDE, LOOK_PANELS = 24, LOOK_NONZEROS = 64 };

typedef struct marks {
    uint64_t *seen;  /* bitmap of a panel's cells */
    uint32_t *slots; /* index of each marked cell within the panel */
} marks;

static int64_t column_of(const tamis_problem *problem, int64_t t) {
    return tamis_index_load(problem->columns, problem->index_type, t);
}

static int64_t end_row_of(const tamis_problem *problem, int64_t panel) {
    const int64_t row = panel * ROWS;
    return problem->rows - row < ROWS ? problem->rows : row + ROWS;
}

static int64_t nonzeros_of(const tamis_problem *problem, int64_t panel, int64_t end) {
    return tamis_cpu_offset(problem, end_row_of(problem, end - 1)) - tamis_cpu_offset(problem, panel * ROWS);
}

/* Marks the cells of a panel; false if the columns of a row are unsorted. */
static bool mark(const tamis_problem *problem, int64_t panel, uint64_t *seen, int64_t *first, int64_t *last) {
    const int64_t end_row = end_row_of(problem, panel);
    bool rise = true;
    *first = problem->cols;
    *last = -1;
    for (int64_t r = panel * ROWS; r < end_row; r++) {
        const int64_t end = tamis_cpu_offset(problem, r + 1);
        int64_t before = -1;
        for (int64_t t = tamis_cpu_offset(problem, r); t < end; t++) {
            const int64_t column = column_of(problem, t), cell = column / SIDE;
            rise &= column > before;
            before = column;
            seen[cell / 64] |= UINT64_C(1) << cell % 64;
            if (cell < *first) *first = cell;
            if (cell > *last) *last = cell;
        }
    }
    return rise;
}

/* Clears the marks, and lists the marked cells if `to` is not NULL. Returns their number. */
static int64_t list(const marks *m, int64_t first, int64_t last, uint32_t *to) {
    int64_t count = 0;
    for (int64_t word = first / 64; last >= 0 && word <= last / 64; word++) {
        for (uint64_t bits = m->seen[word]; bits; bits &= bits - 1, count++) {
            const int64_t cell = word * 64 + __builtin_ctzll(bits);
            if (!to) continue;
            to[count] = (uint32_t)cell;
            m->slots[cell] = (uint32_t)count;
        }
        m->seen[word] = 0;
    }
    return count;
}

/* Number of cells of a panel if tile products pay there; otherwise 0. */
static int64_t count_cells(const tamis_problem *problem, int64_t panel, int64_t least, const marks *m) {
    int64_t first, last;
    const bool rise = mark(problem, panel, m->seen, &first, &last);
    const int64_t count = list(m, first, last, NULL);
    return rise && nonzeros_of(problem, panel, panel + 1) >= least * count ? count : 0;
}

static void fill_cells(const tamis_problem *problem, int64_t panel, const marks *m, uint32_t *columns,
                       uint32_t *masks) {
    int64_t first, last;
    mark(problem, panel, m->seen, &first, &last);
    const int64_t count = list(m, first, last, columns), row = panel * ROWS, end_row = end_row_of(problem, panel);
    if (!masks) return;
    memset(masks, 0, (size_t)count * ROWS * sizeof *masks);
    for (int64_t r = row; r < end_row; r++) {
        const int64_t end = tamis_cpu_offset(problem, r + 1);
        for (int64_t t = tamis_cpu_offset(problem, r); t < end; t++) {
            const int64_t column = column_of(problem, t);
            masks[m->slots[column / SIDE] * ROWS + (r - row)] |= UINT32_C(1) << column % SIDE;
        }
    }
}

/* ------------------------------------------------------------------------------------------ building */

typedef struct build {
    const tamis_problem *problem;
    tamis_cpu_amx_index *index;
    int64_t least;
    marks all; /* of all threads, consecutively */
    bool counts;
} build;

static void build_body(void *context, int share, int shares) {
    const build *const b = context;
    tamis_cpu_amx_index *const index = b->index;
    const marks m = {b->all.seen + share * (index->cells / 64 + 1), b->all.slots + share * index->cells};
    TAMIS_EACH_OF_SHARE(i, index->panels, shares, share) {
        if (b->counts) {
            index->starts[i + 1] = count_cells(b->problem, i, b->least, &m);
            continue;
        }
        const int64_t at = index->starts[i]; /* while panels are counted, another thread may write it */
        if (index->starts[i + 1] > at)
            fill_cells(b->problem, i, &m, index->columns + at, index->masks ? index->masks + at * ROWS : NULL);
    }
}

tamis_status tamis_cpu_amx_build(tamis_prepared *p, int64_t least, tamis_cpu_amx_index *index, int64_t *most) {
    const int64_t together = index->together;
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    build b = {.problem = problem, .index = index, .least = least, .counts = true};
    index->threads = p->threads;
    index->panels = tamis_cpu_amx_parts(problem->rows);
    index->cells = tamis_cpu_amx_parts(problem->cols);
    *most = 0;
    TRY(tamis_cpu_keep(p, index->panels + 1, sizeof *index->starts, "the panels of tiles", (void **)&index->starts));
    TRY_GOTO(done, tamis_allocate_zeroed(tamis_times(p->threads, index->cells / 64 + 1), sizeof *b.all.seen,
                                         "marks of cells", (void **)&b.all.seen));
    TRY_GOTO(done, tamis_allocate(tamis_times(p->threads, index->cells + 1), sizeof *b.all.slots, "the places of cells",
                                  (void **)&b.all.slots));
    tamis_threads_run(p->threads, build_body, &b);
    index->starts[0] = 0;
    for (int64_t i = 0; i < index->panels; i++) {
        const int64_t last = i + together < index->panels ? i + together : index->panels;
        const int64_t nonzeros = index->starts[i + 1] > 0 ? nonzeros_of(problem, i, last) : 0;
        if (nonzeros > *most) *most = nonzeros;
        index->starts[i + 1] += index->starts[i];
    }
    const int64_t count = index->starts[index->panels];
    TRY_GOTO(done, tamis_cpu_keep(p, count + 1, sizeof *index->columns, "the cells", (void **)&index->columns));
    TRY_GOTO(done,
             tamis_cpu_keep(p, count + 1, ROWS * sizeof *index->masks, "the bits of cells", (void **)&index->masks));
    b.counts = false;
    tamis_threads_run(p->threads, build_body, &b);
done:
    tamis_release(b.all.seen);
    tamis_release(b.all.slots);
    return status;
}

/* ------------------------------------------------------------------------------------------ predicting */

tamis_cpu_amx_shares tamis_cpu_amx_profile(const tamis_problem *problem, int64_t least) {
    const int64_t panels = tamis_cpu_amx_parts(problem->rows), cells = tamis_cpu_amx_parts(problem->cols);
    const int64_t limit = problem->nnz / LOOK_NONZEROS > 4096 ? problem->nnz / LOOK_NONZEROS : 4096;
    tamis_cpu_amx_shares shares = {0};
    int64_t looked = 0;
    marks m = {.seen = NULL};
    if (tamis_allocate_zeroed(cells / 64 + 1, sizeof *m.seen, "marks of cells", (void **)&m.seen) != TAMIS_OK)
        return shares;
    for (int i = 0; i < LOOK_PANELS && i < panels && looked < limit; i++) {
        const int64_t panel = tamis_cpu_sample(panels, i);
        const int64_t count = count_cells(problem, panel, least, &m), nonzeros = nonzeros_of(problem, panel, panel + 1);
        looked += nonzeros;
        shares.cells += (double)count;
        if (count > 0) shares.nonzeros += (double)nonzeros;
    }
    tamis_release(m.seen);
    const double all = looked > 0 ? (double)problem->nnz / (double)looked : 0;
    return (tamis_cpu_amx_shares){all * shares.nonzeros, all * shares.cells};
}
