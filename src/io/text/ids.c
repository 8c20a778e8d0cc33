/* Renumbers ids: by a table over their range if they are dense enough, else by sorting and binary search. */
#include "io/text/ids.h"

#include "base/memory.h"
#include "base/scope.h"
#include "sparse/order.h"

typedef struct id_lists {
    void *list[2];
    tamis_index_type type; /* of both */
    int64_t count;         /* of each list */
    int lists;
    const tamis_read_options *options;
    bool of_columns; /* of one list */
} id_lists;

static inline int64_t id_at(const id_lists *ids, int list, int64_t t) {
    return tamis_index_load(ids->list[list], ids->type, t);
}

static inline void set_number(const id_lists *ids, int list, int64_t t, int64_t number) {
    tamis_index_store(ids->list[list], ids->type, t, number);
}

/* Reports which ids became 0, 1, ... */
static tamis_status tell(const id_lists *ids, const int64_t *distinct, int64_t count) {
    const tamis_read_options *const options = ids->options;
    bool goes_on = options->relabelled(options->relabelled_context, ids->of_columns, distinct, count);
    if (goes_on && ids->lists == 2) goes_on = options->relabelled(options->relabelled_context, true, distinct, count);
    return goes_on ? TAMIS_OK : tamis_fail(TAMIS_ERROR_CANCELLED, "cancelled by the caller");
}

/* Reports the ids in the table: those whose number is less than the next one's. */
static tamis_status tell_of_table(const id_lists *ids, const int64_t *number, int64_t range, int64_t count) {
    void *memory = NULL;
    if (!ids->options->relabelled) return TAMIS_OK;
    TRY(tamis_allocate(count, sizeof(int64_t), "the ids that were renumbered", &memory));
    int64_t *const distinct = memory;
    for (int64_t id = 0; id < range; id++)
        if ((id + 1 < range ? number[id + 1] : count) > number[id]) distinct[number[id]] = id;
    const tamis_status status = tell(ids, distinct, count);
    tamis_release(distinct);
    return status;
}

static tamis_status number_by_table(const id_lists *ids, int64_t range, int64_t *distinct) {
    void *memory = NULL;
    TRY(tamis_allocate_zeroed(range, sizeof(int64_t), "the table of ids", &memory));
    int64_t *const number = memory;
    for (int i = 0; i < ids->lists; i++)
        for (int64_t t = 0; t < ids->count; t++) number[id_at(ids, i, t)] = 1;
    int64_t count = 0;
    for (int64_t id = 0; id < range; id++) {
        const int64_t occurs = number[id];
        number[id] = count;
        count += occurs;
    }
    for (int i = 0; i < ids->lists; i++)
        for (int64_t t = 0; t < ids->count; t++) set_number(ids, i, t, number[id_at(ids, i, t)]);
    const tamis_status status = tell_of_table(ids, number, range, count);
    tamis_release(number);
    *distinct = count;
    return status;
}

static int64_t find_id(const int64_t *sorted, int64_t count, int64_t id) {
    int64_t low = 0;
    for (int64_t size = count; size > 1;) {
        const int64_t half = size / 2;
        if (sorted[low + half] <= id) low += half;
        size -= half;
    }
    return low;
}

static tamis_status number_by_sorting(const id_lists *ids, int64_t range, int64_t *distinct) {
    TAMIS_SCOPE;
    const int64_t count = tamis_times(ids->count, ids->lists);
    void *first, *second;
    TRY(tamis_scope_allocate(count, sizeof(int64_t), "the sorted ids", &first));
    TRY(tamis_scope_allocate(count, sizeof(int64_t), "sorting the ids", &second));
    int64_t *sorted = first;
    for (int i = 0; i < ids->lists; i++)
        for (int64_t t = 0; t < ids->count; t++) sorted[i * ids->count + t] = id_at(ids, i, t);
    tamis_sort_numbers(&sorted, second, count, range);
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || sorted[i] != sorted[i - 1]) sorted[kept++] = sorted[i];
    for (int i = 0; i < ids->lists; i++)
        for (int64_t t = 0; t < ids->count; t++) set_number(ids, i, t, find_id(sorted, kept, id_at(ids, i, t)));
    *distinct = kept;
    if (ids->options->relabelled) TRY(tell(ids, sorted, kept));
    return TAMIS_OK;
}

/* Renumbers ids, which must be below `range`. */
static tamis_status number_anew(const id_lists *ids, int64_t range, int64_t *distinct) {
    *distinct = 0;
    if (ids->count == 0) return ids->options->relabelled ? tell(ids, NULL, 0) : TAMIS_OK;
    return range / 8 <= ids->count ? number_by_table(ids, range, distinct) : number_by_sorting(ids, range, distinct);
}

static id_lists lists_of(const tamis_reading *reading, const tamis_entries *entries, bool rows, bool columns) {
    void *const first = rows ? entries->row_indices : entries->columns;
    return (id_lists){.list = {first, rows && columns ? entries->columns : NULL},
                      .type = entries->index_type,
                      .count = entries->count,
                      .lists = rows + columns,
                      .options = &reading->options,
                      .of_columns = !rows};
}

tamis_status tamis_relabel_shared(const tamis_reading *reading, tamis_entries *entries) {
    const id_lists ids = lists_of(reading, entries, true, true);
    const int64_t range = entries->rows > entries->cols ? entries->rows : entries->cols;
    TRY(number_anew(&ids, range, &entries->rows));
    entries->cols = entries->rows;
    return TAMIS_OK;
}

tamis_status tamis_relabel_separately(const tamis_reading *reading, tamis_entries *entries) {
    const id_lists rows = lists_of(reading, entries, true, false);
    const id_lists columns = lists_of(reading, entries, false, true);
    TRY(number_anew(&rows, entries->rows, &entries->rows));
    return number_anew(&columns, entries->cols, &entries->cols);
}
