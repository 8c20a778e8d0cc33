/*
 * Calls on graphs whose passes plans of operations compute: the results of calls that were planned, by whatever was
 * measured and by every algorithm that the tuning cache may name, beside the same calls without a plan.
 *   test_graph_plan [DEVICE]
 */
#include "support/test.h"

#include <tamis/algorithms.h>
#include <tamis/message.h>

#include "measured_case.h"
#include "named_device.h"
#include "select/laboratory.h"
#include "support/bytes.h"

enum { ROWS = 90, COLS = 70, NNZ = 1100, WIDTH = 24, HEADS = 1, TEXT = 1 << 13 };
enum { U, E, OUT, D_OUT, D_U, D_E, ARRAYS };

/* A graph, and the matrices of its calls in the device's memory. */
typedef struct planned_case {
    problem_options of;
    tamis_type type;
    pattern p;
    tamis_sparse S;
    tamis_graph *graph;
    tamis_message_options o;
    void *at[ARRAYS];
    int64_t padding; /* of E's and dE's rows */
} planned_case;

static tamis_random dice;
static char text[TEXT];

static int64_t rows_of(int k) { return k == U || k == D_U ? COLS : k == OUT || k == D_OUT ? ROWS : NNZ; }
static int64_t cols_of(int k) { return k == E || k == D_E ? 1 : WIDTH; }
static int64_t stride_of(const planned_case *c, int k) { return cols_of(k) + (k == E || k == D_E ? c->padding : 0); }
static size_t bytes_of(const planned_case *c, int k) {
    return (size_t)(rows_of(k) * stride_of(c, k)) * tamis_type_size(c->type);
}

static tamis_dense view_of(const planned_case *c, int k) {
    return (tamis_dense){.data = c->at[k],
                         .rows = rows_of(k),
                         .cols = cols_of(k),
                         .stride = stride_of(c, k),
                         .type = c->type,
                         .location = c->S.location};
}

/* Multiples of a quarter below 4: sums of their products are exact in any order, and of half types rounded once. */
static void fill(const planned_case *c, int k) {
    OWN(uint8_t) *const data = test_room((int64_t)bytes_of(c, k), 1);
    for (int64_t i = 0; i < rows_of(k); i++)
        for (int64_t j = 0; j < cols_of(k); j++)
            test_store(data, c->type, i * stride_of(c, k) + j, ((double)tamis_random_below(&dice, 31) - 15) / 4);
    works(tamis_device_upload(test_device, NULL, c->at[k], 0, data, bytes_of(c, k)));
}

static void poison(const planned_case *c, int k) {
    OWN(uint8_t) *const data = test_room((int64_t)bytes_of(c, k), 1);
    memset(data, 0xff, bytes_of(c, k));
    works(tamis_device_upload(test_device, NULL, c->at[k], 0, data, bytes_of(c, k)));
}

static void begin(planned_case *c, tamis_type type, tamis_format format, tamis_message_op op, int64_t padding) {
    *c = (planned_case){.type = type, .padding = padding};
    c->of = (problem_options){
        .rows = ROWS, .cols = COLS, .nnz = NNZ, .type = type, .format = format, .pattern = true, .shape = SHAPE_HUB};
    c->of.sorted = format == TAMIS_CSR;
    c->p = pattern_make(&c->of, &dice);
    c->S = pattern_send(test_device, &c->p);
    c->o = (tamis_message_options){.op = op,
                                   .edge_data = op == TAMIS_MESSAGE_MUL ? TAMIS_E_NUMBER : TAMIS_E_NONE,
                                   .type = type,
                                   .heads = HEADS,
                                   .width = WIDTH};
    for (int k = 0; k < ARRAYS; k++) works(tamis_device_allocate(test_device, bytes_of(c, k), &c->at[k]));
    fill(c, U);
    fill(c, E);
    fill(c, D_OUT);
    works(tamis_graph_create(test_device, &c->S, NULL, &c->graph));
}

static void end(planned_case *c) {
    tamis_graph_destroy(c->graph);
    for (int k = 0; k < ARRAYS; k++) tamis_device_free(test_device, c->at[k]);
    pattern_free(&c->p);
}

static void begin_again(planned_case *c) {
    tamis_graph_destroy(c->graph);
    works(tamis_graph_create(test_device, &c->S, NULL, &c->graph));
}

/* Calls forward and backward; gives all results, one after the other. */
static uint8_t *results_of(const planned_case *c) {
    const bool mul = c->o.op == TAMIS_MESSAGE_MUL;
    const tamis_dense u = view_of(c, U), e = view_of(c, E), out = view_of(c, OUT), d_out = view_of(c, D_OUT),
                      d_u = view_of(c, D_U), d_e = view_of(c, D_E);
    const int made[] = {OUT, D_U, D_E};
    const int count = mul ? 3 : 2;
    size_t all = 0;
    for (int i = 0; i < count; i++) {
        poison(c, made[i]);
        all += bytes_of(c, made[i]);
    }
    works(tamis_message_pass(c->graph, &c->o, &u, mul ? &e : NULL, &out, NULL, NULL));
    works(tamis_message_backward(c->graph, &c->o, &d_out, mul ? &u : NULL, mul ? &e : NULL, NULL, &d_u,
                                 mul ? &d_e : NULL, NULL));
    uint8_t *const got = test_room((int64_t)all, 1);
    for (size_t i = 0, begin_at = 0; i < (size_t)count; begin_at += bytes_of(c, made[i]), i++)
        works(tamis_device_download(test_device, NULL, got + begin_at, c->at[made[i]], 0, bytes_of(c, made[i])));
    return got;
}

static void expect_results(const planned_case *c, const uint8_t *want, const char *by) {
    OWN(uint8_t) *const got = results_of(c);
    const size_t sizes = bytes_of(c, OUT) + bytes_of(c, D_U) + (c->o.op == TAMIS_MESSAGE_MUL ? bytes_of(c, D_E) : 0);
    for (size_t i = 0; i < sizes; i++)
        if (got[i] != want[i]) fail_msg("byte %zu is other than without a plan, by %s\n%s", i, by, text);
}

static const char *explanation(const planned_case *c) {
    works(tamis_graph_explain(c->graph, text, sizeof text, NULL));
    return text;
}

static int count_of(const char *in, const char *word) {
    int count = 0;
    for (const char *at = in; (at = strstr(at, word)) != NULL; at++) count++;
    return count;
}

/* Replaces the algorithm of every remembered plan. */
static void remember(const char *algorithm) {
    char path[64], line[4096], all[1 << 15] = "";
    snprintf(path, sizeof path, "%s/tamis/plans.txt", cache_folder);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *const sure = strchr(line, '\t'), *const name = sure ? strchr(sure + 1, '\t') : NULL,
                    *const key = name ? strchr(name + 1, '\t') : NULL;
        const size_t used = strlen(all);
        if (key)
            snprintf(all + used, sizeof all - used, "%.*s\t%s%s", (int)(name - line), line, algorithm, key);
        else
            snprintf(all + used, sizeof all - used, "%s", line);
    }
    fclose(file);
    write_text(path, all);
}

/* True for our own algorithms of the device that may compute a pass. */
static bool is_here(const tamis_algorithm_description *about, tamis_location location) {
    const char *const prefix = location == TAMIS_HOST ? "cpu-" : "gpu-";
    const unsigned operations = 1u << TAMIS_OP_SPMM | 1u << TAMIS_OP_SDDMM;
    return strncmp(about->name, prefix, 4) == 0 && about->operations & operations && !about->baseline &&
           !about->any_order && !tamis_laboratory_has(location, about->name);
}

/* Passes by every algorithm give the bits of the graph's own kernel, and so does what was measured. */
static int by_all_algorithms(planned_case *c, int passes) {
    tamis_algorithm_description about;
    int used = 0;
    OWN(uint8_t) *const want = results_of(c);
    assert_int_equal(count_of(explanation(c), "planned  "), 0);
    works(tamis_graph_plan(c->graph, &c->o, NULL));
    assert_int_equal(count_of(explanation(c), "planned  "), passes);
    assert_int_equal(count_of(text, "; measured\n"), passes);
    expect_results(c, want, "what was measured");
    works(tamis_graph_plan(c->graph, &c->o, NULL)); /* nothing is left to plan */
    assert_int_equal(count_of(explanation(c), "planned  "), passes);
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        works(tamis_algorithm_at(i, &about));
        if (!is_here(&about, c->S.location)) continue;
        remember(about.name);
        begin_again(c);
        works(tamis_graph_plan(c->graph, &c->o, NULL));
        used += count_of(explanation(c), about.name);
        expect_results(c, want, about.name);
    }
    remember("the graph's own kernel");
    begin_again(c);
    works(tamis_graph_plan(c->graph, &c->o, NULL));
    assert_int_equal(count_of(explanation(c), ": the graph's own kernel "), passes);
    assert_int_equal(count_of(text, "; remembered\n"), passes);
    expect_results(c, want, "its own kernel");
    return used;
}

static void sums(tamis_type type, tamis_format format, tamis_message_op op, int64_t padding, int passes) {
    planned_case c;
    begin(&c, type, format, op, padding);
    if (by_all_algorithms(&c, passes) < passes) fail_msg("no algorithm was used\n%s", text);
    end(&c);
}

TEST_AS(copy_u, .setup_func = forget) { sums(TAMIS_F32, TAMIS_CSR, TAMIS_MESSAGE_COPY_U, 0, 2); }
TEST_AS(copy_u_of_coo, .setup_func = forget) { sums(TAMIS_F32, TAMIS_COO, TAMIS_MESSAGE_COPY_U, 0, 2); }
TEST_AS(copy_u_in_bf16, .setup_func = forget) { sums(TAMIS_BF16, TAMIS_CSR, TAMIS_MESSAGE_COPY_U, 0, 2); }
/* The gradient by U needs the numbers in the order of columns: it is not planned. */
TEST_AS(mul, .setup_func = forget) { sums(TAMIS_F64, TAMIS_CSR, TAMIS_MESSAGE_MUL, 0, 2); }
TEST_AS(mul_in_fp16, .setup_func = forget) { sums(TAMIS_F16, TAMIS_CSR, TAMIS_MESSAGE_MUL, 0, 2); }

/* Numbers that are not packed go to the graph's own kernel. */
TEST_AS(mul_of_strided_numbers, .setup_func = forget) { sums(TAMIS_F32, TAMIS_CSR, TAMIS_MESSAGE_MUL, 2, 2); }

/* What no operation computes is left as it is, and refused calls plan nothing. */
TEST_AS(without_a_plan, .setup_func = forget) {
    planned_case c;
    tamis_graph_plan_options how = {.expected_calls = 10};
    begin(&c, TAMIS_F32, TAMIS_CSR, TAMIS_MESSAGE_COPY_U, 0);
    const tamis_message_options others[] = {
        {.reduce = TAMIS_REDUCE_MAX, .width = WIDTH},
        {.reduce = TAMIS_REDUCE_MEAN, .width = WIDTH},
        {.op = TAMIS_MESSAGE_MUL, .reduce = TAMIS_REDUCE_MAX, .edge_data = TAMIS_E_NUMBER, .width = WIDTH},
        {.op = TAMIS_MESSAGE_MUL, .reduce = TAMIS_REDUCE_MEAN, .edge_data = TAMIS_E_NUMBER, .width = WIDTH},
        {.op = TAMIS_MESSAGE_ADD, .edge_data = TAMIS_E_NUMBER, .width = WIDTH, .reduce = TAMIS_REDUCE_MAX},
        {.op = TAMIS_MESSAGE_COPY_E, .edge_data = TAMIS_E_VECTOR, .width = WIDTH},
        {.op = TAMIS_MESSAGE_TEXT, .text = "u * u", .width = WIDTH},
        {.width = 0},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) works(tamis_graph_plan(c.graph, &others[i], &how));
    assert_null(strstr(explanation(&c), "planned  "));
    REFUSED(ARGUMENT, "graph = NULL", tamis_graph_plan(NULL, &c.o, &how));
    REFUSED(ARGUMENT, "options = NULL", tamis_graph_plan(c.graph, NULL, &how));
    SPOILT(how.expected_calls, -1, ARGUMENT, "how.expected_calls = -1", tamis_graph_plan(c.graph, &c.o, &how));
    SPOILT(how.reserved[1], 3, UNSUPPORTED, "how.reserved[1] = 0x3", tamis_graph_plan(c.graph, &c.o, &how));
    SPOILT(c.o.width, -1, ARGUMENT, "options.width = -1", tamis_graph_plan(c.graph, &c.o, &how));
    end(&c);
}

TEST_RUN() {
    if (!named_device_is_here(argc, argv, &device_name)) return 77;
    dice = tamis_random_start(test_seed(), 1);
    return test_run(NULL, NULL, measured_set_up, measured_tear_down);
}
