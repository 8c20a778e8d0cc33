/* One problem through every algorithm. */
#include <tamis/algorithms.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cross.h"
#include "support/mirror.h"
#include "support/variants.h"

typedef struct run {
    const cross_case *c;
    tamis_operation operation;
    test_call call;
    const char *algorithm, *isa;
    char parameters[96];
    int threads;
    const problem *p;
    mirror *on;           /* the problem where the device wants it */
    bool known;           /* takes.c says what the algorithms decline */
    bool any_order;       /* sums may differ in the last bits from run to run */
    void *old;            /* the output before a call */
    expectation right[2]; /* by math, TF32's if it may be */
    bool may_round;
    cross_counts *counts;
} run;

static void report(const run *r, const char *what) {
    const problem_options *const o = &r->p->options;
    r->counts->failed++;
    if (r->counts->failed > 20) return;
    printf("FAILED %s: %s %s %s, %s(%s) on %s, %d threads, K = %lld, L = %lld, %s, alpha %g beta %g: %s\n", r->c->name,
           tamis_operation_name(r->operation), tamis_edge_name(r->call.options.edge), tamis_type_name(o->type),
           r->algorithm, r->parameters, r->isa, r->threads, (long long)o->inner, (long long)o->width,
           tamis_format_name(o->format), r->call.execution.alpha, r->call.execution.beta, what);
}

/* The old values, or NaN in all that beta = 0 must not read. */
static void refresh(const run *r) {
    matrix_restore(&r->on->out, r->old);
    if (r->call.execution.beta == 0) matrix_poison(&r->on->out);
    matrix_send(r->on->device, &r->on->out);
}

static void check(const run *r, tamis_math math) {
    const char *const wrong = expect_compare(&r->right[math], &r->on->out);
    if (wrong) report(r, wrong);
}

/* With the plan's workspace, or one of the caller's. */
static tamis_status execute(const run *r, const tamis_plan *plan, bool own_workspace) {
    tamis_execution execution = r->call.execution;
    refresh(r);
    if (own_workspace) {
        if (tamis_plan_workspace_size(plan, &execution.workspace_bytes) != TAMIS_OK) return TAMIS_ERROR_INTERNAL;
        /* the host's own allocations are aligned to 64 bytes */
        if (tamis_device_allocate(r->on->device, execution.workspace_bytes, &execution.workspace) != TAMIS_OK)
            return TAMIS_ERROR_MEMORY;
    }
    const tamis_status status = mirror_plan(r->on, plan, &execution);
    if (status == TAMIS_OK) matrix_fetch(&r->on->out);
    tamis_device_free(r->on->device, execution.workspace);
    return status;
}

static void run_plans(run *r, tamis_random *random) {
    const problem *const p = r->p;
    const twin *const out = &r->on->out.twin;
    tamis_device *const device = r->on->device;
    tamis_options o = problem_call(p, r->operation, &r->call.options);
    o.threads = r->threads;
    o.algorithm = r->algorithm;
    o.parameters = r->parameters[0] ? r->parameters : NULL;
    o.expected_calls = tamis_random_below(random, 2) ? 1 : 1000;
    o.trust_input = tamis_random_below(random, 4) == 0;
    o.any_order = r->any_order;
    o.no_workspace = tamis_random_below(random, 4) == 0;
    if (r->may_round && (strcmp(r->algorithm, "gpu-rounded") == 0 || tamis_random_below(random, 3) == 0))
        o.math = TAMIS_MATH_TF32;
    /* with a plan's word, and without it, by the views alone */
    o.d_is_b = r->operation == TAMIS_OP_FUSED && p->options.d_is_b &&
               (strcmp(r->algorithm, "gpu-one-pass") == 0 || tamis_random_below(random, 2));
    tamis_plan *plans[2] = {NULL, NULL};
    void *outputs[3] = {NULL, NULL, NULL};
    const tamis_status made = tamis_plan_create(device, &r->on->S, &o, &plans[0]);
    const bool taken = made != TAMIS_ERROR_UNSUPPORTED;
    if (r->known && taken == cross_declines(r->algorithm, r->operation, o.edge, p))
        report(r, taken ? "taken, though it was to be declined" : tamis_last_error());
    if (!taken) {
        if (strlen(tamis_last_error()) < 20) report(r, "declined without a reason");
        r->counts->declined++;
    } else if (made != TAMIS_OK || tamis_plan_create(device, &r->on->S, &o, &plans[1]) != TAMIS_OK) {
        report(r, tamis_last_error());
    } else {
        tamis_plan_report about;
        if (tamis_plan_describe(plans[0], &about) != TAMIS_OK) abort();
        for (int i = 0; i < 3; i++) { /* twice the first plan, once the second */
            if (execute(r, plans[i / 2], o.no_workspace) != TAMIS_OK) report(r, tamis_last_error());
            if (i == 0 || r->any_order) check(r, about.math);
            outputs[i] = matrix_copy(&r->on->out);
        }
        if (!r->any_order && memcmp(outputs[0], outputs[1], out->bytes) != 0) report(r, "a second execution differs");
        if (!r->any_order && memcmp(outputs[0], outputs[2], out->bytes) != 0) report(r, "a second plan differs");
        r->counts->run++;
    }
    for (int i = 0; i < 3; i++) free(outputs[i]);
    tamis_plan_destroy(plans[0]);
    tamis_plan_destroy(plans[1]);
}

static void run_once(run *r) {
    test_call call = r->call;
    call.options.threads = r->threads;
    r->algorithm = "one-shot";
    r->parameters[0] = 0;
    refresh(r);
    const tamis_status status = mirror_once(r->on, &call.options, &call.execution);
    if (status == TAMIS_OK) matrix_fetch(&r->on->out);
    if (status != TAMIS_OK)
        report(r, tamis_last_error());
    else
        check(r, TAMIS_MATH_EXACT);
    r->counts->run++;
}

/* Of the GPU's methods; those not named here have none that change the shape of the work. */
static void draw_gpu_parameters(run *r, tamis_random *random) {
    static const char *const sliced[] = {"study-thread-map", "study-nnz-threads-shared", "study-row-blocks",
                                         "study-dense-grid", "study-child-kernels",      "study-fused-dense-grid"};
    for (int i = 0; i < 6; i++) /* several slices of K, groups smaller than a row */
        if (strcmp(r->algorithm, sliced[i]) == 0)
            snprintf(r->parameters, sizeof r->parameters, "block=16%s", i == 4 ? ",wave=3" : ",slice=8");
    static const char *const nonzeros[] = {"team=4,batch=8", "team=16,batch=4,loads=2,pieces=1"};
    if (strcmp(r->algorithm, "gpu-nonzeros") == 0 && r->operation != TAMIS_OP_SDDMM)
        snprintf(r->parameters, sizeof r->parameters, "items=%lld", (long long)(4 + tamis_random_below(random, 60)));
    const long long slice = (long long)tamis_random_below(random, 3) * 40; /* of K; 0: by the model */
    static const char *const lanes[] = {"team=32,batch=4,order=1", "team=4,batch=8", "order=0"};
    if (strcmp(r->algorithm, "gpu-one-pass") == 0)
        snprintf(r->parameters, sizeof r->parameters, "%s,limit=%lld", lanes[tamis_random_below(random, 3)],
                 (long long)(1 + tamis_random_below(random, 60)));
    static const char *const teams[] = {"team=32,split=4,order=1", "team=4,split=1,loads=2,slice=8", "order=0"};
    if (strcmp(r->algorithm, "gpu-rows") == 0)
        snprintf(r->parameters, sizeof r->parameters, "%s,limit=%lld", teams[tamis_random_below(random, 3)],
                 (long long)(1 + tamis_random_below(random, 60)));
    if (strcmp(r->algorithm, "gpu-teams") == 0) { /* rows of several teams, within a warp and beyond */
        const int used = snprintf(r->parameters, sizeof r->parameters, "share=%d,order=%d,group=%d,apart=%d",
                                  1 << tamis_random_below(random, 4), (int)tamis_random_below(random, 3),
                                  64 << tamis_random_below(random, 4), (int)tamis_random_below(random, 2));
        snprintf(r->parameters + used, sizeof r->parameters - (size_t)used, ",%s=%lld",
                 r->operation == TAMIS_OP_SPMM ? "slice" : "batch",
                 r->operation == TAMIS_OP_SPMM ? slice : 4 + 4 * (long long)tamis_random_below(random, 2));
    }
    if (strcmp(r->algorithm, "gpu-panels") == 0)
        snprintf(r->parameters, sizeof r->parameters, "panel=%lld,columns=%lld,part=%lld,slice=%lld",
                 (long long)(1 + tamis_random_below(random, 20)), (long long)(1 + tamis_random_below(random, 8)),
                 (long long)(1 + tamis_random_below(random, 200)), slice);
    if (strcmp(r->algorithm, "gpu-nonzeros") == 0 && r->operation == TAMIS_OP_SDDMM)
        snprintf(r->parameters, sizeof r->parameters, "%s,chunk=%lld,slice=%lld,walk=%lld",
                 nonzeros[tamis_random_below(random, 2)], (long long)(8 + tamis_random_below(random, 90)), slice,
                 (long long)tamis_random_below(random, 3));
}

/* Parameters that cut chunks and tiles even in small problems. */
static void draw_parameters(run *r, tamis_random *random) {
    r->parameters[0] = 0;
    if (r->c->flags & CASE_DEFAULTS || tamis_random_below(random, 2)) return;
    const long long chunk = (long long)(8 + tamis_random_below(random, 40));
    if (mirror_copies(r->on)) {
        draw_gpu_parameters(r, random);
        return;
    }
    if (strcmp(r->algorithm, "cpu-tiled") == 0)
        snprintf(r->parameters, sizeof r->parameters, "chunk=%lld,tile_columns=%lld,block_rows=%lld", chunk,
                 (long long)(1 + tamis_random_below(random, 40)), (long long)(1 + tamis_random_below(random, 20)));
    else if (strcmp(r->algorithm, "esimd-row-simd") == 0)
        snprintf(r->parameters, sizeof r->parameters, "vlc=%lld,nt=%lld", chunk,
                 (long long)(1 + tamis_random_below(random, 16)));
    else if (strcmp(r->algorithm, "cpu-panels") == 0) /* runs of any length: small problems have only short ones */
        snprintf(r->parameters, sizeof r->parameters, "prefetch=%lld,rows=%d,least=%lld",
                 (long long)tamis_random_below(random, 8), tamis_random_below(random, 2) ? 6 : 8,
                 (long long)(1 + tamis_random_below(random, 4)));
    else if (strcmp(r->algorithm, "cpu-amx") == 0) /* so few nonzeros in a cell that most panels go by cells */
        snprintf(r->parameters, sizeof r->parameters, "least=%lld,together=%d,cells=%d",
                 (long long)(1 + tamis_random_below(random, 9)), 1 + (int)tamis_random_below(random, 4),
                 1 + (int)tamis_random_below(random, 9));
    else if (strcmp(r->algorithm, "cpu-nonzeros") == 0)
        snprintf(r->parameters, sizeof r->parameters, "chunk=%lld,prefetch=%lld,stream=%d", chunk,
                 (long long)tamis_random_below(random, 40), (int)tamis_random_below(random, 2));
}

static problem_options draw_options(const cross_case *c, tamis_type type, tamis_random *random) {
    problem_options o = {.rows = c->rows,
                         .cols = c->cols,
                         .nnz = c->nnz,
                         .inner = c->inner,
                         .width = c->width,
                         .shape = c->shape,
                         .type = type,
                         .special = c->special,
                         .sorted = !(c->flags & CASE_UNSORTED)};
    const bool either = !(c->flags & (CASE_DISTINCT | CASE_REPEATS | CASE_DEFAULTS));
    o.distinct = either ? tamis_random_below(random, 2) == 1 : (c->flags & CASE_DISTINCT) != 0;
    o.format = c->flags & CASE_COO ? TAMIS_COO : TAMIS_CSR;
    o.index_type = c->flags & CASE_WIDE_INDEX ? TAMIS_I64 : TAMIS_I32;
    o.offset_type = c->flags & CASE_WIDE_OFFSET ? TAMIS_I64 : TAMIS_I32;
    o.batch = c->flags & CASE_BATCH ? 3 : 1;
    o.pattern = c->flags & CASE_PATTERN;
    if (c->flags & CASE_SHARED) o.shared = 1 + (unsigned)tamis_random_below(random, 15);
    o.padding = c->flags & CASE_PADDED ? 1 + tamis_random_below(random, 5) : 0;
    o.misalignment = c->flags & CASE_UNALIGNED ? 1 + tamis_random_below(random, 3) : 0;
    if (c->flags & CASE_COLUMN_MAJOR)
        for (int i = 0; i < 4; i++) o.layouts[i] = tamis_random_below(random, 3) ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
    o.d_is_b = c->inner == c->width && tamis_random_below(random, 2);
    return o;
}

const char *const cross_isas[CROSS_ISAS] = {"v2",           "v3",  "v4",   "v4-bf16", "v4-amx", "v4-amx-emulated",
                                            "amx-emulated", "sve", "neon", "generic"};
const char *cross_isa = NULL;

bool cross_isa_runs(const char *isa) {
    tamis_device *device = NULL;
    setenv("TAMIS_CPU_ISA", isa, 1);
    const bool runs = tamis_device_open("cpu", &device) == TAMIS_OK;
    tamis_device_close(device);
    return runs;
}

unsigned cross_isa_types(const char *isa) { return cross_isa_runs(isa) ? test_variant_types(TEST_KERNELS) : 0; }

/* The instruction set asked for, or one of those that run here. */
static const char *draw_isa(tamis_random *random, tamis_device **device) {
    for (;;) {
        const char *const name = cross_isa ? cross_isa : cross_isas[tamis_random_below(random, CROSS_ISAS)];
        setenv("TAMIS_CPU_ISA", name, 1);
        if (tamis_device_open("cpu", device) == TAMIS_OK) return name;
        if (cross_isa) abort(); /* it ran before */
    }
}

/* NaN and infinity must leave enough to compare, and what they leave must have bounds. */
static void count_special(const run *r) {
    for (int64_t m = 0; m < r->p->options.batch && r->c->special != 0; m++)
        for (int64_t i = 0; i < r->on->out.here.rows * r->on->out.here.cols; i++) {
            const bool finite = isfinite(r->right[0].want[m][i]);
            r->counts->special++;
            r->counts->finite += finite;
            r->counts->unbounded += finite && !isfinite(r->right[0].bound[m][i]);
        }
}

void cross_run(const char *device_name, const cross_case *c, tamis_operation operation, tamis_edge edge,
               tamis_type type, int most, tamis_random *random, cross_counts *counts) {
    static const int thread_counts[] = {1, 2, 3, 5, 16};
    tamis_device *device = NULL;
    const problem_options options = draw_options(c, type, random);
    problem p = problem_make(&options, random);
    run r = {.c = c, .operation = operation, .p = &p, .counts = counts};
    r.call = call_of(edge, c->flags & CASE_ALPHA_ZERO ? 0 : 0.75, c->flags & CASE_BETA ? -0.5 : 0);
    r.call.options.edge_scale = 0.4;
    if (tamis_random_below(random, 2)) r.call.options.edge_epsilon = 0.25; /* else next to nothing is a floor */
    r.call.options.batch = p.options.batch;
    r.threads = c->flags & CASE_MANY_THREADS ? 16 : thread_counts[tamis_random_below(random, 5)];

    r.isa = device_name;
    r.known = strcmp(device_name, "cpu") == 0;
    r.may_round = type == TAMIS_F32 && !r.known;
    if (r.known)
        r.isa = draw_isa(random, &device);
    else if (tamis_device_open(device_name, &device) != TAMIS_OK)
        abort(); /* main has seen that it can be opened */
    r.call.on = device;
    mirror on = mirror_make(device, &p, operation);
    r.on = &on;
    matrix_draw(&on.out, -1, 1, random);
    r.old = matrix_copy(&on.out);
    test_call loose = r.call;
    loose.options.math = TAMIS_MATH_TF32;
    r.right[TAMIS_MATH_EXACT] = expect_members(&p, operation, &r.call, &on.out);
    if (r.may_round) r.right[TAMIS_MATH_TF32] = expect_members(&p, operation, &loose, &on.out);
    count_special(&r);
    const char *const family = r.known ? "cpu" : "gpu";
    const int count = tamis_algorithm_count() + 2; /* and auto, and the one-shot call */
    const int first = most ? (int)tamis_random_below(random, count) : 0;
    for (int i = 0, done = 0; i < count && (most == 0 || done < most); i++) {
        const int number = (first + i) % count;
        if (number == count - 1) {
            r.any_order = false;
            run_once(&r);
            done++;
            continue;
        }
        tamis_algorithm_description algorithm = {.name = "auto", .operations = ~0u};
        if (number < count - 2 && tamis_algorithm_at(number, &algorithm) != TAMIS_OK) abort();
        r.algorithm = algorithm.name;
        if (!(algorithm.operations & 1u << operation)) continue;
        if (algorithm.device && strcmp(algorithm.device, family) != 0) continue;
        r.any_order = algorithm.any_order;
        draw_parameters(&r, random);
        run_plans(&r, random);
        done++;
    }
    mirror_free(&on);
    for (int i = 0; i < 2; i++) expect_free(&r.right[i]);
    free(r.old);
    problem_free(&p);
    tamis_device_close(device);
}
