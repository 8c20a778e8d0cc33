/* Host side of edge_network.simt and edge_places.simt: slabs of edges, layer by layer. */
#include "gpu/edge_network/slabs.h"

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/dense/dense.h"
#include "gpu/method.h"

/* Edges of a slab, a multiple of LINE: as many as fit BYTES; parts of the sums of a slab, as many as fit BYTES too;
   numbers of 8 bytes for the place of an edge. */
enum { BYTES = 1 << 26, EDGES_MOST = 1 << 13, EDGES_LEAST = 1 << 10, PARTS_MOST = 32, LINE = 64, PLACE = 5 };

/* Buffers in the workspace: weights in reals, turned and as they are; vectors; layers of a slab; parts of sums. */
enum {
    W1_TURNED,
    W2_TURNED,
    W3_TURNED,
    W1_PLAIN,
    W2_PLAIN,
    W3_PLAIN,
    BIAS1,
    BIAS2,
    BIAS3,
    GAIN,
    SHIFT,
    PLACES,
    E,
    A1,
    H1,
    A2,
    H2,
    Y,
    DZ,
    DY,
    DA2,
    DA1,
    DE,
    CARRIES,
    CARRIED_FROM,
    SUM_W1,
    SUM_B1,
    SUM_W2,
    SUM_B2,
    SUM_W3,
    SUM_B3,
    SUM_GAIN,
    SUM_SHIFT,
    BUFFERS
};

typedef struct slabs {
    const tamis_edge_network_job *job;
    tamis_type real;
    int64_t edges, parts; /* of a slab; of each sum */
    int64_t begin, count; /* the slab */
    int64_t at[BUFFERS];
    size_t bytes;
} slabs;

/* ------------------------------------------------------------------------------------------ buffers */

static int64_t all_weights(const tamis_edge_network_options *o) {
    const int64_t second = o->hidden_layers == 2 ? tamis_times(o->hidden, o->hidden) : 0;
    return tamis_times(o->hidden, o->edge_width + o->width + 4) + second + 4 * o->width;
}

static void count_numbers(const slabs *s, int64_t numbers[BUFFERS]) {
    const tamis_edge_network_options *const o = &s->job->o;
    const bool back = s->job->back, two = o->hidden_layers == 2;
    const int64_t first = tamis_times(o->hidden, o->edge_width), last = tamis_times(o->hidden, o->width);
    const int64_t second = two ? tamis_times(o->hidden, o->hidden) : 0;
    const int64_t hidden = tamis_times(s->edges, o->hidden), width = tamis_times(s->edges, o->width);
    const int64_t edge = tamis_times(s->edges, o->edge_width), parts = back ? s->parts : 0;
    const int64_t counts[BUFFERS] = {[W1_TURNED] = first,
                                     [W2_TURNED] = second,
                                     [W3_TURNED] = last,
                                     [W1_PLAIN] = back ? first : 0,
                                     [W2_PLAIN] = back ? second : 0,
                                     [W3_PLAIN] = back ? last : 0,
                                     [BIAS1] = o->hidden,
                                     [BIAS2] = o->hidden,
                                     [BIAS3] = o->width,
                                     [GAIN] = o->width,
                                     [SHIFT] = o->width,
                                     [PLACES] = PLACE * s->edges,
                                     [E] = edge,
                                     [A1] = hidden,
                                     [H1] = hidden,
                                     [A2] = two ? hidden : 0,
                                     [H2] = two ? hidden : 0,
                                     [Y] = width,
                                     [DZ] = back ? width : 0,
                                     [DY] = back ? width : 0,
                                     [DA2] = back && two ? hidden : 0,
                                     [DA1] = back ? hidden : 0,
                                     [DE] = back ? edge : 0,
                                     [CARRIES] = 2 * o->width,
                                     [CARRIED_FROM] = 2 * o->width,
                                     [SUM_W1] = tamis_times(parts, first),
                                     [SUM_B1] = tamis_times(parts, o->hidden),
                                     [SUM_W2] = tamis_times(parts, second),
                                     [SUM_B2] = tamis_times(parts, o->hidden),
                                     [SUM_W3] = tamis_times(parts, last),
                                     [SUM_B3] = tamis_times(parts, o->width),
                                     [SUM_GAIN] = tamis_times(parts, o->width),
                                     [SUM_SHIFT] = tamis_times(parts, o->width)};
    for (int k = 0; k < BUFFERS; k++) numbers[k] = counts[k];
}

static slabs slabs_of(const tamis_edge_network_job *job) {
    const tamis_edge_network_options *const o = &job->o;
    const size_t size = tamis_gpu_real_size(o->type);
    slabs s = {.job = job, .real = o->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32};
    const int64_t layers = 2 * o->edge_width + 3 * (o->hidden_layers ? o->hidden_layers : 1) * o->hidden + 3 * o->width;
    const int64_t fit = BYTES / (int64_t)size / layers / LINE * LINE, sums = BYTES / (int64_t)size / all_weights(o);
    const int64_t edges = fit < EDGES_LEAST ? EDGES_LEAST : fit < EDGES_MOST ? fit : EDGES_MOST;
    const int64_t all = (job->order.nnz + LINE - 1) / LINE * LINE;
    int64_t numbers[BUFFERS], at = 0;
    s.edges = all < edges ? all : edges;
    s.parts = sums < 1 ? 1 : sums < PARTS_MOST ? sums : PARTS_MOST;
    if (s.parts > s.edges / LINE) s.parts = s.edges / LINE;
    count_numbers(&s, numbers);
    for (int k = 0; k < BUFFERS; k++) {
        const int64_t bytes = (int64_t)tamis_bytes(numbers[k], k == PLACES || k == CARRIED_FROM ? 8 : size);
        s.at[k] = at;
        at = at + bytes > TAMIS_TOO_MANY ? TAMIS_TOO_MANY : (at + bytes + LINE - 1) / LINE * LINE;
    }
    if (o->hidden_layers != 2) s.at[H2] = s.at[H1];
    s.bytes = (size_t)at;
    return s;
}

tamis_status tamis_gpu_network_slabs_workspace(const tamis_edge_network_job *job, size_t *bytes) {
    *bytes = slabs_of(job).bytes;
    return TAMIS_OK;
}

static tamis_place place_of(const slabs *s, int buffer) {
    return (tamis_place){s->job->workspace.base, s->job->workspace.bytes + s->at[buffer]};
}

/* ------------------------------------------------------------------------------------------ launches */

static tamis_status start(const slabs *s, const char *kernel, int64_t groups, const tamis_gpu_named *arguments) {
    const tamis_gpu_kinds kinds = {s->job->o.type, s->job->o.argument_type, TAMIS_I32};
    return tamis_gpu_utility(s->job->device, s->job->stream, "edge_network.simt", kernel, kinds, groups, arguments);
}

/* Memory that may be absent: OpenCL needs a buffer for every argument. */
static tamis_gpu_named memory(const slabs *s, const char *name, tamis_place place) {
    return tamis_gpu_place(name, place.base ? place : s->job->workspace);
}

static tamis_gpu_named buffer(const slabs *s, const char *name, int which) {
    return tamis_gpu_place(name, place_of(s, which));
}

/* Groups of a team for each edge. */
static int64_t team_groups(const slabs *s) { return tamis_gpu_groups(tamis_times(s->count, 32)); }

static tamis_status copy_weights(const slabs *s, const tamis_matrix *w, int64_t rows, int64_t cols, int plain,
                                 int turned) {
    if (!w->at.base) return TAMIS_OK;
    return start(s, "edge_weights", tamis_gpu_groups(tamis_times(rows, cols)),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", rows), tamis_gpu_integer("cols", cols),
                                     tamis_gpu_place("w", w->at), tamis_gpu_integer("stride", w->stride),
                                     tamis_gpu_integer("wants_plain", s->job->back), buffer(s, "plain", plain),
                                     buffer(s, "turned", turned)));
}

static tamis_status copy_vector(const slabs *s, const tamis_matrix *b, int64_t count, double absent, int to) {
    return start(s, "edge_vector", tamis_gpu_groups(count),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", count), tamis_gpu_integer("has_b", b->at.base != NULL),
                                     memory(s, "b", b->at), tamis_gpu_real("absent", absent), buffer(s, "to", to)));
}

static tamis_status copy_operands(const slabs *s) {
    const tamis_edge_network_job *const job = s->job;
    const int64_t hidden = job->o.hidden, width = job->o.width;
    TRY(copy_weights(s, &job->w1, hidden, job->o.edge_width, W1_PLAIN, W1_TURNED));
    TRY(copy_weights(s, &job->w2, hidden, hidden, W2_PLAIN, W2_TURNED));
    TRY(copy_weights(s, &job->w3, width, hidden, W3_PLAIN, W3_TURNED));
    TRY(copy_vector(s, &job->b1, hidden, 0, BIAS1));
    TRY(copy_vector(s, &job->b2, hidden, 0, BIAS2));
    TRY(copy_vector(s, &job->b3, width, 0, BIAS3));
    TRY(copy_vector(s, &job->gain, width, 1, GAIN));
    return copy_vector(s, &job->shift, width, 0, SHIFT);
}

static tamis_status find_places(const slabs *s) {
    const tamis_message_order *const order = &s->job->order;
    const tamis_gpu_kinds kinds = {TAMIS_F32, order->column_type, order->offset_type};
    const tamis_place entries = {(void *)(uintptr_t)order->entries, 0};
    return tamis_gpu_utility(
        s->job->device, s->job->stream, "edge_places.simt", "edge_places", kinds, tamis_gpu_groups(s->count),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("begin", s->begin), tamis_gpu_integer("count", s->count),
                            tamis_gpu_integer("rows", order->rows), tamis_gpu_memory("offsets", order->offsets),
                            tamis_gpu_memory("columns", order->columns), memory(s, "entries", entries),
                            tamis_gpu_integer("permuted", order->entries != NULL), buffer(s, "places", PLACES)));
}

/* to = p + q + b; without p and q, b. */
static tamis_status gather(const slabs *s, const tamis_matrix *p, const tamis_matrix *q, int bias, int64_t cols,
                           int to) {
    const tamis_matrix none = {.stride = 0};
    if (!p) p = q = &none;
    return start(s, "edge_gather", tamis_gpu_groups(tamis_times(s->count, cols)),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", s->count), tamis_gpu_integer("hidden", cols),
                                     buffer(s, "places", PLACES), tamis_gpu_integer("has_p", p->at.base != NULL),
                                     memory(s, "p", p->at), tamis_gpu_integer("p_stride", p->stride),
                                     tamis_gpu_integer("has_q", q->at.base != NULL), memory(s, "q", q->at),
                                     tamis_gpu_integer("q_stride", q->stride), buffer(s, "b", bias),
                                     buffer(s, "a", to)));
}

/* The activation of a, or the way back through it: `other` gets it. */
static tamis_status activate(const slabs *s, const char *kernel, int a, tamis_gpu_named other) {
    const int64_t count = tamis_times(s->count, s->job->o.hidden);
    return start(s, kernel, tamis_gpu_groups(count),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", count),
                                     tamis_gpu_integer("kind", (int64_t)s->job->o.activation), buffer(s, "a", a),
                                     other));
}

static tamis_matrix packed(const slabs *s, int which, int64_t cols) {
    return (tamis_matrix){.at = place_of(s, which), .stride = cols};
}

/* to = x G + keep * to */
static tamis_status multiply(const slabs *s, int x, int64_t inner, int weights, int64_t cols, int to, double keep) {
    const tamis_dense_job job = {.device = s->job->device,
                                 .stream = s->job->stream,
                                 .type = s->real,
                                 .rows = s->count,
                                 .cols = cols,
                                 .last = cols,
                                 .inner = inner,
                                 .c = 1,
                                 .d = keep,
                                 .x = packed(s, x, inner),
                                 .y = packed(s, weights, cols),
                                 .z = packed(s, to, cols)};
    return tamis_gpu_dense_functions.multiply(&job);
}

/* ------------------------------------------------------------------------------------------ forward */

static tamis_status widen(const slabs *s) {
    const int64_t cols = s->job->o.edge_width;
    return start(s, "edge_widen", tamis_gpu_groups(tamis_times(s->count, cols)),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", s->count), tamis_gpu_integer("cols", cols),
                                     buffer(s, "places", PLACES), tamis_gpu_place("e", s->job->e.at),
                                     tamis_gpu_integer("stride", s->job->e.stride), buffer(s, "to", E)));
}

/* The layers of a slab, and y if it is wanted. */
static tamis_status compute_layers(const slabs *s, bool wants_y) {
    const tamis_edge_network_job *const job = s->job;
    const int64_t hidden = job->o.hidden;
    TRY(find_places(s));
    TRY(gather(s, &job->p, &job->q, BIAS1, hidden, A1));
    if (job->o.edge_width) {
        TRY(widen(s));
        TRY(multiply(s, E, job->o.edge_width, W1_TURNED, hidden, A1, 1));
    }
    TRY(activate(s, "edge_activate", A1, buffer(s, "h", H1)));
    if (job->o.hidden_layers == 2) {
        TRY(gather(s, NULL, NULL, BIAS2, hidden, A2));
        TRY(multiply(s, H1, hidden, W2_TURNED, hidden, A2, 1));
        TRY(activate(s, "edge_activate", A2, buffer(s, "h", H2)));
    }
    if (!wants_y) return TAMIS_OK;
    TRY(gather(s, NULL, NULL, BIAS3, job->o.width, Y));
    return multiply(s, H2, hidden, W3_TURNED, job->o.width, Y, 1);
}

static tamis_status results(const slabs *s) {
    const tamis_edge_network_job *const job = s->job;
    return start(s, "edge_results", team_groups(s),
                 TAMIS_GPU_ARGUMENTS(
                     tamis_gpu_integer("count", s->count), tamis_gpu_integer("width", job->o.width),
                     tamis_gpu_integer("normalised", job->o.normalise), tamis_gpu_integer("residual", job->o.residual),
                     tamis_gpu_integer("update", job->o.reduce_update), tamis_gpu_real("epsilon", job->o.epsilon),
                     buffer(s, "places", PLACES), buffer(s, "gain", GAIN), buffer(s, "shift", SHIFT), buffer(s, "e", E),
                     buffer(s, "y", Y), tamis_gpu_integer("has_edges", job->edges.at.base != NULL),
                     memory(s, "edges", job->edges.at), tamis_gpu_integer("edges_stride", job->edges.stride)));
}

/* The carried row of a slab is that of the last one: each second slab has its own. */
static tamis_gpu_named carry(const slabs *s, const char *name, int which, bool next) {
    const int64_t number = (s->begin / s->edges + next) % 2;
    const int64_t size = which == CARRIED_FROM ? 8 : (int64_t)tamis_gpu_real_size(s->job->o.type);
    tamis_place place = place_of(s, which);
    place.bytes += number * s->job->o.width * size;
    return tamis_gpu_place(name, place);
}

static tamis_status reduce(const slabs *s) {
    const tamis_edge_network_job *const job = s->job;
    return start(s, "edge_reduce", tamis_gpu_groups(tamis_times(s->count, job->o.width)),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("begin", s->begin), tamis_gpu_integer("count", s->count),
                                     tamis_gpu_integer("width", job->o.width),
                                     tamis_gpu_integer("kind", (int64_t)job->o.reduce), buffer(s, "places", PLACES),
                                     buffer(s, "y", Y), carry(s, "carried", CARRIES, false),
                                     carry(s, "carried_from", CARRIED_FROM, false), carry(s, "carry", CARRIES, true),
                                     carry(s, "carry_from", CARRIED_FROM, true), tamis_gpu_place("out", job->out.at),
                                     tamis_gpu_integer("out_stride", job->out.stride),
                                     tamis_gpu_integer("has_argument", job->argument.base != NULL),
                                     memory(s, "argument", job->argument)));
}

static tamis_status clear_out(const slabs *s) {
    const tamis_edge_network_job *const job = s->job;
    if (!job->out.at.base || job->order.rows == 0) return TAMIS_OK;
    return start(s, "edge_clear", tamis_gpu_groups(tamis_times(job->order.rows, job->o.width)),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", job->order.rows),
                                     tamis_gpu_integer("width", job->o.width), tamis_gpu_place("out", job->out.at),
                                     tamis_gpu_integer("out_stride", job->out.stride),
                                     tamis_gpu_integer("has_argument", job->argument.base != NULL),
                                     tamis_gpu_place("argument", job->argument.base ? job->argument : job->out.at)));
}

/* ------------------------------------------------------------------------------------------ backward */

static tamis_status seed(const slabs *s) {
    const tamis_edge_network_job *const job = s->job;
    return start(
        s, "edge_seed", team_groups(s),
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("count", s->count), tamis_gpu_integer("width", job->o.width),
            tamis_gpu_integer("normalised", job->o.normalise), tamis_gpu_integer("update", job->o.reduce_update),
            tamis_gpu_integer("kind", (int64_t)job->o.reduce), tamis_gpu_real("epsilon", job->o.epsilon),
            buffer(s, "places", PLACES), buffer(s, "gain", GAIN),
            tamis_gpu_integer("has_edges", job->d_edges.at.base != NULL), memory(s, "d_edges", job->d_edges.at),
            tamis_gpu_integer("d_edges_stride", job->d_edges.stride),
            tamis_gpu_integer("has_out", job->d_out.at.base != NULL), memory(s, "d_out", job->d_out.at),
            tamis_gpu_integer("d_out_stride", job->d_out.stride), memory(s, "argument", job->argument),
            buffer(s, "y", Y), buffer(s, "dz", DZ), tamis_gpu_integer("has_de", job->o.residual && job->de.at.base),
            buffer(s, "de", DE), buffer(s, "dy", DY)));
}

/* Adds the sums of x, or of x * y unless `y` is negative, to the parts of a vector's gradient. */
static tamis_status sum(const slabs *s, const tamis_matrix *wanted, int x, int y, int64_t cols, int parts) {
    if (!wanted->at.base) return TAMIS_OK;
    return start(s, "edge_sums", tamis_gpu_groups(tamis_times(s->parts, cols)),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", s->count), tamis_gpu_integer("cols", cols),
                                     tamis_gpu_integer("chunks", s->parts), tamis_gpu_integer("first", s->begin == 0),
                                     tamis_gpu_integer("has_y", y >= 0), buffer(s, "x", x),
                                     buffer(s, "y", y >= 0 ? y : x), buffer(s, "parts", parts)));
}

/* Adds x^T y to the parts of the gradient of weights. */
static tamis_status cross(const slabs *s, const tamis_matrix *wanted, int x, int64_t inner, int y, int64_t cols,
                          int parts) {
    const tamis_dense_job job = {.device = s->job->device,
                                 .stream = s->job->stream,
                                 .type = s->real,
                                 .rows = s->count,
                                 .cols = cols,
                                 .inner = inner,
                                 .chunks = s->parts,
                                 .x = packed(s, x, inner),
                                 .y = packed(s, y, cols),
                                 .workspace = place_of(s, parts)};
    return wanted->at.base ? tamis_gpu_dense_cross(&job, s->begin == 0) : TAMIS_OK;
}

static tamis_status scatter(const slabs *s, const tamis_matrix *to, int from, int64_t cols) {
    if (!to->at.base) return TAMIS_OK;
    return start(s, "edge_scatter", tamis_gpu_groups(tamis_times(s->count, cols)),
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", s->count), tamis_gpu_integer("cols", cols),
                                     buffer(s, "places", PLACES), buffer(s, "from", from),
                                     tamis_gpu_place("to", to->at), tamis_gpu_integer("stride", to->stride)));
}

static tamis_status slab_back(const slabs *s) {
    const tamis_edge_network_job *const job = s->job;
    const int64_t hidden = job->o.hidden, width = job->o.width;
    const bool two = job->o.hidden_layers == 2;
    TRY(compute_layers(s, job->o.normalise));
    TRY(seed(s));
    TRY(sum(s, &job->dgain, DZ, Y, width, SUM_GAIN));
    TRY(sum(s, &job->dshift, DZ, -1, width, SUM_SHIFT));
    TRY(sum(s, &job->db3, DY, -1, width, SUM_B3));
    TRY(cross(s, &job->dw3, DY, width, H2, hidden, SUM_W3));
    TRY(multiply(s, DY, width, W3_PLAIN, hidden, two ? DA2 : DA1, 0));
    if (two) {
        TRY(activate(s, "edge_activate_back", A2, buffer(s, "d", DA2)));
        TRY(sum(s, &job->db2, DA2, -1, hidden, SUM_B2));
        TRY(cross(s, &job->dw2, DA2, hidden, H1, hidden, SUM_W2));
        TRY(multiply(s, DA2, hidden, W2_PLAIN, hidden, DA1, 0));
    }
    TRY(activate(s, "edge_activate_back", A1, buffer(s, "d", DA1)));
    TRY(sum(s, &job->db1, DA1, -1, hidden, SUM_B1));
    TRY(cross(s, &job->dw1, DA1, hidden, E, job->o.edge_width, SUM_W1));
    TRY(scatter(s, &job->da, DA1, hidden));
    if (!job->de.at.base) return TAMIS_OK;
    TRY(multiply(s, DA1, hidden, W1_PLAIN, job->o.edge_width, DE, job->o.residual));
    return scatter(s, &job->de, DE, job->o.edge_width);
}

/* Writes the gradients of weights; without edges these are zeros. */
static tamis_status finish(const slabs *s) {
    const tamis_edge_network_job *const job = s->job;
    const int64_t hidden = job->o.hidden, width = job->o.width;
    const struct {
        const tamis_matrix *to;
        int64_t rows, cols;
    } sums[] = {{&job->dw1, hidden, job->o.edge_width},
                {&job->db1, 1, hidden},
                {&job->dw2, hidden, hidden},
                {&job->db2, 1, hidden},
                {&job->dw3, width, hidden},
                {&job->db3, 1, width},
                {&job->dgain, 1, width},
                {&job->dshift, 1, width}};
    for (int k = 0; k < BUFFERS - SUM_W1; k++) {
        if (!sums[k].to->at.base) continue;
        TRY(start(s, "edge_sums_finish", tamis_gpu_groups(sums[k].rows * sums[k].cols),
                  TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", sums[k].rows), tamis_gpu_integer("cols", sums[k].cols),
                                      tamis_gpu_integer("chunks", job->order.nnz ? s->parts : 0),
                                      buffer(s, "parts", SUM_W1 + k), tamis_gpu_place("to", sums[k].to->at),
                                      tamis_gpu_integer("stride", sums[k].to->stride))));
    }
    return TAMIS_OK;
}

tamis_status tamis_gpu_network_slabs(const tamis_edge_network_job *job) {
    slabs s = slabs_of(job);
    TRY(tamis_gpu_check_type(job->device, job->o.type));
    if (!job->back) TRY(clear_out(&s));
    if (job->order.nnz) TRY(copy_operands(&s));
    for (; s.begin < job->order.nnz; s.begin += s.edges) {
        s.count = job->order.nnz - s.begin < s.edges ? job->order.nnz - s.begin : s.edges;
        if (job->back) {
            TRY(slab_back(&s));
            continue;
        }
        TRY(compute_layers(&s, true));
        TRY(results(&s));
        if (job->out.at.base) TRY(reduce(&s));
    }
    return job->back ? finish(&s) : TAMIS_OK;
}
