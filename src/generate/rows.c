/*
 * Kinds that are made row by row. Each row has its own random numbers, so the result does not depend on the number of
 * threads. A first pass counts the entries and a second one makes them, both in parallel.
 */
#include "generate/rows.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/structure.h"

typedef struct making {
    tamis_row_plan plan;
    const tamis_row_kind *kind;
    int threads;
    tamis_row_room *rooms; /* one per thread */
    int64_t *counts;       /* by thread: number of entries in its rows, later the position of the first */
    tamis_owned_sparse *matrix;
} making;

static void count_thread(void *context, int thread, int threads) {
    making *const m = context;
    int64_t count = 0;
    TAMIS_EACH_OF_SHARE(row, m->plan.recipe->rows, threads, thread)
    count += m->kind->row(&m->plan, &m->rooms[thread], row, NULL);
    m->counts[thread] = count;
}

TAMIS_INLINE void store_row(void *to, tamis_index_type type, int64_t begin, int64_t count, const int64_t *columns) {
    for (int64_t i = 0; i < count; i++) tamis_index_store(to, type, begin + i, columns[i]);
}

static void fill_thread(void *context, int thread, int threads) {
    making *const m = context;
    const tamis_sparse *const view = &m->matrix->view;
    tamis_row_room *const room = &m->rooms[thread];
    int64_t place = m->counts[thread];
    TAMIS_EACH_OF_SHARE(row, view->rows, threads, thread) {
        const int64_t count = m->kind->row(&m->plan, room, row, room->columns);
        tamis_index_store(m->matrix->offsets, view->offset_type, row, place);
        if (view->index_type == TAMIS_I32)
            store_row(m->matrix->columns, TAMIS_I32, place, count, room->columns);
        else
            store_row(m->matrix->columns, TAMIS_I64, place, count, room->columns);
        place += count;
    }
}

static tamis_status make_rooms(making *m) {
    void *memory;
    TRY(tamis_allocate_zeroed(m->threads, sizeof *m->rooms, "rooms of threads", &memory));
    m->rooms = memory;
    TRY(tamis_allocate(m->threads, sizeof *m->counts, "counts of threads", &memory));
    m->counts = memory;
    for (int t = 0; t < m->threads; t++) {
        tamis_row_room *const room = &m->rooms[t];
        room->group = -1;
        TRY(tamis_allocate(m->plan.longest, sizeof(int64_t), "a row", &memory));
        room->columns = memory;
        TRY(tamis_allocate(m->plan.group_longest, sizeof(int64_t), "a row of blocks", &memory));
        room->chosen = memory;
        TRY(tamis_subset_room_create(m->plan.recipe->seed, m->plan.bound, m->plan.most, &room->subsets));
    }
    return TAMIS_OK;
}

static void free_rooms(making *m) {
    for (int t = 0; m->rooms && t < m->threads; t++) {
        tamis_release(m->rooms[t].columns);
        tamis_release(m->rooms[t].chosen);
        tamis_subset_room_free(&m->rooms[t].subsets);
    }
    tamis_release(m->rooms);
    tamis_release(m->counts);
}

/* Exclusive prefix sum of the counts; returns the total. */
static int64_t place_threads(making *m) {
    int64_t nnz = 0;
    for (int t = 0; t < m->threads; t++) {
        const int64_t count = m->counts[t];
        m->counts[t] = nnz;
        nnz += count;
    }
    return nnz;
}

tamis_status tamis_make_rows(const tamis_recipe *recipe, const tamis_row_kind *kind, tamis_owned_sparse **matrix) {
    enum { SHARE = 1 << 14 };
    tamis_status status = TAMIS_OK;
    const int64_t work = recipe->rows > recipe->nnz ? recipe->rows : recipe->nnz;
    making m = {.plan = {.recipe = recipe}, .kind = kind, .threads = tamis_threads_for(recipe->threads, work, SHARE)};
    void *offsets = NULL, *columns = NULL;
    /* allocated first, since the passes take time for each row */
    TRY_GOTO(failed, tamis_allocate(recipe->rows + 1, tamis_index_size(recipe->offset_type), "row offsets", &offsets));
    TRY_GOTO(failed, m.kind->plan(&m.plan));
    TRY_GOTO(failed, make_rooms(&m));
    tamis_threads_run(m.threads, count_thread, &m);
    const tamis_sparse shape = {.format = TAMIS_CSR,
                                .rows = recipe->rows,
                                .cols = recipe->cols,
                                .nnz = place_threads(&m),
                                .index_type = recipe->index_type,
                                .offset_type = recipe->offset_type};
    TRY_GOTO(failed, tamis_offset_check("", "nnz", shape.nnz, shape.offset_type));
    TRY_GOTO(failed, tamis_allocate(shape.nnz, tamis_index_size(shape.index_type), "column indices", &columns));
    status = tamis_owned_sparse_adopt(&shape, offsets, NULL, columns, NULL, &m.matrix);
    offsets = columns = NULL;
    if (status != TAMIS_OK) goto failed;
    tamis_threads_run(m.threads, fill_thread, &m);
    tamis_index_store(m.matrix->offsets, shape.offset_type, shape.rows, shape.nnz);
    *matrix = m.matrix;
failed:
    tamis_release(offsets);
    tamis_release(columns);
    free_rooms(&m);
    tamis_release(m.plan.reaches);
    return status;
}
