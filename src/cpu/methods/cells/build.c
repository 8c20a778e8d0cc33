/*
 * Finds the columns of each block of 32 rows. A thread marks the columns of a block in a bitmap, and collects for each
 * the rows that have it. Then it scans the bitmap between the block's first and last column, which gives the columns in
 * order.
 */
#include "cpu/methods/cells/build.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "cpu/method.h"
#include "sparse/structure.h"

enum { ROWS = TAMIS_CPU_CELL_ROWS, TOGETHER = TAMIS_CPU_CELL_TOGETHER, LOOK_BLOCKS = 24, LOOK_NONZEROS = 64 };

static int64_t blocks_of(const tamis_problem *problem) { return problem->rows / ROWS + (problem->rows % ROWS > 0); }

/* A thread's marks; all are cleared between blocks. */
typedef struct marks {
    uint64_t *seen; /* a bit for each column */
    uint32_t *rows; /* of each column */
} marks;

/* Lists a duplicate nonzero as a cell of its own list: the columns of one list must differ. */
static void list_repeated(tamis_cpu_cell *to, uint32_t column, uint32_t row) {
    to[0] = (tamis_cpu_cell){column, row};
    for (int i = 1; i < TOGETHER; i++) to[i] = (tamis_cpu_cell){column, 0};
}

/* Marks the columns of a block. Returns the number of duplicates; they are listed before `end`, unless it is NULL. */
static int64_t mark_block(const tamis_problem *problem, int64_t block, const marks *m, tamis_cpu_cell *end,
                          int64_t *first, int64_t *last) {
    const int64_t row = block * ROWS, end_row = problem->rows - row < ROWS ? problem->rows : row + ROWS;
    int64_t repeated = 0;
    *first = problem->cols;
    *last = -1;
    for (int64_t r = row; r < end_row; r++) {
        const uint32_t bit = UINT32_C(1) << (r - row);
        const int64_t behind = tamis_cpu_offset(problem, r + 1);
        for (int64_t t = tamis_cpu_offset(problem, r); t < behind; t++) {
            const int64_t c = tamis_index_load(problem->columns, problem->index_type, t);
            if (m->rows[c] & bit) {
                repeated++;
                if (end) list_repeated(end - repeated * TOGETHER, (uint32_t)c, bit);
            }
            m->seen[c / 64] |= UINT64_C(1) << c % 64;
            m->rows[c] |= bit;
            if (c < *first) *first = c;
            if (c > *last) *last = c;
        }
    }
    return repeated;
}

/* Lists a block's columns from `to` on (NULL: only counts them), and clears the marks. Returns the length of the padded
   list. */
static int64_t list_block(const tamis_problem *problem, int64_t block, const marks *m, tamis_cpu_cell *to,
                          tamis_cpu_cell *end) {
    int64_t first, last, count = 0;
    const int64_t repeated = mark_block(problem, block, m, end, &first, &last);
    for (int64_t word = first / 64; last >= 0 && word <= last / 64; word++) {
        for (uint64_t bits = m->seen[word]; bits; bits &= bits - 1, count++) {
            const int64_t c = word * 64 + __builtin_ctzll(bits);
            if (to) to[count] = (tamis_cpu_cell){(uint32_t)c, m->rows[c]};
            m->rows[c] = 0;
        }
        m->seen[word] = 0;
    }
    for (; count % TOGETHER != 0; count++)
        if (to) to[count] = (tamis_cpu_cell){(uint32_t)last, 0};
    return count + repeated * TOGETHER;
}

/* ------------------------------------------------------------------------------------------ building */

typedef struct build {
    const tamis_problem *problem;
    tamis_cpu_cell_index *index;
    marks all; /* of all threads, consecutively */
    bool counts;
} build;

static void build_body(void *context, int thread, int threads) {
    const build *const b = context;
    const int64_t cols = b->problem->cols, *const starts = b->index->starts;
    const marks m = {b->all.seen + thread * (cols / 64 + 1), b->all.rows + thread * cols};
    TAMIS_EACH_OF_SHARE(i, b->index->blocks, threads, thread) {
        if (b->counts)
            b->index->starts[i + 1] = list_block(b->problem, i, &m, NULL, NULL);
        else
            list_block(b->problem, i, &m, b->index->cells + starts[i], b->index->cells + starts[i + 1]);
    }
}

void tamis_cpu_cells_free(tamis_cpu_cell_index *index) {
    tamis_release(index->starts);
    tamis_release(index->cells);
    *index = (tamis_cpu_cell_index){.blocks = 0};
}

tamis_status tamis_cpu_cells_build(const tamis_problem *problem, int threads, tamis_cpu_cell_index *index) {
    tamis_status status = TAMIS_OK;
    build b = {.problem = problem, .index = index, .counts = true};
    *index = (tamis_cpu_cell_index){.blocks = blocks_of(problem)};
    TRY_GOTO(done,
             tamis_allocate(index->blocks + 1, sizeof *index->starts, "the cells' starts", (void **)&index->starts));
    TRY_GOTO(done, tamis_allocate_zeroed(tamis_times(threads, problem->cols / 64 + 1), sizeof *b.all.seen,
                                         "marks of columns", (void **)&b.all.seen));
    TRY_GOTO(done, tamis_allocate_zeroed(tamis_times(threads, problem->cols), sizeof *b.all.rows, "the rows of columns",
                                         (void **)&b.all.rows));
    tamis_threads_run(threads, build_body, &b);
    index->starts[0] = 0;
    for (int64_t i = 0; i < index->blocks; i++) {
        if (index->starts[i + 1] > index->most) index->most = index->starts[i + 1];
        index->starts[i + 1] += index->starts[i];
    }
    TRY_GOTO(done,
             tamis_allocate(index->starts[index->blocks], sizeof *index->cells, "the cells", (void **)&index->cells));
    b.counts = false;
    tamis_threads_run(threads, build_body, &b);
done:
    tamis_release(b.all.seen);
    tamis_release(b.all.rows);
    if (status != TAMIS_OK) tamis_cpu_cells_free(index);
    return status;
}

/* ------------------------------------------------------------------------------------------ predicting */

double tamis_cpu_cells_count(const tamis_problem *problem) {
    const int64_t blocks = blocks_of(problem), least = 4096;
    const int64_t limit = problem->nnz / LOOK_NONZEROS > least ? problem->nnz / LOOK_NONZEROS : least;
    int64_t nonzeros = 0, cells = 0;
    marks m = {.seen = NULL};
    if (tamis_allocate_zeroed(problem->cols / 64 + 1, sizeof *m.seen, "marks of columns", (void **)&m.seen) !=
            TAMIS_OK ||
        tamis_allocate_zeroed(problem->cols, sizeof *m.rows, "the rows of columns", (void **)&m.rows) != TAMIS_OK) {
        tamis_release(m.seen);
        return (double)problem->nnz;
    }
    for (int i = 0; i < LOOK_BLOCKS && i < blocks && nonzeros < limit; i++) {
        const int64_t at = tamis_cpu_sample(blocks, i);
        const int64_t row = at * ROWS, end = problem->rows - row < ROWS ? problem->rows : row + ROWS;
        nonzeros += tamis_cpu_offset(problem, end) - tamis_cpu_offset(problem, row);
        cells += list_block(problem, at, &m, NULL, NULL);
    }
    tamis_release(m.seen);
    tamis_release(m.rows);
    return nonzeros == 0 ? 0 : (double)cells / (double)nonzeros * (double)problem->nnz;
}
