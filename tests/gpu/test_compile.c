/*
 * Every kernel compiled for chips that are not here, by NVIDIA's run-time compiler, which needs no driver: exactly the
 * instances that the methods ask for, since each method prepares itself on a device whose limits are that chip's
 * (fake.h). What the assembler reports is checked: no kernel may spill registers or keep arrays in local memory.
 *   test_compile [SHARE [DRAWS [SECONDS [any|each [PART]]]]]
 * SHARE per cent of (chip, algorithm, operation, type, K), DRAWS times each, with edge, index types and the rest drawn;
 * each (chip, algorithm, operation, type) at least once. After SECONDS no other compilation is begun: what is left out
 * is counted, and it is never a file's only instance on a chip; with "any", on one of the chips. PART: only files with
 * that in their names. TAMIS_TEST_SEED draws the same ones again.
 */
#include "support/test.h"

#include <time.h>

#include "compile_jobs.h"
#include "gpu/algorithms.h"
#include "gpu/compile/jit.h"
#include "gpu/plan.h"
#include "gpu/runtime/nvrtc.h"
#include "instances.h"
#include "support/seed.h"

/*
 * Kernels that may use some local memory, how much, and why. A call saves the registers that it may change: divisions
 * of 64-bit integers and of reals, exp and the like are calls in their rare cases, and where the assembler hands out
 * few registers, a few of them are saved in memory around a call that is hardly ever made.
 */
static const struct allowed {
    const char *file;
    int bytes;
    const char *reason;
    const char *with; /* only instances with this definition; NULL: all */
} allowed[] = {
    {"panel_index.simt", 16, "saved around 64-bit divisions; a plan runs it once"},
    {"probe.simt", 8, "saved around 64-bit divisions"},
    {"dynamic_convert.simt", 8, "saved around exp"},
    {"dynamic_finish.simt", 16, "saved around exp"},
    {"dynamic_shared.simt", 40, "saved around exp and divisions"},
    {"preds.simt", 40, "saved around exp and divisions"},
    {"row_simd_sddmm.simt", 40, "saved around exp and divisions"},
    {"sddmm_nonzeros.simt", 40,
     "saved around exp and divisions, where a group takes a whole multiprocessor; places of rows, to load more at once"},
    {"sddmm_rounded.simt", 8, "places of results, saved around those that are not finite and are computed again"},
    {"sddmm_panels.simt", 64, "saved around exp and divisions, 16-bit rows of 512"},
    {"chunks.simt", 16, "saved around exp"},
    {"add_rows.simt", 8, "saved around 64-bit divisions"},
    {"one_pass.simt", 32, "rows of fp64 on sm_80, for which the assembler hands out all registers"},
    {"fused_teams.simt", 72,
     "what is known ahead of the loop, where many groups share a multiprocessor; long rows of fp64 on sm_80"},
    {"split_rows.cu", 8, "columns of 16-bit numbers, where four groups share a multiprocessor"},
    {"sddmm_tensor.cu", 16, "saved around the plain product of what is not finite, of a batch on sm_80"},
    {"sddmm_wgmma.cu", 32, "saved around exp and divisions, of neighbouring columns and long K"},
    {"spmm_wgmma.cu", 64,
     "what builders know ahead, of batches and gathered cells; the merging kernel's program has it unused"},
    {"backward_wgmma.cu", 760,
     "what functions that are called get of a thread's numbers, seldom; by mma, what a panel ends with"},
    {"backward_narrow.cu", 1040, "the same, and a text's derivatives, beside K and L of 128", "-D ARRAYS=0 "},
    {"backward_narrow.cu", 560,
     "what functions that are called get of a thread's numbers, seldom; by mma, K and L of 128 beside scores"},
    {"backward_wide.cu", 500, "what functions that are called get of a thread's numbers, seldom"},
    {"fused_narrow.cu", 500, "what functions that are called get of a thread's numbers, seldom"},
    {"fused_large.cu", 600,
     "the same; and what is known ahead of the loop, beside results of more than 128 columns or arrays of a text"},
    {"fused_wgmma.cu", 200, "rows of D of more than 64 columns, beside scores"},
    {"cusddmm_sm.simt", 40, "saved around exp, of 64-bit indices"},
    {"cusddmm_l2.simt", 8, "saved around exp, where a group of 512 leaves 40 registers"},
    {"edge_gradient.simt", 16, "saved around divisions"},
    {"edge_text.simt", 16, "saved around functions of fp64"},
    {"edge_network.simt", 16, "saved around exp and 64-bit divisions"},
    {"network_forward.cu", 400,
     "what is known ahead of the loop, where twelve warps share the registers; around tanh, which is called"},
    {"network_back.cu", 400,
     "what is known ahead of the loop, beside the sums of products; around tanh, which is called"},
    {"network_recompute.cu", 400, "gradients that are loaded ahead of two products; around tanh, which is called"},
    {"network_descend.cu", 500, "vectors that are loaded ahead of the products, of two hidden layers and of fp32"},
    {"network_weights.cu", 64, "places of copies, which are known ahead of the loop"},
    {"segments.simt", 24, "saved around exp, of fp64"},
    {"merge.simt", 64, "saved around exp, of fp64, and divisions", "-D ORDER=1"},
    {"softmax.simt", 16, "saved around exp"},
    {"cached.simt", 16, "what is known ahead of the loop, in uniform registers of sm_90 and later"},
    {"long_rows.simt", 272, "sums of up to eight rows that are not aligned, so that their numbers are read one by one"},
    {"attention.simt", 32, "saved around exp, of fp64; what is known ahead of the loop, from sm_100 on"},
    {"attention_columns.simt", 8, "what is known ahead of the loop, where columns are gathered by 64-bit indices"},
    {"attention_rows.simt", 24, "saved around 64-bit divisions and exp, beside 64-bit indices"},
    {"message_largest.simt", 16, "rows of bf16 with 64-bit indices, known ahead of the loop"},
    {"message_numbers.simt", 16, "saved around divisions"},
    {"message_sums.simt", 8, "what is known ahead of the loop, on sm_120, which hands out 56 or 72 registers here"},
    {"message_vectors.simt", 8, "what is known ahead of the loop, on sm_120, which hands out 72 registers here"},
    {"dense_sums.simt", 16, "saved around the logarithm"},
    {"study_dense_grid.simt", 16, "saved around 64-bit divisions"},
    {"study_fused_grid.simt", 32, "saved around exp and divisions"},
    {"study_spmm.simt", 32, "saved around exp and divisions"},
    {NULL, 0, NULL},
};

/* Chips that differ from those before them by the room that tensor cores' tiles have: gpu-tensor alone is compiled. */
static bool is_like_another(int architecture) {
    return architecture == 86 || architecture == 89 || architecture == 120;
}

static job_list jobs;
static long prepared, declined, failures, left_out;
static bool any_chip;
static const char *only = ""; /* files of such a name */

static tamis_status take_job(fake_device *self, const char *name, const char *source, const char *definitions) {
    static const char code[] = "#define EDGE_TEXT "; /* the child that compiles a file expands it again */
    if (!strstr(name, only)) return TAMIS_OK;
    job_add(&jobs, self->chip->architecture, name, definitions,
            strncmp(source, code, sizeof code - 1) == 0 ? source : NULL);
    return TAMIS_OK;
}

static void complain(const char *what, const fake_device *device, const char *whose) {
    failures++;
    printf("FAILED on %s: %s: %s: %s\n", device->shared.limits.model, whose, what, tamis_last_error());
}

/* ------------------------------------------------------------------------------------------ instances */

static void prepare(const instance *x) {
    tamis_prepared *made = NULL;
    switch (instance_prepare(x, &made)) {
    case TAMIS_OK: prepared++; break;
    case TAMIS_ERROR_UNSUPPORTED: declined++; break;
    default: complain("does not prepare", x->device, x->algorithm->description.name);
    }
    tamis_gpu_prepared_release(made);
}

/* Whatever is drawn, each kernel comes once: some are softmax's alone, and of methods that do not keep its rows, and
   some methods have no softmax, and of 16-bit types not every result. */
static void be_sure(instance *x) {
    /* at most K = 128, K = L = 256 in fp64, and K and L = 256 in fp64 */
    static const char *const narrow[] = {"gpu-tensor", "gpu-one-pass", "gpu-teams", "gpu-long-rows"};
    for (int i = 0; i < 4; i++)
        if (x->operation == TAMIS_OP_FUSED && strcmp(x->algorithm->description.name, narrow[i]) == 0)
            x->inner = x->width = 64;
    if (strcmp(x->algorithm->description.name, "gpu-long-rows") == 0) instance_set_pattern(x, INSTANCE_DENSE); /* few */
    if (x->type != TAMIS_F32 && x->type != TAMIS_F64) {
        if (x->operation != TAMIS_OP_FUSED || strcmp(x->algorithm->description.name, "gpu-tensor") != 0) return;
        x->edge = TAMIS_EDGE_SOFTMAX;
        x->has_values = x->keep_softmax = x->once = false;
        x->output_type = x->type;
        return;
    }
    x->edge = x->type == TAMIS_F32 ? TAMIS_EDGE_SOFTMAX : TAMIS_EDGE_SCALE;
    x->keep_softmax = false;
}

static tamis_edge_text *text_of(const char *edge) {
    static const tamis_edge_number cap = {"cap", 30};
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_edge_text *text;
    o.edge = TAMIS_EDGE_TEXT;
    o.edge_text = edge;
    o.edge_numbers = &cap;
    o.edge_number_count = 1;
    works(tamis_edge_text_make(&o, &text));
    return text;
}

/* Scores that are texts: a soft cap, and places with arrays. */
static void prepare_texts(instance x) {
    static const char *const texts[] = {"softmax(tanh(x * 0.125 / cap) * cap)",
                                        "softmax(where(j <= i, x * row.b, log(0)) + col.c + head.g * (h + s))"};
    if (x.operation != TAMIS_OP_FUSED || strcmp(x.algorithm->description.name, "gpu-tensor") != 0) return;
    for (int t = 0; t < 2 && x.type != TAMIS_F64; t++) {
        tamis_edge_text *const text = text_of(texts[t]);
        x.edge = TAMIS_EDGE_SOFTMAX;
        x.text = text;
        x.has_values = t == 1 && x.type == TAMIS_F32;
        prepare(&x);
        tamis_release(text);
    }
}

/* Other patterns may have other kernels. */
static bool has_other_kernels(const instance *x) {
    if (x->type == TAMIS_F32) return x->operation == TAMIS_OP_SDDMM;
    return x->type != TAMIS_F64 && x->operation == TAMIS_OP_FUSED &&
           strcmp(x->algorithm->description.name, "gpu-tensor") == 0;
}

static void ask_methods(fake_device *device, int share, int draws, uint64_t seed) {
    uint64_t stream = 0;
    for (int a = 0; tamis_gpu_catalogue(a); a++)
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
            for (int type = 0; type <= TAMIS_BF16; type++) {
                if (!(tamis_gpu_catalogue(a)->description.operations & 1u << operation)) continue;
                if (is_like_another(device->chip->architecture) &&
                    strcmp(tamis_gpu_catalogue(a)->description.name, "gpu-tensor") != 0)
                    continue;
                tamis_random random = tamis_random_start(seed, stream++);
                const int64_t always = tamis_random_below(&random, instance_width_count);
                for (int w = 0; w < instance_width_count; w++)
                    for (int draw = 0; draw < draws; draw++) {
                        if (tamis_random_below(&random, 100) >= share && w != always) continue;
                        instance x = instance_draw(device, tamis_gpu_catalogue(a), (tamis_operation)operation,
                                                   (tamis_type)type, instance_widths[w], &random);
                        if (w == always && operation != TAMIS_OP_SPMM) be_sure(&x);
                        prepare(&x);
                        if (w == always) prepare_texts(x);
                        if (w != always || !has_other_kernels(&x)) continue;
                        if (type == TAMIS_F32) x.math = x.math == TAMIS_MATH_TF32 ? TAMIS_MATH_EXACT : TAMIS_MATH_TF32;
                        prepare(&x);
                        for (int which = 0; which < INSTANCE_PATTERNS; which++) {
                            instance_set_pattern(&x, (instance_pattern)which);
                            prepare(&x);
                            prepare_texts(x);
                        }
                        if (operation == TAMIS_OP_FUSED) continue;
                        x.unsorted = true;
                        prepare(&x);
                    }
            }
}

static void prepare_back(const instance *x) {
    switch (instance_prepare_back(x)) {
    case TAMIS_OK: prepared++; break;
    case TAMIS_ERROR_UNSUPPORTED: declined++; break;
    default: complain("does not prepare", x->device, "the gradient in one piece");
    }
}

/* The gradient of attention in one piece, which no algorithm of the table prepares: each of its kernels, of some
 * indices. */
static void ask_gradient(fake_device *device, uint64_t seed) {
    tamis_random random = tamis_random_start(seed, 1u << 20);
    static const int64_t widths[][2] = {{64, 64}, {128, 128}, {80, 40}, {256, 256}}; /* of 16 bits */
    for (int type = 0; type <= TAMIS_BF16; type++)
        for (int k = 0; k < (type == TAMIS_F32 ? 4 : type == TAMIS_F64 ? 1 : 4); k++) {
            instance x = instance_draw(device, tamis_gpu_catalogue(0), TAMIS_OP_FUSED, (tamis_type)type, 64, &random);
            x.edge = TAMIS_EDGE_SOFTMAX;
            x.text = NULL;
            x.has_values = x.once = false;
            x.inner = type == TAMIS_F32 && k != 1 && k != 2 ? 64 : widths[k][0];
            x.width = type == TAMIS_F32 && k != 1 && k != 2 ? 64 : widths[k][1];
            x.output_type = x.type;
            x.math = type == TAMIS_F32 && k == 3 ? TAMIS_MATH_TF32 : TAMIS_MATH_EXACT;
            prepare_back(&x);
            tamis_edge_text *const text = text_of("softmax(tanh(x * 0.125 / cap) * cap + 0.1 * (i - j))");
            x.text = text;
            prepare_back(&x);
            tamis_release(text);
        }
}

/* ------------------------------------------------------------------------------------------ verdict */

static bool is_kernel(const char *name) {
    const size_t length = strlen(name);
    return (length > 5 && strcmp(name + length - 5, ".simt") == 0) ||
           (length > 3 && strcmp(name + length - 3, ".cu") == 0);
}

static const struct allowed *allowance(const char *file, const char *definitions) {
    const struct allowed *a = allowed;
    while (a->file && (strcmp(a->file, file) != 0 || (a->with && !strstr(definitions, a->with)))) a++;
    return a;
}

/* One line for each file and chip; a file that was not met is a hole in this test. */
static void report_file(const char *name, int architecture) {
    int count = 0, registers = 0, shared = 0;
    int local = 0;
    const char *reason = NULL;
    bool known = false; /* though left out */
    double seconds = 0;
    for (int64_t i = 0; i < jobs.count; i++) {
        const job *const j = &jobs.jobs[i];
        const job_result *const r = &jobs.results[i];
        if (j->architecture != architecture || strcmp(j->name, name) != 0) continue;
        if (r->state == JOB_WAITING) {
            left_out++;
            known = true;
            continue;
        }
        count++;
        seconds += r->seconds;
        if (r->registers > registers) registers = r->registers;
        if (r->shared > shared) shared = r->shared;
        if (r->state != JOB_DONE || !r->reported) {
            failures++;
            printf("FAILED %s for sm_%d (%s): %s\n", name, architecture, j->definitions,
                   r->state == JOB_STARTED ? "the compiler crashed"
                   : r->reported           ? r->message
                                           : "the assembler did not say what it used");
        } else if (r->stack || r->spill_stores || r->spill_loads) {
            const struct allowed *const most = allowance(name, j->definitions);
            if (r->stack > local) local = r->stack, reason = most->reason;
            if (r->stack <= most->bytes) continue;
            failures++;
            printf("FAILED %s for sm_%d (%s): %d bytes of local memory, %d spilled, %d read back, %d registers\n", name,
                   architecture, j->definitions, r->stack, r->spill_stores, r->spill_loads, r->registers);
        }
    }
    static const char *const of_wgmma[] = {"backward_wide.cu", "fused_large.cu", "network_back.cu",
                                           "network_first_layer.cu"};
    bool elsewhere = false;
    for (int i = 0; i < 4; i++)
        if (strcmp(name, of_wgmma[i]) == 0) elsewhere = architecture != 90;
    if (count == 0 && ((any_chip && known) || is_like_another(architecture) || elsewhere || !strstr(name, only)))
        return;
    if (count == 0) {
        failures++;
        printf("FAILED %s for sm_%d: no method and no utility asked for it here\n", name, architecture);
    } else {
        printf("%-28s sm_%-4d %4d instances, up to %3d registers and %6d bytes of shared memory, %5.1f s", name,
               architecture, count, registers, shared, seconds);
        if (local) printf(", %d bytes of local memory: %s", local, reason ? reason : "");
        printf("\n");
    }
}

TEST_RUN() {
    const int share = argc > 1 ? atoi(argv[1]) : 100, draws = argc > 2 ? atoi(argv[2]) : 1;
    const int seconds = argc > 3 ? atoi(argv[3]) : 1000000;
    any_chip = argc > 4 && strcmp(argv[4], "any") == 0;
    if (argc > 5) only = argv[5];
    const uint64_t seed = test_seed();
    const time_t start = time(NULL);
    int version;
    if (tamis_nvrtc_open(&version) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return 77;
    }
    setenv("XDG_CACHE_HOME", "", 1); /* nothing of this is to be kept on disk */
    unsetenv("HOME");
    fake_device *const devices = calloc((size_t)fake_chip_count, sizeof *devices);
    if (!devices) return 1;
    for (int i = 0; i < fake_chip_count; i++) {
        if (!tamis_nvrtc_knows(fake_chips[i].architecture)) {
            printf("not for sm_%d: NVRTC %d.%d does not know it\n", fake_chips[i].architecture, version / 1000,
                   version % 1000);
            continue;
        }
        fake_device_make(&devices[i], &fake_chips[i], i);
        devices[i].compile = take_job;
        if (instance_utilities(&devices[i]) != TAMIS_OK)
            complain("do not go through", &devices[i], "the kernels that plans share");
        ask_methods(&devices[i], share, draws, seed);
        ask_gradient(&devices[i], seed);
    }
    printf("NVRTC %d.%d, seed %llu: %ld plans, %ld declined, %lld kernels to compile\n", version / 1000, version % 1000,
           (unsigned long long)seed, prepared, declined, (long long)jobs.count);
    fflush(stdout);
    jobs_run(&jobs, seed, seconds, any_chip);
    for (int s = 0; s < tamis_gpu_source_count; s++)
        for (int i = 0; i < fake_chip_count && is_kernel(tamis_gpu_sources[s].name); i++)
            if (devices[i].chip) report_file(tamis_gpu_sources[s].name, fake_chips[i].architecture);
    printf("%lld kernels compiled in %lld s, %ld left out, %ld failures\n", (long long)jobs.count - left_out,
           (long long)(time(NULL) - start), left_out, failures);
    const bool leaked = tamis_memory_live() != 0;
    if (leaked) printf("FAILED: %lld blocks are still allocated\n", (long long)tamis_memory_live());
    jobs_free(&jobs);
    free(devices);
    return failures || leaked;
}
