/*
 * Who profiles a pattern: the host, where the kernels for that would have to be compiled and the plan is not a single
 * call's; the device otherwise. CUDA's driver and compiler are fake_cuda.c's, which count what they are asked.
 *   test_gpu_profile FAKE      the path of the fake library
 */
#include "support/test.h"

#include "core/device.h"
#include "gpu/structure/profile.h"
#include "processes.h"

enum { ROWS = 4, NONZEROS = 7, LONGEST = 4 };
static const int32_t offsets[ROWS + 1] = {0, 1, 5, 5, 7}, columns[NONZEROS] = {2, 0, 1, 2, 3, 0, 3};

static const char *fake, *folder;

static tamis_problem problem_open(tamis_device **device) {
    void *memory[2];
    use_fake(fake);
    setenv("XDG_CACHE_HOME", folder, 1);
    if (tamis_device_open("cuda:0", device) != TAMIS_OK) abort();
    CHECK(tamis_device_allocate(*device, sizeof offsets, &memory[0]) == TAMIS_OK);
    CHECK(tamis_device_allocate(*device, sizeof columns, &memory[1]) == TAMIS_OK);
    CHECK(tamis_device_upload(*device, NULL, memory[0], 0, offsets, sizeof offsets) == TAMIS_OK);
    CHECK(tamis_device_upload(*device, NULL, memory[1], 0, columns, sizeof columns) == TAMIS_OK);
    return (tamis_problem){.rows = ROWS,
                           .cols = ROWS,
                           .nnz = NONZEROS,
                           .offsets = memory[0],
                           .columns = memory[1],
                           .device = (*device)->handle};
}

static void problem_close(tamis_device *device, const tamis_problem *p) {
    tamis_device_free(device, (void *)(uintptr_t)p->offsets);
    tamis_device_free(device, (void *)(uintptr_t)p->columns);
    tamis_device_close(device);
    CHECK(tamis_memory_live() == 0);
}

/* One profile: how much it compiled and launched. Kernels do nothing here: who finds the longest row is the host. */
static bool profiles(const tamis_problem *p, long compiled, long launched, bool host) {
    tamis_evidence evidence = {0};
    const long before[2] = {calls("nvrtcCompileProgram"), calls("cuLaunchKernel")};
    if (tamis_gpu_profile(p, &evidence) != TAMIS_OK) return false;
    return calls("nvrtcCompileProgram") - before[0] == compiled && calls("cuLaunchKernel") - before[1] == launched &&
           (evidence.profile.max == LONGEST) == host;
}

static const int64_t much = (int64_t)1 << 40; /* more than the host profiles */

static void of_a_new_machine(const void *unused) {
    tamis_device *device;
    tamis_problem p = problem_open(&device), single = p, large = p;
    int64_t *const profiled = &((tamis_gpu_device *)p.device)->profiled;
    single.once = true;
    CHECK(profiles(&p, 0, 0, true) && profiles(&p, 0, 0, true));
    CHECK(*profiled >= 2 * (ROWS + NONZEROS));
    CHECK(profiles(&single, 1, 1, false));
    CHECK(profiles(&p, 0, 0, true)); /* of the two kernels one is there */
    *profiled = much;                /* it has profiled often */
    CHECK(profiles(&p, 1, 2, false));
    *profiled = 0;
    CHECK(profiles(&p, 0, 2, false)); /* now both are */
    large.offset_type = large.index_type =
        TAMIS_I64; /* other kernels; nothing is read through it, as they do nothing */
    large.nnz = 1 << 23;
    CHECK(profiles(&large, 2, 2, false));
    problem_close(device, &p);
}

/* Of the two that are compiled at once either fails, and nothing stays behind. */
static void of_which_one_fails(const void *which) {
    tamis_device *device;
    tamis_evidence evidence = {0};
    const tamis_problem p = problem_open(&device);
    ((tamis_gpu_device *)p.device)->profiled = much;
    setenv("FAKE_CUDA_FAULT", which, 1);
    CHECK(tamis_gpu_profile(&p, &evidence) == TAMIS_ERROR_DEVICE && error_has("does not compile"));
    setenv("FAKE_CUDA_FAULT", "", 1);
    CHECK(profiles(&p, 1, 2, false)); /* the other one is there */
    problem_close(device, &p);
}

/* The kernels of an earlier process. */
static void of_a_known_machine(const void *known) {
    tamis_device *device;
    const tamis_problem p = problem_open(&device);
    if (known) {
        CHECK(profiles(&p, 0, 2, false));
    } else {
        ((tamis_gpu_device *)p.device)->profiled = much;
        CHECK(profiles(&p, 2, 2, false));
    }
    problem_close(device, &p);
}

TEST_RUN() {
    char kept[512];
    int failures = 0;
    if (argc < 2) return 2;
    fake = argv[1];
    folder = "";
    failures += !process_run("nothing is compiled", of_a_new_machine, NULL);
    failures += !process_run("the first fails", of_which_one_fails, "nvrtcCompileProgram=6@1");
    failures += !process_run("the second fails", of_which_one_fails, "nvrtcCompileProgram=6@2");
    folder_make(kept, sizeof kept);
    folder = kept;
    failures += !process_run("nothing is on disk", of_a_known_machine, NULL);
    failures += !process_run("all is on disk", of_a_known_machine, "");
    folder_remove(kept);
    return failures != 0;
}
