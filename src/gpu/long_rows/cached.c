/* Host side of cached.simt: chooses its form, and how caches are cut into parts. */
#include "gpu/long_rows/cached.h"

#include <string.h>

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/compile/kernel_lists.h"
#include "gpu/long_rows/form.h"
#include "gpu/runtime/memory.h"

enum { TASK_SUMS = 1, TASK_MERGE }; /* tasks of cached.simt */
enum { MERGE_COLUMNS = 64, MERGE_GROUP = 256 };

/* A job with its launch configuration. */
typedef struct call {
    const tamis_cached_job *job;
    tamis_gpu_device *device;
    tamis_long_rows_form form;
    bool quick, wide;
    int64_t shared, blocks_each, parts; /* query heads of a key head, and their blocks; parts of each cache */
    tamis_place partials;
} call;

/* ------------------------------------------------------------------------------------------ choosing */

static bool aligned(const call *c, const tamis_cached_vectors *x, size_t bytes) {
    enum { PIECE = 16 };
    const size_t size = tamis_type_size(c->job->o.type);
    return tamis_gpu_aligned(c->device, &(tamis_matrix){x->at, x->sequence % PIECE, x->head % PIECE}, size, bytes) &&
           (uint64_t)x->position * size % bytes == 0;
}

static void choose(call *c) {
    const tamis_cached_attention_options *const o = &c->job->o;
    int64_t unit = 16 / (int64_t)tamis_type_size(o->type);
    c->quick = c->device->limits.subgroup == 32;
    while (c->quick && (o->inner % unit || o->width % unit)) unit /= 2;
    c->shared = o->heads / o->key_heads;
    c->form = (tamis_long_rows_form){.group = c->device->limits.is_cpu ? 64 : TAMIS_LONG_ROWS_GROUP};
    tamis_gpu_long_rows_form(c->device, o->type, o->inner, o->width, unit, c->shared, &c->form);
    const size_t bytes = (size_t)c->form.unit * tamis_type_size(o->type);
    c->wide = aligned(c, &c->job->q, bytes) && aligned(c, &c->job->k, bytes) && aligned(c, &c->job->v, bytes);
    c->blocks_each = tamis_gpu_ceiling(c->shared, c->form.rows);
    const int64_t longest = o->window > 0 ? tamis_gpu_min(o->window, o->capacity) : o->capacity;
    c->parts = tamis_gpu_long_rows_parts(c->device, &c->form, o->type, o->sequences * o->key_heads * c->blocks_each,
                                         longest, o->sequences == 1);
}

static tamis_status check(const call *c) {
    const tamis_cached_attention_options *const o = &c->job->o;
    const tamis_gpu_limits *const limits = &c->device->limits;
    if (o->type == TAMIS_F64 && !limits->has_fp64)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "options.type = fp64: %s has no fp64 arithmetic", limits->name);
    if (o->key_heads <= limits->groups_most[2] &&
        o->sequences <= limits->groups_most[0] / c->parts / tamis_gpu_max(c->blocks_each, c->shared))
        return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                      "options: %lld sequences of %lld key heads are more than a launch on %s has",
                      (long long)o->sequences, (long long)o->key_heads, limits->name);
}

/* ------------------------------------------------------------------------------------------ kernels */

/* The constants that a kernel is compiled for. All int64, without padding, so that memcmp compares them. */
typedef struct variant {
    tamis_long_rows_form form; /* cached_merge uses the group alone */
    int64_t task, type, output_type, table_type, length_type;
    int64_t inner, width, quick, wide, paged; /* of cached_sums */
} variant;

static bool same(const void *key, const void *other) { return memcmp(key, other, sizeof(variant)) == 0; }

/* Kept as long as the process: no plan holds them, and captured graphs keep launching them. */
static tamis_gpu_shared_kernels kernels = TAMIS_GPU_SHARED_KERNELS(variant, same);

static variant variant_of(const call *c, int task, tamis_long_rows_form form) {
    const tamis_cached_attention_options *const o = &c->job->o;
    const bool sums = task == TASK_SUMS;
    return (variant){.form = form,
                     .task = task,
                     .type = o->type,
                     .output_type = o->output_type,
                     .table_type = sums && o->table ? o->table_type : TAMIS_I32,
                     .length_type = sums ? o->length_type : TAMIS_I32,
                     .inner = sums ? o->inner : 0,
                     .width = sums ? o->width : 0,
                     .quick = sums && c->quick,
                     .wide = sums && c->wide,
                     .paged = sums && o->table};
}

static tamis_gpu_definitions define(const variant *v) {
    const tamis_gpu_kinds kinds = {(tamis_type)v->type, (tamis_index_type)v->table_type,
                                   (tamis_index_type)v->length_type};
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define(&definitions, "TASK", v->task);
    tamis_gpu_define(&definitions, "GROUP", v->form.group);
    tamis_gpu_define(&definitions, "TEAM", v->form.team);
    tamis_gpu_define_kinds(&definitions, kinds);
    tamis_gpu_define(&definitions, "OUTPUT", tamis_gpu_element((tamis_type)v->output_type));
    if (v->task == TASK_MERGE) {
        tamis_gpu_define(&definitions, "COLUMNS", tamis_gpu_min(MERGE_COLUMNS, v->form.group));
        tamis_gpu_define(&definitions, "PARTS_MOST", TAMIS_LONG_ROWS_PARTS);
        return definitions;
    }
    tamis_gpu_define(&definitions, "UNIT", v->form.unit);
    tamis_gpu_define(&definitions, "WIDE", v->wide);
    tamis_gpu_define(&definitions, "PAGED", v->paged);
    tamis_gpu_long_rows_define(&definitions, &v->form, v->inner, v->width, v->quick);
    return definitions;
}

static tamis_status get(const call *c, const variant *v, tamis_gpu_shared_kernel **found) {
    *found = tamis_gpu_shared_find(&kernels, c->device, v);
    if (*found) return TAMIS_OK;
    const tamis_gpu_definitions definitions = define(v);
    return tamis_gpu_shared_add(&kernels, c->device, v, "cached.simt",
                                v->task == TASK_SUMS ? "cached_sums" : "cached_merge", definitions.text, 0, found);
}

/* ------------------------------------------------------------------------------------------ launching */

static tamis_status launch(const call *c, const variant *v, tamis_gpu_launch grid, const tamis_gpu_named *arguments) {
    tamis_gpu_shared_kernel *kernel = NULL;
    TRY(get(c, v, &kernel));
    grid.group_size = (int)v->form.group;
    grid.members = c->job->o.key_heads;
    return tamis_gpu_shared_launch(kernel, c->job->stream, &grid, arguments);
}

/* OpenCL needs a buffer for every argument, even an absent one. */
static tamis_place there(const call *c, tamis_place place) { return place.base ? place : c->job->q.at; }

static int shift_of(int64_t page) {
    int shift = 0;
    while ((int64_t)1 << shift < page) shift++;
    return shift;
}

static tamis_status sum(const call *c) {
    const tamis_cached_job *const job = c->job;
    const tamis_cached_attention_options *const o = &job->o;
    const variant v = variant_of(c, TASK_SUMS, c->form);
    const tamis_gpu_launch grid = {.groups = {o->sequences * c->blocks_each * c->parts, 1}};
    return launch(
        c, &v, grid,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("parts", c->parts), tamis_gpu_integer("blocks_each", c->blocks_each),
                            tamis_gpu_integer("shared", c->shared), tamis_gpu_integer("heads", o->heads),
                            tamis_gpu_place("lengths", job->lengths), tamis_gpu_integer("capacity", o->capacity),
                            tamis_gpu_integer("window", o->window), tamis_gpu_place("table", there(c, job->table)),
                            tamis_gpu_integer("table_stride", o->table_stride),
                            tamis_gpu_integer("shift", o->table ? shift_of(o->page) : 0),
                            tamis_gpu_integer("pages", o->pages), tamis_gpu_place("q", job->q.at),
                            tamis_gpu_integer("q_sequence", job->q.sequence), tamis_gpu_integer("q_head", job->q.head),
                            tamis_gpu_place("k", job->k.at), tamis_gpu_integer("k_sequence", job->k.sequence),
                            tamis_gpu_integer("k_position", job->k.position), tamis_gpu_integer("k_head", job->k.head),
                            tamis_gpu_place("v", job->v.at), tamis_gpu_integer("v_sequence", job->v.sequence),
                            tamis_gpu_integer("v_position", job->v.position), tamis_gpu_integer("v_head", job->v.head),
                            tamis_gpu_place("out", job->out.at), tamis_gpu_integer("out_sequence", job->out.sequence),
                            tamis_gpu_integer("out_head", job->out.head),
                            tamis_gpu_place("log_sums", there(c, job->log_sums)),
                            tamis_gpu_integer("has_log_sums", job->log_sums.base != NULL),
                            tamis_gpu_place("partials", there(c, c->partials)), tamis_gpu_integer("inner", o->inner),
                            tamis_gpu_integer("width", o->width), tamis_gpu_real("scale", o->scale)));
}

static tamis_status merge(const call *c) {
    const tamis_cached_job *const job = c->job;
    const tamis_cached_attention_options *const o = &job->o;
    const int64_t group = tamis_gpu_min(MERGE_GROUP, c->device->limits.group_most);
    const int64_t columns = tamis_gpu_min(MERGE_COLUMNS, group);
    const variant v = variant_of(c, TASK_MERGE, (tamis_long_rows_form){.team = 1, .group = group});
    const tamis_gpu_launch grid = {.groups = {o->sequences * c->shared, tamis_gpu_ceiling(o->width, columns)}};
    return launch(
        c, &v, grid,
        TAMIS_GPU_ARGUMENTS(
            tamis_gpu_integer("parts", c->parts), tamis_gpu_integer("rows_each", c->form.rows),
            tamis_gpu_integer("blocks_each", c->blocks_each), tamis_gpu_integer("shared", c->shared),
            tamis_gpu_integer("heads", o->heads), tamis_gpu_place("partials", c->partials),
            tamis_gpu_place("out", job->out.at), tamis_gpu_integer("out_sequence", job->out.sequence),
            tamis_gpu_integer("out_head", job->out.head), tamis_gpu_place("log_sums", there(c, job->log_sums)),
            tamis_gpu_integer("has_log_sums", job->log_sums.base != NULL), tamis_gpu_integer("width", o->width)));
}

tamis_status tamis_gpu_cached_attend(const tamis_cached_job *job) {
    tamis_status status = TAMIS_OK;
    call c = {.job = job, .device = job->device};
    choose(&c);
    TRY(check(&c));
    if (c.parts == 1) return sum(&c);
    const int64_t rows = job->o.sequences * job->o.key_heads * c.blocks_each * c.parts * c.form.rows;
    const size_t bytes = tamis_bytes(tamis_times(rows, job->o.width + 2), tamis_gpu_real_size(job->o.type));
    TRY(tamis_gpu_allocate(c.device, job->stream, bytes, "parts of caches", &c.partials.base));
    TRY_GOTO(done, sum(&c));
    TRY_GOTO(done, merge(&c));
done:
    tamis_gpu_release(c.device, job->stream, c.partials.base);
    return status;
}
