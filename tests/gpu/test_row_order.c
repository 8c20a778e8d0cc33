/*
 * Graphs whose rows a GPU takes by falling length, against the CPU: messages, attention and segments of an uneven
 * pattern with enough entries that sorting its rows pays.
 *   test_row_order [DEVICE]      opencl:0 unless told otherwise
 */
#include "support/test.h"

#include "core/message.h"
#include "gpu/messages/messages.h"
#include "opened_device.h"
#include "support/problem.h"

enum { ROWS = 6000, COLS = 5000, ENTRIES = 250000, HEADS = 2, WIDTH = 3, ALL = HEADS * WIDTH, WIDE = 128 };

/* A graph and its operands in the memory of a device. */
typedef struct place_of_work {
    tamis_device *on;
    tamis_graph *graph;
    void *pattern[2], *x, *e;
} place_of_work;

static int64_t row[ENTRIES], column[ENTRIES];
static float x[COLS * WIDE], e[ENTRIES * ALL];
static place_of_work here, there;
static tamis_device *cpu;

static void *sent(tamis_device *to, const void *from, size_t bytes) {
    void *memory = NULL;
    test_must(tamis_device_allocate(to, bytes, &memory));
    test_must(tamis_device_upload(to, NULL, memory, 0, from, bytes));
    return memory;
}

static tamis_dense matrix_of(tamis_device *on, void *data, int64_t rows, int64_t cols) {
    tamis_dense view = {.type = TAMIS_F32, .rows = rows, .cols = cols, .stride = cols, .data = data};
    view.location = on == cpu ? TAMIS_HOST : TAMIS_DEVICE;
    return view;
}

static place_of_work prepare(tamis_device *on) {
    place_of_work at = {.on = on, .x = sent(on, x, sizeof x), .e = sent(on, e, sizeof e)};
    at.pattern[0] = sent(on, row, sizeof row);
    at.pattern[1] = sent(on, column, sizeof column);
    tamis_sparse S = coo_of(TAMIS_F32, ROWS, COLS, ENTRIES, at.pattern[0], at.pattern[1], NULL);
    S.location = on == cpu ? TAMIS_HOST : TAMIS_DEVICE;
    S.index_type = TAMIS_I64;
    works(tamis_graph_create(on, &S, NULL, &at.graph));
    return at;
}

static void forget(place_of_work *at) {
    tamis_graph_destroy(at->graph);
    void *const all[] = {at->pattern[0], at->pattern[1], at->x, at->e};
    for (int i = 0; i < 4; i++) tamis_device_free(at->on, all[i]);
}

/* Lengths fall with a power of the row's number, which is mixed: the more, the longer is the longest row. */
static void draw(double power) {
    for (int64_t t = 0; t < ENTRIES; t++) {
        const double share = (double)tamis_random_below(&dice, 1 << 20) / (1 << 20);
        row[t] = (int64_t)(pow(share, power) * ROWS) * 1009 % ROWS;
        column[t] = tamis_random_below(&dice, COLS);
    }
    for (int i = 0; i < COLS * WIDE; i++) x[i] = (float)tamis_random_below(&dice, 64) / 16 - 2;
    for (int i = 0; i < ENTRIES * ALL; i++) e[i] = (float)tamis_random_below(&dice, 64) / 16 - 2;
    here = prepare(cpu);
    there = prepare(device);
}

static int make(void **state) {
    if (set_up(state)) return 1;
    test_must(tamis_device_open("cpu", &cpu));
    draw(3);
    return 0;
}

static int unmake(void **state) {
    forget(&here);
    forget(&there);
    tamis_device_close(cpu);
    return tear_down(state);
}

/* A call that writes `rows` x `cols` numbers of 32 bits, fp32 unless `most` is BITS. */
enum { BITS = -1 };
typedef tamis_status call(const place_of_work *at, const tamis_dense *out);

static void expect_same(call *run, int64_t rows, int64_t cols, double most) {
    OWN(float) *const want = test_room(rows * cols, sizeof(float)), *const poison =
                                                                        test_room(rows * cols, sizeof(float));
    const tamis_dense right = matrix_of(cpu, want, rows, cols);
    memset(poison, 0xff, (size_t)(rows * cols) * sizeof *poison);
    works(run(&here, &right));
    void *const memory = sent(device, poison, (size_t)(rows * cols) * sizeof *poison);
    const tamis_dense out = matrix_of(device, memory, rows, cols);
    works(run(&there, &out));
    OWN(float) *const got = from_device(memory, rows * cols, sizeof *got);
    tamis_device_free(device, memory);
    for (int64_t i = 0; i < rows * cols; i++)
        if (most == BITS ? memcmp(&got[i], &want[i], sizeof *got) != 0
                         : !(fabs((double)got[i] - (double)want[i]) <= most * fmax(1, fabs((double)want[i]))))
            fail_msg("(%lld, %lld) is %.9g, expected %.9g", (long long)(i / cols), (long long)(i % cols),
                     (double)got[i], (double)want[i]);
}

static tamis_status pass(const place_of_work *at, tamis_message_op op, tamis_reduce reduce, const tamis_dense *out,
                         void *argument) {
    const bool with_e = op != TAMIS_MESSAGE_COPY_U;
    const tamis_message_options o = {.op = op,
                                     .reduce = reduce,
                                     .edge_data = with_e ? TAMIS_E_VECTOR : TAMIS_E_NONE,
                                     .heads = HEADS,
                                     .width = WIDTH};
    const tamis_dense U = matrix_of(at->on, at->x, COLS, ALL), E = matrix_of(at->on, at->e, ENTRIES, ALL);
    return tamis_message_pass(at->graph, &o, &U, with_e ? &E : NULL, out, argument, NULL);
}

static tamis_status add_up(const place_of_work *at, const tamis_dense *out) {
    return pass(at, TAMIS_MESSAGE_MUL, TAMIS_REDUCE_SUM, out, NULL);
}

static tamis_status average(const place_of_work *at, const tamis_dense *out) {
    return pass(at, TAMIS_MESSAGE_COPY_U, TAMIS_REDUCE_MEAN, out, NULL);
}

static tamis_status take_largest(const place_of_work *at, const tamis_dense *out) {
    return pass(at, TAMIS_MESSAGE_ADD, TAMIS_REDUCE_MAX, out, NULL);
}

/* Gives the entries that the largest come from, in place of these. */
static tamis_status say_largest(const place_of_work *at, const tamis_dense *out) {
    void *const memory = sent(at->on, e, sizeof(float) * ROWS * ALL);
    const tamis_dense aside = matrix_of(at->on, memory, ROWS, ALL);
    const tamis_status status = pass(at, TAMIS_MESSAGE_ADD, TAMIS_REDUCE_MAX, &aside, out->data);
    tamis_device_free(at->on, memory);
    return status;
}

static tamis_status pass_wide(const place_of_work *at, tamis_reduce reduce, const tamis_dense *out, void *argument) {
    const tamis_message_options o = {.reduce = reduce, .width = WIDE};
    const tamis_dense U = matrix_of(at->on, at->x, COLS, WIDE);
    return tamis_message_pass(at->graph, &o, &U, NULL, out, argument, NULL);
}

static tamis_status add_up_wide(const place_of_work *at, const tamis_dense *out) {
    return pass_wide(at, TAMIS_REDUCE_SUM, out, NULL);
}

static tamis_status take_least_wide(const place_of_work *at, const tamis_dense *out) {
    return pass_wide(at, TAMIS_REDUCE_MIN, out, NULL);
}

static tamis_status attend(const place_of_work *at, const tamis_dense *out) {
    const tamis_graph_attention_options o = {.heads = HEADS, .width = WIDTH, .scale = 0.25};
    const tamis_dense Q = matrix_of(at->on, at->e, ROWS, ALL), K = matrix_of(at->on, at->x, COLS, ALL);
    const tamis_dense E = matrix_of(at->on, at->e, ENTRIES, ALL);
    const tamis_graph_attention_matrices m = {.Q = &Q, .K = &K, .V = &K, .E = &E};
    return tamis_graph_attention(at->graph, &o, &m, out, NULL, NULL);
}

static tamis_status segment(const place_of_work *at, tamis_segment_op op, const tamis_dense *out) {
    const tamis_segment_options o = {.op = op, .heads = HEADS};
    const tamis_dense X = matrix_of(at->on, at->e, ENTRIES, HEADS);
    return tamis_segment(at->graph, &o, &X, out, NULL, NULL);
}

static tamis_status soften(const place_of_work *at, const tamis_dense *out) {
    return segment(at, TAMIS_SEGMENT_SOFTMAX, out);
}

static tamis_status add_segments(const place_of_work *at, const tamis_dense *out) {
    return segment(at, TAMIS_SEGMENT_SUM, out);
}

static tamis_status take_least(const place_of_work *at, const tamis_dense *out) {
    return segment(at, TAMIS_SEGMENT_MIN, out);
}

static tamis_status dot(const place_of_work *at, const tamis_dense *out) {
    const tamis_pair_options o = {.op = TAMIS_PAIR_DOT, .heads = HEADS, .width = WIDTH};
    const tamis_dense U = matrix_of(at->on, at->e, ROWS, ALL), V = matrix_of(at->on, at->x, COLS, ALL);
    return tamis_edge_vectors(at->graph, &o, &U, &V, out, NULL);
}

static tamis_status add_ends(const place_of_work *at, const tamis_dense *out) {
    const tamis_pair_options o = {.op = TAMIS_PAIR_ADD, .heads = HEADS, .width = WIDTH};
    const tamis_dense U = matrix_of(at->on, at->e, ROWS, ALL), V = matrix_of(at->on, at->x, COLS, ALL);
    return tamis_edge_vectors(at->graph, &o, &U, &V, out, NULL);
}

/* The gradient by numbers or vectors of entries of a mean or, of `argument` from the forward call, of a maximum. */
static tamis_status back_to_entries(const place_of_work *at, tamis_edge_data data, tamis_reduce reduce,
                                    const tamis_dense *dE) {
    const tamis_message_options o = {
        .op = TAMIS_MESSAGE_MUL, .reduce = reduce, .edge_data = data, .heads = HEADS, .width = WIDTH};
    const tamis_dense U = matrix_of(at->on, at->x, COLS, ALL), dOut = matrix_of(at->on, at->e, ROWS, ALL);
    const tamis_dense E = matrix_of(at->on, at->e, ENTRIES, data == TAMIS_E_HEAD ? HEADS : ALL);
    void *const taken = reduce == TAMIS_REDUCE_MAX ? sent(at->on, e, sizeof(float) * ROWS * ALL) : NULL;
    void *const memory = sent(at->on, e, sizeof(float) * ROWS * ALL);
    const tamis_dense out = matrix_of(at->on, memory, ROWS, ALL);
    if (taken) works(tamis_message_pass(at->graph, &o, &U, &E, &out, taken, NULL));
    const tamis_status status = tamis_message_backward(at->graph, &o, &dOut, &U, &E, taken, NULL, dE, NULL);
    tamis_device_free(at->on, memory);
    if (taken) tamis_device_free(at->on, taken);
    return status;
}

static tamis_status back_to_numbers(const place_of_work *at, const tamis_dense *dE) {
    return back_to_entries(at, TAMIS_E_HEAD, TAMIS_REDUCE_MEAN, dE);
}

static tamis_status back_to_vectors(const place_of_work *at, const tamis_dense *dE) {
    return back_to_entries(at, TAMIS_E_VECTOR, TAMIS_REDUCE_MEAN, dE);
}

static tamis_status back_to_taken(const place_of_work *at, const tamis_dense *dE) {
    return back_to_entries(at, TAMIS_E_HEAD, TAMIS_REDUCE_MAX, dE);
}

TEST(rows_are_in_an_order) {
    const tamis_gpu_message_plan *const plan = there.graph->rows.plan;
    assert_non_null(plan);
    assert_non_null(plan->cuts.order);
    assert_true(plan->cuts.order == plan->long_cuts.order);
    int64_t lengths[ROWS] = {0}, shared = 0;
    for (int64_t t = 0; t < ENTRIES; t++) shared += ++lengths[row[t]] == 32;
    const bool warps = strncmp(name, "cuda", 4) == 0; /* whose teams share rows */
    assert_int_equal(plan->longer[5], warps ? shared : 0);
    char text[2048];
    works(tamis_graph_explain(there.graph, text, sizeof text, NULL));
    assert_non_null(strstr(text, "pieces, which are merged; rows come by falling length, since lengths vary; "));
    assert_true(!strstr(text, "several teams share each row of 32 and more entries (") == !warps);
    works(tamis_graph_explain(here.graph, text, sizeof text, NULL));
    assert_non_null(strstr(text, "threads may each compute some columns"));
}

/* All numbers are multiples of 1/256, and their sums are less than 2^16: every order of a sum gives the same. */
static void expect_entries(void) {
    expect_same(dot, ENTRIES, HEADS, 0);
    expect_same(add_ends, ENTRIES, ALL, 0);
    expect_same(back_to_numbers, ENTRIES, HEADS, 1e-6);
    expect_same(back_to_vectors, ENTRIES, ALL, 1e-6);
    expect_same(back_to_taken, ENTRIES, HEADS, 1e-6);
}

static void expect_messages(void) {
    expect_same(add_up, ROWS, ALL, 0);
    expect_same(average, ROWS, ALL, 1e-6);
    expect_same(take_largest, ROWS, ALL, 0);
    expect_same(say_largest, ROWS, ALL, BITS);
    expect_same(add_up_wide, ROWS, WIDE, 0);
    expect_same(take_least_wide, ROWS, WIDE, 0);
    expect_entries();
}
TEST(messages) { expect_messages(); }

/* Passes over the entries of large graphs of wide rows go by rows and pieces. */
TEST(entries_by_rows) {
    tamis_gpu_message_plan *const plan = there.graph->rows.plan;
    void *const rows = plan->row_indices;
    assert_non_null(rows);
    plan->row_indices = NULL;
    expect_entries();
    plan->row_indices = rows;
}

/* First no row is too long for the teams of a group of 512, which share it: narrow ones, then wide ones too. At last
   all rows are alike, and the teams of a warp share each narrow one. */
TEST(messages_whose_rows_groups_share) {
    static const double powers[] = {2, 1.5, 1};
    enum { NARROW_TEAM = 4, WIDE_TEAM = 16, MOST = 64 * 512 /* entries times lanes */ };
    const bool warps = strncmp(name, "cuda", 4) == 0;
    for (int i = 0; i < 3; i++) {
        forget(&here);
        forget(&there);
        draw(powers[i]);
        const tamis_gpu_message_plan *const plan = there.graph->rows.plan;
        assert_true(i < 2 ? plan && plan->shares == warps : !plan || !plan->cuts.order);
        if (i < 2) assert_true(plan->long_cuts.pieces > 0 && plan->base.profile.max * NARROW_TEAM <= MOST);
        if (i == 1) assert_true(plan->base.profile.max * WIDE_TEAM <= MOST);
        expect_messages();
    }
}

TEST(attention) { expect_same(attend, ROWS, ALL, 1e-5); }

TEST(segments) {
    expect_same(soften, ENTRIES, HEADS, 1e-5);
    expect_same(add_segments, ROWS, HEADS, 0);
    expect_same(take_least, ROWS, HEADS, 0);
}

TEST_RUN() {
    dice = tamis_random_start(31, 0);
    if (!named_device_is_here(argc, argv, &name)) return 77;
    return test_run(name, NULL, make, unmake);
}
