/* The peers of the benchmark against the oracle: CUDA's with a stand-in for their libraries that computes on the host,
   the CPU's where they are installed; what becomes of a Python process that fails; and the mirror that brings a problem
   to a device, where an OpenCL one is present. */
#include "support/test.h"

#include <tamis/generate.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/peers.h"
#include "cli/mirror.h"
#include "kinds.h"

typedef struct fixture {
    tool_device device;
    tamis_owned_sparse *matrix;
    tool_problem problem;
    tool_operands operands;
    tamis_oracle *oracle; /* of edge mask */
    tool_mirror mirror;
} fixture;

static void open_cpu(tool_device *device) {
    *device = (tool_device){.addresses = true};
    works(tamis_device_open("cpu", &device->device));
    works(tamis_device_describe(device->device, &device->description));
}

static void make(fixture *f, tamis_operation operation, tamis_type type, bool values) {
    *f = (fixture){.matrix = NULL};
    open_cpu(&f->device);
    tamis_generate_options options = TAMIS_GENERATE_OPTIONS_INIT;
    options.kind = TAMIS_KIND_RMAT;
    options.rows = 64;
    options.nnz = 500;
    options.value_type = type;
    works(tamis_generate(&options, &f->matrix));
    f->problem = (tool_problem){.operation = operation,
                                .edge = TAMIS_EDGE_SCALE,
                                .type = type,
                                .inner = 24,
                                .width = operation == TAMIS_OP_FUSED ? 10 : 24,
                                .edge_scale = 1,
                                .edge_slope = 0.1,
                                .edge_epsilon = 1e-10,
                                .alpha = 0.5,
                                .S = *tamis_owned_sparse_view(f->matrix)};
    if (!values) f->problem.S.values = NULL;
    works(tool_operands_random(&f->problem, TAMIS_ROW_MAJOR, 3, 0, 1, &f->operands));
    tool_problem masked = f->problem;
    masked.edge = TAMIS_EDGE_MASK;
    works(tool_problem_oracle(&masked, HUGE_VAL, &f->oracle));
    works(tool_mirror_create(&f->device, &f->problem, 0, &f->mirror));
}

static void drop(fixture *f) {
    tool_mirror_free(&f->mirror);
    tamis_oracle_free(f->oracle);
    tool_operands_free(&f->operands);
    tamis_owned_sparse_free(f->matrix);
    tamis_device_close(f->device.device);
}

/* False where the peer is not installed. */
static bool compute_and_compare(fixture *f, const tool_peer_kind *kind) {
    char why[256];
    tool_peer *peer = tool_peer_make(kind, &f->mirror, &f->problem, 2, why, sizeof why);
    if (!peer && *why) fail_msg("%s: %s", kind->name, why);
    if (!peer) return false;
    memset(f->operands.output.memory, 0xff, f->operands.output.bytes); /* beta = 0 must not read it */
    works(peer->kind->execute(peer, 0));
    const tamis_status status =
        peer->kind->fetch ? peer->kind->fetch(peer, &f->problem, f->oracle) : tool_mirror_fetch(&f->mirror);
    works(status);
    tamis_comparison comparison;
    works(tamis_oracle_compare(f->oracle, &f->problem.output, f->problem.alpha, 0, NULL, &comparison));
    assert_true(comparison.passed);
    assert_true(strlen(peer->variant) > 0 || f->problem.operation == TAMIS_OP_SDDMM);
    if (kind == &tool_peer_cusparse) assert_memory_equal(peer->variant, "12.9.4", 6); /* peer_library.c says so */
    double seconds[3] = {-1, -1, -1};
    if (peer->kind->timed) works(peer->kind->timed(peer, 0, 3, seconds));
    for (int i = 0; i < 3 && peer->kind->timed; i++) assert_true(seconds[i] >= 0 && seconds[i] < 10);
    tool_peer_free(peer);
    return true;
}

TEST(a_library_that_is_not_there_is_named) {
    fixture f;
    make(&f, TAMIS_OP_SDDMM, TAMIS_F32, true);
    char path[] = "/tmp/tamis-peers-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    const pid_t child = fork(); /* what was found is remembered for the process */
    assert_true(child >= 0);
    if (child == 0) {
        char why[64] = "x";
        dup2(file, STDERR_FILENO);
        setenv("TAMIS_CUSPARSE", "/nowhere/libcusparse.so", 1);
        const bool first = !tool_peer_make(&tool_peer_cusparse, &f.mirror, &f.problem, 1, why, sizeof why) && !*why;
        const bool second = !tool_peer_make(&tool_peer_cusparse, &f.mirror, &f.problem, 1, why, sizeof why) && !*why;
        _exit(first && second ? 0 : 1);
    }
    int code = 1;
    waitpid(child, &code, 0);
    char text[512] = "";
    assert_true(pread(file, text, sizeof text - 1, 0) > 0);
    close(file);
    unlink(path);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text, "cusparse not found: tried /nowhere/libcusparse.so"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* once */
    drop(&f);
}

TEST(cusparse_computes_edge_mask) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int type = TAMIS_F32; type <= TAMIS_F64; type++)
            for (int values = 0; values < 2; values++) {
                fixture f;
                make(&f, (tamis_operation)operation, (tamis_type)type, values != 0);
                assert_true(compute_and_compare(&f, &tool_peer_cusparse));
                drop(&f);
            }
}

TEST(cublas_computes_the_dense_product) {
    for (int type = TAMIS_F32; type <= TAMIS_F64; type++) {
        fixture f;
        make(&f, TAMIS_OP_SDDMM, (tamis_type)type, true);
        assert_true(compute_and_compare(&f, &tool_peer_cublas));
        drop(&f);
    }
}

static void refused(fixture *f, const tool_peer_kind *kind, const char *reason) {
    char why[256];
    f->mirror.problem = f->problem;
    assert_null(tool_peer_make(kind, &f->mirror, &f->problem, 2, why, sizeof why));
    if (!strstr(why, reason)) fail_msg("'%s' does not say '%s'", why, reason);
}

TEST(what_peers_cannot_do_is_said) {
    fixture f;
    make(&f, TAMIS_OP_FUSED, TAMIS_F32, true);
    f.problem.edge = TAMIS_EDGE_SOFTMAX;
    refused(&f, &tool_peer_cusparse, "supports only the edge mask");
    refused(&f, &tool_peer_cublas, "only computes sddmm");
    drop(&f);
    make(&f, TAMIS_OP_SDDMM, TAMIS_F32, true);
    f.problem.beta = 1;
    refused(&f, &tool_peer_cublas, "does not support beta");
    f.problem.beta = 0;
    f.problem.S.cols = 1 << 20; /* the stand-in has a mebibyte */
    refused(&f, &tool_peer_cublas, "does not fit into a quarter");
    f.problem.S.offset_type = TAMIS_I64;
    refused(&f, &tool_peer_cusparse, "the same type");
    drop(&f);
    make(&f, TAMIS_OP_SPMM, TAMIS_F32, true);
    f.problem.type = TAMIS_BF16; /* which the stand-in does not know */
    f.problem.S.index_type = f.problem.S.offset_type = TAMIS_I64;
    refused(&f, &tool_peer_cusparse, "not supported");
    drop(&f);
}

/* cudaDataType's numbers, by the vendor's manual. */
TEST(types_have_the_numbers_of_cuda) {
    assert_int_equal(tool_peer_type(TAMIS_F32), 0);
    assert_int_equal(tool_peer_type(TAMIS_F64), 1);
    assert_int_equal(tool_peer_type(TAMIS_F16), 2);
    assert_int_equal(tool_peer_type(TAMIS_BF16), 14);
}

/* ------------------------------------------------------------------------------------------ on the CPU */

/* Skips where it is not installed, or where a sanitizer cannot see into it. */
static void on_the_cpu_from_to(const tool_peer_kind *kind, tamis_operation first, tamis_operation last) {
#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer cannot see into %s", kind->name);
#else
    for (int operation = (int)first; operation <= (int)last; operation++)
        for (int type = TAMIS_F32; type <= TAMIS_F64; type++)
            for (int values = 0; values < 2; values++) {
                fixture f;
                make(&f, (tamis_operation)operation, (tamis_type)type, values != 0);
                f.problem.alpha = f.mirror.problem.alpha = 1;
                const bool there = compute_and_compare(&f, kind);
                drop(&f);
                if (!there) skip_because("%s is not installed", kind->name);
            }
#endif
}

static void on_the_cpu(const tool_peer_kind *kind) { on_the_cpu_from_to(kind, TAMIS_OP_SDDMM, TAMIS_OP_FUSED); }

TEST(mkl_computes_spmm) { on_the_cpu_from_to(&tool_peer_mkl, TAMIS_OP_SPMM, TAMIS_OP_SPMM); }

TEST(graphblas_computes_masked_products) { on_the_cpu(&tool_peer_graphblas); }

TEST(openblas_computes_dense_products) { on_the_cpu(&tool_peer_openblas); }

TEST(scipy_computes_in_its_own_process) { on_the_cpu(&tool_peer_scipy); }

TEST(torch_computes_in_its_own_process) {
    on_the_cpu(&tool_peer_torch_scatter);
    on_the_cpu(&tool_peer_torch);
}

TEST(what_cpu_peers_cannot_do_is_said) {
    static const tool_peer_kind *const kinds[] = {&tool_peer_scipy, &tool_peer_torch};
    fixture f;
    make(&f, TAMIS_OP_SDDMM, TAMIS_F32, true);
    for (int i = 0; i < 2; i++) {
        f.problem.alpha = 0.5;
        refused(&f, kinds[i], "does not support alpha");
        f.problem.alpha = 1;
        f.problem.edge = TAMIS_EDGE_SIGMOID;
        refused(&f, kinds[i], "supports only the edge mask");
        f.problem.edge = TAMIS_EDGE_MASK;
        f.problem.beta = 2;
        refused(&f, kinds[i], "does not support beta");
        f.problem.beta = 0;
    }
    refused(&f, &tool_peer_torch_attention, "only fused softmax");
    const int64_t nnz = f.problem.S.nnz;
    f.problem.S.nnz = 0;
    refused(&f, &tool_peer_scipy, "an empty product");
    f.problem.S.nnz = nnz;
    char why[128] = "";
    assert_false(tool_peer_serves(&tool_peer_cusparse, &f.device, why, sizeof why));
    assert_string_equal(why, "it supports only CUDA's devices, not cpu");
    assert_true(tool_peer_serves(&tool_peer_torch, &f.device, why, sizeof why));
    f.device.gpu = true;
    assert_true(tool_peer_serves(&tool_peer_torch, &f.device, why, sizeof why));
    assert_false(tool_peer_serves(&tool_peer_scipy, &f.device, why, sizeof why));
    f.device.gpu = false;
    drop(&f);
}

/* ------------------------------------------------------------------------------------------ in the program */

/* What `tamis bench` prints on a small matrix with these settings in its environment, and its exit code. */
static int bench(const char *environment, const char *options, char *text, size_t bytes) {
    char command[1024];
    snprintf(command, sizeof command,
             "XDG_CACHE_HOME='%s' OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2 %s timeout 2000 '%s' bench "
             "generate:uniform:rows=200,cols=150,nnz=3k,name=small --inner 16 --repeat 5 --seconds 0.1 %s 2>&1",
             CACHE, environment, TAMIS_PROGRAM, options);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    const size_t length = fread(text, 1, bytes - 1, output);
    text[length] = 0;
    const int status = pclose(output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int occurrences(const char *text, const char *part) {
    int count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
    return count;
}

TEST(the_program_measures_the_peers) {
#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer cannot see into other libraries");
#endif
    static char text[1 << 16];
    const int code = bench("", "--peers scipy,graphblas,openblas --op sddmm,spmm,fused --type fp32,fp64 --json -", text,
                           sizeof text);
    if (code != 0) fail_msg("code %d: %s", code, text);
    const int measured = occurrences(text, "\"record\": \"measurement\"");
    assert_int_equal(occurrences(text, "\"passed\": true"), measured);
    int wanted = 6;
    if (!strstr(text, "scipy is not available")) wanted += 6;
    if (!strstr(text, "graphblas not found")) wanted += 6;
    if (!strstr(text, "openblas not found")) wanted += 6;
    assert_int_equal(measured, wanted);
}

/* Python processes that fail: each is a small script in the interpreter's place. */
TEST(a_python_process_that_fails_is_given_up) {
    static const struct {
        const char *script, *expected;
        int code;
    } cases[] = {
        {"exit 3", "scipy is not available: its Python process ended with code 3", 0},
        {"echo out of order >&2; exit 1", "ended with code 1: out of order", 0},
        {"kill -9 $$", "was ended by signal 9", 0},
        {"sleep 1000", "did not answer in time", 0},
        {"echo hello; sleep 1000", "answers \"hello\"", 0},
        {"echo no module like that; sleep 1000", "scipy is not available: module like that", 0},
        {"head -c 100 /dev/zero; sleep 1000", "gave an answer with zero bytes", 0},
        {"yes | tr -d '\\n'", "gave an answer that does not end", 0},
        {"echo ok; read a; echo no such luck; cat >/dev/null", "scipy declines: such luck", 0},
        /* where its arrays begin: at multiples of 64 */
        {"echo ok; read a; echo no $a; cat >/dev/null", "offsets=int32:201:0 columns=int32:3000:832 values=", 0},
        {"echo ok; read a; echo ok what; cat >/dev/null", "answers \"what\" to prepare", 0},
        {"echo ok; read a; echo ok 0.1 1 way; read a; exit 5", "scipy: its Python process ended with code 5", 4},
        {"echo ok; read a; echo ok 0.1 1 way; read a; echo ok 1; cat >/dev/null", "answers \"1\" to run", 4},
        {"echo ok; read a; echo ok 0.1 1 way; read a; sleep 1000", "did not answer in time", 4},
    };
    char folder[] = "/tmp/tamis-peers-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64], environment[160], text[4096];
    snprintf(path, sizeof path, "%s/python", folder);
    snprintf(environment, sizeof environment, "TAMIS_PYTHON=%s TAMIS_PYTHON_TIMEOUT=0.5", path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *script = fopen(path, "w");
        assert_non_null(script);
        fprintf(script, "#!/bin/sh\n%s\n", cases[i].script);
        fchmod(fileno(script), 0700);
        fclose(script);
        const int code = bench(environment, "--op sddmm --peers scipy", text, sizeof text);
        if (code != cases[i].code || !strstr(text, cases[i].expected))
            fail_msg("%s: code %d: %s", cases[i].script, code, text);
    }
    unlink(path);
    rmdir(folder);
    assert_int_equal(bench("TAMIS_PYTHON=/nowhere/python", "--op sddmm --peers scipy", text, sizeof text), 0);
    assert_non_null(strstr(text, "scipy is not available: /nowhere/python cannot be started"));
}

TEST(peers_are_found_by_either_name) {
    assert_ptr_equal(tool_peer_find("cusparse"), &tool_peer_cusparse);
    assert_ptr_equal(tool_peer_find("cublas"), &tool_peer_cublas);
    assert_ptr_equal(tool_peer_find("cublas-dense"), &tool_peer_cublas);
    assert_null(tool_peer_find("naive"));
    for (int i = 0; tool_choice_name(&tool_peer_names, i); i++)
        assert_non_null(tool_peer_find(tool_choice_name(&tool_peer_names, i)));
}

TEST(every_algorithm_is_listed_once) {
    for (int i = 0; tool_choice_name(&tool_algorithms, i); i++) {
        for (int j = 0; j < i; j++)
            assert_string_not_equal(tool_choice_name(&tool_algorithms, i), tool_choice_name(&tool_algorithms, j));
    }
}

TEST(a_mirror_gives_back_what_it_was_given) {
    fixture f;
    make(&f, TAMIS_OP_FUSED, TAMIS_F32, true);
    tool_device device = {0};
#ifdef __SANITIZE_THREAD__ /* it cannot see into an OpenCL implementation */
    drop(&f);
    skip_because("ThreadSanitizer cannot see into an OpenCL implementation");
#endif
    if (tamis_device_open("opencl:0", &device.device) != TAMIS_OK) {
        drop(&f);
        skip_because("opencl:0: %s", tamis_last_error());
    }
    works(tamis_device_describe(device.device, &device.description));
    device.gpu = true;
    f.problem.D = f.problem.B; /* shared operands stay shared */
    tool_mirror mirror;
    works(tool_mirror_create(&device, &f.problem, 0, &mirror));
    assert_ptr_equal(mirror.problem.D.data, mirror.problem.B.data);
    assert_ptr_not_equal(mirror.problem.B.data, f.problem.B.data);
    assert_int_equal(mirror.problem.S.location, TAMIS_DEVICE);
    unsigned char *memory = f.operands.output.memory;
    for (size_t i = 0; i < f.operands.output.bytes; i++) memory[i] = (unsigned char)(i * 7);
    works(tool_mirror_put(&mirror));
    memset(memory, 0, f.operands.output.bytes);
    works(tool_mirror_fetch(&mirror));
    for (size_t i = 0; i < f.operands.output.bytes; i++) assert_int_equal(memory[i], (unsigned char)(i * 7));
    tool_mirror_free(&mirror);
    tamis_device_close(device.device);
    drop(&f);
}

TEST_RUN() {
    setenv("TAMIS_CUDA_DRIVER", PEER_LIBRARY, 1);
    setenv("TAMIS_CUSPARSE", PEER_LIBRARY, 1);
    setenv("TAMIS_CUBLAS", PEER_LIBRARY, 1);
    return test_run("peers", NULL, NULL, NULL);
}
