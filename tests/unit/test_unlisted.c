/*
 * Patterns of masks without a list of columns: their runs, and plans and gradients of them, which give the bits that
 * the listed pattern gives. test_unlisted [DEVICE]
 */
#include "support/test.h"

#include <tamis/gradient.h>
#include <tamis/mask.h>

#include "device_fixture.h"
#include "sparse/index.h"
#include "sparse/mask_runs.h"
#include "support/call.h"
#include "support/matrix.h"

enum { MEMBERS_MOST = 3 };

/* A mask, and its arrays. */
typedef struct sample {
    tamis_mask mask;
    int64_t lengths[MEMBERS_MOST], row_lengths[MEMBERS_MOST];
    twin sent[2];
} sample;

static void sample_free(sample *s) {
    twin_free(&s->sent[0]);
    twin_free(&s->sent[1]);
}
OWN_VALUE(sample, sample_free)

static int64_t below(int64_t count) { return tamis_random_below(&dice, count); }

/* Any mask whose rows keep runs, with rows and columns up to `most` for each member. */
static void sample_draw(sample *s, int64_t most) {
    const tamis_mask initial = TAMIS_MASK_INIT;
    tamis_mask *const m = &s->mask;
    *s = (sample){.mask = initial};
    m->rows = 1 + below(most);
    m->cols = 1 + below(most);
    m->members = 1 + below(MEMBERS_MOST);
    m->offset = below(3) == 0 ? below(2 * most) - most : 0;
    m->left = below(3) == 0 ? -1 : below(most / 2 + 1);
    m->right = below(3) == 0 ? -1 : below(most / 2 + 1);
    m->globals = below(2) == 0 ? 0 : below(most / 4 + 1);
    m->sinks = heads();
    m->causal = heads();
    m->from_end = heads();
    m->length_type = TAMIS_I64;
    for (int b = 0; b < MEMBERS_MOST; b++) {
        s->lengths[b] = below(m->cols + 1);
        s->row_lengths[b] = below(m->rows + 1);
    }
    if (heads()) m->lengths = s->lengths;
    if (heads()) m->row_lengths = s->row_lengths;
}

/* The same mask for the device, whose arrays it reads. */
static tamis_mask sent(sample *s) {
    tamis_mask there = s->mask;
    const void **const arrays[2] = {&there.lengths, &there.row_lengths};
    for (int i = 0; i < 2; i++) {
        if (!*arrays[i]) continue;
        s->sent[i] = twin_make(sizeof s->lengths, 0);
        memcpy(twin_here(&s->sent[i]), *arrays[i], sizeof s->lengths);
        twin_send(&s->sent[i], device);
        *arrays[i] = twin_there(&s->sent[i]);
    }
    return there;
}

/* The definition of tamis/mask.h, read place by place. */
static bool keeps(const sample *s, int64_t row, int64_t column) {
    const tamis_mask *const m = &s->mask;
    const int64_t b = row / m->rows, i = row % m->rows, j = column % m->cols;
    const int64_t length = m->lengths ? s->lengths[b] : m->cols, rows = m->row_lengths ? s->row_lengths[b] : m->rows;
    const int64_t place = i + m->offset + (m->from_end ? length - m->rows : 0);
    const bool window = m->left >= 0 || m->right >= 0;
    if (column / m->cols != b || i >= rows || j >= length || (m->causal && j > place)) return false;
    if (!window && m->globals == 0) return true;
    if (j < m->globals || (!m->sinks && place >= 0 && place < m->globals && place < m->cols)) return true;
    return window && (m->left < 0 || j >= place - m->left) && (m->right < 0 || j <= place + m->right);
}

TEST(runs_are_what_rows_keep) {
    for (int round = 0; round < 400; round++) {
        sample s;
        sample_draw(&s, 24);
        const int64_t rows = s.mask.members * s.mask.rows, cols = s.mask.members * s.mask.cols;
        for (int turned = 0; turned < 2; turned++)
            for (int64_t i = 0; i < (turned ? cols : rows); i++) {
                const tamis_runs runs = tamis_mask_runs(&s.mask, turned, i);
                const bool both = runs.begins[0] < runs.ends[0] && runs.begins[1] < runs.ends[1];
                assert_true(!both || runs.ends[0] <= runs.begins[1]);
                for (int64_t j = 0; j < (turned ? rows : cols); j++) {
                    const bool in_runs =
                        (j >= runs.begins[0] && j < runs.ends[0]) || (j >= runs.begins[1] && j < runs.ends[1]);
                    assert_int_equal(in_runs, turned ? keeps(&s, j, i) : keeps(&s, i, j));
                }
            }
    }
}

/* ------------------------------------------------------------------------------------------ plans */

enum { K = 64, BATCH = 2, ARRAYS = 7 };

/* A, B, D and the gradient of E, drawn; E and the results of two ways. */
typedef struct call {
    tamis_sparse S;
    tamis_options options;
    tamis_dense in[4];
    twin given[4];
} call;

static tamis_location location(void) { return is_cpu ? TAMIS_HOST : TAMIS_DEVICE; }

static tamis_dense dense_of(const twin *x, tamis_type type, int64_t rows) {
    return (tamis_dense){.data = twin_there(x),
                         .rows = rows,
                         .cols = K,
                         .stride = K,
                         .type = type,
                         .batch_stride = rows * K,
                         .location = location()};
}

static size_t bytes_of(tamis_type type, int64_t rows) { return (size_t)(rows * K * BATCH) * tamis_type_size(type); }

static void call_draw(call *c, tamis_type type) {
    for (int k = 0; k < 4; k++) {
        const int64_t rows = k == 0 || k == 3 ? c->S.rows : c->S.cols;
        c->given[k] = twin_make(bytes_of(type, rows) + 1, 0);
        for (int64_t i = 0; i < rows * K * BATCH; i++) {
            const float x = (float)below(2001) / 1000 - 1;
            if (type == TAMIS_F32)
                ((float *)twin_here(&c->given[k]))[i] = x;
            else
                ((uint16_t *)twin_here(&c->given[k]))[i] =
                    type == TAMIS_BF16 ? tamis_bf16_from_f32(x) : tamis_f16_from_f32(x);
        }
        twin_send(&c->given[k], device);
        c->in[k] = dense_of(&c->given[k], type, rows);
    }
}

static void call_free(call *c) {
    for (int k = 0; k < 4; k++) twin_free(&c->given[k]);
}
OWN_VALUE(call, call_free)

typedef struct results {
    twin e, pairs, by[3];
} results;

static void results_free(results *r) {
    twin_free(&r->e);
    twin_free(&r->pairs);
    for (int i = 0; i < 3; i++) twin_free(&r->by[i]);
}
OWN_VALUE(results, results_free)

static results computed(const call *c, const tamis_sparse *S, bool on_tensor_cores) {
    const tamis_type type = c->options.type;
    results r = {.e = twin_make(bytes_of(type, S->rows) + 1, 0),
                 .pairs = twin_make((size_t)(S->rows * BATCH * 8) + 1, 0)};
    OWN(tamis_plan) *plan = NULL;
    OWN(tamis_gradient) *gradient = NULL;
    tamis_plan_report report;
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    twin_send(&r.e, device);
    twin_send(&r.pairs, device);
    tamis_dense E = dense_of(&r.e, type, S->rows), by[3];
    for (int i = 0; i < 3; i++) {
        const int64_t rows = i == 0 ? S->rows : S->cols;
        r.by[i] = twin_make(bytes_of(type, rows) + 1, 0);
        twin_send(&r.by[i], device);
        by[i] = dense_of(&r.by[i], type, rows);
    }
    works(tamis_plan_create(device, S, &c->options, &plan));
    works(tamis_plan_describe(plan, &report));
    if (on_tensor_cores) assert_string_equal(report.algorithm, "gpu-tensor");
    execution.softmax_rows = twin_there(&r.pairs);
    works(tamis_plan_fused(plan, &c->in[0], &c->in[1], &c->in[2], &E, &execution));
    works(tamis_gradient_create(device, S, &c->options, &gradient));
    if (on_tensor_cores) assert_string_equal(tamis_gradient_algorithm(gradient), "gpu-tensor");
    execution.result = &E;
    works(tamis_fused_backward(gradient, &c->in[3], &c->in[0], &c->in[1], &c->in[2], &by[0], &by[1], &by[2], NULL,
                               &execution));
    twin_fetch(&r.e);
    twin_fetch(&r.pairs);
    for (int i = 0; i < 3; i++) twin_fetch(&r.by[i]);
    return r;
}

static bool has_tensor_cores(void) { return strncmp(name, "cuda", 4) == 0; }

/* The pattern of `view` without its list of columns. */
static tamis_sparse unlisted(const tamis_sparse *view, const tamis_mask *mask) {
    tamis_sparse S = *view;
    S.columns = NULL;
    S.mask = mask;
    return S;
}

static void compare(sample *s, tamis_type type, const char *algorithm, tamis_index_type index_type) {
    const tamis_mask mask = sent(s);
    OWN(tamis_owned_sparse) *made = NULL;
    works(tamis_mask_create(device, NULL, &mask, TAMIS_I64, index_type, &made));
    OWN(call) c = {.S = *tamis_owned_sparse_view(made), .options = options_for(TAMIS_OP_FUSED, K, K)};
    if (c.S.nnz == 0) return;
    c.options.type = type;
    c.options.edge = TAMIS_EDGE_SOFTMAX;
    c.options.edge_scale = 0.125;
    c.options.batch = BATCH;
    c.options.keep_softmax = true;
    c.options.algorithm = algorithm;
    c.options.expected_calls = 1000;
    call_draw(&c, type);
    const tamis_sparse S = unlisted(&c.S, &mask);
    const bool on_tensor_cores = algorithm != NULL;
    OWN(results) listed = computed(&c, &c.S, on_tensor_cores), mine = computed(&c, &S, on_tensor_cores);
    assert_memory_equal(twin_here(&listed.e), twin_here(&mine.e), bytes_of(type, c.S.rows));
    assert_memory_equal(twin_here(&listed.pairs), twin_here(&mine.pairs), (size_t)(c.S.rows * BATCH * 8));
    for (int i = 0; i < 3; i++)
        assert_memory_equal(twin_here(&listed.by[i]), twin_here(&mine.by[i]), bytes_of(type, i ? c.S.cols : c.S.rows));
}

static sample windows(int64_t rows, int64_t cols, int64_t left, int64_t right, int64_t globals) {
    sample s = {.mask = TAMIS_MASK_INIT};
    s.mask.rows = rows;
    s.mask.cols = cols;
    s.mask.offset = cols - rows;
    s.mask.left = left;
    s.mask.right = right;
    s.mask.globals = globals;
    return s;
}

/* Where the cells are made of runs, and, in fp32, where a list is made first. */
TEST(the_same_bits_as_of_a_list) {
    const char *const algorithm = has_tensor_cores() ? "gpu-tensor" : NULL;
    OWN(sample) window = windows(300, 300, 130, 0, 0), sinks = windows(200, 290, 40, 3, 5),
                all = windows(150, 200, -1, -1, 0);
    OWN(sample) padded = windows(130, 140, 60, 60, 9), empty = windows(140, 90, 4, 0, 0);
    window.mask.causal = true;
    sinks.mask.sinks = sinks.mask.causal = true;
    padded.mask.members = 3;
    padded.mask.length_type = TAMIS_I64;
    memcpy(padded.lengths, (const int64_t[]){140, 0, 77}, sizeof padded.lengths);
    memcpy(padded.row_lengths, (const int64_t[]){130, 50, 1}, sizeof padded.row_lengths);
    padded.mask.lengths = padded.lengths;
    padded.mask.row_lengths = padded.row_lengths;
    padded.mask.from_end = true;
    padded.mask.offset = 0;
    compare(&window, TAMIS_BF16, algorithm, TAMIS_I32);
    compare(&sinks, TAMIS_BF16, algorithm, TAMIS_I32);
    compare(&padded, TAMIS_BF16, algorithm, TAMIS_I32);
    compare(&all, TAMIS_BF16, algorithm, TAMIS_I32);
    compare(&empty, TAMIS_F16, algorithm, TAMIS_I64);
    compare(&sinks, TAMIS_F32, algorithm, TAMIS_I32);
}

TEST(the_same_bits_of_drawn_masks) {
    for (int round = 0; round < 4; round++) {
        OWN(sample) s;
        sample_draw(&s, 200);
        compare(&s, TAMIS_BF16, has_tensor_cores() ? "gpu-tensor" : NULL, TAMIS_I32);
    }
}

/* The output of a plan over S, or of one call, with `rows` rows of K, or nnz samples. */
static twin plain_result(const call *c, const tamis_sparse *S, bool once) {
    const tamis_operation operation = c->options.operation;
    const int64_t rows = c->options.transpose ? S->cols : S->rows;
    const bool samples = operation == TAMIS_OP_SDDMM;
    twin to = twin_make(samples ? (size_t)S->nnz * 4 : (size_t)rows * K * 4, 0);
    twin_send(&to, device);
    tamis_dense out = dense_of(&to, TAMIS_F32, rows), in[3];
    if (samples)
        out = (tamis_dense){.data = twin_there(&to), .rows = S->nnz, .cols = 1, .stride = 1, .location = location()};
    for (int k = 0; k < 3; k++) in[k] = c->in[(k + c->options.transpose) % 3];
    const tamis_execution execution = TAMIS_EXECUTION_INIT;
    if (once) {
        works(call_at_once(device, operation, S, &in[0], &in[1], &in[2], &out, &c->options, &execution));
    } else {
        OWN(tamis_plan) *plan = NULL;
        works(tamis_plan_create(device, S, &c->options, &plan));
        works(call_plan(plan, operation, &in[0], &in[1], &in[2], &out, &execution));
    }
    twin_fetch(&to);
    return to;
}

/* Other operations list the columns first, also to transpose the pattern. */
TEST(other_plans) {
    OWN(sample) s = windows(90, 90, 20, 3, 2);
    OWN(tamis_owned_sparse) *made = NULL;
    works(tamis_mask_create(device, NULL, &s.mask, TAMIS_I32, TAMIS_I32, &made));
    OWN(call) c = {.S = *tamis_owned_sparse_view(made)};
    call_draw(&c, TAMIS_F32);
    const tamis_sparse S = unlisted(&c.S, &s.mask);
    for (int i = 0; i < 8; i++) {
        c.options = options_for(i / 2 == 0 ? TAMIS_OP_SDDMM : i / 2 == 3 ? TAMIS_OP_FUSED : TAMIS_OP_SPMM, K, K);
        c.options.edge = i / 2 == 3 ? TAMIS_EDGE_SIGMOID : TAMIS_EDGE_SCALE;
        c.options.transpose = i / 2 == 2;
        const bool once = i % 2;
        OWN(twin) listed = plain_result(&c, &c.S, once), mine = plain_result(&c, &S, once);
        assert_memory_equal(twin_here(&listed), twin_here(&mine), (size_t)(i < 2 ? S.nnz : 90 * K) * 4);
    }
}

/* What the workspace held before must not change a bit, with rows that fill no whole panel. */
TEST(the_workspace_may_hold_anything) {
    static const tamis_type types[] = {TAMIS_F32, TAMIS_BF16};
    static const int contents[] = {0, 0xff, 0x7f};
    for (int i = 0; i < 2; i++) {
        OWN(sample) s = windows(200, 290, 40, 3, 5);
        const tamis_mask mask = sent(&s);
        OWN(tamis_owned_sparse) *made = NULL;
        OWN(tamis_plan) *plan = NULL;
        works(tamis_mask_create(device, NULL, &mask, TAMIS_I32, TAMIS_I32, &made));
        OWN(call) c = {.S = *tamis_owned_sparse_view(made), .options = options_for(TAMIS_OP_FUSED, K, K)};
        c.options.type = types[i];
        c.options.edge = TAMIS_EDGE_SOFTMAX;
        c.options.batch = BATCH;
        c.options.no_workspace = true;
        c.options.algorithm = has_tensor_cores() ? "gpu-tensor" : NULL;
        call_draw(&c, types[i]);
        works(tamis_plan_create(device, &c.S, &c.options, &plan));
        size_t bytes;
        works(tamis_plan_workspace_size(plan, &bytes));
        const size_t size = bytes_of(types[i], c.S.rows);
        char *const before = calloc(size, 1), *const content = malloc(bytes + 1);
        void *workspace = NULL;
        assert_true(before && content);
        works(tamis_device_allocate(device, bytes + 1, &workspace));
        for (int k = 0; k < 3; k++) {
            OWN(twin) found = twin_make(size, 0);
            tamis_execution execution = TAMIS_EXECUTION_INIT;
            memset(content, contents[k], bytes + 1);
            works(tamis_device_upload(device, NULL, workspace, 0, content, bytes + 1));
            twin_send(&found, device);
            execution.workspace = workspace;
            execution.workspace_bytes = bytes;
            const tamis_dense E = dense_of(&found, types[i], c.S.rows);
            works(tamis_plan_fused(plan, &c.in[0], &c.in[1], &c.in[2], &E, &execution));
            twin_fetch(&found);
            if (k > 0) assert_memory_equal(before, twin_here(&found), size);
            memcpy(before, twin_here(&found), size);
        }
        tamis_device_free(device, workspace);
        free(before);
        free(content);
    }
}

/* ------------------------------------------------------------------------------------------ memory */

/* Bytes that the library has taken, and the most at one time. */
typedef struct taken {
    int64_t now, most;
} taken;

static void *allocate(void *context, size_t bytes, void *stream) {
    taken *const t = context;
    void *memory = NULL;
    (void)stream;
    if (tamis_device_allocate(device, bytes, &memory) != TAMIS_OK) return NULL;
    t->now += (int64_t)bytes;
    if (t->now > t->most) t->most = t->now;
    return memory;
}

static void release(void *context, void *memory, size_t bytes, void *stream) {
    (void)stream;
    ((taken *)context)->now -= (int64_t)bytes;
    tamis_device_free(device, memory);
}

/* Plans and gradients on tensor cores take a fraction of what the list of columns would. */
TEST(no_list_is_made) {
    enum { ROWS = 4096, LEFT = 2047 };
    OWN(sample) s = windows(ROWS, ROWS, LEFT, 0, 0);
    OWN(twin) offsets = twin_make((ROWS + 1) * sizeof(int32_t), 0);
    taken t = {0, 0};
    const tamis_allocator allocator = {.context = &t, .allocate = allocate, .release = release};
    if (!has_tensor_cores()) return;
    tamis_sparse S = {.format = TAMIS_CSR, .location = TAMIS_DEVICE, .rows = ROWS, .cols = ROWS, .mask = &s.mask};
    twin_send(&offsets, device);
    S.offsets = twin_there(&offsets);
    works(tamis_mask_offsets(device, NULL, &s.mask, TAMIS_I32, twin_there(&offsets), &S.nnz));
    tamis_options options = options_for(TAMIS_OP_FUSED, K, K);
    options.type = TAMIS_BF16;
    options.edge = TAMIS_EDGE_SOFTMAX;
    options.expected_calls = 1000;
    options.allocator = &allocator;
    options.no_workspace = true;
    options.algorithm = "gpu-tensor";
    OWN(tamis_plan) *plan = NULL;
    OWN(tamis_gradient) *gradient = NULL;
    works(tamis_plan_create(device, &S, &options, &plan));
    assert_true(t.most > 0 && t.most < S.nnz * 4 / 30);
    works(tamis_gradient_create(device, &S, &options, &gradient));
    assert_true(t.most < S.nnz * 4 / 15);
}

/* ------------------------------------------------------------------------------------------ what is refused */

TEST(others_are_refused) {
    OWN(sample) s = windows(40, 40, 4, 2, 0);
    OWN(tamis_owned_sparse) *made = NULL;
    tamis_plan *plan;
    tamis_gradient *gradient;
    tamis_options options = options_for(TAMIS_OP_FUSED, K, K);
    options.edge = TAMIS_EDGE_SOFTMAX;
    works(tamis_mask_create(device, NULL, &s.mask, TAMIS_I32, TAMIS_I32, &made));
    tamis_sparse S = unlisted(tamis_owned_sparse_view(made), NULL);
    REFUSED_MADE(plan, ARGUMENT, "^S.columns = NULL: expected an array of 267$",
                 tamis_plan_create(device, &S, &options, &plan));
    S.mask = &s.mask;
    s.mask.cols = 41;
    REFUSED_MADE(plan, ARGUMENT, "^S is 40 x 40 without columns: expected its mask's 40 x 41$",
                 tamis_plan_create(device, &S, &options, &plan));
    REFUSED_MADE(gradient, ARGUMENT, "^S is 40 x 40 without columns: expected its mask's 40 x 41$",
                 tamis_gradient_create(device, &S, &options, &gradient));
    s.mask.cols = 40;
    s.mask.right = 40; /* other places than the offsets are for */
    REFUSED_MADE(plan, PATTERN, "^S.nnz = 267, but S.mask keeps ", tamis_plan_create(device, &S, &options, &plan));
    s.mask.left = 2; /* as many places */
    s.mask.right = 4;
    REFUSED_MADE(plan, PATTERN, "^S.offsets[1] = 3: expected the 5 of S.mask$",
                 tamis_plan_create(device, &S, &options, &plan));
    REFUSED_MADE(gradient, PATTERN, "^S.offsets[1] = 3: expected the 5 of S.mask$",
                 tamis_gradient_create(device, &S, &options, &gradient));
    s.mask.left = -2;
    REFUSED_MADE(plan, ARGUMENT, "^mask.left = -2: ", tamis_plan_create(device, &S, &options, &plan));
}

static tamis_status make_both(const tamis_sparse *S, const tamis_options *options) {
    OWN(tamis_plan) *plan = NULL;
    OWN(tamis_gradient) *gradient = NULL;
    const tamis_status status = tamis_plan_create(device, S, options, &plan);
    return status == TAMIS_OK ? tamis_gradient_create(device, S, options, &gradient) : status;
}

/* Each allocation fails in turn: an error, and nothing is left behind. */
TEST(memory_fails) {
    OWN(sample) s = windows(100, 100, 30, 3, 2);
    OWN(tamis_owned_sparse) *made = NULL;
    tamis_options options = options_for(TAMIS_OP_FUSED, K, K);
    options.edge = TAMIS_EDGE_SOFTMAX;
    options.type = TAMIS_BF16;
    options.algorithm = has_tensor_cores() ? "gpu-tensor" : NULL;
    works(tamis_mask_create(device, NULL, &s.mask, TAMIS_I32, TAMIS_I32, &made));
    const tamis_sparse S = unlisted(tamis_owned_sparse_view(made), &s.mask);
    works(make_both(&S, &options)); /* kernels are there */
    EACH_FAULT_OF(w, .least = 5) FAULTY(w, make_both(&S, &options));
}

TEST_ON_DEVICE(set_up, tear_down)
