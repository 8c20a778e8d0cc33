/*
 * What is looked at before every launch, on a device that launches nothing (fake.h): whether rows can be read a unit at
 * a time, and whether the grid is one that the device has. Processors that speak OpenCL read from any address and take
 * any grid, so that no result there depends on either.
 */
#include "support/test.h"

#include "fake.h"
#include "gpu/method.h"

enum { UNIT = 16 }; /* bytes */

static fake_device chip;

static tamis_place at(uintptr_t base, int64_t bytes) { return (tamis_place){(void *)base, bytes}; }

/* The address, the distance of rows and that of members: each by itself decides. */
TEST(alignment) {
    static const struct {
        uintptr_t base;
        int64_t bytes, stride, batch_stride;
        size_t size;
        bool aligned;
    } rows[] = {
        {4096, 0, 4, 0, 4, true},          {4096, 16, 8, 400, 4, true},  {4096 + 8, 8, 4, 0, 4, true},
        {4096 + 4, 0, 4, 0, 4, false},     {4096, 4, 4, 0, 4, false},    {4096, 0, 5, 0, 4, false},
        {4096, 0, 6, 0, 4, false},         {4096, 0, 6, 0, 8, true},     {4096, 0, 7, 0, 8, false},
        {4096, 0, 8, 0, 2, true},          {4096, 0, 12, 0, 2, false},   {4096, 0, 4, 402, 4, false},
        {4096, 0, 4, 404, 4, true},        {4096, 0, 8, 1003, 8, false}, {4096, 0, 536870908, 0, 4, true},
        {4096, 0, 536870912, 0, 4, false}, /* 2^31 bytes, which 32 bits do not hold */
        {4096, 0, 1LL << 33, 0, 8, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (tamis_gpu_aligned(&chip.shared,
                              &(tamis_matrix){at(rows[i].base, rows[i].bytes), rows[i].stride, rows[i].batch_stride},
                              rows[i].size, UNIT) != rows[i].aligned)
            fail_msg("row %zu", i);
}

/* Of a buffer of OpenCL only the distance from its beginning counts: it has no address. */
TEST(alignment_of_buffers) {
    tamis_gpu_runtime runtime = *chip.shared.runtime;
    tamis_gpu_device device = chip.shared;
    runtime.name = "opencl";
    device.runtime = &runtime;
    assert_true(tamis_gpu_aligned(&device, &(tamis_matrix){at(4097, 0), 4, 0}, 4, UNIT));
    assert_false(tamis_gpu_aligned(&device, &(tamis_matrix){at(4097, 4), 4, 0}, 4, UNIT));
    assert_false(tamis_gpu_aligned(&device, &(tamis_matrix){at(4097, 0), 5, 0}, 4, UNIT));
}

/* One operand that begins or goes on elsewhere is enough, and columns are looked at by themselves. */
TEST(operands_are_looked_at) {
    tamis_prepared p = {.device = &chip.shared, .unit = 4, .problem = {.type = TAMIS_F32, .columns = (void *)4096}};
    const tamis_operands good = {.a = {at(4096, 0), 8, 80}, .b = {at(8192, 0), 12, 120}, .d = {at(12288, 0), 16, 160}};
    assert_int_equal(tamis_gpu_wide(&p, &good), 3);
    for (int i = 0; i < 9; i++) {
        tamis_operands x = good;
        int64_t *const strides[] = {&x.a.stride,       &x.b.stride,       &x.d.stride,
                                    &x.a.batch_stride, &x.b.batch_stride, &x.d.batch_stride};
        tamis_place *const places[] = {&x.a.at, &x.b.at, &x.d.at};
        if (i < 6)
            *strides[i] += 1;
        else
            places[i - 6]->bytes = 4;
        if (tamis_gpu_wide(&p, &x) != 2) fail_msg("operand %d", i);
    }
    p.problem.columns = (void *)4100;
    assert_int_equal(tamis_gpu_wide(&p, &good), 1);
}

TEST(grids) {
    static const tamis_gpu_method method = {.name = "a-method"};
    tamis_gpu_signature signature = {.count = 0};
    tamis_gpu_kernel kernel = {.name = "a_kernel", .signature = &signature};
    tamis_prepared p = {.method = &method, .device = &chip.shared, .kernels = {&kernel}};
    const tamis_gpu_common common = {.members = 1};
    const int64_t *const most = chip.shared.limits.groups_most;
    const long before = chip.launches;
    works(tamis_gpu_launch_kernel(
        &p, NULL, 0, (tamis_gpu_launch){.groups = {most[0], most[1]}, .group_size = 64, .members = 1}, &common, NULL));
    assert_int_equal(chip.launches, before + 1);
    REFUSED(OVERFLOW, "a-method: 2147483648 x 1 groups exceed the 2147483647 x 65535",
            tamis_gpu_launch_kernel(&p, NULL, 0,
                                    (tamis_gpu_launch){.groups = {most[0] + 1, 1}, .group_size = 64, .members = 1},
                                    &common, NULL));
    REFUSED(OVERFLOW, "1 x 65536 groups",
            tamis_gpu_launch_kernel(&p, NULL, 0,
                                    (tamis_gpu_launch){.groups = {1, most[1] + 1}, .group_size = 64, .members = 1},
                                    &common, NULL));
    assert_int_equal(chip.launches, before + 1);
}

TEST_RUN() {
    fake_device_make(&chip, &fake_chips[1], 0);
    return test_run(NULL, NULL, NULL, NULL);
}
