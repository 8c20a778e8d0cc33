/* Masks of attention made on a device: very many rows, plans of them, and what is refused. The row mask of
 * tests/operations compares them with their definition. test_mask [DEVICE] */
#include "support/test.h"

#include <tamis/mask.h>

#include "device_fixture.h"
#include "sparse/index.h"
#include "support/matrix.h"

static tamis_location location(void) { return is_cpu ? TAMIS_HOST : TAMIS_DEVICE; }

/* ------------------------------------------------------------------------------------------ arrays of a mask */

/* Numbers for the host to read and, in one of the two widths, for the device. */
typedef struct numbers {
    int64_t *host, count;
    twin sent;
    tamis_index_type type;
} numbers;

static const void *send(numbers *x) {
    if (!x->sent.host) x->sent = twin_make((size_t)x->count * tamis_index_size(x->type), 0);
    for (int64_t i = 0; i < x->count; i++) tamis_index_store(x->sent.host, x->type, i, x->host[i]);
    twin_send(&x->sent, device);
    return twin_there(&x->sent);
}

static numbers numbers_room(int64_t count, tamis_index_type type) {
    return (numbers){.host = test_room(count, sizeof(int64_t)), .count = count, .type = type};
}

static const void *give(numbers *x, const int64_t *given, int64_t count, tamis_index_type type) {
    *x = numbers_room(count, type);
    memcpy(x->host, given, (size_t)count * sizeof *given);
    return send(x);
}

static void numbers_free(numbers *x) {
    free(x->host);
    twin_free(&x->sent);
}

/* A mask whose arrays are on the device, and what they hold. */
typedef struct sample {
    tamis_mask mask;
    numbers list, lengths, row_lengths, block_offsets, block_columns;
    tamis_sparse blocks;
} sample;

static void sample_free(sample *s) {
    numbers_free(&s->list);
    numbers_free(&s->lengths);
    numbers_free(&s->row_lengths);
    numbers_free(&s->block_offsets);
    numbers_free(&s->block_columns);
}
OWN_VALUE(sample, sample_free)

static void give_list(sample *s) {
    static const int64_t places[] = {2, 5, 9};
    s->mask.global_list = give(&s->list, places, 3, TAMIS_I32);
    s->mask.global_count = 3;
    s->mask.global_type = TAMIS_I32;
}

/* All blocks of that size. */
static void give_blocks(sample *s, int64_t block, tamis_index_type offset_type, tamis_index_type index_type) {
    const int64_t rows = (s->mask.rows + block - 1) / block, cols = (s->mask.cols + block - 1) / block;
    s->block_offsets = numbers_room(rows + 1, offset_type);
    s->block_columns = numbers_room(rows * cols, index_type);
    for (int64_t i = 0; i <= rows; i++) s->block_offsets.host[i] = i * cols;
    for (int64_t t = 0; t < rows * cols; t++) s->block_columns.host[t] = t % cols;
    s->blocks = (tamis_sparse){.format = TAMIS_CSR,
                               .location = location(),
                               .rows = rows,
                               .cols = cols,
                               .nnz = rows * cols,
                               .offset_type = offset_type,
                               .index_type = index_type,
                               .offsets = send(&s->block_offsets),
                               .columns = send(&s->block_columns)};
    s->mask.block = block;
    s->mask.blocks = &s->blocks;
}

static void *fetched(const void *from, int64_t count, tamis_index_type type) {
    void *const to = test_room(count, 8);
    if (count > 0) works(tamis_device_download(device, NULL, to, from, 0, (size_t)count * tamis_index_size(type)));
    return to;
}

static bool on_opencl(void) { return strncmp(name, "opencl", 6) == 0; }

/* More groups of work-items, one a row here, than a launch has. Row i keeps i % STEP and STEP more. */
TEST(more_rows_than_groups) {
    enum { STEP = 4000 };
    const int rows = on_opencl() && !test_whole() ? 300 : 65600; /* a minute on a processor */
    OWN(tamis_owned_sparse) *made = NULL;
    tamis_mask m = TAMIS_MASK_INIT;
    m.rows = rows;
    m.cols = 2 * STEP;
    m.every = STEP;
    works(tamis_mask_create(device, NULL, &m, TAMIS_I32, TAMIS_I32, &made));
    const tamis_sparse *const S = tamis_owned_sparse_view(made);
    assert_int_equal(S->nnz, 2 * rows);
    OWN(int32_t) *const offsets = fetched(S->offsets, rows + 1, TAMIS_I32);
    OWN(int32_t) *const columns = fetched(S->columns, 2 * rows, TAMIS_I32);
    for (int32_t i = 0; i < rows; i++) {
        assert_int_equal(offsets[i], 2 * i);
        assert_int_equal(columns[2 * i], i % STEP);
        assert_int_equal(columns[2 * i + 1], i % STEP + STEP);
    }
}

/* A plan takes such a matrix as it is: the sums of what each row keeps. */
TEST(a_plan_of_a_mask) {
    enum { ROWS = 70 };
    const tamis_options options = options_for(TAMIS_OP_SPMM, -1, 1);
    OWN(tamis_owned_sparse) *made = NULL;
    OWN(tamis_plan) *plan = NULL;
    tamis_mask mask = TAMIS_MASK_INIT;
    mask.rows = mask.cols = ROWS;
    mask.left = 4;
    mask.globals = 2;
    OWN(twin) given = twin_make(ROWS * sizeof(float), 0), result = twin_make(ROWS * sizeof(float), 0);
    float *const b = twin_here(&given), *const c = twin_here(&result);
    for (int j = 0; j < ROWS; j++) b[j] = (float)(j + 1);
    twin_send(&given, device);
    twin_send(&result, device);
    works(tamis_mask_create(device, NULL, &mask, TAMIS_I32, TAMIS_I32, &made));
    works(tamis_plan_create(device, tamis_owned_sparse_view(made), &options, &plan));
    const tamis_dense B = {.data = twin_there(&given), .rows = ROWS, .cols = 1, .location = location()};
    const tamis_dense C = {.data = twin_there(&result), .rows = ROWS, .cols = 1, .location = location()};
    works(tamis_plan_spmm(plan, &B, &C, NULL));
    twin_fetch(&result);
    for (int i = 0; i < ROWS; i++) {
        float sum = 0; /* of whole numbers: exact in any order */
        for (int j = 0; j < ROWS; j++)
            if (j >= i - 4 || i < 2 || j < 2) sum += b[j];
        assert_true(c[i] == sum);
    }
}

/* ------------------------------------------------------------------------------------------ what is refused */

static tamis_status attempt_and_free(const tamis_mask *m) {
    OWN(tamis_owned_sparse) *made = NULL;
    return tamis_mask_create(device, NULL, m, TAMIS_I32, TAMIS_I32, &made);
}

TEST(sizes_are_refused) {
    static const tamis_mask initial = TAMIS_MASK_INIT;
    tamis_mask m = initial;
    tamis_owned_sparse *made;
    void *const any = &m;
    int64_t nnz;
    m.rows = m.cols = 10;
#define SPOILT_CREATE(change, want, words)                                                                             \
    SPOILT_MADE_BY(made, m, change, want, words, tamis_mask_create(device, NULL, &m, TAMIS_I32, TAMIS_I32, &made))
    SPOILT_CREATE(m.rows = -1, ARGUMENT, "^mask.rows = -1: expected 0 .. 36028797018963967$");
    SPOILT_CREATE(m.cols = INT64_MAX, ARGUMENT, "^mask.cols = 9223372036854775807: expected 0 .. 36028797018963967$");
    SPOILT_CREATE(m.left = -2, ARGUMENT, "^mask.left = -2: expected -1 .. 36028797018963967$");
    SPOILT_CREATE(m.right = -2, ARGUMENT, "^mask.right = -2: expected -1 .. 36028797018963967$");
    SPOILT_CREATE(m.dilation = 0, ARGUMENT, "^mask.dilation = 0: expected 1 .. 36028797018963967$");
    SPOILT_CREATE(m.every = -1, ARGUMENT, "^mask.every = -1: expected 0 .. 36028797018963967$");
    SPOILT_CREATE(m.globals = -1, ARGUMENT, "^mask.globals = -1: expected 0 .. 36028797018963967$");
    SPOILT_CREATE(m.global_count = 11, ARGUMENT, "^mask.global_count = 11: expected 0 .. 10$");
    SPOILT_CREATE(m.global_count = 2, ARGUMENT,
                  "^mask.global_list = NULL: expected 2 places, as many as global_count$");
    SPOILT_CREATE(m.members = -1, ARGUMENT, "^mask.members = -1: expected 0 .. 36028797018963967$");
    SPOILT_CREATE(m.length_type = (tamis_index_type)2, ARGUMENT, "^mask.length_type = 2: expected 0 .. 1$");
    SPOILT_CREATE(m.members = INT64_C(1) << 54, OVERFLOW,
                  "^mask.members = 18014398509481984 of 10 x 10: more than 36028797018963967 rows or columns$");
    SPOILT_CREATE(m.cols = INT64_C(1) << 31, OVERFLOW, "^mask.cols = 2147483648: expected offsets of int64$");
    SPOILT_CREATE((m.members = INT64_C(1) << 28, m.rows = 0), OVERFLOW,
                  "^mask: an index_type of int32 cannot hold 0 .. 2684354559, of members * cols columns$");
    SPOILT_CREATE((m.rows = 2, m.cols = INT32_MAX), OVERFLOW,
                  "^mask: 4294967294 columns are kept, which an offset_type of int32 cannot hold$");
    SPOILT_CREATE(m.reserved[3] = 1, UNSUPPORTED, "mask.reserved[3] = 0x1: ");
    REFUSED_MADE(made, ARGUMENT, "^mask = NULL: expected a mask$",
                 tamis_mask_create(device, NULL, NULL, TAMIS_I32, TAMIS_I32, &made));
    m = initial;
    m.rows = m.cols = 70000;
    REFUSED(OVERFLOW,
            "^nnz = NULL: 70000 x 70000 may keep more than offsets of int32 hold; ask for nnz, or take int64$",
            tamis_mask_offsets(device, NULL, &m, TAMIS_I32, any, NULL));
    REFUSED(ARGUMENT, "^device = NULL: open one with tamis_device_open$",
            tamis_mask_offsets(NULL, NULL, &m, TAMIS_I32, any, &nnz));
    REFUSED(ARGUMENT, "^offsets = NULL: expected members * rows + 1 of them$",
            tamis_mask_offsets(device, NULL, &m, TAMIS_I32, NULL, &nnz));
    REFUSED(ARGUMENT, "^offset_type = 7: expected 0 .. 1$",
            tamis_mask_offsets(device, NULL, &m, (tamis_index_type)7, any, &nnz));
    REFUSED(ARGUMENT, "^columns = NULL: expected an array of nnz$",
            tamis_mask_columns(device, NULL, &m, TAMIS_I32, any, TAMIS_I32, NULL));
    REFUSED(ARGUMENT, "^matrix = NULL: expected an address for the result$",
            tamis_mask_create(device, NULL, &m, TAMIS_I32, TAMIS_I32, NULL));
}

static void refuses_spoiled(sample *s, numbers *of, int64_t at, int64_t value, const char *message) {
    const int64_t before = of->host[at];
    tamis_owned_sparse *made;
    of->host[at] = value;
    send(of);
    REFUSED_MADE(made, PATTERN, message, tamis_mask_create(device, NULL, &s->mask, TAMIS_I32, TAMIS_I32, &made));
    of->host[at] = before;
    send(of);
    works(attempt_and_free(&s->mask));
}

TEST(arrays_are_refused) {
    static const int64_t lengths[] = {3, 20};
    OWN(sample) s = {.mask = TAMIS_MASK_INIT};
    s.mask.rows = s.mask.cols = 20;
    s.mask.members = 2;
    give_list(&s);
    s.mask.length_type = TAMIS_I64;
    s.mask.lengths = give(&s.lengths, lengths, 2, TAMIS_I64);
    s.mask.row_lengths = give(&s.row_lengths, lengths, 2, TAMIS_I64);
    give_blocks(&s, 3, TAMIS_I32, TAMIS_I64); /* 7 x 7 */
    refuses_spoiled(&s, &s.list, 1, 2, "^mask.global_list[1] = 2 after 2: expected increasing numbers$");
    refuses_spoiled(&s, &s.list, 2, 20, "^mask.global_list[2] = 20: expected 0 .. 19$");
    refuses_spoiled(&s, &s.list, 0, -1, "^mask.global_list[0] = -1: expected 0 .. 19$");
    refuses_spoiled(&s, &s.lengths, 1, 21, "^mask.lengths[1] = 21: expected 0 .. 20$");
    refuses_spoiled(&s, &s.row_lengths, 0, -1, "^mask.row_lengths[0] = -1: expected 0 .. 20$");
    refuses_spoiled(&s, &s.block_columns, 8, 0, "^mask.blocks.columns[8] = 0 after 0: expected increasing numbers$");
    refuses_spoiled(&s, &s.block_columns, 13, 7, "^mask.blocks.columns[13] = 7: expected 0 .. 6$");
    refuses_spoiled(&s, &s.block_offsets, 0, 1, "^mask.blocks.offsets[0] = 1: expected 0$");
    refuses_spoiled(&s, &s.block_offsets, 2, 6, "^mask.blocks.offsets[2] = 6: expected 7 .. 49$");
    refuses_spoiled(&s, &s.block_offsets, 7, 48, "^mask.blocks.offsets[7] = 48: expected 49 .. 49$");
#define SPOILT_BLOCKS(change, want, words)                                                                             \
    SPOILT_MADE_BY(made, s, change, want, words, tamis_mask_create(device, NULL, &s.mask, TAMIS_I32, TAMIS_I32, &made))
    tamis_owned_sparse *made;
    SPOILT_BLOCKS(s.mask.block = 4, ARGUMENT,
                  "^mask.blocks is 7 x 7: expected 5 x 5, the blocks of 4 that cover 20 x 20$");
    SPOILT_BLOCKS(s.mask.block = 0, ARGUMENT, "^mask.block = 0: expected 1 .. 36028797018963967$");
    SPOILT_BLOCKS((s.blocks.format = TAMIS_COO, s.blocks.row_indices = s.blocks.columns), UNSUPPORTED,
                  "^mask.blocks is COO: expected a CSR whose offsets begin with 0$");
}

/* Each allocation fails in turn: an error, and nothing is left behind. */
TEST(memory_fails) {
    OWN(sample) s = {.mask = TAMIS_MASK_INIT};
    s.mask.rows = s.mask.cols = 20;
    give_list(&s);
    works(attempt_and_free(&s.mask)); /* kernels are there */
    /* the made, its offsets and its columns at least */
    EACH_FAULT_OF(w, .least = 3) FAULTY(w, attempt_and_free(&s.mask));
}

TEST_ON_DEVICE(set_up, tear_down)
