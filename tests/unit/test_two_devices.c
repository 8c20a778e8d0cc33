/*
 * One product on two devices, each in a stream of its own: rows cut by equal nonzeros, operands fetched from the first
 * device, the second one's part brought back. Nothing but events orders the two.
 *   test_two_devices [DEVICE [DEVICE]]: the second is the next of the kind, or the same where there is no other
 */
#include "support/test.h"

#include <float.h>
#include <tamis/generate.h>
#include <tamis/matrix.h>
#include <tamis/stream.h>
#include <tamis/structure.h>

#include "base/random.h"
#include "named_device.h"

enum { WIDTH = 33, REPEATS = 40, DEVICES = 2 };

static const char *device_names[DEVICES] = {"cpu", "cpu"};

/* A device with its copy of B and of the rows that are its own, and where their products go. */
typedef struct side {
    tamis_device *device;
    void *stream, *ready, *done; /* events: operands are there, products are */
    void *offsets, *columns, *values, *B, *C;
    tamis_sparse S;
    tamis_plan *plan;
    int64_t first, rows;
} side;

static side sides[DEVICES];
static tamis_owned_sparse *matrix;
static tamis_sparse S;
static float *B;

static void *room(const side *s, size_t bytes) {
    void *memory = NULL;
    works(tamis_device_allocate_async(s->device, s->stream, bytes, &memory));
    return memory;
}

static void *sent(const side *s, const void *from, size_t bytes) {
    void *const memory = room(s, bytes);
    works(tamis_device_upload_async(s->device, s->stream, memory, 0, from, bytes));
    return memory;
}

static tamis_dense view_of(const side *s, void *data, int64_t rows) {
    tamis_device_description about;
    works(tamis_device_describe(s->device, &about));
    return (tamis_dense){.data = data, .rows = rows, .cols = WIDTH, .stride = WIDTH, .location = about.location};
}

static size_t b_bytes(void) { return (size_t)(S.cols * WIDTH) * sizeof(float); }
static size_t c_bytes(const side *s) { return (size_t)(s->rows * WIDTH) * sizeof(float); }
static size_t offset_bytes(const side *s) { return (size_t)(s->rows + 1) * 4; }

/* The first device gets all from the host, and as many rows of C as there are, for the other's as well. */
static void fill_first(side *s) {
    s->offsets = sent(s, S.offsets, (size_t)(S.rows + 1) * 4);
    s->columns = sent(s, S.columns, (size_t)S.nnz * 4);
    s->values = sent(s, S.values, (size_t)S.nnz * 4);
    s->B = sent(s, B, b_bytes());
    s->C = room(s, (size_t)(S.rows * WIDTH) * sizeof(float));
    works(tamis_event_record(s->device, s->stream, &s->ready));
}

/* The second one fetches from the first, once it is told that all is there: its own rows' offsets, and the rest whole.
 */
static void fetch(side *to, const side *from) {
    to->offsets = room(to, offset_bytes(to));
    to->columns = room(to, (size_t)S.nnz * 4);
    to->values = room(to, (size_t)S.nnz * 4);
    to->B = room(to, b_bytes());
    to->C = room(to, c_bytes(to));
    works(tamis_stream_wait(to->device, to->stream, from->ready));
    const struct {
        void *to;
        const void *from;
        size_t offset, bytes;
    } copies[] = {{to->offsets, from->offsets, (size_t)to->first * 4, offset_bytes(to)},
                  {to->columns, from->columns, 0, (size_t)S.nnz * 4},
                  {to->values, from->values, 0, (size_t)S.nnz * 4},
                  {to->B, from->B, 0, b_bytes()}};
    for (int i = 0; i < 4; i++)
        works(tamis_device_copy_from(to->device, to->stream, copies[i].to, 0, from->device, copies[i].from,
                                     copies[i].offset, copies[i].bytes));
}

static void plan_side(side *s) {
    tamis_options o = options_for(TAMIS_OP_SPMM, 0, WIDTH);
    tamis_device_description about;
    works(tamis_device_describe(s->device, &about));
    works(tamis_slice(&S, s->first, s->rows, 0, 0, &s->S));
    s->S.location = about.location;
    s->S.offsets = s->offsets; /* the first device's begin with its rows as well */
    s->S.columns = s->columns;
    s->S.values = s->values;
    o.stream = s->stream;
    works(tamis_plan_create(s->device, &s->S, &o, &s->plan));
}

/* C = REPEATS * S B: what a stream that did not wait would fetch is a part of that. */
static void multiply(side *s) {
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    const tamis_dense b = view_of(s, s->B, S.cols), c = view_of(s, s->C, s->rows);
    execution.stream = s->stream;
    for (int i = 0; i < REPEATS; i++) {
        execution.beta = i > 0;
        works(tamis_plan_spmm(s->plan, &b, &c, &execution));
    }
    works(tamis_event_record(s->device, s->stream, &s->done));
}

/* Each execution adds n products and the old element: REPEATS times as many roundings as terms there are. */
static void compare(const float *found) {
    const tamis_dense b = {.data = B, .rows = S.cols, .cols = WIDTH, .stride = WIDTH};
    const tamis_options o = options_for(TAMIS_OP_SPMM, 0, WIDTH);
    const tamis_execution execution = scaled(REPEATS, 0);
    double *const want = malloc((size_t)(S.rows * WIDTH) * sizeof *want);
    const int32_t *const offsets = S.offsets, *const columns = S.columns;
    const float *const values = S.values;
    assert_non_null(want);
    works(tamis_reference_spmm(&S, &b, &o, &execution, want));
    for (int64_t i = 0; i < S.rows; i++)
        for (int64_t k = 0; k < WIDTH; k++) {
            double size = 0;
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                size += fabs((double)values[t] * (double)B[columns[t] * WIDTH + k]);
            const double roundings = offsets[i + 1] - offsets[i] + REPEATS + 8;
            const double off = fabs((double)found[i * WIDTH + k] - want[i * WIDTH + k]);
            if (!(off <= roundings * REPEATS * size * (double)FLT_EPSILON))
                fail_msg("element %lld, %lld is %.9g, expected %.9g", (long long)i, (long long)k,
                         (double)found[i * WIDTH + k], want[i * WIDTH + k]);
        }
    free(want);
}

static void release(side *s) {
    void *const memory[] = {s->offsets, s->columns, s->values, s->B, s->C};
    tamis_plan_destroy_async(s->plan, s->stream);
    for (int i = 0; i < 5; i++) tamis_device_free_async(s->device, s->stream, memory[i]);
    tamis_event_destroy(s->device, s->ready);
    tamis_event_destroy(s->device, s->done);
    works(tamis_stream_synchronize(s->device, s->stream));
    tamis_stream_destroy(s->device, s->stream);
}

TEST(share_a_product) {
    int64_t first[DEVICES + 1];
    works(tamis_partition(&S, DEVICES, first));
    assert_true(first[1] > 0 && first[1] < S.rows);
    for (int i = 0; i < DEVICES; i++) {
        sides[i].first = first[i];
        sides[i].rows = first[i + 1] - first[i];
        works(tamis_stream_create(sides[i].device, &sides[i].stream));
    }
    fill_first(&sides[0]);
    fetch(&sides[1], &sides[0]);
    for (int i = 0; i < DEVICES; i++) plan_side(&sides[i]);
    for (int i = 0; i < DEVICES; i++) multiply(&sides[i]);
    float *const found = malloc((size_t)(S.rows * WIDTH) * sizeof *found);
    assert_non_null(found);
    works(tamis_stream_wait(sides[0].device, sides[0].stream, sides[1].done));
    works(tamis_device_copy_from(sides[0].device, sides[0].stream, sides[0].C, c_bytes(&sides[0]), sides[1].device,
                                 sides[1].C, 0, c_bytes(&sides[1])));
    works(tamis_device_download_async(sides[0].device, sides[0].stream, found, sides[0].C, 0,
                                      (size_t)(S.rows * WIDTH) * sizeof *found));
    works(tamis_stream_synchronize(sides[0].device, sides[0].stream));
    compare(found);
    free(found);
    for (int i = 0; i < DEVICES; i++) release(&sides[i]);
}

/* Memory of the other device is refused by name, where addresses say whose they are. */
TEST(other_memory_is_refused) {
    if (strncmp(device_names[0], "cuda", 4) != 0 || strcmp(device_names[0], device_names[1]) == 0)
        skip_because("two devices of CUDA are needed");
    const tamis_options o = options_for(TAMIS_OP_SPMM, 0, WIDTH);
    tamis_sparse here = S;
    tamis_plan *plan = NULL;
    char expected[64];
    void *memory;
    works(tamis_device_allocate(sides[1].device, (size_t)S.nnz * 4 + (size_t)S.rows * 4 + 4, &memory));
    here.location = TAMIS_DEVICE;
    here.offsets = here.columns = here.values = memory;
    assert_int_equal(tamis_plan_create(sides[0].device, &here, &o, &plan), TAMIS_ERROR_ARGUMENT);
    snprintf(expected, sizeof expected, "S.offsets lies on %s", device_names[1]);
    assert_non_null(strstr(tamis_last_error(), expected));
    tamis_device_free(sides[1].device, memory);
}

static int set_up(void **state) {
    tamis_generate_options o = TAMIS_GENERATE_OPTIONS_INIT;
    tamis_random dice = tamis_random_start(11, 0);
    o.kind = TAMIS_KIND_RMAT;
    o.rows = o.cols = 3000;
    o.nnz = 60000;
    if (tamis_generate(&o, &matrix) != TAMIS_OK) return 1;
    S = *tamis_owned_sparse_view(matrix);
    B = malloc(b_bytes());
    for (int64_t i = 0; B && i < S.cols * WIDTH; i++) B[i] = (float)(2 * tamis_random_uniform(&dice) - 1);
    for (int i = 0; i < DEVICES; i++)
        if (tamis_device_open(device_names[i], &sides[i].device) != TAMIS_OK) return 1;
    return B == NULL;
}

static int tear_down(void **state) {
    for (int i = 0; i < DEVICES; i++) tamis_device_close(sides[i].device);
    tamis_owned_sparse_free(matrix);
    free(B);
    return tamis_memory_live() != 0 && strcmp(device_names[0], "cpu") == 0;
}

/* The next one of its kind where there is one. */
static const char *second_device(const char *first) {
    static char next[32];
    tamis_device *device;
    const char *const colon = strrchr(first, ':');
    if (!colon) return first;
    snprintf(next, sizeof next, "%.*s:%d", (int)(colon - first), first, atoi(colon + 1) + 1);
    if (tamis_device_open(next, &device) != TAMIS_OK) return first;
    tamis_device_close(device);
    return next;
}

TEST_RUN() {
    if (!named_device_is_here(argc, argv, &device_names[0])) return 77;
    device_names[1] = argc > 2 ? argv[2] : second_device(device_names[0]);
    printf("%s and %s\n", device_names[0], device_names[1]);
    return test_run(device_names[0], NULL, set_up, tear_down);
}
