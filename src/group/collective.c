/* Sums over the ranks, and rows for plans of one device. */
#include "group/collective.h"

#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "group/exchange/exchange.h"
#include "group/exchange/lists.h"
#include "sparse/structure.h"

/* ------------------------------------------------------------------------------------------ sums */

/* Sums numbers that fit one record. */
static tamis_status sum_few(tamis_group *group, double *numbers, int64_t count) {
    const size_t bytes = (size_t)count * sizeof *numbers;
    TRY(tamis_group_share(group, TAMIS_OK, numbers, bytes));
    for (int64_t i = 0; i < count; i++) numbers[i] = 0;
    for (int r = 0; r < group->transport.ranks; r++) {
        const char *const theirs = tamis_group_shared(group, r, bytes);
        for (int64_t i = 0; i < count; i++) {
            double number;
            memcpy(&number, theirs + (size_t)i * sizeof number, sizeof number);
            numbers[i] += number;
        }
    }
    return TAMIS_OK;
}

/* Reduce-scatter, then all-gather: each rank sums its share of the numbers and sends it to all others. */
typedef struct sum {
    tamis_group *group;
    double *numbers, *room;        /* room: a share from each rank, then a copy of this rank's sums for each */
    int64_t count, *shares, *mine; /* ranks + 1, in bytes: begin of each share; begin of this rank's share in `room` */
} sum;

static tamis_status make_room(sum *s) {
    const int ranks = s->group->transport.ranks, rank = s->group->transport.rank;
    const int64_t size = (int64_t)sizeof(double);
    TRY(tamis_allocate_array(2 * ((int64_t)ranks + 1), "the shares of a sum", s->shares));
    s->mine = s->shares + ranks + 1;
    for (int r = 0; r <= ranks; r++) s->shares[r] = tamis_partition_even(s->count, ranks, r) * size;
    const int64_t own = s->shares[rank + 1] - s->shares[rank];
    for (int r = 0; r <= ranks; r++) s->mine[r] = r * own;
    return tamis_allocate_array(tamis_times(ranks, own / size), "the shares of a sum", s->room);
}

static tamis_status sum_many(sum *s) {
    const int ranks = s->group->transport.ranks, rank = s->group->transport.rank;
    double *const own = s->numbers + s->shares[rank] / (int64_t)sizeof(double);
    const int64_t count = s->mine[1] / (int64_t)sizeof(double);
    const tamis_transfer out = {
        .send = s->numbers, .send_starts = s->shares, .receive = s->room, .receive_starts = s->mine};
    TRY(tamis_group_exchange(s->group, &out));
    for (int64_t i = 0; i < count; i++) {
        double total = 0;
        for (int r = 0; r < ranks; r++) total += r == rank ? own[i] : s->room[r * count + i];
        own[i] = total;
    }
    for (int r = 0; r < ranks; r++) memcpy(s->room + r * count, own, (size_t)count * sizeof(double));
    const tamis_transfer back = {
        .send = s->room, .send_starts = s->mine, .receive = s->numbers, .receive_starts = s->shares};
    return tamis_group_exchange(s->group, &back);
}

tamis_status tamis_group_sum(tamis_group *group, double *numbers, int64_t count) {
    sum s = {.group = group, .numbers = numbers, .count = count};
    TAMIS_SCOPE;
    if ((size_t)count * sizeof *numbers <= TAMIS_GROUP_SHARED) return sum_few(group, numbers, count);
    TRY(tamis_group_share(group, make_room(&s), NULL, 0));
    return sum_many(&s);
}

/* ------------------------------------------------------------------------------------------ rows */

static tamis_status make_local(tamis_group_rows *rows, const tamis_group_making *m) {
    TRY(tamis_row_exchange_take_requests(rows, m));
    tamis_row_exchange_set_widths(rows, m->options.width, 0);
    rows->copied[0][1] = tamis_row_lists(rows)->own_rows;
    rows->in_place = tamis_row_lists(rows)->ghost_rows == 0;
    return tamis_row_exchange_make_buffers(rows, false);
}

static tamis_status make_rows(void *memory, tamis_group_making *m) {
    TRY(tamis_row_exchange_create(memory, m));
    return tamis_row_exchange_finish(memory, make_local(memory, m));
}

static void destroy(void *memory) {
    tamis_row_exchange_destroy(memory);
    tamis_release(memory);
}

tamis_status tamis_group_rows_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows, int64_t width,
                                     tamis_type type, tamis_group_rows **rows) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    tamis_group_making m = {.kind = TAMIS_GROUP_ROWS, .group = group, .S = S, .own_rows = own_rows, .given = &options};
    options.operation = TAMIS_OP_SPMM;
    options.type = type;
    options.width = width;
    options.trust_input = true;
    return tamis_group_make(&m, sizeof **rows, make_rows, destroy, (void **)rows);
}

void tamis_group_rows_destroy(tamis_group_rows *rows) {
    if (rows) destroy(rows);
}

const tamis_sparse *tamis_group_rows_pattern(const tamis_group_rows *rows) { return &tamis_row_lists(rows)->local; }

tamis_status tamis_group_rows_fetch(tamis_group_rows *rows, const tamis_dense *own, void *stream, uint64_t generation,
                                    tamis_dense *X) {
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    const tamis_dense *x = own;
    int64_t none;
    execution.stream = stream;
    execution.generation = generation;
    const tamis_operand given = {.name = "own",
                                 .view = own,
                                 .rows = tamis_row_lists(rows)->own_rows,
                                 .cols = rows->row_bytes / (int64_t)tamis_type_size(rows->type),
                                 .type = rows->type,
                                 .layout = TAMIS_ROW_MAJOR,
                                 .batch = rows->batch};
    tamis_call c = {.exchange = rows,
                    .fetches = {{.from = {{given, rows->in_place ? NULL : &x, &none}}, .count = 1, .needs = true}},
                    .given = &execution};
    TRY(tamis_call_run(&c));
    *X = *x;
    return TAMIS_OK;
}
