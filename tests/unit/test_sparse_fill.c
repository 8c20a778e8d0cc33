/* Seeded values: the same whatever the layout, stride, type and number of threads, and within their range. */

#include "test_sparse_support.h"

#include "generate/recipe.h"

static double plain_value(uint64_t seed, int64_t i, int64_t j, int64_t cols, double low, double high) {
    const double uniform = tamis_random_uniform_at(seed, 0, (uint64_t)(i * cols + j));
    const double scaled = (high - low) * uniform;
    return low + scaled;
}

/* The published answers of Philox 4x32-10, as its authors' Random123 has them: counter and key are all zeros, all ones,
 * digits of pi. */
TEST(draws_are_philox) {
    const struct {
        uint64_t seed, stream, block, draws[2];
    } known[] = {
        {0, 0, 0, {0xe169c58d6627e8d5u, 0x9b00dbd8bc57ac4cu}},
        {~0ull, ~0ull, ~0ull, {0x41c83b0e408f276du, 0x6d5451fda20bc7c6u}},
        {0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u, {0x94fdccebd16cfe09u, 0x24126ea15001e420u}}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint64_t draws[2];
        tamis_random_block(known[k].seed, known[k].stream, known[k].block, draws);
        assert_true(draws[0] == known[k].draws[0] && draws[1] == known[k].draws[1]);
    }
}

TEST(draws_agree) {
    uint64_t bits[300];
    for (uint64_t first = 0; first < 5; first++)
        for (int64_t count = 0; count < 300; count += count < 20 ? 1 : 31) {
            const uint64_t begin = first + (first == 4 ? (uint64_t)1 << 33 : 0);
            tamis_random_fill(0x123456789abcdef0u, 0xfedcba9876543210u, begin, count, bits);
            for (int64_t i = 0; i < count; i++)
                assert_true(bits[i] == tamis_random_at(0x123456789abcdef0u, 0xfedcba9876543210u, begin + (uint64_t)i));
        }
}

TEST(fills_any_view) {
    const int64_t sizes[][2] = {{0, 0}, {1, 1}, {3, 0}, {0, 3}, {5, 7}, {1, 1000}, {1000, 1}, {37, 129}, {300, 515}};
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++)
        for (int way = 0; way < 16; way++) {
            const int64_t rows = sizes[size][0], cols = sizes[size][1];
            const tamis_type type = (tamis_type)(way & 3);
            const tamis_layout layout = (tamis_layout)(way >> 2 & 1);
            const int64_t length = layout == TAMIS_ROW_MAJOR ? cols : rows;
            const int64_t lines = layout == TAMIS_ROW_MAJOR ? rows : cols, stride = length + (way >> 3) * 3;
            OWN(char) *const data = room_for(lines * stride + 1, 8);
            const size_t bytes = tamis_type_size(type);
            memset(data, 0x5a, (size_t)(lines * stride) * bytes);
            const tamis_dense dense = {.data = data,
                                       .rows = rows,
                                       .cols = cols,
                                       .stride = way >> 3 ? stride : 0,
                                       .type = type,
                                       .layout = layout};
            works(tamis_fill_uniform(&dense, 42 + size, -1, 1));
            for (int64_t line = 0; line < lines; line++)
                for (int64_t k = 0; k < stride; k++) {
                    const int64_t i = layout == TAMIS_ROW_MAJOR ? line : k, j = layout == TAMIS_ROW_MAJOR ? k : line;
                    char expected[8];
                    memset(expected, 0x5a, sizeof expected); /* the gap between lines is not touched */
                    if (k < length) tamis_element_store(expected, type, 0, plain_value(42 + size, i, j, cols, -1, 1));
                    if (k < length && tamis_element_load(expected, type, 0) >= 1) continue; /* see stays_below_high */
                    assert_memory_equal(data + (size_t)(line * stride + k) * bytes, expected, bytes);
                }
        }
}

TEST(stays_below_high) {
    const double ranges[][2] = {{-1, 1}, {0, 1}, {5, 5.25}, {-3, -2.5}, {-1e-3, 0}, {0, 3e-5}, {7, 7}, {1, 1.0001}};
    for (int type = 0; type < 4; type++)
        for (size_t range = 0; range < sizeof ranges / sizeof *ranges; range++) {
            const double low = ranges[range][0], high = ranges[range][1];
            OWN(tamis_owned_dense) *array;
            works(tamis_owned_dense_create(1, 200000, (tamis_type)type, TAMIS_ROW_MAJOR, &array));
            const tamis_dense *const view = tamis_owned_dense_view(array);
            works(tamis_fill_uniform(view, 3, low, high));
            double sum = 0, least = INFINITY, most = -INFINITY;
            for (int64_t i = 0; i < 200000; i++) {
                const double value = tamis_element_load(view->data, (tamis_type)type, i);
                sum += value;
                if (value < least) least = value;
                if (value > most) most = value;
            }
            const double width = high - low, fine = width + fabs(low) / 100;
            if (range < 6) assert_true(most < high);
            assert_true(least >= low - fine && most <= high + fine);
            assert_true(fabs(sum / 200000 - (low + high) / 2) < 0.02 * fine);
        }
}

TEST(streams_differ) {
    float one[64], two[64];
    tamis_fill_values(one, TAMIS_F32, 64, 5, 1, 0, 1);
    tamis_fill_values(two, TAMIS_F32, 64, 5, 2, 0, 1);
    assert_memory_not_equal(one, two, sizeof one);
    tamis_fill_values(two, TAMIS_F32, 64, 5, 1, 0, 1);
    assert_memory_equal(one, two, sizeof one);
    for (int i = 0; i < 64; i++) assert_true(one[i] == (float)tamis_random_uniform_at(5, 1, (uint64_t)i));
}

TEST(refuses_arguments) {
    float data[4] = {9, 9, 9, 9};
    tamis_dense dense = {.data = data, .rows = 2, .cols = 2};
    REFUSED(ARGUMENT, "dense = NULL", tamis_fill_uniform(NULL, 1, 0, 1));
    REFUSED(ARGUMENT, "low = 1, high = 0", tamis_fill_uniform(&dense, 1, 1, 0));
    REFUSED(ARGUMENT, "low = nan", tamis_fill_uniform(&dense, 1, (double)NAN, 0));
    REFUSED(ARGUMENT, "high = inf", tamis_fill_uniform(&dense, 1, 0, INFINITY));
    REFUSED(ARGUMENT, "finite", tamis_fill_uniform(&dense, 1, -1.7e308, 1.7e308));
    dense.location = TAMIS_DEVICE;
    REFUSED(ARGUMENT, "dense.location", tamis_fill_uniform(&dense, 1, 0, 1));
    dense.location = TAMIS_HOST;
    dense.stride = 1;
    REFUSED(ARGUMENT, "dense.stride = 1", tamis_fill_uniform(&dense, 1, 0, 1));
    for (int i = 0; i < 4; i++) assert_true(data[i] == 9);
}
