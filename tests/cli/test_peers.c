/* The peers of the benchmark against the oracle, with a stand-in for their libraries that computes on the host; and the
   mirror that brings a problem to a device, where an OpenCL one is present. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mirror.h"
#include "oracle.h"
#include "peers.h"

typedef struct fixture {
    tool_device device;
    tamis_matrix *matrix;
    tool_problem problem;
    tool_operands operands;
    tool_oracle oracle; /* of edge mask */
    tool_mirror mirror;
} fixture;

static void open_cpu(tool_device *device) {
    *device = (tool_device){.addresses = true};
    assert_int_equal(tamis_device_open("cpu", &device->device), TAMIS_OK);
    assert_int_equal(tamis_device_describe(device->device, &device->description), TAMIS_OK);
}

static void make(fixture *f, tamis_operation operation, tamis_type type, bool values) {
    *f = (fixture){.matrix = NULL};
    open_cpu(&f->device);
    tamis_generate_options options = TAMIS_GENERATE_OPTIONS_INIT;
    options.kind = TAMIS_KIND_RMAT;
    options.rows = 64;
    options.nnz = 500;
    options.value_type = type;
    assert_int_equal(tamis_generate(&options, &f->matrix), TAMIS_OK);
    f->problem = (tool_problem){.operation = operation,
                                .edge = TAMIS_EDGE_SCALE,
                                .type = type,
                                .inner = 24,
                                .width = operation == TAMIS_OP_FUSED ? 10 : 24,
                                .edge_scale = 1,
                                .edge_slope = 0.1,
                                .edge_epsilon = 1e-10,
                                .alpha = 0.5,
                                .S = *tamis_matrix_view(f->matrix)};
    if (!values) f->problem.S.values = NULL;
    assert_int_equal(tool_operands_random(&f->problem, TAMIS_ROW_MAJOR, 3, 0, 1, &f->operands), TAMIS_OK);
    tool_problem masked = f->problem;
    masked.edge = TAMIS_EDGE_MASK;
    assert_int_equal(tool_oracle_create(&masked, HUGE_VAL, &f->oracle), TAMIS_OK);
    assert_int_equal(tool_mirror_create(&f->device, &f->problem, 0, &f->mirror), TAMIS_OK);
}

static void drop(fixture *f) {
    tool_mirror_free(&f->mirror);
    tool_oracle_free(&f->oracle);
    tool_operands_free(&f->operands);
    tamis_matrix_free(f->matrix);
    tamis_device_close(f->device.device);
}

static void compute_and_compare(fixture *f, const tool_peer_kind *kind) {
    char why[256];
    tool_peer *peer = tool_peer_make(kind, &f->mirror, why, sizeof why);
    if (!peer) {
        fail_msg("%s: %s", kind->name, why);
        return;
    }
    memset(f->operands.output.memory, 0xff, f->operands.output.bytes); /* beta = 0 must not read it */
    assert_int_equal(peer->execute(peer, 0), TAMIS_OK);
    const tamis_status status =
        peer->fetch ? peer->fetch(peer, &f->problem, &f->oracle) : tool_mirror_fetch(&f->mirror);
    assert_int_equal(status, TAMIS_OK);
    assert_true(tool_oracle_compare(&f->oracle, &f->problem.output, f->problem.alpha, 0, NULL).passed);
    assert_true(strlen(peer->variant) > 0 || f->problem.operation == TAMIS_OP_SDDMM);
    tool_peer_free(peer);
}

static void a_library_that_is_not_there_is_named(void **state) {
    (void)state;
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
        const bool first = !tool_peer_make(&tool_peer_cusparse, &f.mirror, why, sizeof why) && !*why;
        const bool second = !tool_peer_make(&tool_peer_cusparse, &f.mirror, why, sizeof why) && !*why;
        _exit(first && second ? 0 : 1);
    }
    int code = 1;
    waitpid(child, &code, 0);
    char text[512] = "";
    assert_true(pread(file, text, sizeof text - 1, 0) > 0);
    close(file);
    unlink(path);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text, "cusparse is not there: looked for /nowhere/libcusparse.so"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* once */
    drop(&f);
}

static void cusparse_computes_edge_mask(void **state) {
    (void)state;
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        for (int type = TAMIS_F32; type <= TAMIS_F64; type++) {
            for (int values = 0; values < 2; values++) {
                fixture f;
                make(&f, (tamis_operation)operation, (tamis_type)type, values != 0);
                compute_and_compare(&f, &tool_peer_cusparse);
                drop(&f);
            }
        }
    }
}

static void cublas_computes_the_dense_product(void **state) {
    (void)state;
    for (int type = TAMIS_F32; type <= TAMIS_F64; type++) {
        fixture f;
        make(&f, TAMIS_OP_SDDMM, (tamis_type)type, true);
        compute_and_compare(&f, &tool_peer_cublas);
        drop(&f);
    }
}

static void refused(fixture *f, const tool_peer_kind *kind, const char *reason) {
    char why[256];
    f->mirror.problem = f->problem;
    assert_null(tool_peer_make(kind, &f->mirror, why, sizeof why));
    if (!strstr(why, reason)) fail_msg("'%s' does not say '%s'", why, reason);
}

static void what_peers_cannot_do_is_said(void **state) {
    (void)state;
    fixture f;
    make(&f, TAMIS_OP_FUSED, TAMIS_F32, true);
    f.problem.edge = TAMIS_EDGE_SOFTMAX;
    refused(&f, &tool_peer_cusparse, "no edge operation but mask");
    refused(&f, &tool_peer_cublas, "only sddmm");
    drop(&f);
    make(&f, TAMIS_OP_SDDMM, TAMIS_F32, true);
    f.problem.beta = 1;
    refused(&f, &tool_peer_cublas, "no old output");
    f.problem.beta = 0;
    f.problem.S.cols = 1 << 20; /* the stand-in has a mebibyte */
    refused(&f, &tool_peer_cublas, "does not fit a quarter");
    f.problem.S.offset_type = TAMIS_I64;
    refused(&f, &tool_peer_cusparse, "of one type");
    drop(&f);
    make(&f, TAMIS_OP_SPMM, TAMIS_F32, true);
    f.problem.type = TAMIS_BF16; /* which the stand-in does not know */
    f.problem.S.index_type = f.problem.S.offset_type = TAMIS_I64;
    refused(&f, &tool_peer_cusparse, "not supported");
    drop(&f);
}

static void peers_are_found_by_either_name(void **state) {
    (void)state;
    assert_ptr_equal(tool_peer_find("cusparse"), &tool_peer_cusparse);
    assert_ptr_equal(tool_peer_find("cublas"), &tool_peer_cublas);
    assert_ptr_equal(tool_peer_find("cublas-dense"), &tool_peer_cublas);
    assert_null(tool_peer_find("naive"));
    for (int i = 0; tool_peer_names.name(i); i++) assert_non_null(tool_peer_find(tool_peer_names.name(i)));
}

static void every_algorithm_is_listed_once(void **state) {
    (void)state;
    for (int i = 0; tool_algorithms.name(i); i++) {
        for (int j = 0; j < i; j++) assert_string_not_equal(tool_algorithms.name(i), tool_algorithms.name(j));
    }
}

static void a_mirror_gives_back_what_it_was_given(void **state) {
    (void)state;
    fixture f;
    make(&f, TAMIS_OP_FUSED, TAMIS_F32, true);
    tool_device device = {0};
#ifdef __SANITIZE_THREAD__ /* it cannot see into an OpenCL implementation */
    drop(&f);
    skip();
#endif
    if (tamis_device_open("opencl:0", &device.device) != TAMIS_OK) {
        drop(&f);
        skip();
    }
    assert_int_equal(tamis_device_describe(device.device, &device.description), TAMIS_OK);
    device.gpu = true;
    f.problem.D = f.problem.B; /* shared operands stay shared */
    tool_mirror mirror;
    assert_int_equal(tool_mirror_create(&device, &f.problem, 0, &mirror), TAMIS_OK);
    assert_ptr_equal(mirror.problem.D.data, mirror.problem.B.data);
    assert_ptr_not_equal(mirror.problem.B.data, f.problem.B.data);
    assert_int_equal(mirror.problem.S.location, TAMIS_DEVICE);
    unsigned char *memory = f.operands.output.memory;
    for (size_t i = 0; i < f.operands.output.bytes; i++) memory[i] = (unsigned char)(i * 7);
    assert_int_equal(tool_mirror_put(&mirror), TAMIS_OK);
    memset(memory, 0, f.operands.output.bytes);
    assert_int_equal(tool_mirror_fetch(&mirror), TAMIS_OK);
    for (size_t i = 0; i < f.operands.output.bytes; i++) assert_int_equal(memory[i], (unsigned char)(i * 7));
    tool_mirror_free(&mirror);
    tamis_device_close(device.device);
    drop(&f);
}

int main(void) {
    setenv("TAMIS_CUDA_DRIVER", PEER_LIBRARY, 1);
    setenv("TAMIS_CUSPARSE", PEER_LIBRARY, 1);
    setenv("TAMIS_CUBLAS", PEER_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_is_not_there_is_named), /* first: nothing is loaded yet */
        cmocka_unit_test(cusparse_computes_edge_mask),          cmocka_unit_test(cublas_computes_the_dense_product),
        cmocka_unit_test(what_peers_cannot_do_is_said),         cmocka_unit_test(peers_are_found_by_either_name),
        cmocka_unit_test(every_algorithm_is_listed_once),       cmocka_unit_test(a_mirror_gives_back_what_it_was_given),
    };
    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
