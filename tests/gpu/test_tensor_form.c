/* Which chip multiplies cells how (tensor/form.h), and that what is said of its memory is what a device says. */
#include "support/test.h"

#include "fake.h"
#include "gpu/tensor/form.h"

TEST(chips) {
    for (int i = 0; i < fake_chip_count; i++) {
        static fake_device device;
        const fake_chip *const chip = &fake_chips[i];
        fake_device_make(&device, chip, i);
        const tamis_tensor_chip of = tamis_tensor_of(&device.shared);
        assert_true(of.form == (chip->architecture == 90 ? TAMIS_TENSOR_WGMMA : TAMIS_TENSOR_MMA));
        assert_true(of.shared == chip->shared_of_multiprocessor);
        assert_true(tamis_tensor_group_bytes(of, 1) == chip->shared_most);
        assert_true(2 * tamis_tensor_group_bytes(of, 2) + (2 << 10) <= chip->shared_of_multiprocessor);
        assert_true(setenv("TAMIS_TENSOR_CORES", "mma", 1) == 0);
        assert_true(tamis_tensor_of(&device.shared).form == TAMIS_TENSOR_MMA);
        assert_true(tamis_tensor_of(&device.shared).shared == of.shared);
        assert_true(unsetenv("TAMIS_TENSOR_CORES") == 0);
    }
}

TEST(capabilities) {
    assert_true(tamis_tensor_chip_of(75).form == TAMIS_TENSOR_NONE);
    assert_true(tamis_tensor_chip_of(87).shared == 164 << 10);
    assert_true(tamis_tensor_chip_of(103).form == TAMIS_TENSOR_MMA && tamis_tensor_chip_of(103).shared == 228 << 10);
    assert_true(tamis_tensor_chip_of(121).form == TAMIS_TENSOR_MMA && tamis_tensor_chip_of(121).shared == 100 << 10);
    assert_true(tamis_tensor_chip_of(200).form == TAMIS_TENSOR_MMA && tamis_tensor_chip_of(200).shared == 100 << 10);
}
