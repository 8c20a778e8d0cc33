/*
 * What the host gives to kernels, on a device that launches nothing (fake.h): every kernel's parameters can be read,
 * and a launch that gives too little, too much or the wrong kind says so.
 */
#include "support/test.h"

#include "fake.h"
#include "gpu/compile/jit.h"
#include "gpu/runtime/arguments.h"

static fake_device chip;

/* --- reading */

static const char text[] = "#define FEW_PARAMETERS int64 rows, \\\n    IN(real, pairs)\n"
                           "#define ALL_PARAMETERS FEW_PARAMETERS, real alpha\n"
                           "\nKERNEL some_kernel(ALL_PARAMETERS, OUT(element, out), int32 stage,\n"
                           "                   int wide, FEW_PARAMETERS, MAP(tiles)) {}\n"
                           "\nKERNEL odd(int64 rows, const float *x) {}\n\nKERNEL open(int64 rows";

TEST(parameters_are_read) {
    static const struct {
        const char *name;
        tamis_gpu_kind kind;
    } wanted[] = {{"rows", TAMIS_GPU_INT64}, {"pairs", TAMIS_GPU_PLACE}, {"alpha", TAMIS_GPU_FLOAT64},
                  {"out", TAMIS_GPU_PLACE},  {"stage", TAMIS_GPU_INT32}, {"wide", TAMIS_GPU_INT32},
                  {"rows", TAMIS_GPU_INT64}, {"pairs", TAMIS_GPU_PLACE}, {"tiles", TAMIS_GPU_TILES}};
    tamis_gpu_signature s;
    works(tamis_gpu_signature_read(text, "some_kernel", true, &s));
    assert_int_equal(s.count, sizeof wanted / sizeof wanted[0]);
    for (int i = 0; i < s.count; i++) {
        assert_string_equal(s.parameters[i].name, wanted[i].name);
        assert_int_equal(s.parameters[i].kind, wanted[i].kind);
    }
    works(tamis_gpu_signature_read(text, "some_kernel", false, &s));
    assert_int_equal(s.parameters[2].kind, TAMIS_GPU_FLOAT32);
}

TEST(what_cannot_be_read) {
    static const char *const cases[][2] = {{"no_such", "there is no kernel no_such"},
                                           {"odd", "`const float *x` is not understood"},
                                           {"open", "have no end"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tamis_gpu_signature s;
        assert_int_equal(tamis_gpu_signature_read(text, cases[i][0], false, &s), TAMIS_ERROR_INTERNAL);
        assert_non_null(strstr(tamis_last_error(), cases[i][1]));
    }
}

TEST(bodies_are_opened) {
    static const char kernels[] = "\nKERNEL f(IN(element, a), int64 a_batch_stride, OUT(real, out),\n"
                                  "    int64 other_batch_stride) {\n    out[0] = a[0];\n}\n";
    char statements[256];
    const char *body;
    works(tamis_gpu_signature_open(kernels, kernels + 1, &body, statements, sizeof statements));
    assert_string_equal(statements, " TAKE(element, a); MEMBER(a, a_batch_stride); TAKE_OUT(real, out);");
    assert_string_equal(body, "\n    out[0] = a[0];\n}\n");
    REFUSED(INTERNAL, "too many pointers", tamis_gpu_signature_open(kernels, kernels + 1, &body, statements, 40));
    REFUSED(INTERNAL, "has no body",
            tamis_gpu_signature_open("KERNEL f(int64 x)", "KERNEL f(int64 x)", &body, statements, 40));
}

/* All kernels of all files that the library holds, except kernels that another one launches. */
TEST(kernels_of_the_library) {
    enum { BUFFERS_MOST = 18 }; /* graph_attention_rows: eleven matrices of the caller, the pattern, four lists */
    static const char head[] = "\nKERNEL ";
    int kernels = 0;
    for (int i = 0; i < tamis_gpu_source_count; i++) {
        char *whole = NULL;
        works(tamis_gpu_source_text(tamis_gpu_sources[i].name, &whole));
        for (const char *at = whole; (at = strstr(at, head)) != NULL;) {
            char name[64];
            tamis_gpu_signature s;
            at += sizeof head - 1;
            const size_t bytes = strcspn(at, "(");
            assert_true(bytes < sizeof name);
            memcpy(name, at, bytes);
            name[bytes] = 0;
            if (tamis_gpu_signature_read(whole, name, false, &s) != TAMIS_OK || s.count == 0)
                fail_msg("%s: %s", tamis_gpu_sources[i].name, tamis_last_error());
            int buffers = 0;
            for (int k = 0; k < s.count; k++) buffers += s.parameters[k].kind == TAMIS_GPU_PLACE;
            if (buffers > BUFFERS_MOST) fail_msg("%s takes %d buffers: %d at most", name, buffers, BUFFERS_MOST);
            kernels++;
        }
        tamis_release(whole);
    }
    assert_true(kernels > 50);
}

/* --- binding */

static void bind_and_expect(const tamis_gpu_kernel *kernel, const tamis_gpu_common *common, const tamis_gpu_named *own,
                            const char *says) {
    tamis_gpu_argument values[TAMIS_GPU_PARAMETERS_MOST];
    const tamis_status status = tamis_gpu_bind(kernel, common, own, values);
    if (!says) {
        if (status != TAMIS_OK) fail_msg("%s", tamis_last_error());
        return;
    }
    if (status != TAMIS_ERROR_INTERNAL || !strstr(tamis_last_error(), says))
        fail_msg("wanted `%s`, not `%s`", says, status == TAMIS_OK ? "nothing" : tamis_last_error());
}

TEST(launches_are_checked) {
    tamis_gpu_kernel *kernel = NULL;
    const tamis_gpu_common common = {.nnz = 7};
    const tamis_gpu_named to = tamis_gpu_memory("to", &chip), from = tamis_gpu_memory("from", &chip),
                          count = tamis_gpu_integer("count", 5), permutation = tamis_gpu_memory("permutation", &chip),
                          out = tamis_gpu_integer("out", 1), members = tamis_gpu_integer("members", 1),
                          from_step = tamis_gpu_integer("from_step", 0), to_step = tamis_gpu_integer("to_step", 0);
#define MEMBERS members, from_step, to_step
    works(tamis_gpu_kernel_get(&chip.shared, "staging.simt",
                               "-D GROUP=256 -D TEAM=32 -D ELEMENT=32 -D INDEX=32 -D OFFSET=32 ", "permute", 0,
                               &kernel));
    bind_and_expect(kernel, NULL, TAMIS_GPU_ARGUMENTS(count, MEMBERS, permutation, from, to, out), NULL);
    bind_and_expect(kernel, NULL, TAMIS_GPU_ARGUMENTS(out, to, from, permutation, MEMBERS, count),
                    NULL); /* in any order */
    bind_and_expect(kernel, NULL, TAMIS_GPU_ARGUMENTS(count, MEMBERS, permutation, from, to),
                    "kernel permute takes out, which its launch does not give");
    bind_and_expect(kernel, &common, TAMIS_GPU_ARGUMENTS(count, MEMBERS, permutation, from, to),
                    "kernel permute takes out, which its launch does not give");
    bind_and_expect(kernel, NULL,
                    TAMIS_GPU_ARGUMENTS(count, MEMBERS, permutation, from, to, out, tamis_gpu_real("alpha", 1)),
                    "kernel permute does not take alpha, which its launch gives");
    bind_and_expect(kernel, NULL, TAMIS_GPU_ARGUMENTS(count, MEMBERS, permutation, from, to, out, out),
                    "an argument twice");
    bind_and_expect(kernel, NULL,
                    TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("count", &chip), MEMBERS, permutation, from, to, out),
                    "takes count as an integer, its launch gives a place in memory");
    bind_and_expect(kernel, NULL,
                    TAMIS_GPU_ARGUMENTS(count, MEMBERS, permutation, from, to, tamis_gpu_integer("out", 1LL << 40)),
                    "takes out in 32 bits, its launch gives 1099511627776");
    tamis_gpu_kernel_release(kernel);
}

TEST(values_are_in_place) {
    tamis_gpu_signature signature;
    const tamis_gpu_kernel kernel = {.name = "some_kernel", .signature = &signature};
    tamis_gpu_argument values[TAMIS_GPU_PARAMETERS_MOST];
    const tamis_gpu_common common = {.rows = 3, .alpha = 0.5, .out = {&chip, 8}, .wide = 2};
    static const char short_text[] =
        "\nKERNEL some_kernel(int64 rows, int32 stage, real alpha, OUT(real, out), int wide)";
    works(tamis_gpu_signature_read(short_text, "some_kernel", false, &signature));
    tamis_gpu_signature_common(&signature);
    works(tamis_gpu_bind(&kernel, &common, TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("stage", -4)), values));
    assert_int_equal(values[0].value.int64, 3);
    assert_int_equal(values[1].value.int32, -4);
    assert_true(values[2].value.float32 == 0.5F);
    assert_ptr_equal(values[3].value.place.base, &chip);
    assert_int_equal(values[3].value.place.bytes, 8);
    assert_int_equal(values[4].value.int32, 2);
    assert_int_equal(values[4].kind, TAMIS_GPU_INT32);
}

TEST_RUN() {
    fake_device_make(&chip, &fake_chips[1], 0);
    return test_run(NULL, NULL, NULL, NULL);
}
