/*
 * What the driver is asked for, and when: memory that it would not take back, streams that are being captured into a
 * graph, arrays that lie elsewhere, code that comes and goes. CUDA's driver and compiler are fake_cuda.c's, which count
 * what they are asked; each case is a process of its own. test_gpu_driver FAKE      the path of the fake library
 */
#include "support/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <tamis/cached_attention.h>
#include <tamis/stream.h>
#include <unistd.h>

#include "gpu/algorithms.h"
#include "processes.h"
#include "support/mirror.h"

static const char *fake;

/* ------------------------------------------------------------------------------------------ a problem on the device */

typedef struct setting {
    tamis_device *device;
    problem p;
    mirror m;
    void *memory; /* room for any result */
} setting;

static void setting_open(setting *s, tamis_format format, tamis_type type, int64_t n, int64_t nnz) {
    tamis_random random = tamis_random_start(5, 0);
    const problem_options o = {
        .rows = n, .cols = n, .nnz = nnz, .inner = 16, .width = 16, .type = type, .format = format, .sorted = true};
    if (tamis_device_open("cuda:0", &s->device) != TAMIS_OK) abort();
    s->p = problem_make(&o, &random);
    s->m = mirror_make(s->device, &s->p, TAMIS_OP_SPMM);
    CHECK(tamis_device_allocate(s->device, (size_t)(nnz > n * 16 ? nnz : n * 16) * 4, &s->memory) == TAMIS_OK);
}

/* What stays is the piece that copies to the host go through: one for each thread that looked at the same time. */
static void setting_close(setting *s, int threads) {
    tamis_device_free(s->device, s->memory);
    mirror_free(&s->m);
    problem_free(&s->p);
    tamis_device_close(s->device);
    CHECK(note("wrong") == 0);
    CHECK(note("live") <= threads);
    CHECK(tamis_memory_live() == 0);
}

/* A plan for rows of `inner` elements, which has kernels of its own. */
static tamis_status make_plan_of(const setting *s, int64_t inner, tamis_plan **plan) {
    tamis_options o = options_for(TAMIS_OP_SDDMM, inner, 0);
    o.type = s->p.options.type;
    return tamis_plan_create(s->device, &s->m.S, &o, plan);
}

static tamis_status make_plan(const setting *s, tamis_plan **plan) { return make_plan_of(s, 16, plan); }

static void try_plan_of(const setting *s, int64_t inner) {
    OWN(tamis_plan) *plan = NULL;
    CHECK(make_plan_of(s, inner, &plan) == TAMIS_OK);
}

static void try_plan(const setting *s) { try_plan_of(s, 16); }

static void try_memory(const setting *s) {
    void *memory = NULL;
    CHECK(tamis_device_allocate(s->device, 100, &memory) == TAMIS_OK);
    tamis_device_free(s->device, memory);
}

/* ------------------------------------------------------------------------------------------ memory */

/* What the driver refuses to take back is counted until it takes it. */
static void refused_memory(setting *s, const void *pools) {
    tamis_plan *plan = NULL;
    CHECK(make_plan(s, &plan) == TAMIS_OK);
    const int64_t live = tamis_memory_live();
    const long pieces = note("live");
    setenv("FAKE_CUDA_FAULT", "cuMemFree_v2=900", 1);
    try_memory(s);
    CHECK(note("live") == pieces + 1 && tamis_memory_live() == live + 1);
    tamis_plan_destroy(plan);
    plan = NULL;
    CHECK(note("live") == pieces + 1);
    if (pools) CHECK(make_plan(s, &plan) == TAMIS_OK); /* in the meantime everything works, and what passes goes */
    setenv("FAKE_CUDA_FAULT", "", 1);
    try_memory(s); /* the next opportunity */
    tamis_plan_destroy(plan);
}

/* ------------------------------------------------------------------------------------------ captures */

/* Nothing that a plan asks for spoils a capture in progress: one that cannot be made says so beforehand. */
static void captures(setting *s, const void *unused) {
    tamis_plan *before = NULL, *during = NULL;
    CHECK(make_plan(s, &before) == TAMIS_OK);
    const int64_t live = tamis_memory_live();
    setenv("FAKE_CUDA_CAPTURE", "0x1234", 1);
    CHECK(make_plan(s, &during) == TAMIS_ERROR_ARGUMENT && error_has("captured") && during == NULL);
    for (int trusted = 0; trusted < 2; trusted++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_execution execution = TAMIS_EXECUTION_INIT;
        const tamis_dense P = samples_of(&s->m.S, s->memory, TAMIS_F32);
        o.trust_input = trusted != 0;
        execution.stream = (void *)(uintptr_t)0x1234;
        CHECK(tamis_sddmm(s->device, &s->m.S, &s->m.A, &s->m.B, &P, &o, &execution) == TAMIS_ERROR_ARGUMENT);
        CHECK(error_has("captured"));
    }
    CHECK(tamis_memory_live() == live);
    tamis_plan_destroy(before);
    setenv("FAKE_CUDA_CAPTURE", "", 1);
    CHECK(note("invalidated") == 0);
    try_plan(s);
}

/* Nor does what waits to be destroyed, or to be taken back by the driver. */
static void captures_beside_what_waits(setting *s, const void *unused) {
    void *const stream = (void *)(uintptr_t)0x1234;
    tamis_plan *plan = NULL;
    void *memory = NULL;
    CHECK(tamis_device_allocate_async(s->device, stream, 100, &memory) == TAMIS_OK);
    setenv("FAKE_CUDA_FAULT", "cuMemFreeAsync=900", 1);
    tamis_device_free_async(s->device, stream, memory); /* refused */
    setenv("FAKE_CUDA_FAULT", "", 1);
    CHECK(make_plan(s, &plan) == TAMIS_OK);
    CHECK(tamis_device_allocate_async(s->device, stream, 100, &memory) == TAMIS_OK);
    setenv("FAKE_CUDA_FAULT", "cuMemFreeAsync=900", 1);
    tamis_device_free_async(s->device, stream, memory);
    setenv("FAKE_CUDA_FAULT", "", 1);
    tamis_plan_destroy_async(plan, NULL);
    const int64_t live = tamis_memory_live();
    setenv("FAKE_CUDA_CAPTURE", "0x1234", 1);
    CHECK(make_plan(s, &plan) == TAMIS_ERROR_ARGUMENT && error_has("captured"));
    CHECK(note("invalidated") == 0);
    CHECK(tamis_memory_live() < live); /* the plan has gone */
    try_memory(s);
    CHECK(!*tamis_last_error() && note("invalidated") == 0);
    setenv("FAKE_CUDA_CAPTURE", "", 1);
    try_memory(s); /* the next opportunity */
}

static tamis_status sample(const setting *s, const void *a, void *p) {
    tamis_dense A = s->m.A;
    const tamis_dense P = samples_of(&s->m.S, p, TAMIS_F32);
    A.data = (void *)(uintptr_t)a;
    return tamis_sddmm(s->device, &s->m.S, &A, &s->m.B, &P, NULL, NULL);
}

static tamis_status sample_with(const setting *s, const tamis_plan *plan, const void *values) {
    const tamis_dense P = samples_of(&s->m.S, s->memory, TAMIS_F32);
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.values = values;
    return tamis_plan_sddmm(plan, &s->m.A, &s->m.B, &P, &execution);
}

/* ------------------------------------------------------------------------------------------ destroying */

/* What one object of a device has yet to destroy, a call on another one leaves alone; closing waits for its event. */
static void two_objects(setting *s, const void *unused) {
    tamis_plan *others = NULL;
    tamis_device *other = NULL;
    const tamis_options o = options_for(TAMIS_OP_SDDMM, 16, 0);
    CHECK(tamis_device_open("cuda:0", &other) == TAMIS_OK);
    const int64_t before = tamis_memory_live();
    CHECK(tamis_plan_create(other, &s->m.S, &o, &others) == TAMIS_OK);
    const int64_t plans = tamis_memory_live() - before;
    CHECK(plans > 0);
    tamis_plan_destroy_async(others, NULL);
    try_plan(s);
    CHECK(tamis_memory_live() >= before + plans);
    const long waited = calls("cuEventSynchronize");
    tamis_device_close(other);
    CHECK(calls("cuEventSynchronize") == waited + 1);
    try_plan(s);
}

/* Where the device records no event, the plan is destroyed after the work of the stream. */
static void no_event(setting *s, const void *function) {
    char fault[64];
    tamis_plan *plan = NULL;
    CHECK(make_plan(s, &plan) == TAMIS_OK);
    const long waited = calls("cuStreamSynchronize"), gone = note("gone");
    snprintf(fault, sizeof fault, "%s=700", (const char *)function);
    setenv("FAKE_CUDA_FAULT", fault, 1);
    tamis_plan_destroy_async(plan, NULL);
    setenv("FAKE_CUDA_FAULT", "", 1);
    CHECK(calls("cuStreamSynchronize") == waited + 1);
    CHECK(note("gone") - gone == (strcmp(function, "cuEventRecord") == 0)); /* the event that was made */
    CHECK(!*tamis_last_error());
}

static long looks_and_waits(void) {
    return calls("cuEventQuery") + calls("cuEventRecord") + calls("cuEventSynchronize") + calls("cuStreamSynchronize") +
           calls("cuCtxSynchronize");
}

/* Memory of the caller's, which is given back after the device's work alone. */
static void *take(void *device, size_t bytes, void *stream) {
    void *memory = NULL;
    return tamis_device_allocate(device, bytes, &memory) == TAMIS_OK ? memory : NULL;
}

static void give_back(void *device, void *memory, size_t bytes, void *stream) { tamis_device_free(device, memory); }

/* A child of fork() destroys what its parent has made, and waits for nothing. */
static void in_a_child(setting *s, const void *unused) {
    tamis_plan *plans[3] = {NULL, NULL, NULL}, *none = NULL;
    tamis_options o = options_for(TAMIS_OP_SDDMM, 16, 0);
    int status = -1;
    const tamis_allocator allocator = {.context = s->device, .allocate = take, .release = give_back};
    o.allocator = &allocator;
    for (int i = 0; i < 3; i++) CHECK(tamis_plan_create(s->device, &s->m.S, &o, &plans[i]) == TAMIS_OK);
    tamis_plan_destroy_async(plans[0], NULL);
    const pid_t child = fork();
    if (child == 0) {
        const long before = looks_and_waits();
        const bool refused = make_plan(s, &none) == TAMIS_ERROR_DEVICE && error_has("fork");
        tamis_plan_destroy_async(plans[1], NULL);
        tamis_plan_destroy(plans[2]);
        tamis_device_close(s->device);
        _exit(!(refused && looks_and_waits() == before));
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    for (int i = 1; i < 3; i++) tamis_plan_destroy(plans[i]);
}

/* ------------------------------------------------------------------------------------------ places */

/* Arrays on another GPU or on the host are named, before a kernel reads there and ends the context. */
static void places(setting *s, const void *pageable) {
    tamis_device *other = NULL;
    tamis_plan *plan = NULL;
    void *there = NULL;
    char here[4096] = "";
    CHECK(tamis_device_open("cuda:1", &other) == TAMIS_OK);
    CHECK(tamis_device_allocate(other, sizeof here, &there) == TAMIS_OK);
    const tamis_sparse S = s->m.S;
    static const char *const names[] = {"S.offsets", "S.columns", "S.values"};
    for (int i = 0; i < 6; i++) {
        const void *const wrong = i < 3 ? there : here;
        const void **const arrays[] = {&s->m.S.offsets, &s->m.S.columns, &s->m.S.values};
        *arrays[i % 3] = wrong;
        const tamis_status status = make_plan(s, &plan);
        s->m.S = S;
        if (pageable && i >= 3) {
            tamis_plan_destroy(plan);
            plan = NULL;
            continue; /* of zeros, which are no pattern, but can be read */
        }
        CHECK(status == TAMIS_ERROR_ARGUMENT && plan == NULL);
        CHECK(error_has(names[i % 3]) && error_has("cuda:0"));
        CHECK(error_has(i < 3 ? "lies on cuda:1" : "is host memory"));
    }
    manage(there);
    s->m.S.values = there;
    CHECK(make_plan(s, &plan) == TAMIS_OK);
    CHECK(sample_with(s, plan, there) == TAMIS_OK);
    manage(NULL);
    CHECK(sample_with(s, plan, there) == TAMIS_ERROR_ARGUMENT && error_has("execution.values lies on cuda:1"));
    tamis_plan_destroy(plan);
    s->m.S = S;
    CHECK(sample(s, s->m.A.data, s->memory) == TAMIS_OK);
    CHECK(sample(s, there, s->memory) == TAMIS_ERROR_ARGUMENT && error_has("A lies on cuda:1"));
    CHECK(sample(s, s->m.A.data, there) == TAMIS_ERROR_ARGUMENT && error_has("P lies on cuda:1"));
    tamis_device_free(other, there);
    tamis_device_close(other);
}

/* ------------------------------------------------------------------------------------------ code */

/* Modules that no plan holds are unloaded when there are too many of them, and no others. */
static void modules(setting *s, const void *unused) {
    enum { MOST = 8, PLANS = 60, EACH = 2 }; /* modules of a plan: its kernel for rows in units, and for others */
    tamis_plan *held[2] = {NULL, NULL};
    CHECK(make_plan(s, &held[0]) == TAMIS_OK); /* the setting's own width */
    CHECK(make_plan(s, &held[1]) == TAMIS_OK); /* the same once more */
    const long loaded = calls("cuModuleLoadData"), compiled = calls("nvrtcCompileProgram");
    CHECK(loaded == compiled && loaded > 0);
    for (int k = 0; k < PLANS; k++) {
        try_plan_of(s, 20 + k);
        CHECK(calls("cuModuleLoadData") - calls("cuModuleUnload") <= loaded + MOST + EACH);
    }
    const long all = calls("cuModuleLoadData");
    CHECK(all == loaded + EACH * PLANS && calls("cuModuleUnload") > PLANS);
    try_plan_of(s, 20 + PLANS - 1); /* one that was used last is still there */
    CHECK(calls("cuModuleLoadData") == all);
    try_plan_of(s, 20); /* the oldest is not */
    CHECK(calls("cuModuleLoadData") == all + EACH);
    for (int i = 0; i < 2; i++) {
        CHECK(sample_with(s, held[i], NULL) == TAMIS_OK);
        tamis_plan_destroy(held[i]);
    }
    CHECK(sample(s, s->m.A.data, s->memory) == TAMIS_OK);
}

/* Attention to a cache with room for so many positions. */
static tamis_status attend(const setting *s, int64_t capacity, void *stream) {
    enum { WIDTH = 16 };
    const tamis_vectors x = {
        .data = s->memory, .sequence_stride = WIDTH, .position_stride = WIDTH, .head_stride = WIDTH};
    const tamis_cached_attention_options o = {.sequences = 1,
                                              .heads = 1,
                                              .key_heads = 1,
                                              .inner = WIDTH,
                                              .width = WIDTH,
                                              .scale = 1,
                                              .capacity = capacity,
                                              .lengths = s->memory};
    return tamis_cached_attention(s->device, &o, &x, &x, &x, &x, NULL, stream);
}

/* Kernels of a call that has no plan stay, whatever comes and goes: a graph captured from it launches them. The first
   call may be the one that is captured: modules that it makes too many wait for a plan, since unloading waits for the
   device. */
static void kernels_without_plan(setting *s, const void *unused) {
    enum { PLANS = 40, ONE_PART = 64 /* positions: the call needs no memory of its own */ };
    for (int k = 0; k < 5; k++) try_plan_of(s, 100 + k); /* their modules are more than may stay */
    setenv("FAKE_CUDA_CAPTURE", "0x1234", 1);
    for (int when = 0; when < 2; when++) { /* captured, and after others' modules have gone */
        const long loaded = calls("cuModuleLoadData"), launched = calls("cuLaunchKernel");
        CHECK(attend(s, ONE_PART, when == 0 ? (void *)(uintptr_t)0x1234 : NULL) == TAMIS_OK);
        CHECK(calls("cuModuleLoadData") - loaded == (when == 0));
        CHECK(calls("cuLaunchKernel") - launched == 1);
        setenv("FAKE_CUDA_CAPTURE", "", 1);
        for (int k = 0; k < PLANS; k++) try_plan_of(s, 20 + k);
    }
    CHECK(calls("cuModuleUnload") > PLANS && note("invalidated") == 0);
}

/* Without memory pools a graph has no memory of its own: a captured call that needs some is refused. */
static void captured_without_pools(setting *s, const void *unused) {
    enum { PARTS = 4096 /* positions, in several of them */ };
    void *const stream = (void *)(uintptr_t)0x1234;
    CHECK(attend(s, PARTS, stream) == TAMIS_OK);
    const long launched = calls("cuLaunchKernel"), live = note("live");
    setenv("FAKE_CUDA_CAPTURE", "0x1234", 1);
    CHECK(attend(s, PARTS, stream) == TAMIS_ERROR_DEVICE && error_has("allocating memory"));
    setenv("FAKE_CUDA_CAPTURE", "", 1);
    CHECK(launched > 1 && calls("cuLaunchKernel") == launched && note("live") == live && note("invalidated") == 0);
}

enum { THREADS = 4 };

typedef struct planner {
    pthread_t thread;
    const setting *s;
    int64_t inner;
    tamis_status status;
} planner;

static void *make_and_destroy(void *context) {
    planner *const self = context;
    OWN(tamis_plan) *plan = NULL;
    self->status = make_plan_of(self->s, self->inner, &plan);
    return NULL;
}

/* Threads that want different code compile side by side, those that want the same compile it once; of a plan the two
   kernels are compiled side by side, too. */
static void compiling_side_by_side(setting *s, const void *unused) {
    enum { EACH = 2 };
    planner planners[THREADS];
    try_plan(s); /* what all share is there */
    for (int same = 0; same < 2; same++) {
        const long before = calls("nvrtcCompileProgram");
        setenv("FAKE_NVRTC_TOGETHER", same ? "2" : "8", 1);
        for (int i = 0; i < THREADS; i++) {
            planners[i] = (planner){.s = s, .inner = same ? 77 : 30 + i};
            CHECK(pthread_create(&planners[i].thread, NULL, make_and_destroy, &planners[i]) == 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(planners[i].thread, NULL);
            CHECK(planners[i].status == TAMIS_OK);
        }
        CHECK(calls("nvrtcCompileProgram") - before == EACH * (same ? 1 : THREADS));
    }
}

/* The n-th compilation of a plan fails, for each n: others of the plan are under way by then, and what they make goes
   back. Returns how many plans failed. */
static int fail_to_compile(const setting *s, const char *algorithm, tamis_operation operation, tamis_edge edge) {
    enum { MOST = 60 };
    for (int n = 1; n <= MOST; n++) {
        char text[48];
        tamis_plan *plan = NULL;
        tamis_options o = options_for(operation, 20 + n, 20 + n); /* code of its own */
        const int64_t live = tamis_memory_live();
        o.edge = edge;
        o.algorithm = algorithm;
        snprintf(text, sizeof text, "nvrtcCompileProgram=6@%d", n);
        setenv("FAKE_CUDA_FAULT", text, 1);
        const tamis_status status = tamis_plan_create(s->device, &s->m.S, &o, &plan);
        setenv("FAKE_CUDA_FAULT", "", 1);
        if (status == TAMIS_OK) tamis_plan_destroy(plan);
        CHECK(tamis_memory_live() == live);
        if (status == TAMIS_OK || status == TAMIS_ERROR_UNSUPPORTED) return n - 1;
        CHECK(status == TAMIS_ERROR_DEVICE && error_has("does not compile"));
    }
    CHECK(!"it goes through in the end");
    return MOST;
}

static void failing_compilations(setting *s, const void *unused) {
    int count = 0, plans = 0, softmax = 0;
    for (int a = 0; tamis_gpu_catalogue(a); a++, count++) {
        if (a % test_rounds(1, 3) != 0) continue;
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
            const char *const name = tamis_gpu_catalogue(a)->description.name;
            const tamis_operation which = (tamis_operation)operation;
            if (!(tamis_gpu_catalogue(a)->description.operations & 1u << operation)) continue;
            plans += fail_to_compile(s, name, which, TAMIS_EDGE_SCALE);
            if (which != TAMIS_OP_SPMM) softmax += fail_to_compile(s, name, which, TAMIS_EDGE_SOFTMAX);
        }
    }
    CHECK(plans > count / test_rounds(1, 3) && softmax > count / test_rounds(2, 6));
}

/* ------------------------------------------------------------------------------------------ one call */

typedef struct way {
    tamis_operation operation;
    tamis_edge edge;
    tamis_format format;
    tamis_type type;
    int64_t rows, nnz;
    bool trusted, transposed, sliced;
} way;

static tamis_status call_once(const setting *s, const way *w) {
    const mirror *const m = &s->m;
    tamis_options options = with_edge(w->edge);
    tamis_sparse S = m->S;
    const tamis_dense P = samples_of(&S, s->memory, w->type);
    options.trust_input = w->trusted;
    options.transpose = w->transposed; /* S is square */
    if (w->sliced) S.offset_base = 1;  /* kernels that do nothing do not mind */
    return call_at_once(s->device, w->operation, &S, &m->A, &m->B, &m->D,
                        w->operation == TAMIS_OP_SDDMM ? &P : &m->out.there, &options, NULL);
}

/* Calls that wait for the device, or may. */
static long waits(void) {
    return calls("cuStreamSynchronize") + calls("cuCtxSynchronize") + calls("cuEventSynchronize") +
           calls("cuMemAlloc_v2") + calls("cuMemFree_v2");
}

/* The second call of a kind waits once where it checks S, and never where it is told that S is right. */
static void second_call(const void *context) {
    const way *const w = context;
    setting s;
    use_fake(fake);
    setting_open(&s, w->format, w->type, w->rows, w->nnz);
    CHECK(call_once(&s, w) == TAMIS_OK);
    const long waited = waits(), all = calls("*"), loaded = calls("cuModuleLoadData");
    CHECK(call_once(&s, w) == TAMIS_OK);
    /* the order of entries is asked for in COO alone, and not where they are sorted anyway */
    const long more = waits() - waited, most = w->trusted && (w->format == TAMIS_CSR || w->transposed) ? 0 : 1;
    if (more > most) printf("waits %ld times, %ld calls in all\n", more, calls("*") - all);
    CHECK(more <= most);
    CHECK(calls("cuModuleLoadData") == loaded);
    setting_close(&s, 1);
}

static int second_calls(void) {
    int failures = 0;
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int other = 0; other < 32; other += test_rounds(1, 5))
            for (int trusted = 0; trusted < 2; trusted++) {
                if (operation == TAMIS_OP_SPMM && other & 1) continue;  /* it has no edge */
                if (operation == TAMIS_OP_SDDMM && other & 8) continue; /* of S^T it is another one of S */
                if (other & 16 && other & 2) continue;                  /* slices are of CSR */
                const way w = {.operation = (tamis_operation)operation,
                               .edge = other & 1 ? TAMIS_EDGE_SOFTMAX : TAMIS_EDGE_SCALE,
                               .format = other & 2 ? TAMIS_COO : TAMIS_CSR,
                               .type = other & 4 ? TAMIS_F16 : TAMIS_F32,
                               .rows = other & 4 ? 3000 : 30,
                               .nnz = other & 4 ? 60000 : 200,
                               .trusted = trusted != 0,
                               .transposed = (other & 8) != 0,
                               .sliced = (other & 16) != 0};
                char name[128];
                snprintf(name, sizeof name, "the second call of %s %s, %s, %s%s%s%s", tamis_operation_name(w.operation),
                         tamis_edge_name(w.edge), w.format == TAMIS_COO ? "COO" : "CSR", tamis_type_name(w.type),
                         w.sliced ? ", a slice" : "", w.transposed ? ", transposed" : "", trusted ? ", trusted" : "");
                failures += !process_run(name, second_call, &w);
            }
    return failures;
}

/* An older compiler does not know every option: it is asked once more without, and from then on. */
static void older_compiler(setting *s, const void *unused) {
    try_plan(s);
    const long compiled = calls("nvrtcCompileProgram"), loaded = calls("cuModuleLoadData");
    try_plan_of(s, 17);
    CHECK(calls("nvrtcCompileProgram") - compiled == calls("cuModuleLoadData") - loaded);
}

typedef struct keeping {
    const char *folder, *compiler; /* of the cache; NVRTC's file */
    bool compiles;
} keeping;

static void keep_code(const void *context) {
    const keeping *const k = context;
    setting s;
    use_fake(fake);
    setenv("XDG_CACHE_HOME", k->folder, 1);
    setenv("TAMIS_NVRTC", k->compiler, 1);
    void *const library = dlopen(k->compiler, RTLD_NOW | RTLD_LOCAL);
    void *const counter = library ? dlsym(library, "fake_calls") : NULL;
    if (!counter) abort();
    memcpy(&calls, &counter, sizeof calls);
    setting_open(&s, TAMIS_CSR, TAMIS_F32, 30, 200);
    try_plan(&s);
    CHECK((calls("nvrtcCompileProgram") > 0) == k->compiles);
    setting_close(&s, 1);
}

static bool copy_file(const char *from, const char *to, const char *more) {
    char bytes[4096];
    FILE *const in = fopen(from, "rb"), *const out = fopen(to, "wb");
    if (!in || !out) abort();
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;) fwrite(bytes, 1, n, out);
    fputs(more, out);
    fclose(in);
    return fclose(out) == 0;
}

/* Code on disk is another compiler's where that has another patch level, which its version does not say. */
static bool kept_by_build(void) {
    char folder[512], same[600], other[600];
    folder_make(folder, sizeof folder);
    snprintf(same, sizeof same, "%s/libnvrtc.so.13", folder);
    snprintf(other, sizeof other, "%s/libnvrtc.so.13.0.99", folder);
    bool passed = copy_file(fake, same, "") && copy_file(fake, other, "");
    const keeping first = {folder, same, true}, again = {folder, same, false}, renamed = {folder, other, true};
    passed = process_run("    compiles", keep_code, &first) && passed;
    passed = process_run("    finds it", keep_code, &again) && passed;
    passed = process_run("    another file name", keep_code, &renamed) && passed;
    passed = copy_file(fake, same, "more") && passed;
    passed = process_run("    another file of that name", keep_code, &first) && passed;
    folder_remove(folder);
    return passed;
}

static const struct driver_case {
    const char *name;
    void (*run)(setting *s, const void *context);
    const void *context;
    const char *environment[3];
    int threads; /* 0: one */
} cases[] = {
    {"memory that is refused", refused_memory, NULL, {"FAKE_CUDA_POOLS=0"}},
    {"memory that is refused, with pools", refused_memory, "", {"FAKE_CUDA_POOLS=1"}},
    {"captures", captures},
    {"captures beside what waits", captures_beside_what_waits},
    {"two objects of a device", two_objects},
    {"no event is made", no_event, "cuEventCreate"},
    {"no event is recorded", no_event, "cuEventRecord"},
    {"a child", in_a_child},
    {"arrays that lie elsewhere", places, NULL, {"FAKE_CUDA_DEVICES=2", "TAMIS_CHECK_POINTERS=1"}},
    {"arrays that lie elsewhere, on a device that reads the host's",
     places,
     "",
     {"FAKE_CUDA_DEVICES=2", "TAMIS_CHECK_POINTERS=1", "FAKE_CUDA_PAGEABLE=1"}},
    {"modules that nobody uses", modules, NULL, {"TAMIS_MODULES=8"}},
    {"kernels without a plan", kernels_without_plan, NULL, {"TAMIS_MODULES=8"}},
    {"captures without pools", captured_without_pools, NULL, {"FAKE_CUDA_POOLS=0"}},
    {"compiling side by side", compiling_side_by_side, .threads = THREADS},
    {"compilations that fail", failing_compilations},
    {"an older compiler", older_compiler, NULL, {"FAKE_NVRTC_OLD=1"}},
    {"an even older compiler", older_compiler, NULL, {"FAKE_NVRTC_OLD=2"}},
};

/* On a device of its own, from whose set-up on the variables hold. */
static void run_case(const void *context) {
    const struct driver_case *const c = context;
    setting s;
    use_fake(fake);
    for (int i = 0; i < 3 && c->environment[i]; i++) putenv((char *)(uintptr_t)c->environment[i]);
    setting_open(&s, TAMIS_CSR, TAMIS_F32, 30, 200);
    c->run(&s, c->context);
    setting_close(&s, c->threads ? c->threads : 1);
}

TEST_RUN() {
    int failures = 0;
    if (argc < 2) return 2;
    fake = argv[1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        failures += !process_run(cases[i].name, run_case, &cases[i]);
    failures += !kept_by_build();
    failures += second_calls();
    printf("%d failed\n", failures);
    return failures != 0;
}
