/* Host side of network_*.cu: the network on edges with an edge's layers kept on the chip. */
#include "gpu/edge_network/fused.h"

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/edge_network/variants.h"
#include "gpu/messages/order_call.h"
#include "gpu/method.h"
#include "gpu/tensor/form.h"

/* Edges of a slab of a backward call, whose scratch vectors the L2 cache holds in part; threads of a group that adds
   products of weights, and its tile; a stripe of an edge's vector; threads of small kernels. */
enum {
    SLAB = 3 << 16,
    WEIGHTS_GROUP = 256,
    TILES_GROUP = 384,
    TILE = 128,
    STRIPE_BYTES = 64,
    WARP = 32,
    EDGES = 16,
    ALIGNMENT = 256
};

/* Matrices of weights, in the order of the way up; the way down takes them in reverse order, transposed. */
enum { FIRST, SECOND, LAST, LAYERS_MOST };

/* Parts of the workspace. */
enum { UP, DOWN, VECTORS, PARTS, HIDDEN, SLOPES, RESULTS, GAIN_PARTS, WEIGHT_PARTS, ROWS, BUFFERS };

/* How a backward call goes: by slabs of edges (network_recompute.cu, network_descend.cu, network_weights.cu), or all
   edges at once by bulk copies and wgmma (network_back.cu, network_first_layer.cu). */
typedef enum way { BY_SLABS, BY_TILES } way;

typedef struct fused {
    const tamis_edge_network_job *job;
    tamis_gpu_device *device;
    int64_t element, groups, warps; /* bytes of an element; of a launch; of a group */
    int64_t up_bytes, up_shared; /* packed weights, of the way down as well; shared memory of a group on the way up */
    int64_t slab, shares[LAYERS_MOST]; /* shares: parts of the gradient of each layer's weights */
    way way;
    int64_t at[BUFFERS], bytes;
    tamis_network_variant v;
} fused;

/* ------------------------------------------------------------------------------------------ plan */

/* Outputs and inputs of a matrix of weights; 0 without it. */
static void shape_of(const tamis_edge_network_options *o, int which, int64_t *outputs, int64_t *inputs) {
    *outputs = which == LAST ? o->width : o->hidden;
    *inputs = which == FIRST ? o->edge_width : o->hidden;
    if (which == SECOND && o->hidden_layers != 2) *outputs = *inputs = 0;
}

static int64_t weights_of(const tamis_edge_network_options *o) {
    int64_t all = 0, outputs, inputs;
    for (int i = FIRST; i < LAYERS_MOST; i++) {
        shape_of(o, i, &outputs, &inputs);
        all += outputs * inputs;
    }
    return all;
}

static int64_t vector_count(const tamis_edge_network_options *o) { return 2 * o->hidden + 3 * o->width; }

/* Shared memory of a group of the way up, as network_walk_kernels.h lays it out. */
static int64_t up_shared(const fused *f, bool staged) {
    const tamis_edge_network_options *const o = &f->job->o;
    const int64_t rows = staged ? f->element * (2 * o->hidden + o->edge_width) : 0;
    const bool own_place = !(staged && f->element * o->edge_width >= 2 * o->width);
    return f->up_bytes + 4 * vector_count(o) + f->warps * (EDGES * rows + (own_place ? 32 * o->width : 0));
}

/* Bytes of the parts of the gradients of one layer's weights and bias, the largest layer's. */
static int64_t weight_parts_bytes(const fused *f) {
    const tamis_edge_network_options *const o = &f->job->o;
    const int64_t widest = tamis_gpu_max(o->width, o->hidden), inputs = tamis_gpu_max(o->edge_width, o->hidden);
    return 4 * tamis_gpu_max(f->shares[FIRST], f->shares[LAST]) * widest * (inputs + 1);
}

/* Shared memory of a group of network_back.cu, beside what the way up takes; and of network_first_layer.cu. */
static int64_t back_shared(const fused *f) {
    const tamis_edge_network_options *const o = &f->job->o;
    enum { ONES = 1024, GATES = 64 };
    const int64_t rows = f->element * (o->hidden + o->edge_width + o->width); /* in tiles, and staged */
    const int64_t columns = o->normalise ? 64 * o->width : 0;
    return f->up_bytes + ONES + GATES + 4 * (o->hidden + 2 * o->width) + f->warps * (EDGES * rows + columns);
}

static int64_t first_shared(const fused *f) {
    const tamis_edge_network_options *const o = &f->job->o;
    enum { ONES = 1024, GATES = 64, STAGES = 2 };
    const int64_t row = f->element * (o->hidden + (o->residual ? 2 : 1) * o->edge_width);
    return f->element * o->hidden * o->edge_width + STAGES * TILE * row + ONES + GATES;
}

/* Plans a backward call by tiles; false if its kernels do not take it. */
static bool plan_tiles(fused *f, int64_t room) {
    const tamis_message_order *const order = &f->job->order;
    const tamis_edge_network_options *const o = &f->job->o;
    if (!f->v.together || !f->v.staged || o->hidden_layers != 1 || order->nnz > INT32_MAX - TILE) return false;
    const tamis_gpu_runtime *const runtime = f->device->runtime;
    if (!runtime->describe_tiles || !runtime->describe_tiles(f->device, NULL) || back_shared(f) > room ||
        first_shared(f) > room)
        return false;
    f->way = BY_TILES;
    f->v.group = TILES_GROUP;
    f->shares[LAST] = f->groups;
    f->shares[FIRST] = tamis_gpu_min(f->device->limits.multiprocessors, (order->nnz + TILE - 1) / TILE);
    if (o->hidden < TILE) f->shares[FIRST] *= 2; /* each warpgroup has one */
    return true;
}

/* Places the parts of the workspace. */
static void place_buffers(fused *f) {
    const tamis_edge_network_options *const o = &f->job->o;
    const bool back = f->job->back;
    const bool tiles = f->way == BY_TILES;
    const int64_t slab = back && !tiles ? f->slab : 0, warps = f->groups * f->warps;
    const int64_t sizes[BUFFERS] = {[UP] = f->up_bytes,
                                    [DOWN] = back ? f->up_bytes : 0,
                                    [VECTORS] = 4 * vector_count(o),
                                    [PARTS] = back ? 0 : 8 * warps * o->width,
                                    [HIDDEN] = o->hidden_layers * slab * o->hidden * f->element,
                                    [SLOPES] = o->hidden_layers == 2 ? slab * o->hidden * f->element : 0,
                                    [RESULTS] = slab * o->width * f->element,
                                    [GAIN_PARTS] = back ? 8 * warps * o->width : 0,
                                    [WEIGHT_PARTS] = back ? weight_parts_bytes(f) * (o->hidden_layers + 1) : 0,
                                    [ROWS] = tiles ? f->job->order.nnz * f->v.place / 8 : 0};
    f->bytes = 0;
    for (int i = 0; i < BUFFERS; i++) {
        f->at[i] = f->bytes;
        f->bytes += (sizes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

/* Plans what depends on the options and the order alone; false if the kernels do not take them. */
static bool plan(fused *f, const tamis_edge_network_job *job, way wanted) {
    enum { WIDEST = 128, RESERVED = 1 << 10, WARPS_WIDE = 8, WARPS = 12, TOGETHER = 64, RANGES = 1 << 20 };
    const tamis_edge_network_options *const o = &job->o;
    tamis_gpu_device *const device = job->device;
    const tamis_tensor_chip chip = tamis_tensor_of(device);
    const bool half = o->type == TAMIS_F16 || o->type == TAMIS_BF16;
    *f = (fused){.job = job, .device = device, .element = (int64_t)tamis_type_size(o->type)};
    const int64_t stripe = STRIPE_BYTES / f->element, widths[] = {o->edge_width, o->hidden, o->width};
    if (chip.form == TAMIS_TENSOR_NONE || (!half && o->type != TAMIS_F32) || job->order.nnz == 0) return false;
    const int64_t nodes = tamis_gpu_max(job->order.rows, job->order.cols);
    const bool narrow = nodes < INT32_MAX / 2 && job->order.nnz <= INT32_MAX - RANGES;
    if (tamis_edge_network_is_extreme(o) || (job->back && o->edge_width == 0)) return false;
    bool together = half && chip.form == TAMIS_TENSOR_WGMMA;
    for (int i = 0; i < 3; i++) {
        if (widths[i] % stripe || widths[i] > WIDEST) return false;
        if (widths[i] % TOGETHER) together = false;
    }
    const int64_t room =
        device->limits.shared_most < chip.shared - RESERVED ? device->limits.shared_most : chip.shared - RESERVED;
    f->up_bytes = weights_of(o) * f->element;
    f->warps = half && !job->back && o->hidden_layers == 1 ? WARPS : WARPS_WIDE;
    if (!together && f->warps == WARPS && tamis_gpu_max(o->hidden, o->width) > TOGETHER) f->warps = WARPS_WIDE;
    bool staged = half;
    f->up_shared = up_shared(f, staged);
    if (f->up_shared > room) f->up_shared = up_shared(f, staged = false);
    if (f->up_shared > room) return false;
    const int64_t tiles = (job->order.nnz + EDGES - 1) / EDGES;
    f->groups = tamis_gpu_min(device->limits.multiprocessors, (tiles + f->warps - 1) / f->warps);
    f->slab = tamis_gpu_min(SLAB, tiles * EDGES);
    for (int i = FIRST; i < LAYERS_MOST; i++)
        f->shares[i] = tamis_gpu_min(device->limits.multiprocessors, (f->slab + 255) / 256);
    f->v = (tamis_network_variant){.element = tamis_gpu_element(o->type),
                                   .index = tamis_gpu_index_bits(job->order.column_type),
                                   .offset = tamis_gpu_index_bits(job->order.offset_type),
                                   .place = narrow ? 32 : 64,
                                   .group = (int32_t)(f->warps * WARP),
                                   .groups = 1,
                                   .mma = !together,
                                   .bf16 = o->type == TAMIS_BF16,
                                   .together = together,
                                   .tf32 = o->math == TAMIS_MATH_TF32,
                                   .inner = (int32_t)o->edge_width,
                                   .hidden = (int32_t)o->hidden,
                                   .width = (int32_t)o->width,
                                   .layers = o->hidden_layers,
                                   .activation = (int32_t)o->activation,
                                   .normalise = o->normalise,
                                   .residual = o->residual,
                                   .mean = o->reduce == TAMIS_REDUCE_MEAN,
                                   .update = o->reduce_update,
                                   .permuted = job->order.entries != NULL,
                                   .staged = staged};
    if (wanted == BY_TILES && !(job->back && plan_tiles(f, room))) return false;
    place_buffers(f);
    return true;
}

bool tamis_gpu_network_fused_shares(const tamis_edge_network_job *job) {
    fused f;
    return plan(&f, job, BY_TILES) && job->o.hidden <= job->o.edge_width;
}

/* Addresses decide between the ways: enough for both, unless they are promised. */
size_t tamis_gpu_network_fused_workspace(const tamis_edge_network_job *job) {
    fused f;
    const int64_t by_tiles = plan(&f, job, BY_TILES) ? f.bytes : 0;
    const int64_t by_slabs = !(by_tiles && job->o.share_dE) && plan(&f, job, BY_SLABS) ? f.bytes : 0;
    return (size_t)tamis_gpu_max(by_tiles, by_slabs);
}

static bool is_wide(const fused *f, const tamis_matrix *x) {
    return !x->at.base || tamis_gpu_aligned(f->device, x, (size_t)f->element, 16);
}

/* network_first_layer.cu copies tiles of these matrices. */
typedef struct first_tiles {
    tamis_gpu_tiles da, e, d_edges;
} first_tiles;

static bool describe(const fused *f, first_tiles *t) {
    const tamis_edge_network_job *const job = f->job;
    const int64_t nnz = job->order.nnz;
    *t = (first_tiles){.da = {&job->da, job->o.hidden, nnz, 1, TILE, {0}},
                       .e = {&job->e, job->o.edge_width, nnz, 1, TILE, {0}},
                       .d_edges = {&job->d_edges, job->o.width, nnz, 1, TILE, {0}}};
    tamis_gpu_tiles *const all[] = {&t->da, &t->e, &t->d_edges};
    for (int i = 0; i < 3; i++)
        if (all[i]->of->at.base && !f->device->runtime->describe_tiles(f->device, all[i])) return false;
    return true;
}

/* Chooses the way of a call; false if the kernels do not take it. The addresses of results do not decide, for an
   optional result changes no other one's bits. */
static bool choose(fused *f, const tamis_edge_network_job *job) {
    enum { READ = 5, WRITTEN = 3 };
    const tamis_matrix *const read[READ] = {&job->e, &job->p, &job->q, &job->d_edges, &job->d_out};
    const tamis_matrix *const written[WRITTEN] = {&job->edges, &job->out, &job->de};
    first_tiles tiles;
    const bool by_tiles = plan(f, job, BY_TILES) && describe(f, &tiles);
    if (!by_tiles && !plan(f, job, BY_SLABS)) return false;
    for (int i = 0; i < READ; i++)
        if (!is_wide(f, read[i]) || read[i]->stride > INT32_MAX) return false;
    for (int i = 0; i < WRITTEN; i++)
        if (written[i]->stride > INT32_MAX) return false;
    return by_tiles || !(job->back && job->o.share_dE && tamis_gpu_network_fused_shares(job));
}

bool tamis_gpu_network_fused_takes(const tamis_edge_network_job *job) {
    fused f;
    return choose(&f, job);
}

/* ------------------------------------------------------------------------------------------ launches */

static tamis_place place_of(const fused *f, int buffer) {
    return (tamis_place){f->job->workspace.base, f->job->workspace.bytes + f->at[buffer]};
}

static tamis_place further(tamis_place place, int64_t bytes) { return (tamis_place){place.base, place.bytes + bytes}; }

static tamis_status start(const fused *f, tamis_network_kernel kernel, tamis_network_variant v, int64_t groups,
                          int64_t groups_y, int64_t shared_bytes, const tamis_gpu_named *arguments) {
    v.kernel = (int32_t)kernel;
    return tamis_network_launch(f->device, f->job->stream, &v, groups, groups_y, shared_bytes, arguments);
}

/* The constants of a small kernel. */
static tamis_network_variant small_of(const fused *f) {
    return (tamis_network_variant){.element = f->v.element,
                                   .index = f->v.index,
                                   .offset = f->v.offset,
                                   .place = f->v.place,
                                   .group = WEIGHTS_GROUP,
                                   .groups = 1,
                                   .mma = 1,
                                   .bf16 = f->v.bf16,
                                   .inner = f->v.width,
                                   .hidden = f->v.width,
                                   .width = f->v.width,
                                   .mean = f->v.mean};
}

static tamis_gpu_named matrix(const char *name, const tamis_matrix *x) { return tamis_gpu_place(name, x->at); }
static tamis_gpu_named stride(const char *name, const tamis_matrix *x) { return tamis_gpu_integer(name, x->stride); }

static tamis_gpu_named has(const char *name, const tamis_matrix *x) {
    return tamis_gpu_integer(name, x->at.base != NULL);
}

/* Packs the weights and vectors for the way up, and for a backward call for the way down. */
static tamis_status pack(const fused *f) {
    enum { UP_ONLY = 4, BOTH = 7 }; /* the grid's y */
    const tamis_edge_network_job *const job = f->job;
    tamis_network_variant v = small_of(f);
    v.together = f->v.together;
    v.mma = f->v.mma;
    v.inner = f->v.inner;
    v.hidden = f->v.hidden;
    v.layers = f->v.layers;
    v.has_b1 = job->b1.at.base != NULL;
    return start(f, TAMIS_NETWORK_PACK, v, tamis_gpu_groups(tamis_gpu_max(job->o.hidden, job->o.width) * job->o.hidden),
                 job->back ? BOTH : UP_ONLY, 0,
                 TAMIS_GPU_ARGUMENTS(
                     matrix("w1", &job->w1), stride("w1_stride", &job->w1), matrix("w2", &job->w2),
                     stride("w2_stride", &job->w2), matrix("w3", &job->w3), stride("w3_stride", &job->w3),
                     matrix("b1", &job->b1), matrix("b2", &job->b2), has("has_b2", &job->b2), matrix("b3", &job->b3),
                     has("has_b3", &job->b3), matrix("gain", &job->gain), has("has_gain", &job->gain),
                     matrix("shift", &job->shift), has("has_shift", &job->shift),
                     tamis_gpu_integer("plain_first", f->way == BY_TILES), tamis_gpu_place("up", place_of(f, UP)),
                     tamis_gpu_place("down", place_of(f, DOWN)), tamis_gpu_place("vectors", place_of(f, VECTORS))));
}

/* Edges of a warp, a multiple of what it takes at once. */
static int64_t share_of(const fused *f, int64_t edges) {
    const int64_t warps = f->groups * f->warps;
    return ((edges + warps - 1) / warps + EDGES - 1) / EDGES * EDGES;
}

/* The arguments of a walk over edges (INPUT_PARAMETERS). */
#define INPUT_ARGUMENTS(job)                                                                                           \
    tamis_gpu_integer("all_rows", (job)->order.rows), tamis_gpu_memory("offsets", (job)->order.offsets),               \
        tamis_gpu_memory("columns", (job)->order.columns), tamis_gpu_memory("entries", (job)->order.entries),          \
        matrix("e", &(job)->e), stride("e_stride", &(job)->e), matrix("p", &(job)->p), stride("p_stride", &(job)->p),  \
        matrix("q", &(job)->q), stride("q_stride", &(job)->q)

static tamis_network_variant walk_variant(const fused *f) {
    tamis_network_variant v = f->v;
    v.has_p = f->job->p.at.base != NULL;
    v.has_q = f->job->q.at.base != NULL;
    v.has_b1 = f->job->b1.at.base != NULL;
    v.wide_stores = is_wide(f, &f->job->edges) && is_wide(f, &f->job->out) && is_wide(f, &f->job->de);
    return v;
}

static tamis_status forward(const fused *f) {
    const tamis_edge_network_job *const job = f->job;
    const int64_t nnz = job->order.nnz, share = share_of(f, nnz);
    tamis_network_variant v = walk_variant(f);
    v.has_edges = job->edges.at.base != NULL;
    v.has_out = job->out.at.base != NULL;
    TRY(start(f, TAMIS_NETWORK_FORWARD, v, f->groups, 1, f->up_shared,
              TAMIS_GPU_ARGUMENTS(INPUT_ARGUMENTS(job), tamis_gpu_integer("all_edges", nnz),
                                  tamis_gpu_integer("share", share), tamis_gpu_place("weights", place_of(f, UP)),
                                  tamis_gpu_place("vectors", place_of(f, VECTORS)),
                                  tamis_gpu_real("epsilon", job->o.epsilon), matrix("edges", &job->edges),
                                  stride("edges_stride", &job->edges), matrix("out", &job->out),
                                  stride("out_stride", &job->out), tamis_gpu_place("parts", place_of(f, PARTS)))));
    if (!v.has_out) return TAMIS_OK;
    return start(f, TAMIS_NETWORK_JOIN, small_of(f), f->groups * f->warps, 1, 0,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("all_rows", job->order.rows),
                                     tamis_gpu_integer("all_edges", nnz), tamis_gpu_integer("share", share),
                                     tamis_gpu_memory("offsets", job->order.offsets),
                                     tamis_gpu_place("parts", place_of(f, PARTS)), matrix("out", &job->out),
                                     stride("out_stride", &job->out)));
}

/* ------------------------------------------------------------------------------------------ backward */

static tamis_place weight_parts(const fused *f, int which) {
    const int before = which == LAST ? f->job->o.hidden_layers : which;
    return further(place_of(f, WEIGHT_PARTS), weight_parts_bytes(f) * before);
}

/* Adds the products of a slab to the parts of a gradient of weights: x^T y, x with a column for each output. */
static tamis_status add_weights(const fused *f, int which, int64_t edges, tamis_matrix x, tamis_matrix y, bool add) {
    enum { ROWS_32 = 16, ROWS_16 = 64, STAGES = 3, PAD_32 = 8 };
    const bool full = f->element == 4;
    const int64_t rows = full ? ROWS_32 : ROWS_16, numbers = TILE + (full ? PAD_32 : 0);
    int64_t outputs, inputs;
    shape_of(&f->job->o, which, &outputs, &inputs);
    tamis_network_variant v = small_of(f);
    v.tf32 = f->v.tf32;
    const int64_t shares = f->shares[which], share = ((edges + shares - 1) / shares + rows - 1) / rows * rows;
    const int64_t tiles = ((outputs + TILE - 1) / TILE) * ((inputs + TILE - 1) / TILE);
    return start(f, TAMIS_NETWORK_WEIGHTS, v, shares, tiles, 2 * STAGES * rows * numbers * f->element,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("edges", edges), tamis_gpu_integer("edges_a_share", share),
                                     tamis_gpu_integer("m", outputs), tamis_gpu_integer("n", inputs), matrix("x", &x),
                                     stride("x_stride", &x), matrix("y", &y), stride("y_stride", &y),
                                     tamis_gpu_place("parts", weight_parts(f, which)), tamis_gpu_integer("add", add)));
}

/* Adds the parts of two gradients: a matrix, and a vector that follows it in each part. */
static tamis_status add_parts(const fused *f, tamis_place parts, int64_t count, int64_t rows, int64_t columns,
                              int64_t further_numbers, const tamis_matrix *to, const tamis_matrix *other) {
    if (!to->at.base && !other->at.base) return TAMIS_OK;
    return start(f, TAMIS_NETWORK_ADD, small_of(f), (rows * columns + further_numbers + WARP - 1) / WARP, 1, 0,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", count), tamis_gpu_integer("rows", rows),
                                     tamis_gpu_integer("columns", columns),
                                     tamis_gpu_integer("further", further_numbers), tamis_gpu_place("parts", parts),
                                     has("has_to", to), matrix("to", to), stride("stride", to), has("has_other", other),
                                     matrix("other", other)));
}

static tamis_status finish_weights(const fused *f, int which, const tamis_matrix *w, const tamis_matrix *b) {
    int64_t outputs, inputs;
    shape_of(&f->job->o, which, &outputs, &inputs);
    return add_parts(f, weight_parts(f, which), f->shares[which], outputs, inputs, outputs, w, b);
}

static tamis_status slab(const fused *f, int64_t begin, int64_t end) {
    const tamis_edge_network_job *const job = f->job;
    const tamis_edge_network_options *const o = &job->o;
    const int64_t share = share_of(f, end - begin);
    const tamis_matrix hidden = {place_of(f, HIDDEN), o->hidden, 0}, results = {place_of(f, RESULTS), o->width, 0};
    const tamis_matrix slopes = {place_of(f, SLOPES), o->hidden, 0};
    const tamis_matrix last = {further(hidden.at, (o->hidden_layers - 1) * f->slab * o->hidden * f->element), o->hidden,
                               0};
    tamis_network_variant v = walk_variant(f);
    v.has_d_edges = job->d_edges.at.base != NULL;
    v.has_d_out = job->d_out.at.base != NULL;
    v.has_d_gain = job->dgain.at.base || job->dshift.at.base;
    TRY(start(f, TAMIS_NETWORK_RECOMPUTE, v, f->groups, 1, f->up_shared,
              TAMIS_GPU_ARGUMENTS(
                  INPUT_ARGUMENTS(job), tamis_gpu_integer("first_edge", begin), tamis_gpu_integer("all_edges", end),
                  tamis_gpu_integer("share", share), tamis_gpu_place("weights", place_of(f, UP)),
                  tamis_gpu_place("vectors", place_of(f, VECTORS)), tamis_gpu_real("epsilon", o->epsilon),
                  matrix("d_edges", &job->d_edges), stride("d_edges_stride", &job->d_edges),
                  matrix("d_out", &job->d_out), stride("d_out_stride", &job->d_out), matrix("h", &hidden),
                  tamis_gpu_integer("h_count", f->slab * o->hidden), matrix("slopes", &job->da),
                  stride("slopes_stride", &job->da), matrix("slopes_2", &slopes), matrix("dy", &results),
                  tamis_gpu_place("parts", place_of(f, GAIN_PARTS)), tamis_gpu_integer("add", begin > 0))));
    v.has_de = job->de.at.base != NULL;
    v.has_d_out = v.has_d_out && !o->reduce_update; /* the residual's part */
    TRY(start(f, TAMIS_NETWORK_DESCEND, v, f->groups, 1, f->up_bytes,
              TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("all_rows", job->order.rows),
                                  tamis_gpu_integer("first_edge", begin), tamis_gpu_integer("all_edges", end),
                                  tamis_gpu_integer("share", share), tamis_gpu_memory("offsets", job->order.offsets),
                                  tamis_gpu_memory("entries", job->order.entries),
                                  tamis_gpu_place("weights", place_of(f, DOWN)), matrix("d_edges", &job->d_edges),
                                  stride("d_edges_stride", &job->d_edges), matrix("d_out", &job->d_out),
                                  stride("d_out_stride", &job->d_out), matrix("slopes", &job->da),
                                  stride("slopes_stride", &job->da), matrix("slopes_2", &slopes),
                                  matrix("dy", &results), matrix("de", &job->de), stride("de_stride", &job->de))));
    if (job->dw3.at.base || job->db3.at.base) TRY(add_weights(f, LAST, end - begin, results, last, begin > 0));
    if (o->hidden_layers == 2 && (job->dw2.at.base || job->db2.at.base))
        TRY(add_weights(f, SECOND, end - begin, slopes, hidden, begin > 0));
    return TAMIS_OK;
}

static tamis_status finish_gain(const fused *f) {
    const int64_t width = f->job->o.width;
    return add_parts(f, place_of(f, GAIN_PARTS), f->groups * f->warps, 1, width, width, &f->job->dgain,
                     &f->job->dshift);
}

static tamis_status backward(const fused *f) {
    const tamis_edge_network_job *const job = f->job;
    const int64_t nnz = job->order.nnz;
    for (int64_t begin = 0; begin < nnz; begin += f->slab) TRY(slab(f, begin, tamis_gpu_min(begin + f->slab, nnz)));
    if (job->dw1.at.base || job->db1.at.base) TRY(add_weights(f, FIRST, nnz, job->da, job->e, false));
    TRY(finish_weights(f, FIRST, &job->dw1, &job->db1));
    if (job->o.hidden_layers == 2) TRY(finish_weights(f, SECOND, &job->dw2, &job->db2));
    TRY(finish_weights(f, LAST, &job->dw3, &job->db3));
    return finish_gain(f);
}

/* ------------------------------------------------------------------------------------------ backward by tiles */

static tamis_status back(const fused *f) {
    const tamis_edge_network_job *const job = f->job;
    const int64_t nnz = job->order.nnz;
    tamis_network_variant v = walk_variant(f);
    v.has_d_edges = job->d_edges.at.base != NULL;
    v.has_d_out = job->d_out.at.base != NULL;
    v.has_d_gain = job->dgain.at.base || job->dshift.at.base;
    v.has_dw = job->dw3.at.base || job->db3.at.base;
    v.residual = v.update = v.wide_stores = 0; /* the kernel does not know them */
    TRY(start(
        f, TAMIS_NETWORK_BACK, v, f->groups, 1, back_shared(f),
        TAMIS_GPU_ARGUMENTS(INPUT_ARGUMENTS(job), tamis_gpu_integer("all_edges", nnz),
                            tamis_gpu_integer("share", share_of(f, nnz)), tamis_gpu_place("weights", place_of(f, UP)),
                            tamis_gpu_place("vectors", place_of(f, VECTORS)), tamis_gpu_real("epsilon", job->o.epsilon),
                            matrix("d_edges", &job->d_edges), stride("d_edges_stride", &job->d_edges),
                            matrix("d_out", &job->d_out), stride("d_out_stride", &job->d_out), matrix("da", &job->da),
                            stride("da_stride", &job->da), tamis_gpu_place("row_of", place_of(f, ROWS)),
                            tamis_gpu_place("gain_parts", place_of(f, GAIN_PARTS)),
                            tamis_gpu_place("weight_parts", weight_parts(f, LAST)))));
    TRY(finish_weights(f, LAST, &job->dw3, &job->db3));
    return finish_gain(f);
}

static tamis_status first_layer(const fused *f) {
    const tamis_edge_network_job *const job = f->job;
    const tamis_edge_network_options *const o = &job->o;
    const tamis_place weights = further(place_of(f, DOWN), o->width * o->hidden * f->element);
    first_tiles tiles;
    tamis_network_variant v = f->v;
    v.wide_stores = is_wide(f, &job->de);
    v.has_de = job->de.at.base != NULL;
    v.has_dw = job->dw1.at.base || job->db1.at.base;
    v.has_b1 = job->db1.at.base != NULL;
    v.has_d_edges = v.has_de && o->residual && job->d_edges.at.base;
    v.has_d_out = v.has_de && o->residual && job->d_out.at.base && !o->reduce_update;
    v.activation = v.normalise = v.update = v.permuted = v.staged = 0;
    if (!v.has_de && !v.has_dw) return TAMIS_OK;
    if (!describe(f, &tiles)) return tamis_fail(TAMIS_ERROR_INTERNAL, "tiles of the network on edges");
    TRY(start(f, TAMIS_NETWORK_FIRST_LAYER, v, f->shares[FIRST] / (o->hidden < TILE ? 2 : 1), 1, first_shared(f),
              TAMIS_GPU_ARGUMENTS(
                  tamis_gpu_integer("all_edges", job->order.nnz), tamis_gpu_tiles_of("da_tiles", &tiles.da),
                  tamis_gpu_tiles_of("e_tiles", &tiles.e), tamis_gpu_tiles_of("d_edges_tiles", &tiles.d_edges),
                  tamis_gpu_memory("offsets", job->order.offsets), tamis_gpu_place("row_of", place_of(f, ROWS)),
                  matrix("d_out", &job->d_out), stride("d_out_stride", &job->d_out),
                  tamis_gpu_place("weights", weights), matrix("de", &job->de), stride("de_stride", &job->de),
                  tamis_gpu_place("parts", weight_parts(f, FIRST)))));
    return finish_weights(f, FIRST, &job->dw1, &job->db1);
}

tamis_status tamis_gpu_network_fused(const tamis_edge_network_job *job) {
    fused f;
    if (!choose(&f, job)) return tamis_fail(TAMIS_ERROR_INTERNAL, "the fused network on edges does not take the job");
    TRY(pack(&f));
    return !job->back ? forward(&f) : f.way == BY_TILES ? back(&f) : backward(&f);
}

tamis_status tamis_gpu_network_fused_finish(const tamis_edge_network_job *job) {
    fused f;
    return choose(&f, job) && f.way == BY_TILES ? first_layer(&f) : TAMIS_OK;
}
