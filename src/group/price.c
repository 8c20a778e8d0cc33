/* Cost model of exchanges and pieces: seconds from the link's and the device's rates. */
#include "group/price.h"

#include <tamis/ceilings.h>

/* Overhead of splitting a kernel in two: its launch, or for tiles of a dense pattern the multiprocessors that are idle
   in the last wave (two H200: SpMM of 20 %, K = 128 and 512). */
static const double KERNEL_SECONDS = 5e-6, TILES_SECONDS = 45e-6;

/* The least density and inner size for which a pattern is computed by tiles. */
static const double TILES_DENSITY = 0.05;
enum { TILES_INNER = 64 };

/* The share of an exchange that two pieces by columns hide; its stream has a higher priority (two H200, 21 cases: 0.1
   to 0.85, median 0.67). HIDDEN_MOST decides whether overlapping pays, which gives the best choices; HIDDEN serves
   predictions, which then are closest to measurements. */
static const double HIDDEN_MOST = 0.75, HIDDEN = 0.5;

double tamis_group_seconds_of_rows(const tamis_row_exchange *e, int64_t rows, int64_t sums) {
    const double row_bytes = (double)e->row_bytes, back_bytes = (double)e->back_bytes;
    return tamis_group_seconds(e->group, (double)rows * row_bytes, rows > 0 && row_bytes > 0) +
           tamis_group_seconds(e->group, (double)sums * back_bytes, sums > 0 && back_bytes > 0);
}

/* Returns the extra bytes that two pieces move. SDDMM: the entries' numbers, and samples written and read again. SpMM
   and fused: the output read and written again; fused also A read again. */
static double bytes_of_a_second_piece(const tamis_group_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_sparse *const S = &tamis_row_lists(&plan->exchange)->local;
    const double size = (double)tamis_type_size(o->type), out = (double)tamis_type_size(o->output_type);
    const double rows = (double)S->rows, batch = (double)o->batch;
    if (o->operation == TAMIS_OP_SDDMM)
        return batch * ((double)S->nnz * (sizeof(int64_t) + 2 * out) + rows * (double)o->inner * size);
    return batch * rows * (2 * (double)o->width * out + (double)o->inner * size);
}

/* Returns the device's memory bandwidth in bytes per second; 0: not known. */
static double memory_rate(const tamis_group_plan *plan) {
    tamis_ceilings ceilings;
    if (tamis_device_ceilings(plan->exchange.group->device, &ceilings) != TAMIS_OK) return 0;
    return 1e9 * ceilings.memory_gbs[1];
}

/* Returns the bytes that a copy of the own rows of B and D reads and writes. */
static double bytes_of_own_rows(const tamis_group_plan *plan) {
    return 2 * (double)tamis_row_lists(&plan->exchange)->own_rows * (double)plan->exchange.row_bytes;
}

static double kernel_seconds(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    const double places = (double)is->local.rows * (double)(is->own_rows + is->ghost_rows);
    const tamis_options *const o = &plan->options;
    const int64_t inner = o->operation == TAMIS_OP_SPMM ? o->width : o->inner;
    const bool tiles = inner >= TILES_INNER && (double)is->local.nnz > TILES_DENSITY * places;
    return tiles ? TILES_SECONDS : KERNEL_SECONDS;
}

/* Compares the savings of two pieces (hidden communication, no copy of own rows) with their cost. */
static bool worth_it(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    const double hidden = HIDDEN_MOST * tamis_group_seconds_of_rows(&plan->exchange, is->ghost_rows, 0);
    const double more = bytes_of_a_second_piece(plan) - bytes_of_own_rows(plan), rate = memory_rate(plan);
    return rate > 0 && hidden > kernel_seconds(plan) + more / rate;
}

/* A plan of S^T does not overlap: its exchange follows the computation. Softmax needs whole rows, and a 16-bit sum
   would be rounded twice. */
bool tamis_group_overlaps(const tamis_group_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    const bool rounded = o->operation != TAMIS_OP_SDDMM && tamis_type_size(o->output_type) == 2;
    if (o->transpose || o->overlap == TAMIS_OVERLAP_NEVER || is->ghost_rows == 0 || tamis_is_softmax(o) || rounded ||
        o->no_workspace)
        return false;
    if (o->overlap == TAMIS_OVERLAP_ALWAYS) return true;
    return tamis_group_on_device(plan->exchange.group) && is->own_nnz > 0 && worth_it(plan);
}

bool tamis_group_has_interior(const tamis_group_plan *plan, tamis_interior *interior) {
    const tamis_options *const o = &plan->options;
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    if (o->transpose || o->overlap == TAMIS_OVERLAP_NEVER || is->ghost_rows == 0 || plan->cover.used ||
        o->keep_softmax || o->no_workspace)
        return false;
    *interior = tamis_interior_find(is);
    if (interior->nnz == 0 || 2 * interior->nnz < is->local.nnz) return false;
    if (o->overlap == TAMIS_OVERLAP_ALWAYS) return true;
    const double rate = memory_rate(plan);
    return rate > 0 && bytes_of_own_rows(plan) / rate > 2 * KERNEL_SECONDS;
}

static double local_seconds(const tamis_plan *plan) {
    tamis_plan_report report;
    if (!plan || tamis_plan_describe(plan, &report) != TAMIS_OK) return 0;
    return report.measured_seconds > 0 ? report.measured_seconds : report.predicted_seconds;
}

tamis_group_price tamis_group_price_of(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    const double own = local_seconds(plan->pieces[TAMIS_PIECE_FIRST].plan);
    const double ghost = (plan->overlaps ? local_seconds(plan->pieces[TAMIS_PIECE_GHOST].plan) : 0) +
                         (plan->by_rows ? local_seconds(plan->pieces[TAMIS_BEHIND].plan) : 0);
    const double given = plan->cover.used ? local_seconds(plan->pieces[TAMIS_PIECE_GIVEN].plan) : 0;
    tamis_group_price price = {.local = own + ghost + given, .alone = (own + ghost + given) / plan->divided};
    price.exchange = plan->cover.used ? plan->cover.seconds
                                      : tamis_group_seconds_of_rows(&plan->exchange, is->ghost_rows, is->send_rows);
    price.replicated =
        tamis_group_seconds_of_rows(&plan->exchange, plan->report.cols - is->own_rows, is->own_rows * (is->ranks - 1));
    const bool hides = plan->overlaps && tamis_group_on_device(plan->exchange.group);
    const double most = plan->by_rows ? price.exchange : hides ? HIDDEN * price.exchange : 0;
    price.together = own + given + ghost + price.exchange - (own < most ? own : most);
    return price;
}
