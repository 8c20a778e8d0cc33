/*
 * The cost model of the GPU. Each of our methods is a sum of what it moves, at rates that the probe has measured, and
 * of what a nonzero costs beside that: picoseconds over the whole device, fitted to measurements on an H200
 * (docs/performance.md) and scaled by the rate of the L2 cache where a device is slower or faster.
 */
#include "gpu/predict.h"

#include <math.h>
#include <stdio.h>

#include "gpu/methods/panels_build.h"
#include "gpu/methods/rows.h"
#include "gpu/methods/slices.h"
#include "gpu/plan.h"
#include "gpu/runtime.h"

static const double fitted_l2 = 8000; /* GB/s of the device that the constants were fitted on */
static const double launch_seconds = 5e-6;

enum { NARROW = 512 }; /* bytes of a row that a team of gpu-panels holds */

static double scale_of(const tamis_problem *p) {
    return p->evidence->ceilings.measured && p->evidence->ceilings.l2_gbs[0] > 0
               ? fitted_l2 / p->evidence->ceilings.l2_gbs[0]
               : 1;
}

/* Bytes a second of random rows out of a table of that many bytes. */
static double gather_rate(const tamis_problem *p, double bytes) {
    const tamis_ceilings *const c = &p->evidence->ceilings;
    for (int i = 0; i < 6; i++)
        if (bytes <= (double)c->gather_bytes[i]) {
            if (i == 0) return 1e9 * c->gather_gbs[0][0];
            const double low = log((double)c->gather_bytes[i - 1]), high = log((double)c->gather_bytes[i]);
            const double share = (log(bytes) - low) / (high - low);
            return 1e9 * (c->gather_gbs[0][i - 1] * (1 - share) + c->gather_gbs[0][i] * share);
        }
    return 1e9 * c->gather_gbs[0][5];
}

static double row_bytes(const tamis_problem *p) {
    return (double)(p->inner + p->width) * (double)tamis_type_size(p->type);
}

/* Too few nonzeros leave multiprocessors idle: `alone` is what the share of one team takes by itself. */
static double filling_of(double seconds, double alone) {
    return launch_seconds + fmax(seconds, fmin(alone, seconds * 4 + alone / 2));
}

static double filling(double seconds) { return launch_seconds + fmax(seconds, fmin(4e-6, seconds * 4)); }

/* Seconds a nonzero whose row is read once, before what an operation adds to it: a share that is the same everywhere,
   and what a row costs that no cache near by has. */
static double row_each(const tamis_problem *p, double bytes) {
    const double near = (3.3 + 0.0722 * bytes) * 1e-12 * scale_of(p), seen = 0.0702 * bytes * 1e-12 * scale_of(p);
    const double beyond = fmax(0, bytes / gather_rate(p, (double)p->cols * bytes) - seen);
    return near + 0.68 * p->evidence->fresh_share * beyond;
}

/* Seconds a nonzero of SDDMM by gpu-nonzeros: what a team does for each, and rows of B that the L1 cache has not; the
   larger, since one hides the other. Rows of more than two kilobytes leave L1 room for too few of them. */
static double sddmm_each(const tamis_problem *p, double bytes, double table) {
    const double work = 4.2 + 0.061 * bytes + 1.3 * p->evidence->fresh_share;
    const double rows = (0.0615 + 0.0527 * p->evidence->fresh_share) * bytes * (bytes > 2048 ? 1.2 : 1);
    const double beyond = fmax(0, bytes / gather_rate(p, table) - bytes / gather_rate(p, 1 << 20));
    return fmax(work, rows) * 1e-12 * scale_of(p) + 0.3 * p->evidence->fresh_share * beyond;
}

/* Seconds a nonzero that sums under way take, written and read once for each slice but one. */
static double sums_each(const tamis_problem *p, double slices) {
    const double bytes = 2 * (double)tamis_gpu_real_size(p->type) * (slices - 1);
    return bytes / (1e9 * (p->evidence->ceilings.memory_gbs[0] > 0 ? p->evidence->ceilings.memory_gbs[0] : 4000));
}

static double slices_of(const tamis_problem *p, int64_t slice) {
    return slice > 0 && p->inner > slice ? ceil((double)p->inner / (double)slice) : 1;
}

/* What all launches take for a nonzero. */
static double nonzeros_each(const tamis_problem *p, int64_t slice) {
    const double slices = slices_of(p, slice), bytes = row_bytes(p) / slices;
    return slices * sddmm_each(p, bytes, (double)p->cols * bytes) + sums_each(p, slices);
}

/* The slice that is cheapest where a nonzero takes each(p, slice): all of K, or of `widest` bytes, or of halves down to
   512; of no more than `most` bytes, but that narrowest one. Narrower ones must pay. */
static int64_t cheapest_slice(const tamis_problem *p, int64_t widest, int64_t most,
                              double (*each)(const tamis_problem *p, int64_t slice)) {
    enum { NARROWEST = 512 };
    const int64_t size = (int64_t)tamis_type_size(p->type);
    int64_t chosen = 0;
    double best = 0;
    for (int64_t bytes = (int64_t)1 << 40; bytes >= NARROWEST; bytes = bytes > widest ? widest : bytes / 2) {
        const int64_t slice = tamis_gpu_slice_even(p, bytes);
        if (slice * size > most && bytes > NARROWEST) continue;
        const double seconds = (double)p->nnz * each(p, slice) + slices_of(p, slice) * launch_seconds;
        if (chosen && seconds > 0.9 * best) continue;
        chosen = slice;
        best = seconds;
    }
    return chosen;
}

int64_t tamis_gpu_nonzeros_slice(const tamis_problem *p) {
    enum { WIDEST = 2048 }; /* bytes; as measured, slices of fewer gain nothing */
    if (p->inner * (int64_t)tamis_type_size(p->type) <= WIDEST) return tamis_gpu_slice_even(p, (int64_t)1 << 40);
    return cheapest_slice(p, WIDEST, INT64_MAX, nonzeros_each);
}

void tamis_gpu_predict_nonzeros(const tamis_problem *p, tamis_prediction *prediction) {
    /* one form serves SpMM and fused; they carry rows of sums beside it */
    static const double by_operation[] = {1, 2.0, 2.2};
    const double bytes = row_bytes(p), table = (double)p->cols * bytes;
    const int64_t slice = p->operation == TAMIS_OP_SDDMM ? tamis_gpu_nonzeros_slice(p) : 0;
    const double each = p->operation == TAMIS_OP_SDDMM ? nonzeros_each(p, slice) : row_each(p, bytes);
    const double seconds = (double)p->nnz * each * by_operation[p->operation];
    /* SpMM and fused: the chunks that each team walks through, then two kernels that merge */
    prediction->call_seconds = (p->operation == TAMIS_OP_SDDMM ? filling(seconds) : filling_of(seconds, 18e-6)) + 2e-6 +
                               (slices_of(p, slice) - 1) * launch_seconds;
    if (p->once) return; /* nobody asks why */
    snprintf(prediction->reason, sizeof prediction->reason,
             "a row of %.3g bytes a nonzero in %.0f launches; %.0f %% of them not seen within 2048 nonzeros, those at "
             "%.3g TB/s",
             bytes, slices_of(p, slice), 100 * p->evidence->fresh_share,
             1e-12 * gather_rate(p, table / slices_of(p, slice)));
}

/*
 * A panel's height in rows, for cells of up to `columns` columns, and the share of its nonzeros whose column it has not
 * seen. A cell of few nonzeros gathers rows of B for little, so that panels are made higher where that helps: where
 * twice the height has far fewer such columns, and rows that are neighbours have few in common (meshes gain nothing:
 * the columns of a band grow with its rows, which two heights alone do not show). Measured on rows of random columns,
 * slices of 512 bytes: cells of 819, 1638 and 3277 nonzeros take 64, 51 and 42 ps a nonzero, of 4915 and 9830 both 32.
 */
static int64_t height_of(const tamis_problem *p, double columns, double *fresh) {
    enum { LOWEST = 256, HIGHEST = 2048, ENOUGH = 6000, PANELS = 4 /* at least */ };
    const double ratio =
        p->evidence->panel_fresh[0] > 0 ? p->evidence->panel_fresh[1] / p->evidence->panel_fresh[0] : 1;
    int64_t height = LOWEST;
    *fresh = fmax(p->evidence->panel_fresh[1], 1e-6);
    while (height < HIGHEST && 2 * height * PANELS <= p->rows && ratio < 0.7 && p->evidence->fresh_share > 0.35 &&
           columns / *fresh < ENOUGH) {
        height *= 2;
        *fresh *= ratio;
    }
    return height;
}

/* Bytes of a row of B that the lanes of a team of gpu-panels take, whether the row has them or not. */
static double taken(double bytes) {
    enum { TEAM = 8, PIECES_MOST = 4, PIECE = 16 };
    double team = 1;
    while (team < TEAM && team * PIECE < bytes) team *= 2;
    const int64_t pieces = tamis_gpu_lane_pieces((int64_t)ceil(bytes / PIECE), (int64_t)team, PIECES_MOST);
    const double at_once = team * (double)pieces * PIECE;
    return at_once * ceil(bytes / at_once);
}

/* Columns of a cell: what fills the shared memory of a group. */
static double columns_of(double bytes) {
    enum { SHARED = 64 << 10, COLUMNS = 256 };
    return fmax(1, fmin(SHARED / fmax(bytes, 1), COLUMNS));
}

int64_t tamis_gpu_panels_height(const tamis_problem *p, int64_t slice) {
    double fresh;
    return height_of(p, columns_of(row_bytes(p) / slices_of(p, slice)), &fresh);
}

/*
 * Seconds a nonzero of gpu-panels in all its launches. The wider a slice, the fewer columns a cell has, and the fewer
 * nonzeros: a group takes 512 at a time, and what a cell has less leaves teams idle. That alone explains what rows of 8
 * to 32 KB took without slices; of more than 512 bytes a row passes in several steps, which takes half as long again.
 */
static double panels_each(const tamis_problem *p, int64_t slice) {
    enum { AT_ONCE = 512 };
    const double slices = slices_of(p, slice), bytes = row_bytes(p) / slices, columns = columns_of(bytes);
    double fresh;
    height_of(p, columns, &fresh);
    const double nonzeros = columns / fresh, busy = nonzeros / (AT_ONCE * ceil(nonzeros / AT_ONCE)), fitted_busy = 0.91;
    const double once = 4.27 + 0.0385 * taken(bytes) + 0.5 * bytes * fresh;
    const double idle =
        bytes > NARROW ? fmax(1, fitted_busy / busy) : 1; /* up to there it is part of what was fitted */
    return slices * once * idle * (bytes > NARROW ? 1.5 : 1) * 1e-12 * scale_of(p) + sums_each(p, slices);
}

int64_t tamis_gpu_panels_slice(const tamis_problem *p) {
    enum { WIDEST = 4096 }; /* bytes */
    const tamis_gpu_device *const device = p->device;
    return cheapest_slice(p, WIDEST, device ? device->limits.shared_most - 16 : INT64_MAX, panels_each);
}

void tamis_gpu_predict_panels(const tamis_problem *p, tamis_prediction *prediction) {
    const double nnz = (double)p->nnz;
    const int64_t slice = tamis_gpu_panels_slice(p);
    const double slices = slices_of(p, slice), bytes = row_bytes(p) / slices;
    double fresh;
    const int64_t height = height_of(p, columns_of(bytes), &fresh);
    /* few parts fill the last round of groups badly; short rows give it little to do meanwhile */
    const int multiprocessors = p->device ? ((const tamis_gpu_device *)p->device)->limits.multiprocessors : 1;
    const double parts = fmax(1, nnz / (double)tamis_gpu_panel_part(p->nnz, multiprocessors));
    const double narrow = 128 / fmax(bytes, 128);
    const double uneven = 1 + 0.55 * narrow * narrow * multiprocessors / parts;
    const double each = panels_each(p, slice);
    /* a multiprocessor's only group, whose rows pass in several steps, waits for each of them */
    const double alone = bytes > NARROW ? 2.2 * fmin(nnz, nnz / parts * multiprocessors) * each : 0;
    prediction->call_seconds = filling(fmax(nnz * each * uneven, alone)) + 3e-6 + (slices - 1) * launch_seconds;
    prediction->setup_seconds = 0.6e-3 + nnz * 0.55e-9 * scale_of(p);
    if (p->once) return; /* nobody asks why */
    snprintf(prediction->reason, sizeof prediction->reason,
             "in panels of %lld rows %.1f nonzeros share a row of B, in %.0f launches; the cells are sorted once",
             (long long)height, 1 / fresh, slices);
}

/* One product of TF32 in place of three: its half is derived, not measured, from a third of the products, two fifths of
   the instructions and all of the copies. */
void tamis_gpu_predict_tensor(const tamis_problem *p, tamis_prediction *prediction) {
    const double nnz = (double)p->nnz, fresh = p->evidence->panel_fresh[0], cells = nnz * fresh / 128;
    const bool once = p->math == TAMIS_MATH_TF32;
    const double cell = (14.8 + (once ? 0.313 : 0.626) * (double)p->inner) * 1e-9 * scale_of(p);
    prediction->call_seconds = filling(cells * cell + nnz * 2.85e-12 * scale_of(p)) + 6e-6;
    prediction->setup_seconds = 0.6e-3 + nnz * 0.55e-9 * scale_of(p);
    if (p->once) return; /* nobody asks why */
    snprintf(prediction->reason, sizeof prediction->reason,
             "about %.3g cells of 128 x 128 products%s, %.1f %% of them wanted; the cells are sorted once", cells,
             once ? " of inputs rounded to TF32" : "", fresh > 0 ? 100 / (128 * fresh) : 0);
}

/* Rows dealt whole to groups that are neighbours: quick where rows are alike, and as slow as the longest row. */
void tamis_gpu_predict_rows(const tamis_problem *p, tamis_prediction *prediction) {
    static const double by_operation[] = {1.45, 1.1, 1.4};
    const double bytes = row_bytes(p),
                 longest = (double)p->evidence->profile.max * (20e-9 + 90e-12 * bytes) * scale_of(p);
    const double each = row_each(p, bytes) * by_operation[p->operation];
    /* SDDMM: a row of A is loaded for a few nonzeros; the others: the output */
    const double row = p->operation == TAMIS_OP_SDDMM ? 5.5e-9 / (1 + p->evidence->profile.mean / 4) : 60e-12;
    static const double besides[] = {2e-6, 0, 6e-6};
    prediction->call_seconds = filling((double)p->nnz * each + (double)p->rows * row) + longest + besides[p->operation];
    if (p->once) return; /* nobody asks why */
    snprintf(prediction->reason, sizeof prediction->reason,
             "whole rows by groups: the longest (%lld nonzeros) takes %.3g ms by itself",
             (long long)p->evidence->profile.max, 1e3 * longest);
}

/*
 * The same with long rows cut, which start first and are waited for only where they take longer than all the rest; what
 * pieces sum is written and read again. Of each slice of C a row costs beside its nonzeros.
 */
void tamis_gpu_predict_whole_rows(const tamis_problem *p, tamis_prediction *prediction) {
    const double size = (double)tamis_type_size(p->type), limit = (double)tamis_gpu_rows_limit(p);
    const double width = fmax((double)p->width, 1), slices = ceil(width / (double)tamis_gpu_rows_slice(p));
    const double bytes = width / slices * size, longest = fmin((double)p->evidence->profile.max, limit);
    const double seen = 0.0702 * bytes * 1e-12 * scale_of(p);
    const double beyond = fmax(0, bytes / gather_rate(p, (double)p->cols * bytes) - seen);
    const double each = (2.5 + 0.05 * bytes) * 1e-12 * scale_of(p) + 0.68 * p->evidence->fresh_share * beyond;
    const double row = (50 + 11 * (double)tamis_gpu_rows_team(p)) * 1e-12 * scale_of(p);
    const double seconds = slices * ((double)p->nnz * each + (double)p->rows * row);
    const double tail = longest * (20e-9 + 90e-12 * bytes) * scale_of(p);
    const bool cuts = (double)p->evidence->profile.max > limit;
    const double sums = cuts ? 2 * (double)p->nnz / limit * width * 4 : 0;
    prediction->call_seconds = fmax(filling(seconds), tail) + (cuts ? 3e-6 + sums / gather_rate(p, sums) : 0);
    prediction->setup_seconds = cuts || p->evidence->profile.variation > 0.5 ? 0.1e-3 + (double)p->rows * 1e-9 : 0;
    if (p->once) return; /* nobody asks why */
    snprintf(prediction->reason, sizeof prediction->reason,
             "whole rows by teams, those of more than %.0f nonzeros in pieces that are merged: the longest has %lld",
             limit, (long long)p->evidence->profile.max);
}

void tamis_gpu_predict_relative(const tamis_problem *p, double relative, tamis_prediction *prediction) {
    tamis_gpu_predict_nonzeros(p, prediction);
    prediction->call_seconds *= relative;
    if (p->once) return; /* nobody asks why */
    snprintf(prediction->reason, sizeof prediction->reason, "a method to compare with: about %.3g times gpu-nonzeros",
             relative);
}
