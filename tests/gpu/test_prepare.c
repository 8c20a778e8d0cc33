/*
 * The host side of every GPU method on a device that compiles nothing and launches nothing (fake.h): each prepares and
 * executes in the stream that it is given and in no other, with every allocation, of the host and of the device,
 * failing in turn.
 */
#include "support/test.h"

#include "base/edges.h"
#include "gpu/algorithms.h"
#include "gpu/backend.h"
#include "gpu/ceilings/ceilings.h"
#include "gpu/panels/panels_build.h"
#include "gpu/plan.h"
#include "instances.h"
#include "select/rates.h"
#include "support/problem.h"

static long prepared, declined, failures, faults;

/* Devices stay: kernels that are kept for the process point to them. */
static fake_device *fresh_device(void) {
    static struct kept {
        fake_device device;
        struct kept *next;
    } * all;
    static int number;
    struct kept *const made = malloc(sizeof *made);
    if (!made) abort();
    fake_device_make(&made->device, &fake_chips[1], number++ % 1000);
    made->device.stream = &made->device; /* any that is not the default one */
    made->next = all;
    all = made;
    return &made->device;
}

static void complain(const instance *x, const char *what) {
    if (++failures > 30) return;
    printf("FAILED %s %s %s %s, K = %lld, L = %lld: %s\n", x->algorithm->description.name,
           tamis_operation_name(x->operation), tamis_edge_name(x->edge), tamis_type_name(x->type), (long long)x->inner,
           (long long)x->width, what);
}

static tamis_status execute(const instance *x, tamis_prepared *p, void *scratch) {
    const int64_t stride = (x->inner > x->width ? x->inner : x->width) + 3; /* rows that begin anywhere */
    const tamis_matrix operand = {{(void *)(uintptr_t)instance_zeros(), 0}, stride, 0};
    const tamis_operands operands = {.values = x->has_values ? operand : (tamis_matrix){.stride = 0},
                                     .a = operand,
                                     .b = operand,
                                     .d = operand,
                                     .out = operand,
                                     .batch = 1,
                                     .alpha = 1,
                                     .beta = 0.5,
                                     .scratch = {scratch, 0}};
    return tamis_gpu_execute(p, x->device->stream, &operands);
}

/* The parameters in force can be asked for by name, and are in force then. */
static void parameters_can_be_copied(instance x, const tamis_prepared *made) {
    tamis_prepared *again = NULL;
    tamis_prepared_sizes sizes, of_again;
    char parameters[sizeof sizes.parameters];
    tamis_gpu_sizes(made, &sizes);
    snprintf(parameters, sizeof parameters, "%s", sizes.parameters);
    if (parameters[0] == 0) return;
    x.parameters = parameters;
    if (instance_prepare(&x, &again) != TAMIS_OK) {
        complain(&x, tamis_last_error());
        return;
    }
    tamis_gpu_sizes(again, &of_again);
    if (strcmp(of_again.parameters, parameters) != 0) complain(&x, of_again.parameters);
    tamis_gpu_prepared_release(again);
}

/* Goes through with all the memory that it wants. */
static bool goes_through(instance x) {
    tamis_prepared *p = NULL;
    tamis_prepared_sizes sizes;
    x.device = fresh_device();
    const int64_t live = tamis_memory_live();
    const tamis_status status = instance_prepare(&x, &p);
    if (status == TAMIS_ERROR_UNSUPPORTED) {
        declined++;
        if (strlen(tamis_last_error()) < 20) complain(&x, "declined without a reason");
        return false;
    }
    if (status != TAMIS_OK) {
        complain(&x, tamis_last_error());
        return false;
    }
    parameters_can_be_copied(x, p);
    tamis_gpu_sizes(p, &sizes);
    void *const scratch = calloc(1, sizes.scratch_bytes + 1);
    const long before = x.device->launches;
    if (!scratch || execute(&x, p, scratch) != TAMIS_OK)
        complain(&x, tamis_last_error());
    else if (x.device->launches == before)
        complain(&x, "executes without a launch");
    free(scratch);
    tamis_gpu_prepared_release(p);
    if (tamis_memory_live() != live) complain(&x, "something is left when it has gone through");
    if (x.device->released_wrongly) complain(&x, "memory is released as another stream's");
    prepared++;
    return true;
}

/* The n-th allocation fails, for every n: each time on a device that has compiled nothing yet. */
static void fails_clearly(instance x) {
    for (int64_t n = 1;; n++) {
        tamis_prepared *p = NULL;
        x.device = fresh_device();
        const int64_t live = tamis_memory_live();
        tamis_memory_fail_at(n);
        const tamis_status status = instance_prepare(&x, &p);
        tamis_memory_fail_at(0);
        tamis_gpu_prepared_release(p);
        if (x.device->released_wrongly) complain(&x, "memory is released as another stream's when one fails");
        if (tamis_memory_live() != live) {
            char what[160];
            snprintf(what, sizeof what, "allocation %lld fails and %lld blocks are left: %.80s", (long long)n,
                     (long long)(tamis_memory_live() - live), tamis_last_error());
            complain(&x, what);
            return;
        }
        if (status == TAMIS_OK) return;
        faults++;
        if (status != TAMIS_ERROR_MEMORY || !strstr(tamis_last_error(), "no memory for")) {
            complain(&x, tamis_last_error());
            return;
        }
    }
}

/* ------------------------------------------------------------------------------------------ math */

static const char *products; /* what the last kernel of gpu-tensor was compiled with */

static tamis_status see_products(fake_device *self, const char *name, const char *source, const char *definitions) {
    if (strcmp(name, "sddmm_rounded.simt") == 0) products = "one"; /* rounded before */
    if (strcmp(name, "sddmm_tensor.cu") != 0 && strcmp(name, "sddmm_wgmma.cu") != 0) return TAMIS_OK;
    products = strstr(definitions, "-D PRODUCTS=1 ") ? "one" : strstr(definitions, "-D PRODUCTS=3 ") ? "three" : "none";
    return TAMIS_OK;
}

/* math = tf32 reaches the kernel that can make use of it, and a plan says so; no other method rounds. */
static void math_is_honoured(const tamis_algorithm *algorithm, tamis_operation operation, tamis_math math,
                             const char *wanted) {
    tamis_random random = tamis_random_start(3, 0);
    tamis_prepared *p = NULL;
    tamis_prepared_sizes sizes;
    instance x = instance_draw(fresh_device(), algorithm, operation, TAMIS_F32, 64, &random);
    x.device->compile = see_products;
    x.edge = TAMIS_EDGE_SCALE;
    x.index_type = x.offset_type = TAMIS_I32;
    x.calls = 1000000; /* the set-up of cells is nothing */
    x.once = false;
    instance_set_pattern(&x, INSTANCE_ALIKE); /* so that cells are few, and splitting rows is little, too */
    x.math = math;
    products = "no";
    if (instance_prepare(&x, &p) != TAMIS_OK) {
        complain(&x, tamis_last_error());
        return;
    }
    tamis_gpu_sizes(p, &sizes);
    if (strcmp(products, wanted) != 0) complain(&x, products);
    if (sizes.math != (strcmp(wanted, "one") == 0 ? TAMIS_MATH_TF32 : TAMIS_MATH_EXACT))
        complain(&x, "the plan does not say whether inputs are rounded to TF32");
    tamis_gpu_prepared_release(p);
}

static void check_math(void) {
    static const struct {
        const char *name;
        tamis_operation operation;
        tamis_math math;
        const char *wanted;
    } rows[] = {
        {"gpu-tensor", TAMIS_OP_SDDMM, TAMIS_MATH_EXACT, "three"},
        {"gpu-tensor", TAMIS_OP_SDDMM, TAMIS_MATH_TF32, "one"},
        {"gpu-two-steps", TAMIS_OP_FUSED, TAMIS_MATH_EXACT, "three"}, /* the first of which is gpu-tensor here */
        {"gpu-two-steps", TAMIS_OP_FUSED, TAMIS_MATH_TF32, "one"},
        {"gpu-rounded", TAMIS_OP_SDDMM, TAMIS_MATH_TF32, "one"},
        {"gpu-panels", TAMIS_OP_SDDMM, TAMIS_MATH_TF32, "no"},
    };
    for (int a = 0; tamis_gpu_catalogue(a); a++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strcmp(tamis_gpu_catalogue(a)->description.name, rows[i].name) == 0)
                math_is_honoured(tamis_gpu_catalogue(a), rows[i].operation, rows[i].math, rows[i].wanted);
}

/* ------------------------------------------------------------------------------------------ sizes */

/* Cells of matrices whose arrays take more bytes than 64 bits count: refused by name, with nothing left. */
static const struct too_large {
    const char *says;
    int64_t rows, cols, nnz, panel_rows;
    tamis_index_type index_type;
    bool accepted; /* nonzeros are counted by its indices */
} too_large[] = {
    {"the bytes of rows of the nonzeros do not fit the address space", 1000, 1000, 1LL << 61, 128, TAMIS_I32, false},
    {"the bytes of rows of the nonzeros do not fit the address space", 1000, 1000, 1LL << 61, 128, TAMIS_I64, true},
    {"9223372036854775807 panels", INT64_MAX, 1, 5, 1, TAMIS_I64, true},
};

static void check_sizes(void) {
    for (size_t i = 0; i < sizeof too_large / sizeof too_large[0]; i++) {
        static const tamis_gpu_method named = {.name = "cells"};
        const struct too_large *const t = &too_large[i];
        tamis_prepared p = {.device = &fresh_device()->shared,
                            .method = &named,
                            .problem = {.rows = t->rows, .cols = t->cols, .nnz = t->nnz, .index_type = t->index_type}};
        const int64_t live = tamis_memory_live();
        tamis_gpu_cells cells;
        char reason[200] = "";
        p.problem.device = p.device;
        const tamis_status status = tamis_gpu_cells_build(&p, t->panel_rows, 128, 4096, &cells);
        const bool accepted = tamis_gpu_cells_accept(&p.problem, reason, sizeof reason);
        if (status == TAMIS_ERROR_OVERFLOW && strstr(tamis_last_error(), t->says) && accepted == t->accepted &&
            tamis_memory_live() == live)
            continue;
        failures++;
        printf("FAILED %s: status %d, %s, %s\n", t->says, (int)status, tamis_last_error(), reason);
    }
}

/* ------------------------------------------------------------------------------------------ gpu-long-rows */

/* Attention in 16 or 32 bits, with as many nonzeros in each row. */
typedef struct attention {
    int64_t rows, cols, length, width, members;
    tamis_type type;
    double panel_fresh[2], row_fresh;
} attention;

/* What is predicted to be fastest for a thousand calls, and what gpu-long-rows is predicted to take, of a member. */
typedef struct forecast {
    const char *best;
    double seconds, long_rows; /* with the share of the set-up; without */
} forecast;

static forecast forecast_of(const attention *x) {
    forecast found = {.best = ""};
    tamis_evidence evidence = {.profile = {.rows = x->rows,
                                           .cols = x->cols,
                                           .nnz = x->rows * x->length,
                                           .mean = (double)x->length,
                                           .max = x->length,
                                           .min = x->length,
                                           .density = (double)x->length / (double)x->cols,
                                           .sorted = true},
                               .ceilings = tamis_gpu_default_ceilings(),
                               .fresh_share = 1 / (double)x->rows,
                               .panel_fresh = {x->panel_fresh[0], x->panel_fresh[1]},
                               .row_fresh = x->row_fresh,
                               .expected_calls = 1000};
    tamis_rates_built_in(&tamis_cuda_backend, 0, evidence.rates);
    const tamis_problem asked = {.operation = TAMIS_OP_FUSED,
                                 .edge = TAMIS_EDGE_SOFTMAX,
                                 .type = x->type,
                                 .output_type = x->type,
                                 .value_type = x->type,
                                 .rows = x->rows,
                                 .cols = x->cols,
                                 .nnz = x->rows * x->length,
                                 .inner = x->width,
                                 .width = x->width,
                                 .edge_constants = {1, 0, 0},
                                 .batch = x->members,
                                 .threads = 1,
                                 .deterministic = true,
                                 .parameters = "",
                                 .evidence = &evidence,
                                 .device = &fresh_device()->shared};
    for (int a = 0; tamis_gpu_catalogue(a); a++) {
        const tamis_algorithm *const algorithm = tamis_gpu_catalogue(a);
        char reason[256];
        tamis_prediction prediction = {.setup_seconds = 0};
        if (!(algorithm->description.operations & 1u << TAMIS_OP_FUSED) ||
            !tamis_gpu_accepts(algorithm, &asked, reason, sizeof reason))
            continue;
        tamis_gpu_predict(algorithm, &asked, &prediction);
        const double seconds = prediction.call_seconds + prediction.setup_seconds / 1000;
        if (strcmp(algorithm->description.name, "gpu-long-rows") == 0) found.long_rows = prediction.call_seconds;
        if (*found.best && seconds >= found.seconds) continue;
        found.best = algorithm->description.name;
        found.seconds = seconds;
    }
    return found;
}

/* One query for each of the heads of key heads: rows with all columns. */
static const struct decoding {
    int64_t rows, columns, members;
    tamis_type type;
} decodings[] = {{4, 4096, 8, TAMIS_BF16},   {4, 32768, 8, TAMIS_BF16},  {4, 131072, 8, TAMIS_BF16},
                 {4, 32768, 64, TAMIS_BF16}, {8, 131072, 1, TAMIS_BF16}, {1, 131072, 1, TAMIS_F32},
                 {4, 32768, 8, TAMIS_F32}};

/* Several of them are predicted to be fastest by gpu-long-rows, in little more than the time in which B and D are read.
 */
static void check_decoding(void) {
    enum { WIDTH = 128 };
    for (size_t i = 0; i < sizeof decodings / sizeof decodings[0]; i++) {
        const struct decoding *const d = &decodings[i];
        const double alone = 1 / (double)d->rows, members = (double)d->members;
        const forecast found = forecast_of(&(attention){.rows = d->rows,
                                                        .cols = d->columns,
                                                        .length = d->columns,
                                                        .width = WIDTH,
                                                        .members = d->members,
                                                        .type = d->type,
                                                        .panel_fresh = {alone, alone},
                                                        .row_fresh = alone});
        const double bytes = (double)d->columns * 2 * WIDTH * (double)tamis_type_size(d->type);
        const double floor = bytes / (1e9 * tamis_gpu_default_ceilings().memory_gbs[0]); /* of a member */
        const bool first = strcmp(found.best, "gpu-long-rows") == 0 || d->members == 1;  /* others may be as good */
        if (first && found.long_rows >= floor && found.long_rows < 1.5 * found.seconds + 2e-6 &&
            found.long_rows < 1.3 * floor + 15e-6 / members)
            continue;
        failures++;
        printf("FAILED: %s in %.1f us; gpu-long-rows in %.1f, the floor %.1f\n", found.best, 1e6 * found.seconds,
               1e6 * found.long_rows, 1e6 * floor);
    }
}

/* Masks of 4096 rows, 16 members, K = L = 64: a window of 256, whose rows have most of their columns in common with
   their neighbours but not all, and blocks of 64 rows, which do have the same. Either is gpu-tensor's, by far. An H100
   took 604 us for all members of the window by gpu-long-rows, and 36 by gpu-tensor (lab/notes/attention.md). */
static void check_masks(void) {
    static const struct {
        attention mask;
        double least; /* seconds of all members, at which gpu-long-rows is predicted */
    } masks[] = {{{4096, 4096, 257, 64, 16, TAMIS_BF16, {0.0116, 0.0077}, 1}, 600e-6},
                 {{4096, 4096, 384, 64, 16, TAMIS_BF16, {0.0148, 0.0125}, 1.0 / 64}, 150e-6}};
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        const forecast found = forecast_of(&masks[i].mask);
        const double all = found.long_rows * (double)masks[i].mask.members;
        if (strcmp(found.best, "gpu-tensor") == 0 && all >= masks[i].least && found.long_rows > 1.5 * found.seconds)
            continue;
        failures++;
        printf("FAILED: a mask by %s in %.1f us a member; gpu-long-rows in %.1f\n", found.best, 1e6 * found.seconds,
               1e6 * found.long_rows);
    }
}

TEST_RUN() {
    tamis_random random = tamis_random_start(test_seed(), 0);
    setenv("XDG_CACHE_HOME", "", 1); /* nothing of this is to be kept on disk */
    unsetenv("HOME");
    fake_device *const common = fresh_device();
    common->stream = NULL; /* the probe's */
    if (instance_utilities(common) != TAMIS_OK) {
        failures++;
        printf("FAILED: what plans share: %s\n", tamis_last_error());
    }
    for (int a = 0; tamis_gpu_catalogue(a); a++)
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
            for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 1 : TAMIS_EDGE_COUNT); edge++) {
                if (!(tamis_gpu_catalogue(a)->description.operations & 1u << operation)) continue;
                const int64_t first = tamis_random_below(&random, 4);
                bool failing = edge == 0 || edge == TAMIS_EDGE_SOFTMAX;
                for (int64_t type = first; type < first + 4; type++) {
                    const int64_t k = instance_widths[tamis_random_below(&random, instance_width_count)];
                    instance x = instance_draw(NULL, tamis_gpu_catalogue(a), (tamis_operation)operation,
                                               (tamis_type)(type % 4), k, &random);
                    x.edge = (tamis_edge)edge;
                    x.rows = 1 << 12; /* sanitizers take their time over large blocks */
                    if (!goes_through(x) || !failing) continue;
                    fails_clearly(x);
                    failing = test_whole(); /* types allocate alike: one, another in each run */
                }
            }
    check_math();
    check_sizes();
    check_decoding();
    check_masks();
    printf("%ld plans, %ld declined, %ld allocations made to fail, %ld failures\n", prepared, declined, faults,
           failures);
    if (tamis_memory_live() != 0) printf("FAILED: %lld blocks are left\n", (long long)tamis_memory_live());
    return failures || tamis_memory_live() != 0;
}
