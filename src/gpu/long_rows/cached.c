/* Host side of cached.simt: its form, and how caches are cut. */
#include "gpu/long_rows/cached.h"

#include "base/status.h"
#include "gpu/compile/definitions.h"
#include "gpu/long_rows/form.h"
#include "gpu/runtime/memory.h"

enum { TASK_SUMS = 1, TASK_MERGE }; /* of cached.simt */
enum { MERGE_COLUMNS = 64, MERGE_GROUP = 256 };

/* A job as it is launched. */
typedef struct call {
    const tamis_cached_job *job;
    tamis_gpu_device *device;
    tamis_long_rows_form form;
    bool quick, wide;
    int64_t shared, blocks_each, parts; /* query heads of a key head, and in how many blocks; of each cache */
    tamis_place partials;
} call;

/* ------------------------------------------------------------------------------------------ choosing */

static bool aligned(const call *c, const tamis_cached_vectors *x, size_t bytes) {
    enum { PIECE = 16 };
    const size_t size = tamis_type_size(c->job->o.type);
    return tamis_gpu_aligned(c->device, x->at, x->sequence % PIECE, x->head % PIECE, size, bytes) &&
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

/* ------------------------------------------------------------------------------------------ launching */

static tamis_gpu_definitions define(const call *c, int task, int64_t group, int64_t team) {
    const tamis_cached_attention_options *const o = &c->job->o;
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define(&definitions, "TASK", task);
    tamis_gpu_define(&definitions, "GROUP", group);
    tamis_gpu_define(&definitions, "TEAM", team);
    tamis_gpu_define_kinds(&definitions,
                           (tamis_gpu_kinds){o->type, o->table ? o->table_type : TAMIS_I32, o->length_type});
    tamis_gpu_define(&definitions, "OUTPUT", tamis_gpu_element(o->output_type));
    return definitions;
}

static tamis_status launch(const call *c, const char *kernel_name, const tamis_gpu_definitions *definitions,
                           tamis_gpu_launch grid, const tamis_gpu_named *arguments) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_kernel *kernel = NULL;
    tamis_gpu_argument values[TAMIS_GPU_PARAMETERS_MOST];
    TRY(tamis_gpu_kernel_get(c->device, "cached.simt", definitions->text, kernel_name, 0, &kernel));
    grid.members = c->job->o.key_heads;
    TRY_GOTO(done, tamis_gpu_bind(kernel, NULL, arguments, values));
    TRY_GOTO(done,
             c->device->runtime->launch(c->device, c->job->stream, kernel, &grid, values, kernel->signature->count));
done:
    tamis_gpu_kernel_release(kernel);
    return status;
}

/* OpenCL wants memory in the place of what is not there. */
static tamis_place there(const call *c, tamis_place place) { return place.base ? place : c->job->q.at; }

static int shift_of(int64_t page) {
    int shift = 0;
    while ((int64_t)1 << shift < page) shift++;
    return shift;
}

static tamis_status sum(const call *c) {
    const tamis_cached_job *const job = c->job;
    const tamis_cached_attention_options *const o = &job->o;
    tamis_gpu_definitions definitions = define(c, TASK_SUMS, c->form.group, c->form.team);
    tamis_gpu_define(&definitions, "UNIT", c->form.unit);
    tamis_gpu_define(&definitions, "WIDE", c->wide);
    tamis_gpu_define(&definitions, "PAGED", o->table != NULL);
    tamis_gpu_long_rows_define(&definitions, &c->form, o->inner, o->width, c->quick);
    const tamis_gpu_launch grid = {.groups = {o->sequences * c->blocks_each * c->parts, 1},
                                   .group_size = (int)c->form.group};
    return launch(
        c, "cached_sums", &definitions, grid,
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
    tamis_gpu_definitions definitions = define(c, TASK_MERGE, group, 1);
    tamis_gpu_define(&definitions, "COLUMNS", columns);
    tamis_gpu_define(&definitions, "PARTS_MOST", TAMIS_LONG_ROWS_PARTS);
    const tamis_gpu_launch grid = {.groups = {o->sequences * c->shared, tamis_gpu_ceiling(o->width, columns)},
                                   .group_size = (int)group};
    return launch(
        c, "cached_merge", &definitions, grid,
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
    const size_t bytes = (size_t)(rows * (job->o.width + 2)) * tamis_gpu_real_size(job->o.type);
    TRY(tamis_gpu_allocate(c.device, job->stream, bytes, "parts of caches", &c.partials.base));
    TRY_GOTO(done, sum(&c));
    TRY_GOTO(done, merge(&c));
done:
    tamis_gpu_release(c.device, job->stream, c.partials.base);
    return status;
}
