/* What holds for every operation: the tests of a row. */
#include "operation_cases.h"

#include "sparse/index.h"
#include "support/expect.h"

static const char *on = "cpu";
static tamis_device *device;
static int64_t step = 1, live;
static uint64_t seed;

static bool on_cpu(void) { return strcmp(on, "cpu") == 0; }

static operation_setting setting_of(int64_t number, operation_values values) {
    return (operation_setting){.on = on, .device = device, .seed = seed, .number = number, .values = values};
}

/* ------------------------------------------------------------------------------------------ one call */

static const char *unexpected(const operation_case *c, tamis_status status) {
    static char text[700], said[600];
    snprintf(said, sizeof said, "%s", tamis_last_error()); /* before other calls clear it */
    const char *const reason = c->row->unsupported ? c->row->unsupported(c) : NULL;
    const bool may_decline = reason && strcmp(reason, "?") == 0;
    if (status == TAMIS_OK) return reason && !may_decline ? "taken, though it was to be declined" : NULL;
    if (status == TAMIS_ERROR_UNSUPPORTED && reason && strlen(said) >= 20 && (may_decline || strstr(said, reason)))
        return NULL;
    snprintf(text, sizeof text, "%s: %s", tamis_status_name(status), said);
    return text;
}

static const char *wrong_indices(const operand *x) {
    static char text[160];
    for (int64_t i = 0; i < x->m.here.rows; i++) {
        const int64_t found = tamis_index_load(x->m.here.data, x->index_type, i), want = (int64_t)x->want[i];
        if (found == want) continue;
        snprintf(text, sizeof text, "number %lld is %lld, expected %lld", (long long)i, (long long)found,
                 (long long)want);
        return text;
    }
    return NULL;
}

static const char *wrong_result(const operand *x) {
    if (x->absent)
        return memcmp(x->m.twin.host, x->before, x->m.twin.bytes) == 0 ? NULL : "written to, though it was left out";
    if (!x->want) return "the row expects nothing of it";
    if (x->indices) return wrong_indices(x);
    const int64_t one = x->m.here.rows * x->m.here.cols;
    const char *wrong = matrix_touched(&x->m) >= 0 ? "a gap was written to" : NULL;
    for (int64_t m = 0; m < x->m.members && !wrong; m++)
        wrong = expect_wrong(&x->m.here, m, x->want + m * one, x->bound + m * one);
    return wrong;
}

static void compare(operation_case *c) {
    if (!c->expected || !c->row->ways) c->row->reference(c); /* the same for all ways */
    c->expected = true;
    for (int k = 0; k < OPERANDS; k++) {
        const char *const wrong = operand_is_result(&c->of[k]) ? wrong_result(&c->of[k]) : NULL;
        if (wrong) fail_msg("%s, way %d: %s: %s", c->text, c->way, c->of[k].name, wrong);
    }
}

static void leave_out_some(operation_case *c) {
    for (int k = 0; k < OPERANDS; k++)
        c->of[k].absent = c->of[k].optional && operand_is_result(&c->of[k]) && operation_once_in(c, 2);
}

/* The number of calls that were computed. */
static int64_t try_ways(operation_case *c) {
    const int all = c->row->ways ? c->row->ways(c) : 1;
    const int first = on_cpu() ? 0 : (int)operation_below(c, all); /* elsewhere compiling is what takes the time */
    int64_t computed = 0;
    for (c->way = first; c->way < (on_cpu() ? all : first + 1); c->way++) {
        operation_send(c);
        const tamis_status status = operation_call(c);
        const char *const wrong = unexpected(c, status);
        if (wrong) fail_msg("%s, way %d: %s", c->text, c->way, wrong);
        if (status == TAMIS_OK) {
            operation_fetch(c);
            compare(c);
            computed++;
        }
        operation_close(c);
    }
    return computed;
}

static int64_t try_case(const operation_row *row, const operation_setting *setting, unsigned types) {
    operation_case c;
    int64_t computed = 0;
    operation_make(&c, row, setting);
    if (operation_once_in(&c, 3)) leave_out_some(&c);
    if (types >> c.type & 1) computed = try_ways(&c);
    operation_free(&c);
    return computed;
}

static void try_cases(const operation_row *row, int64_t each, unsigned types) {
    int64_t computed = 0, tried = 0;
    for (int64_t i = (int64_t)(seed % (uint64_t)each); i < row->cases; i += each, tried++) {
        const operation_setting setting = setting_of(i, row->any_values && i / 4 % 2 ? VALUES_ANY : VALUES_QUARTERS);
        computed += try_case(row, &setting, types);
    }
    assert_true(computed * 8 >= tried || types != 15 || tried < 32); /* most of them are no refusals */
}

/* The best instruction set runs all cases, the others every third. */
void operation_correct(const operation_row *row) {
    unsigned types = 15;
    if (!on_cpu()) {
        try_cases(row, step, types);
        return;
    }
    tamis_device *const usual = device;
    int count = 0;
    for (int next = 0; test_variant_next(&next, row->tables, &types); count++) {
        works(tamis_device_open("cpu", &device));
        try_cases(row, count == 0 || test_whole() ? step : 3 * step, types);
        tamis_device_close(device);
    }
    unsetenv("TAMIS_CPU_ISA");
    device = usual;
    assert_true(count > 0);
}

/* ------------------------------------------------------------------------------------------ the same bits */

static void call(operation_case *c) {
    operation_send(c);
    const tamis_status status = operation_call(c);
    if (status != TAMIS_OK) fail_msg("%s, way %d: %s", c->text, c->way, tamis_last_error());
    operation_fetch(c);
    operation_close(c);
}

static void again(operation_case *c, void *const first[OPERANDS], const char *what) {
    call(c);
    for (int k = 0; k < OPERANDS; k++) {
        const operand *const x = &c->of[k];
        if (!operand_is_result(x) || (c->any_order && !x->absent)) continue;
        if (memcmp(x->m.twin.host, x->absent ? x->before : first[k], x->m.twin.bytes) != 0)
            fail_msg("%s, way %d: %s %s differs", c->text, c->way, what, x->name);
    }
}

/* Another call of what is open: it allocates nothing. */
static void steady(operation_case *c) {
    operation_send(c);
    works(operation_call(c));
    operation_send(c);
    const int64_t before = tamis_memory_count();
    works(c->row->pass(c));
    if (c->row->back) works(c->row->back(c));
    assert_int_equal(tamis_memory_count(), before);
    operation_close(c);
}

static void same_bits_of(operation_case *c) {
    void *first[OPERANDS] = {NULL};
    call(c);
    for (int k = 0; k < OPERANDS; k++)
        if (operand_is_result(&c->of[k])) first[k] = matrix_copy(&c->of[k].m);
    for (int i = 0; i < (on_cpu() ? 4 : 1); i++) {
        if (!c->row->by_threads) c->threads = 1 + (c->threads + i) % 5;
        again(c, first, "the next time");
    }
    for (int i = 0; i < 3; i++) {
        leave_out_some(c);
        again(c, first, "without some others");
    }
    for (int k = 0; k < OPERANDS; k++) free(first[k]);
}

static bool can_compute(operation_case *c) { return !c->row->unsupported || !c->row->unsupported(c); }

static void same_bits_at(const operation_row *row, const operation_setting *setting) {
    operation_case c;
    operation_make(&c, row, setting);
    const int ways = row->ways ? row->ways(&c) : 1;
    c.way = (int)operation_below(&c, ways);
    if (can_compute(&c)) same_bits_of(&c);
    c.way = 0;
    if (row->open && !row->allocates && on_cpu() && can_compute(&c)) steady(&c);
    operation_free(&c);
}

/* Calls that a graph of CUDA's replays. */
static bool captured_at(const operation_row *row, const operation_setting *setting) {
    operation_case c;
    bool graphs = true;
    operation_make(&c, row, setting);
    if (can_compute(&c)) graphs = operation_capture(&c, compare);
    operation_free(&c);
    return graphs;
}

enum { STRIDE = 101 }; /* it has no factor in common with what picks combine to */

void operation_same_bits(const operation_row *row) {
    for (int64_t i = 0; i < test_rounds(64, 24); i += on_cpu() ? 1 : 8) {
        const operation_setting setting = setting_of(i * STRIDE % row->cases, VALUES_ANY);
        same_bits_at(row, &setting);
    }
    for (int64_t i = 0; i < 16 && strncmp(on, "cuda", 4) == 0 && !row->waits; i++) {
        const operation_setting setting = setting_of(i * STRIDE % row->cases, VALUES_QUARTERS);
        if (!captured_at(row, &setting)) break;
    }
}

/* ------------------------------------------------------------------------------------------ refusals */

static void refused_whole(operation_case *c, tamis_status want, const char *words) {
    refusal_begin();
    const tamis_status status = operation_call(c);
    operation_close(c);
    refusal_end(c->text, c->way, status, want, words);
}

static void watch(const operation_case *c, bool gradients_alone) {
    refusals_watch(NULL, 0);
    for (int k = 0; k < OPERANDS; k++)
        if (operand_is_result(&c->of[k]) && (!gradients_alone || c->of[k].role == OPERAND_GRADIENT))
            refusals_watch(c->of[k].m.twin.host, c->of[k].m.twin.bytes);
}

#define SPOILT_FIELD(change, want, what)                                                                               \
    do {                                                                                                               \
        const tamis_dense kept = *view;                                                                                \
        change;                                                                                                        \
        snprintf(words, sizeof words, "%s.%s", x->name, what);                                                         \
        refused_whole(c, TAMIS_ERROR_##want, words);                                                                   \
        *view = kept;                                                                                                  \
    } while (0)

/* What the call reads, or writes beside it. */
static bool meets(const operand_role role, const operand *other, bool back_reads) {
    if (role == OPERAND_OUT) return other->role == OPERAND_IN;
    return other->role == OPERAND_SEED || other->role == OPERAND_GRADIENT || (back_reads && other->role == OPERAND_IN);
}

static void spoil_overlaps(operation_case *c, int k) {
    operand *const x = &c->of[k];
    tamis_dense *const view = &x->m.there;
    char words[64];
    for (int i = 0; i < OPERANDS; i++) {
        const operand *const other = &c->of[i];
        if (other->name && !other->indices && !other->borrowed && !other->array && !other->under && i != k &&
            meets(x->role, other, c->row->back_reads) && other->m.here.type == x->m.here.type)
            SPOILT_FIELD(view->data = other->m.there.data, ARGUMENT, "data = ");
    }
}

static void spoil_operand(operation_case *c, int k) {
    operand *const x = &c->of[k];
    tamis_dense *const view = &x->m.there;
    char words[64];
    watch(c, x->role == OPERAND_SEED || x->role == OPERAND_GRADIENT || x->kept);
    if (!x->optional && !x->array) {
        x->absent = true;
        snprintf(words, sizeof words, "%s = NULL", x->name);
        refused_whole(c, TAMIS_ERROR_ARGUMENT, words);
        x->absent = false;
    }
    if (x->indices || x->array || c->row->no_views) return;
    if (!x->any_size) {
        SPOILT_FIELD((view->rows++, view->stride += view->stride > 0), ARGUMENT, "rows = ");
        SPOILT_FIELD((view->cols++, view->stride += view->stride > 0), ARGUMENT, "cols = ");
        const tamis_type other = view->type == TAMIS_F32 || x->or_fp32 ? TAMIS_F64 : TAMIS_F32;
        if ((uintptr_t)view->data % tamis_type_size(other) == 0) SPOILT_FIELD(view->type = other, ARGUMENT, "type = ");
    }
    SPOILT_FIELD(view->rows = -1, ARGUMENT, "rows = -1");
    SPOILT_FIELD(view->stride = -2, ARGUMENT, "stride = -2");
    SPOILT_FIELD(view->type = (tamis_type)9, ARGUMENT, "type = 9");
    SPOILT_FIELD(view->location = TAMIS_DEVICE, ARGUMENT, "location = device");
    SPOILT_FIELD(view->data = NULL, ARGUMENT, "data = NULL");
    SPOILT_FIELD(view->data = (char *)view->data + 1, ARGUMENT, "data = 0x");
    SPOILT_FIELD(view->reserved[1] = 7, UNSUPPORTED, "reserved[1] = 0x7");
    if (view->layout == TAMIS_ROW_MAJOR && view->cols > 1) SPOILT_FIELD(view->stride = 1, ARGUMENT, "stride = 1");
    if (!c->row->any_layout)
        SPOILT_FIELD((view->layout = TAMIS_COLUMN_MAJOR, view->stride = view->rows), UNSUPPORTED,
                     "layout = column-major");
    if (c->row->planned) SPOILT_FIELD(view->batch_stride = -9, ARGUMENT, "batch_stride = -9");
    if (c->row->planned && operand_is_result(x) && x->m.members > 1)
        SPOILT_FIELD(view->batch_stride = 0, ARGUMENT, "batch_stride = 0");
    if (c->row->planned && view->layout == TAMIS_ROW_MAJOR && view->cols > 1)
        SPOILT_FIELD((view->layout = TAMIS_COLUMN_MAJOR, view->stride = view->rows), ARGUMENT, "layout = column-major");
    SPOILT_FIELD(view->layout = (tamis_layout)3, ARGUMENT, "layout = 3");
    if (operand_is_result(x)) spoil_overlaps(c, k);
}

static void spoil_own(operation_case *c) {
    watch(c, false);
    for (int i = 0; i < c->row->refusal_count; i++) {
        const operation_refusal *const r = &c->row->refusals[i];
        char *const field = (char *)c->own + r->at, kept[sizeof(int64_t)];
        memcpy(kept, field, r->bytes);
        memcpy(field, r->is_double ? (const void *)&r->number : &r->value, r->bytes);
        refused_whole(c, r->status, r->words);
        memcpy(field, kept, r->bytes);
    }
}

/* All operands have elements, so that what is spoilt must be noticed. */
static bool is_full(const operation_case *c) {
    for (int k = 0; k < OPERANDS; k++)
        if (c->of[k].name && operand_count(c, k) == 0) return false;
    return !c->unspoilt;
}

static void refused_at(const operation_row *row, const operation_setting *setting, int64_t *spoilt) {
    operation_case c;
    operation_make(&c, row, setting);
    if (is_full(&c) && can_compute(&c)) {
        operation_send(&c);
        for (int k = 0; k < OPERANDS; k++)
            if (c.of[k].name && !c.of[k].borrowed) spoil_operand(&c, k);
        spoil_own(&c);
        refusals_watch(NULL, 0);
        call(&c); /* nothing is left of what was refused */
        assert_string_equal(tamis_last_error(), "");
        ++*spoilt;
    }
    operation_free(&c);
}

void operation_refused(const operation_row *row) {
    int64_t spoilt = 0;
    for (int64_t i = 0; spoilt < (row->spoilt ? row->spoilt : 12); i++) {
        assert_true(i < 1000);
        const operation_setting setting = setting_of(i * STRIDE % row->cases, VALUES_QUARTERS);
        refused_at(row, &setting, &spoilt);
    }
}

/* ------------------------------------------------------------------------------------------ memory */

static void expect_untouched(const operation_case *c) {
    for (int k = 0; k < OPERANDS; k++) {
        const operand *const x = &c->of[k];
        if (!operand_is_result(x) || (x->role == OPERAND_OUT && (c->passed || c->row->may_write))) continue;
        if (memcmp(x->m.twin.host, x->before, x->m.twin.bytes) != 0)
            fail_msg("%s: %s was written to, though there was no memory", c->text, x->name);
    }
}

/* True if it allocates at all. */
static bool fail_each(operation_case *c) {
    call(c); /* what is made once is there */
    operation_send(c);
    const int64_t before = tamis_memory_count();
    works(operation_call(c));
    operation_close(c);
    const bool allocates = tamis_memory_count() > before;
    operation_send(c);
    if (!allocates) return false;
    EACH_FAULT(w) {
        if (FAULTY(w, operation_call(c)) != TAMIS_OK) expect_untouched(c);
        operation_close(c);
    }
    if (!c->any_order) compare(c);
    return true;
}

static bool no_memory_at(const operation_row *row, const operation_setting *setting) {
    operation_case c;
    bool allocates = false;
    operation_make(&c, row, setting);
    const int ways = row->ways ? row->ways(&c) : 1;
    for (c.way = 0; c.way < ways; c.way++)
        if (can_compute(&c)) allocates |= fail_each(&c);
    operation_free(&c);
    return allocates;
}

void operation_no_memory(const operation_row *row) {
    int64_t allocating = 0;
    for (int64_t i = 0; i < test_rounds(32, 12); i++) {
        const operation_setting setting = setting_of(i * STRIDE % row->cases, VALUES_QUARTERS);
        allocating += no_memory_at(row, &setting);
    }
    assert_true(row->no_memory ? allocating == 0 : allocating > 0);
}

/* ------------------------------------------------------------------------------------------ differences */

static void differences_at(const operation_row *row, int64_t number, bool drawn, int64_t *compared, int64_t *kinks) {
    operation_setting setting = setting_of(number, VALUES_APART);
    operation_case c;
    setting.small = true;
    setting.drawn = drawn;
    operation_make(&c, row, &setting);
    operation_differ(&c, compared, kinks);
    operation_free(&c);
}

void operation_differences(const operation_row *row) {
    int64_t compared = 0, kinks = 0;
    for (int64_t i = 0; i < row->cases / 4; i += test_rounds(1, 4)) differences_at(row, i, false, &compared, &kinks);
    assert_true(compared > 100);
    assert_true(kinks * 20 <= compared);
}

/* ------------------------------------------------------------------------------------------ running */

static int set_up(void **state) {
    live = tamis_memory_live();
    return tamis_device_open(on, &device) == TAMIS_OK ? 0 : -1;
}

static int tear_down(void **state) {
    tamis_device_close(device);
    return tamis_memory_live() == live ? 0 : -1;
}

static int bench(const operation_row *row) {
    if (set_up(NULL) != 0) return 1;
    for (int64_t i = 0; i < 8; i++) {
        const operation_setting setting = setting_of(i * STRIDE % row->cases, VALUES_ANY);
        operation_case c;
        operation_make(&c, row, &setting);
        operation_send(&c);
        if (can_compute(&c) && (!row->open || row->open(&c) == TAMIS_OK)) {
            double best = 1e9;
            for (int round = 0; round < 20; round++) {
                const double start = test_seconds();
                works(row->pass(&c));
                best = fmin(best, test_seconds() - start);
            }
            printf("%10.2f us  %s\n", 1e6 * best, c.text);
            operation_close(&c);
        }
        operation_free(&c);
    }
    return tear_down(NULL);
}

/* Prints what the device declines of all cases: how often, and the first reason of each kind. */
static int list_unsupported(const operation_row *row) {
    enum { MOST = 64, KIND = 36 }; /* reasons are of one kind that begin alike */
    static char reasons[MOST][160];
    int64_t counts[MOST] = {0}, calls = 0;
    int kinds = 0;
    if (set_up(NULL) != 0) return 1;
    for (int64_t i = 0; i < row->cases; i++) {
        const operation_setting setting = setting_of(i, VALUES_QUARTERS);
        operation_case c;
        operation_make(&c, row, &setting);
        const int ways = row->ways ? row->ways(&c) : 1;
        for (c.way = 0; c.way < ways; c.way++, calls++) {
            int k = 0;
            operation_send(&c);
            if (operation_call(&c) == TAMIS_ERROR_UNSUPPORTED) {
                while (k < kinds && strncmp(reasons[k], tamis_last_error(), KIND) != 0) k++;
                if (k == kinds && kinds < MOST) snprintf(reasons[kinds++], sizeof *reasons, "%s", tamis_last_error());
                if (k < kinds) counts[k]++;
            }
            operation_close(&c);
        }
        operation_free(&c);
    }
    for (int k = 0; k < kinds; k++) printf("%7lld of %lld  %s\n", (long long)counts[k], (long long)calls, reasons[k]);
    return tear_down(NULL);
}

int operation_run(const operation_row *row, int argc, char **argv) {
    const bool times = argc > 1 && strcmp(argv[1], "bench") == 0;
    const bool lists = argc > 1 && strcmp(argv[1], "unsupported") == 0;
    if (argc > 1 + (times || lists)) on = argv[1 + (times || lists)];
    seed = test_seed();
    if (tamis_device_open(on, &device) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    tamis_device_close(device);
    if (times || lists) return times ? bench(row) : list_unsupported(row);
    step = argc > 2 ? strtoll(argv[2], NULL, 10) : test_rounds(1, 5); /* odd: the types are four */
    return test_run(on_cpu() ? NULL : on, on_cpu() ? NULL : "devices", set_up, tear_down);
}

/* One of the instruction sets that run here; its types. */
static unsigned draw_variant(const operation_row *row, tamis_random *random) {
    unsigned types = 15;
    int count = 0;
    for (int next = 0; test_variant_next(&next, row->tables, &types);) count++;
    for (int next = 0, at = (int)tamis_random_below(random, count); at >= 0; at--)
        test_variant_next(&next, row->tables, &types);
    return types;
}

void operation_draw(const operation_row *row, uint64_t by) {
    operation_setting setting = {.on = on, .seed = by, .drawn = true};
    int64_t counts[2] = {0, 0};
    tamis_random random = tamis_random_start(by, 1);
    const unsigned types = draw_variant(row, &random);
    const int64_t before = tamis_memory_live();
    works(tamis_device_open(on, &setting.device));
    device = setting.device;
    seed = by;
    const int64_t property = tamis_random_below(&random, 8);
    setting.values = property == 0 || (row->any_values && property % 2) ? VALUES_ANY : VALUES_QUARTERS;
    switch (property) {
    case 0: same_bits_at(row, &setting); break;
    case 1: no_memory_at(row, &setting); break;
    case 2: refused_at(row, &setting, counts); break;
    case 3:
        if (row->back) differences_at(row, 0, true, &counts[0], &counts[1]);
        break;
    default: try_case(row, &setting, types); break;
    }
    tamis_device_close(device);
    unsetenv("TAMIS_CPU_ISA");
    assert_int_equal(tamis_memory_live(), before);
}
