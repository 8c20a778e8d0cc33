#include <tamis/ceilings.h>
#include <tamis/structure.h>

#include "instances.h"

#include <stdlib.h>
#include <string.h>

#include "base/edges.h"
#include "base/memory.h"
#include "base/status.h"
#include "gpu/algorithms.h"
#include "gpu/attention/attention.h"
#include "gpu/backend.h"
#include "gpu/ceilings/ceilings.h"
#include "gpu/compile/utility.h"
#include "gpu/dense/dense.h"
#include "gpu/edge_network/edge_network.h"
#include "gpu/gradient/gradient.h"
#include "gpu/long_rows/cached.h"
#include "gpu/mask/mask.h"
#include "gpu/messages/messages.h"
#include "gpu/method.h"
#include "gpu/staging/staging.h"
#include "gpu/structure/order.h"
#include "gpu/structure/profile.h"
#include "gpu/structure/sort.h"
#include "gpu/tensor/wgmma.h"
#include "select/rates.h"
#include "support/call.h"

enum { ROWS = INSTANCE_ROWS, NONZEROS = INSTANCE_ROWS * INSTANCE_LENGTH };

const int64_t instance_widths[] = {16, 32, 37, 50, 64, 96, 128, 150, 256, 512, 1000};
const int instance_width_count = sizeof instance_widths / sizeof instance_widths[0];

const void *instance_zeros(void) {
    static void *zeros;
    if (!zeros) zeros = calloc(NONZEROS, 8);
    if (!zeros) abort();
    return zeros;
}

/* Rows of even length: methods may look at offsets on the host. */
static const void *offsets_of(tamis_index_type type) {
    static int32_t narrow[ROWS + 1];
    static int64_t wide[ROWS + 1];
    for (int64_t i = 0; wide[ROWS] == 0 && i <= ROWS; i++) wide[i] = narrow[i] = (int32_t)(i * INSTANCE_LENGTH);
    return type == TAMIS_I64 ? (const void *)wide : narrow;
}

static tamis_profile profile_of(int64_t rows, bool hub, bool sorted) {
    const int64_t nnz = rows * INSTANCE_LENGTH;
    return (tamis_profile){.rows = rows,
                           .cols = rows,
                           .nnz = nnz,
                           .mean = INSTANCE_LENGTH,
                           .variation = hub ? 8 : 0.5,
                           .max = hub ? nnz / 4 : 100,
                           .min = hub ? 0 : 4,
                           .empty_rows = hub ? rows / 3 : 0,
                           .bandwidth = rows,
                           .mean_span = (double)rows / 2,
                           .density = (double)INSTANCE_LENGTH / (double)rows,
                           .sorted = sorted,
                           .duplicates = 0};
}

/* Not the same edge at each K. */
static tamis_edge next_edge(tamis_operation operation) {
    static unsigned turn;
    if (operation == TAMIS_OP_SPMM) return TAMIS_EDGE_SCALE;
    turn++;
    return (tamis_edge)((7 * turn + turn / 8) % TAMIS_EDGE_COUNT);
}

void instance_set_pattern(instance *x, instance_pattern pattern) {
    x->pattern = pattern;
    x->rows = pattern == INSTANCE_DENSE ? INSTANCE_DENSE_ROWS : ROWS;
}

/* Columns of panels of 128 and of 256 rows over their nonzeros. */
static const double fresh_of[INSTANCE_PATTERNS][2] = {
    [INSTANCE_MESH] = {0.12, 0.11},
    [INSTANCE_DENSE] = {(double)INSTANCE_DENSE_ROWS / (128 * INSTANCE_LENGTH),
                        (double)INSTANCE_DENSE_ROWS / (256 * INSTANCE_LENGTH)}};

instance instance_draw(fake_device *device, const tamis_algorithm *algorithm, tamis_operation operation,
                       tamis_type type, int64_t k, tamis_random *random) {
    instance x = {.device = device,
                  .algorithm = algorithm,
                  .operation = operation,
                  .edge = next_edge(operation),
                  .type = type,
                  .inner = operation == TAMIS_OP_SPMM ? 0 : k,
                  .width = operation == TAMIS_OP_SDDMM ? 0 : k,
                  .parameters = ""};
    x.hub = tamis_random_below(random, 2);
    x.index_type = tamis_random_below(random, 4) == 0 ? TAMIS_I64 : TAMIS_I32;
    x.offset_type = tamis_random_below(random, 2) ? TAMIS_I64 : x.index_type;
    x.has_values = tamis_random_below(random, 4) != 0;
    x.once = tamis_random_below(random, 4) == 0 && !algorithm->needs_preparation;
    x.calls = tamis_random_below(random, 2) ? 1 : 1000;
    const int64_t other = instance_widths[tamis_random_below(random, instance_width_count)];
    if (tamis_random_below(random, 4) == 0 && operation == TAMIS_OP_FUSED) x.width = other;
    x.batch = tamis_random_below(random, 4) == 0 ? 4 : 1;
    x.output_type = tamis_type_size(type) == 2 && tamis_random_below(random, 4) == 0 ? TAMIS_F32 : type;
    const bool rounds = strcmp(algorithm->description.name, "gpu-rounded") == 0; /* with that alone */
    if ((tamis_random_below(random, 3) == 0 || rounds) && type == TAMIS_F32) x.math = TAMIS_MATH_TF32;
    x.keep_softmax = x.hub && x.edge == TAMIS_EDGE_SOFTMAX;
    instance_set_pattern(&x, (instance_pattern)tamis_random_below(random, INSTANCE_PATTERNS));
    return x;
}

static tamis_evidence evidence_of(const instance *x) {
    tamis_evidence evidence = {.profile = profile_of(x->rows, x->hub, !x->unsorted),
                               .ceilings = tamis_gpu_default_ceilings(),
                               .fresh_share = 1,
                               .panel_fresh = {fresh_of[x->pattern][0], fresh_of[x->pattern][1]},
                               .row_fresh = 1,
                               .expected_calls = x->calls};
    tamis_rates_built_in(&tamis_cuda_backend, 0, evidence.rates);
    return evidence;
}

static tamis_problem problem_of(const instance *x, const tamis_evidence *evidence) {
    return (tamis_problem){.operation = x->operation,
                           .edge = x->edge,
                           .type = x->type,
                           .output_type = x->output_type,
                           .value_type = x->type,
                           .math = x->math,
                           .rows = x->rows,
                           .cols = x->rows,
                           .nnz = x->rows * INSTANCE_LENGTH,
                           .offsets = offsets_of(x->offset_type),
                           .columns = instance_zeros(),
                           .index_type = x->index_type,
                           .offset_type = x->offset_type,
                           .has_values = x->has_values,
                           .inner = x->inner,
                           .width = x->width,
                           .edge_constants = {1, 0.2, 1e-10, x->text},
                           .batch = x->batch,
                           .keep_softmax = x->keep_softmax,
                           .d_is_b = x->operation == TAMIS_OP_FUSED && x->inner == x->width,
                           .threads = 1,
                           .deterministic = !x->algorithm->description.any_order,
                           .parameters = x->parameters,
                           .evidence = evidence,
                           .device = &x->device->shared,
                           .stream = x->device->stream,
                           .once = x->once};
}

tamis_status instance_prepare(const instance *x, tamis_prepared **prepared) {
    char reason[256] = "";
    const tamis_evidence evidence = evidence_of(x);
    const tamis_problem problem = problem_of(x, &evidence);
    *prepared = NULL;
    if (!tamis_gpu_accepts(x->algorithm, &problem, reason, sizeof reason))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s", reason);
    return tamis_gpu_make(x->algorithm, &problem, prepared);
}

static tamis_status prepare_back(const tamis_problem *problem, const tamis_problem *turned) {
    tamis_prepared_backward *back = NULL;
    TRY(tamis_backward_wgmma.prepare(problem, turned, &back));
    tamis_backward_wgmma.release(back);
    return TAMIS_OK;
}

/* With a list of columns and, where that is not needed, also of a mask without one. */
tamis_status instance_prepare_back(const instance *x) {
    const tamis_evidence evidence = evidence_of(x);
    tamis_problem problem = problem_of(x, &evidence), turned = problem;
    tamis_mask mask = TAMIS_MASK_INIT;
    if (tamis_backward_wgmma.seconds(&problem, &problem) == 0)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "the gradient in one piece does not serve the problem");
    TRY(prepare_back(&problem, &problem));
    if (!tamis_backward_wgmma.unlisted(&problem)) return TAMIS_OK;
    mask.rows = mask.cols = x->rows;
    mask.left = INSTANCE_LENGTH - 1;
    problem.mask = turned.mask = &mask;
    problem.columns = turned.columns = NULL;
    turned.mask_turned = true;
    return prepare_back(&problem, &turned);
}

/* ------------------------------------------------------------------------------------------ utilities */

static tamis_status structure(tamis_gpu_device *d, tamis_index_type index, tamis_index_type offset) {
    tamis_sparse S = csr_of(TAMIS_F32, ROWS, ROWS, NONZEROS, offsets_of(offset), instance_zeros(), NULL);
    S.index_type = index;
    S.offset_type = offset;
    S.location = TAMIS_DEVICE;
    tamis_row_order rows = {.offsets = NULL};
    tamis_evidence evidence;
    tamis_problem problem = {.rows = ROWS,
                             .cols = ROWS,
                             .nnz = NONZEROS,
                             .offsets = offsets_of(offset),
                             .columns = instance_zeros(),
                             .index_type = index,
                             .offset_type = offset,
                             .device = d,
                             .unchecked = true};
    TRY(tamis_gpu_profile_by(&problem, false, &evidence));
    S.format = TAMIS_COO;
    S.row_indices = instance_zeros();
    TRY(tamis_gpu_order_rows(&problem, &S, false, &rows));
    void *const kept = tamis_kept_stream(&problem);
    tamis_gpu_release(d, kept, rows.offsets);
    tamis_gpu_release(d, kept, rows.own_columns);
    tamis_gpu_release(d, kept, rows.permutation);
    return TAMIS_OK;
}

static tamis_status sort(tamis_gpu_device *d, tamis_index_type index, tamis_index_type order_type, bool in_rows) {
    tamis_status status = TAMIS_OK;
    void *order = NULL, *scratch = NULL;
    const tamis_gpu_sorting what = {.count = NONZEROS,
                                    .of = instance_zeros(),
                                    .by = 1,
                                    .limit = ROWS,
                                    .index_type = index,
                                    .order_type = order_type,
                                    .offsets = in_rows ? offsets_of(order_type) : NULL,
                                    .rows = ROWS,
                                    .height = 100};
    TRY_GOTO(done, tamis_gpu_allocate(d, NULL, tamis_gpu_scan_scratch(NONZEROS), "sums", &scratch));
    TRY_GOTO(done, tamis_gpu_sort(d, NULL, &what, &order, NULL));
    TRY_GOTO(done, tamis_gpu_scan(d, NULL, (tamis_place){order, 0}, NONZEROS / 2, (tamis_place){scratch, 0}));
done:
    tamis_gpu_release(d, NULL, order);
    tamis_gpu_release(d, NULL, scratch);
    return status;
}

static tamis_status mask(tamis_gpu_device *d, tamis_index_type index, tamis_index_type offset) {
    tamis_mask m = TAMIS_MASK_INIT;
    void *const zeros = (void *)(uintptr_t)instance_zeros();
    m.rows = m.cols = ROWS;
    TRY(tamis_gpu_mask_offsets(d, NULL, 1, &m, offset, zeros, NULL));
    return tamis_gpu_mask_columns(d, NULL, 1, &m, offset, zeros, index, zeros);
}

#define ONE_CUT                                                                                                        \
    { .limit = 256, .count = 1, .pieces = 4 }
static const tamis_gpu_message_plan with_a_cut_row = {.cuts = ONE_CUT, .long_cuts = ONE_CUT};

static tamis_message_order order_of(tamis_index_type offset, tamis_index_type index, const int64_t *entries,
                                    void *plan) {
    return (tamis_message_order){.rows = ROWS,
                                 .cols = ROWS,
                                 .nnz = NONZEROS,
                                 .offset_type = offset,
                                 .column_type = index,
                                 .offsets = offsets_of(offset),
                                 .columns = instance_zeros(),
                                 .entries = entries,
                                 .plan = plan};
}

/* Each pass of message passing, with a row that is cut: of each type, at one width or another. */
static tamis_status messages(tamis_gpu_device *d, tamis_type type) {
    static const struct {
        tamis_message_pass_kind kind;
        tamis_message_term term;
        tamis_edge_data data;
        bool argument;
        bool turned, here; /* of a text */
    } passes[] = {{TAMIS_PASS_SUM, TAMIS_TERM_X, TAMIS_E_NONE, false},
                  {TAMIS_PASS_SUM, TAMIS_TERM_ADD, TAMIS_E_VECTOR, false},
                  {TAMIS_PASS_SUM, TAMIS_TERM_MUL, TAMIS_E_HEAD, false},
                  {TAMIS_PASS_SUM, TAMIS_TERM_Y, TAMIS_E_VECTOR, false},
                  {TAMIS_PASS_SUM, TAMIS_TERM_RELU, TAMIS_E_VECTOR, false},
                  {TAMIS_PASS_SUM, TAMIS_TERM_GATE, TAMIS_E_VECTOR, false},
                  {TAMIS_PASS_TAKEN, TAMIS_TERM_GATE, TAMIS_E_HEAD, true},
                  {TAMIS_PASS_TAKEN, TAMIS_TERM_X, TAMIS_E_NONE, true},
                  {TAMIS_PASS_TAKEN, TAMIS_TERM_MUL, TAMIS_E_VECTOR, true},
                  {TAMIS_PASS_LARGEST, TAMIS_TERM_X, TAMIS_E_NONE, true},
                  {TAMIS_PASS_LARGEST, TAMIS_TERM_ADD, TAMIS_E_VECTOR, true},
                  {TAMIS_PASS_LARGEST, TAMIS_TERM_MUL, TAMIS_E_NUMBER, false},
                  {TAMIS_PASS_ENTRIES, TAMIS_TERM_GATE, TAMIS_E_VECTOR, true},
                  {TAMIS_PASS_ENTRIES, TAMIS_TERM_GATE, TAMIS_E_HEAD, false},
                  {TAMIS_PASS_ENTRIES, TAMIS_TERM_MUL, TAMIS_E_VECTOR, true},
                  {TAMIS_PASS_ENTRIES, TAMIS_TERM_ADD, TAMIS_E_VECTOR, false},
                  {TAMIS_PASS_ENTRIES, TAMIS_TERM_MUL, TAMIS_E_HEAD, false},
                  {TAMIS_PASS_ENTRIES, TAMIS_TERM_MUL, TAMIS_E_NUMBER, true},
                  {TAMIS_PASS_SUM, TAMIS_TERM_TEXT, TAMIS_E_VECTOR, false},
                  {TAMIS_PASS_LARGEST, TAMIS_TERM_TEXT, TAMIS_E_HEAD, true},
                  {TAMIS_PASS_SUM, TAMIS_TERM_TEXT, TAMIS_E_NUMBER, false, .turned = true},
                  {TAMIS_PASS_TAKEN, TAMIS_TERM_TEXT, TAMIS_E_VECTOR, true, .turned = true},
                  {TAMIS_PASS_TAKEN, TAMIS_TERM_TEXT, TAMIS_E_VECTOR, true, .here = true},
                  {TAMIS_PASS_ENTRIES, TAMIS_TERM_TEXT, TAMIS_E_VECTOR, true, .here = true},
                  {TAMIS_PASS_ENTRIES, TAMIS_TERM_TEXT, TAMIS_E_HEAD, false, .here = true}};
    enum { PASSES = sizeof passes / sizeof *passes, SHARING = 1 << 18 /* entries of a graph whose rows teams share */ };
    static const int64_t widths[] = {16, 64, 37, 256, 2, 8};
    const tamis_message_options options = {.text = "leaky_relu(u + v + e) * tanh(u - i + j)"};
    tamis_message_text text;
    tamis_gpu_message_plan plan = with_a_cut_row;
    TRY(tamis_message_text_make(&options, &text));
    const tamis_place zeros = {(void *)(uintptr_t)instance_zeros(), 0};
    for (int i = 0; i < PASSES; i++) {
        const int64_t width = widths[(i + (int)type) % 6];
        const tamis_index_type index = i % 3 == 1 ? TAMIS_I64 : TAMIS_I32, offset = i % 4 == 3 ? TAMIS_I64 : TAMIS_I32;
        const tamis_matrix operand = {zeros, 4 * width, 0};
        const bool is_text = passes[i].term == TAMIS_TERM_TEXT, weighed = passes[i].turned || passes[i].here;
        plan.shares = (i + (int)type) % 2;
        plan.longer[5] = plan.shares; /* a row that a warp shares, a group of 128, of 512 */
        plan.base.profile.max = i % 3 == 0 ? NONZEROS : i % 3 == 1 ? 64 : 1024;
        plan.cuts.order = plan.long_cuts.order = plan.whole.order = plan.shares ? zeros.base : NULL;
        tamis_message_job job = {.device = d,
                                 .text = is_text ? &text : NULL,
                                 .turned = passes[i].turned,
                                 .here = passes[i].here,
                                 .w = weighed ? operand : (tamis_matrix){.stride = 0},
                                 .kind = passes[i].kind,
                                 .type = type,
                                 .order = order_of(offset, index, i % 2 ? zeros.base : NULL, &plan),
                                 .other_offsets = i % 5 == 0 ? offsets_of(offset) : NULL,
                                 .other_offset_type = offset,
                                 .term = passes[i].term,
                                 .edge_data = passes[i].data,
                                 .heads = 4,
                                 .width = width,
                                 .sign = 1,
                                 .factor = 1,
                                 .mean = i % 3 == 0,
                                 .x = operand,
                                 .y = operand,
                                 .z = operand,
                                 .out = operand,
                                 .argument = passes[i].argument ? zeros : (tamis_place){NULL, 0},
                                 .argument_type = i % 2 ? TAMIS_I64 : TAMIS_I32};
        if (plan.shares) job.order.nnz = 16 * (job.order.rows = SHARING / 16);
        TRY(tamis_gpu_message_functions.run(&job));
    }
    return TAMIS_OK;
}

/* Each pass of attention on graphs, with a row that is cut: of each type, at widths that fill a team, that do not, and
   that take slices. */
static tamis_status attention(tamis_gpu_device *d, tamis_type type) {
    static const int64_t widths[] = {64, 16, 37, 1024, 128, 2};
    const tamis_place zeros = {(void *)(uintptr_t)instance_zeros(), 0}, none = {NULL, 0},
                      uneven = {(void *)(uintptr_t)instance_zeros(), 2};
    tamis_gpu_message_plan plan = with_a_cut_row;
    for (int i = 0; i < 4; i++) {
        const int64_t width = widths[(i + (int)type) % 6];
        const tamis_index_type index = i == 2 ? TAMIS_I64 : TAMIS_I32, offset = i == 3 ? TAMIS_I64 : TAMIS_I32;
        const tamis_matrix operand = {zeros, 4 * width, 0}, edges = {i % 2 ? zeros : none, 4 * width, 0};
        tamis_attention_job job = {.device = d,
                                   .type = type,
                                   .order = order_of(offset, index, i % 3 ? zeros.base : NULL, &plan),
                                   .heads = 4,
                                   .width = width,
                                   .scale = 1,
                                   .q = operand,
                                   .k = operand,
                                   .v = operand,
                                   .e = edges,
                                   .b = edges,
                                   .out = operand,
                                   .log_sums = operand,
                                   .d_out = operand,
                                   .dq = i == 1 ? (tamis_matrix){uneven, 4 * width, 0} : operand,
                                   .dk = operand,
                                   .dv = operand,
                                   .de = edges,
                                   .db = edges,
                                   .weights = zeros};
        for (int pass = 0; pass < 3; pass++) {
            job.pass = (tamis_attention_pass)pass;
            TRY(tamis_gpu_attention_functions.attend(&job));
        }
    }
    return TAMIS_OK;
}

/* Attention to caches: of each type, widths that fill a team and that do not, rows that share keys, pages. */
static tamis_status caches(tamis_gpu_device *d, tamis_type type) {
    static const int64_t shapes[][4] = {{32, 8, 128, 128}, {8, 1, 64, 64}, {4, 4, 37, 130}, {16, 4, 256, 256},
                                        {8, 1, 128, 128},  {2, 1, 96, 80}, {3, 3, 16, 8},   {4, 1, 512, 512}};
    const tamis_place zeros = {(void *)(uintptr_t)instance_zeros(), 0}, none = {NULL, 0};
    for (int i = 0; i < 8; i++) {
        const int64_t *const s = shapes[i];
        const bool wide = type != TAMIS_F64 || s[2] <= 256;
        const tamis_cached_vectors keys = {zeros, 4096 * s[1] * s[2], s[1] * s[2], s[2]},
                                   values = {zeros, 4096 * s[1] * s[3], s[1] * s[3], s[3]};
        const tamis_cached_job job = {.device = d,
                                      .o = {.type = type,
                                            .output_type = i % 2 && type > TAMIS_F64 ? TAMIS_F32 : type,
                                            .sequences = 2,
                                            .heads = s[0],
                                            .key_heads = s[1],
                                            .inner = wide ? s[2] : 256,
                                            .width = wide ? s[3] : 256,
                                            .scale = 1,
                                            .capacity = i == 6 ? 1 : 4096,
                                            .length_type = i % 3 == 1 ? TAMIS_I64 : TAMIS_I32,
                                            .table_type = i % 4 == 1 ? TAMIS_I64 : TAMIS_I32,
                                            .table = i % 2 ? zeros.base : NULL,
                                            .table_stride = 256,
                                            .page = 16,
                                            .pages = 512},
                                      .q = keys,
                                      .k = keys,
                                      .v = values,
                                      .out = values,
                                      .lengths = zeros,
                                      .table = i % 2 ? zeros : none,
                                      .log_sums = zeros};
        TRY(tamis_gpu_cached_attend(&job));
    }
    return TAMIS_OK;
}

/* Each operation on segments, both ways, with a row that is cut. */
static tamis_status segments(tamis_gpu_device *d, tamis_type type) {
    const tamis_place zeros = {(void *)(uintptr_t)instance_zeros(), 0};
    tamis_gpu_message_plan plan = with_a_cut_row;
    for (int i = 0; i < 10; i++) {
        const tamis_index_type offset = i % 3 == 2 ? TAMIS_I64 : TAMIS_I32;
        const int64_t heads = (i + (int)type) % 2 ? 1 : 16;
        const tamis_matrix operand = {zeros, heads, 1};
        const tamis_segment_job job = {.device = d,
                                       .back = i % 2,
                                       .op = (tamis_segment_op)(i / 2),
                                       .type = type,
                                       .order = {.rows = ROWS,
                                                 .cols = ROWS,
                                                 .nnz = NONZEROS,
                                                 .offset_type = offset,
                                                 .offsets = offsets_of(offset),
                                                 .columns = instance_zeros(),
                                                 .entries = i % 2 ? zeros.base : NULL,
                                                 .plan = &plan},
                                       .heads = heads,
                                       .x = operand,
                                       .out = operand,
                                       .d_out = operand,
                                       .argument = zeros,
                                       .argument_type = i % 2 ? TAMIS_I64 : TAMIS_I32};
        TRY(tamis_gpu_attention_functions.segment(&job));
    }
    return TAMIS_OK;
}

/* Edges over samples; of texts one with all functions that the dialect has names for. */
static tamis_status edges(tamis_gpu_device *d, tamis_type type, tamis_edge edge, tamis_index_type index) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_edge_text *text = NULL;
    o.edge = edge;
    o.edge_text =
        "where(i < j, pow(sqrt(abs(x)), s), floor(log(exp(x)) + h)) * row.b + col.c * entry.e - head.g + tanh(x) * erf(x) - gelu(x) * rsqrt(2)";
    tamis_status status = tamis_edge_text_make(&o, &text);
    const tamis_edge_job job = {.device = d,
                                .type = type,
                                .edge = edge,
                                .constants = tamis_edge_constants_of(&o, text),
                                .offset_type = index,
                                .index_type = index};
    if (status == TAMIS_OK) status = tamis_gpu_edge_functions.ready(&job, true);
    tamis_release(text);
    return status;
}

/* The network on edges, forward and backward: widths that a warpgroup multiplies, that a warp does, and others. */
static tamis_status networks(tamis_gpu_device *d, tamis_type type) {
    static const struct {
        int64_t edge, hidden, width;
        int layers;
        tamis_activation activation;
        tamis_reduce reduce;
        bool normalise, residual, update, permuted;
    } of[] = {{128, 128, 128, 1, TAMIS_ACTIVATION_SILU, TAMIS_REDUCE_SUM, true, true, false, false},
              {64, 128, 64, 2, TAMIS_ACTIVATION_GELU, TAMIS_REDUCE_MEAN, true, true, true, true},
              {32, 96, 32, 1, TAMIS_ACTIVATION_RELU, TAMIS_REDUCE_MEAN, false, true, false, true},
              {128, 64, 128, 1, TAMIS_ACTIVATION_TANH, TAMIS_REDUCE_SUM, true, false, true, false},
              {64, 128, 64, 1, TAMIS_ACTIVATION_GELU, TAMIS_REDUCE_MEAN, false, true, false, true},
              {37, 50, 37, 1, TAMIS_ACTIVATION_SILU, TAMIS_REDUCE_MAX, true, true, false, false}};
    const tamis_place zeros = {(void *)(uintptr_t)instance_zeros(), 0};
    for (size_t i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        const size_t k = i / 2;
        const tamis_index_type index = k % 2 ? TAMIS_I64 : TAMIS_I32;
        const tamis_matrix x = {zeros, 128, 0};
        tamis_edge_network_job job = {.device = d,
                                      .back = i % 2,
                                      .o = {.type = type,
                                            .math = k == 3 ? TAMIS_MATH_TF32 : TAMIS_MATH_EXACT,
                                            .activation = of[k].activation,
                                            .reduce = of[k].reduce,
                                            .hidden_layers = of[k].layers,
                                            .edge_width = of[k].edge,
                                            .hidden = of[k].hidden,
                                            .width = of[k].width,
                                            .epsilon = 1e-5,
                                            .normalise = of[k].normalise,
                                            .residual = of[k].residual,
                                            .reduce_update = of[k].update},
                                      .order = order_of(index, index, of[k].permuted ? zeros.base : NULL, NULL),
                                      .e = x,
                                      .p = x,
                                      .q = x,
                                      .w1 = x,
                                      .w2 = x,
                                      .w3 = x,
                                      .b3 = x,
                                      .argument = zeros,
                                      .da = x,
                                      .workspace = zeros};
        if (job.back)
            job.d_edges = job.d_out = job.de = job.dw1 = job.dw2 = job.dw3 = job.dgain = x;
        else
            job.edges = job.out = x;
        TRY(tamis_gpu_edge_network_functions.run(&job));
        if (job.back) TRY(tamis_gpu_edge_network_functions.finish(&job));
    }
    return TAMIS_OK;
}

tamis_status instance_utilities(fake_device *device) {
    tamis_gpu_device *const d = &device->shared;
    tamis_ceilings ceilings;
    TRY(tamis_gpu_measure_ceilings(d->runtime, d->number, &ceilings));
    const double *const pairs[] = {ceilings.fp32_gflops, ceilings.fp64_gflops, ceilings.l1_gbs,
                                   ceilings.l2_gbs,      ceilings.l3_gbs,      ceilings.memory_gbs};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) /* of one thread and of all, which are the same */
        if (!(pairs[i][0] > 0) || pairs[i][0] != pairs[i][1])
            return tamis_fail(TAMIS_ERROR_INTERNAL, "ceiling %zu: %g of one thread, %g of all", i, pairs[i][0],
                              pairs[i][1]);
    for (int type = 0; type <= TAMIS_BF16; type++) TRY(tamis_gpu_ready(d, (tamis_type)type, true, true));
    for (int type = 0; type <= TAMIS_BF16; type++) TRY(tamis_gpu_add_rows_ready(d, (tamis_type)type));
    for (int type = 0; type <= TAMIS_BF16; type++) TRY(messages(d, (tamis_type)type));
    for (int type = 0; type <= TAMIS_BF16; type++) TRY(attention(d, (tamis_type)type));
    for (int type = 0; type <= TAMIS_BF16; type++) TRY(caches(d, (tamis_type)type));
    for (int type = 0; type <= TAMIS_BF16; type++) TRY(segments(d, (tamis_type)type));
    for (int type = 0; type <= TAMIS_BF16; type++) TRY(networks(d, (tamis_type)type));
    for (int type = 0; type <= TAMIS_F64; type++) TRY(tamis_gpu_dense_functions.ready(d, (tamis_type)type));
    for (int i = 0; i < 16; i++)
        TRY(edges(d, (tamis_type)(i / 4), i & 1 ? TAMIS_EDGE_SOFTMAX : TAMIS_EDGE_SCALE,
                  i & 2 ? TAMIS_I64 : TAMIS_I32));
    for (int i = 0; i < 8; i++) TRY(edges(d, (tamis_type)(i / 2), TAMIS_EDGE_TEXT, i & 1 ? TAMIS_I64 : TAMIS_I32));
    for (int i = 0; i < 4; i++) TRY(structure(d, i & 1 ? TAMIS_I64 : TAMIS_I32, i & 2 ? TAMIS_I64 : TAMIS_I32));
    for (int i = 0; i < 4; i++) TRY(mask(d, i & 1 ? TAMIS_I64 : TAMIS_I32, i & 2 ? TAMIS_I64 : TAMIS_I32));
    for (int i = 0; i < 8; i++) TRY(sort(d, i & 1 ? TAMIS_I64 : TAMIS_I32, i & 2 ? TAMIS_I64 : TAMIS_I32, i & 4));
    return TAMIS_OK;
}
