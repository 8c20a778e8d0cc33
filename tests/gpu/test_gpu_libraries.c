/*
 * The vendors' libraries: absent, not what they should be, too old for each other, and failing at any call. Each case
 * is a process of its own; CUDA's driver and compiler are fake_cuda.c's. Every failure must say what failed and where,
 * leave nothing allocated, and leave the next call free to work. test_gpu_libraries FAKE: the path of the fake
 * library
 */
#include "support/test.h"

#include <tamis/stream.h>

#include "gpu/runtime/runtime.h"
#include "processes.h"
#include "slabs/slabs.h"
#include "support/mirror.h"

static const char *fake;

typedef struct missing {
    const char *name, *variable, *file, *device, *says, *also; /* what the list of devices says, too; words after it */
} missing;

static void open_without(const void *context) {
    const missing *const m = context;
    tamis_device *device = NULL;
    const int64_t live = tamis_memory_live();
    setenv("TAMIS_CUDA_DRIVER", fake, 1);
    setenv("TAMIS_NVRTC", fake, 1);
    setenv(m->variable, m->file, 1);
    CHECK(tamis_device_open(m->device, &device) == TAMIS_ERROR_DEVICE);
    CHECK(device == NULL && tamis_memory_live() == live);
    process_check(error_has(m->says), m->says, m->name, 0);
    if (m->also) process_check(message_says(tamis_last_error(), m->also), m->also, m->name, 1);
    /* asked again, it says the same; the list of devices says it too; the processor is there whatever happens */
    CHECK(tamis_device_open(m->device, &device) == TAMIS_ERROR_DEVICE);
    bool listed = false;
    for (int i = 0; i < tamis_device_count(); i++) {
        const char *name = "", *why = "";
        CHECK(tamis_device_at(i, &name, &why) == TAMIS_OK);
        if (strncmp(name, m->device, 4) == 0 && strstr(why, m->says)) listed = true;
    }
    CHECK(listed);
    CHECK(tamis_device_open("cpu", &device) == TAMIS_OK);
    tamis_device_close(device);
}

static const missing cases[] = {
    {"no CUDA driver", "TAMIS_CUDA_DRIVER", "/nowhere/libcuda.so.1", "cuda:0", "/nowhere/libcuda.so.1: not found",
     "TAMIS_CUDA_DRIVER"},
    {"a CUDA driver that is none", "TAMIS_CUDA_DRIVER", "libm.so.6", "cuda:0", "libm.so.6: has no cuInit"},
    {"no run-time compiler", "TAMIS_NVRTC", "/nowhere/libnvrtc.so", "cuda:0", "/nowhere/libnvrtc.so: not found",
     "TAMIS_NVRTC"},
    {"a run-time compiler that is none", "TAMIS_NVRTC", "libm.so.6", "cuda:0", "libm.so.6: has no nvrtcVersion"},
    {"no OpenCL loader", "TAMIS_OPENCL", "/nowhere/libOpenCL.so.1", "opencl:0", "/nowhere/libOpenCL.so.1: not found",
     "TAMIS_OPENCL"},
    {"an OpenCL loader that is none", "TAMIS_OPENCL", "libm.so.6", "opencl:0", "libm.so.6: has no clGetPlatformIDs"},
    {"a driver that does not start", "FAKE_CUDA_FAULT", "cuInit=803", "cuda:0", "does not start",
     "what it is told to say...FAKE_ERROR_803"},
    {"a driver without a device", "FAKE_CUDA_CHIP", "0", "cuda:0", "sees no device"},
    {"a chip that the compiler is too old for", "FAKE_CUDA_CHIP", "130", "cuda:0", "does not support sm_130",
     "NVRTC 13.0"},
    {"a chip that the compiler has forgotten", "FAKE_CUDA_CHIP", "52", "cuda:0", "does not support sm_52"},
    {"a device in use by another", "FAKE_CUDA_FAULT", "cuDevicePrimaryCtxRetain=46", "cuda:0", "FAKE_ERROR_46"},
};

/* ------------------------------------------------------------------------------------------ executions */

static tamis_device *open_fake(void) {
    tamis_device *device = NULL;
    use_fake(fake);
    CHECK(tamis_device_open("cuda:0", &device) == TAMIS_OK);
    return device;
}

static problem problem_of_30(void) {
    tamis_random random = tamis_random_start(5, 0);
    const problem_options o = {.rows = 30, .cols = 30, .nnz = 200, .inner = 16, .width = 16, .sorted = true};
    return problem_make(&o, &random);
}

static char said[1024]; /* the message: cleaning up after a failure clears it */

/* One plan and one call on a device whose kernels do nothing. */
static tamis_status work(tamis_device *device, const mirror *m, const problem *p) {
    OWN(tamis_plan) *plan = NULL;
    const tamis_options o = options_for(TAMIS_OP_SDDMM, p->options.inner, 0);
    const tamis_options softmax = with_edge(TAMIS_EDGE_SOFTMAX); /* which needs scratch */
    void *start = NULL, *end = NULL;
    double seconds;
    tamis_status status = tamis_plan_create(device, &m->S, &o, &plan);
    if (status == TAMIS_OK) status = tamis_event_record(device, NULL, &start);
    if (status == TAMIS_OK) status = mirror_plan(m, plan, NULL);
    if (status == TAMIS_OK) status = mirror_once(m, &softmax, NULL);
    if (status == TAMIS_OK) status = tamis_event_record(device, NULL, &end);
    if (status == TAMIS_OK) status = tamis_event_elapsed(device, start, end, &seconds);
    if (status == TAMIS_OK) status = tamis_device_copy(device, NULL, m->out.twin.memory, 0, m->out.twin.memory, 64, 64);
    if (status == TAMIS_OK) status = tamis_stream_synchronize(device, NULL);
    snprintf(said, sizeof said, "%s", tamis_last_error());
    if (start) tamis_event_destroy(device, start);
    if (end) tamis_event_destroy(device, end);
    return status;
}

typedef struct fault {
    const char *name, *call;
    enum { EVERY, EACH, FROM } which; /* every call fails; the n-th; the n-th and all after it */
    tamis_status status;
    const char *says, *pools; /* "0": a driver without them */
} fault;

/* The call fails, the n-th time for each n, until there is no n-th time. */
static void fail_in_turn(const void *context) {
    const fault *const f = context;
    if (f->pools) setenv("FAKE_CUDA_POOLS", f->pools, 1);
    tamis_device *const device = open_fake();
    problem p = problem_of_30();
    mirror m = mirror_make(device, &p, TAMIS_OP_SDDMM);
    int failures = 0;
    for (int n = 1; n < 1000; n++) {
        char text[96];
        const int64_t live = tamis_memory_live();
        if (f->which == EVERY)
            snprintf(text, sizeof text, "%s", f->call);
        else
            snprintf(text, sizeof text, "%s@%d%s", f->call, n, f->which == FROM ? "+" : "");
        setenv("FAKE_CUDA_FAULT", text, 1);
        const tamis_status status = work(device, &m, &p);
        setenv("FAKE_CUDA_FAULT", "", 1);
        CHECK(tamis_memory_live() == live);
        if (status == TAMIS_OK) break;
        failures++;
        CHECK(status == f->status);
        CHECK(said[0] != 0);
        if (f->says) process_check(message_says(said, f->says), f->says, said, n);
        if (f->which == EVERY) break;
    }
    CHECK(failures > 0);
    CHECK(work(device, &m, &p) == TAMIS_OK); /* and now it works */
    mirror_free(&m);
    problem_free(&p);
    tamis_device_close(device);
}

static const fault faults[] = {
    {"a driver older than the compiler", "cuModuleLoadData=222", EVERY, TAMIS_ERROR_DEVICE,
     "NVRTC 13.0...newer driver"},
    {"code for another chip", "cuModuleLoadData=209", EVERY, TAMIS_ERROR_DEVICE, "CUDA driver 13.0...cannot load code"},
    {"a kernel that does not compile", "nvrtcCompileProgram=6", EVERY, TAMIS_ERROR_DEVICE,
     "does not compile...told to"},
    {"a compiler that makes nothing", "nvrtcGetCUBINSize=1", EVERY, TAMIS_ERROR_DEVICE, "no machine code"},
    {"a kernel that is not there", "cuModuleGetFunction=500", EACH, TAMIS_ERROR_DEVICE, "cuda:0...FAKE_ERROR_500"},
    {"no memory", "cuMemAlloc_v2=2", EACH, TAMIS_ERROR_MEMORY, "out of memory", "0"},
    {"no memory in the pool", "cuMemAllocFromPoolAsync=2", EACH, TAMIS_ERROR_MEMORY, "out of memory", "1"},
    {"no memory, from then on", "cuMemAlloc_v2=2", FROM, TAMIS_ERROR_MEMORY, "out of memory"},
    {"a launch that fails", "cuLaunchKernel=719", EACH, TAMIS_ERROR_DEVICE, "launching...FAKE_ERROR_719"},
    {"a device lost, from then on", "*=719", FROM, TAMIS_ERROR_DEVICE},
    {"any call", "*=999", EACH, TAMIS_ERROR_DEVICE},
    {"a copy within the device", "cuMemcpyDtoDAsync_v2=700", EACH, TAMIS_ERROR_DEVICE,
     "copying within the device...FAKE_ERROR_700"},
    {"waiting", "cuStreamSynchronize=700", EACH, TAMIS_ERROR_DEVICE, "cuda:0...FAKE_ERROR_700"},
    {"an event", "cuEventRecord=700", EACH, TAMIS_ERROR_DEVICE, "cuda:0...FAKE_ERROR_700"},
};

/* Whether inputs are rounded to TF32 is for the options to allow, and for the plan to say. */
static void rounds_when_allowed(const void *context) {
    tamis_device *const device = open_fake();
    problem p = problem_of_30();
    mirror m = mirror_make(device, &p, TAMIS_OP_SDDMM);
    for (int i = 0; i < 4; i++) {
        static const char *const algorithms[] = {"gpu-tensor", "gpu-nonzeros"};
        OWN(tamis_plan) *plan = NULL;
        tamis_plan_report report;
        char text[4096];
        tamis_options options = options_for(TAMIS_OP_SDDMM, p.options.inner, 0);
        options.algorithm = algorithms[i / 2];
        options.math = (tamis_math)(i % 2);
        const bool rounds = i == 1;
        CHECK(tamis_plan_create(device, &m.S, &options, &plan) == TAMIS_OK);
        CHECK(tamis_plan_describe(plan, &report) == TAMIS_OK);
        CHECK(report.math == (rounds ? TAMIS_MATH_TF32 : TAMIS_MATH_EXACT));
        CHECK((strstr(report.reason, "rounded to TF32") != NULL) == rounds);
        CHECK(tamis_plan_explain(plan, text, sizeof text, NULL) == TAMIS_OK);
        CHECK((strstr(text, ", inputs rounded to TF32\n") != NULL) == rounds);
    }
    mirror_free(&m);
    problem_free(&p);
    tamis_device_close(device);
}

/* A plan out of core copies by the processor's threads, unless it is told how many. */
static void threads_out_of_core(const void *context) {
    setenv("OMP_NUM_THREADS", "3", 1);
    tamis_device *const device = open_fake();
    problem p = problem_of_30();
    for (int threads = 0; threads <= 2; threads += 2) {
        tamis_options options = options_for(TAMIS_OP_SPMM, 0, p.options.width);
        OWN(tamis_slab_plan) *plan = NULL;
        options.threads = threads;
        CHECK(tamis_slab_plan_create(device, &p.S, &options, NULL, &plan) == TAMIS_OK);
        CHECK(plan->options.threads == (threads ? threads : 3));
    }
    problem_free(&p);
    tamis_device_close(device);
}

/* Beyond the end of the list, and a second time. */
static void numbers(const void *context) {
    tamis_device *first = NULL, *second = NULL;
    use_fake(fake);
    CHECK(tamis_device_open("cuda:1", &first) == TAMIS_ERROR_DEVICE && error_has("cuda"));
    CHECK(tamis_device_open("cuda:0", &first) == TAMIS_OK);
    CHECK(tamis_device_open(NULL, &second) == TAMIS_OK); /* the best one is a GPU */
    tamis_device_description d;
    CHECK(tamis_device_describe(second, &d) == TAMIS_OK && strcmp(d.name, "cuda:0") == 0);
    CHECK(d.multiprocessors == 132 && d.location == TAMIS_DEVICE && strcmp(d.instruction_set, "sm_90") == 0);
    tamis_device_close(first);
    tamis_device_close(second);
    CHECK(tamis_memory_live() == 0);
}

TEST_RUN() {
    int failures = 0, count = 0;
    if (argc < 2) return 2;
    fake = argv[1];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++, count++)
        failures += !process_run(cases[i].name, open_without, &cases[i]);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++, count++)
        failures += !process_run(faults[i].name, fail_in_turn, &faults[i]);
    failures += !process_run("numbers of devices", numbers, NULL);
    failures += !process_run("inputs rounded to TF32", rounds_when_allowed, NULL);
    failures += !process_run("threads of a plan out of core", threads_out_of_core, NULL);
    printf("%d of %d failed\n", failures, count + 3);
    return failures != 0;
}
