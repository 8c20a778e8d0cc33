/*
 * Copies between host and device memory, and within a device's: places, sizes, order, and what is refused.
 *   test_device_memory [DEVICE]
 */
#include "support/test.h"

#include <tamis/stream.h>

#include "device_fixture.h"

enum { BYTES = 1000 };

static void *memory[2];
static unsigned char pattern[2][BYTES];

static void write_patterns(void) {
    for (int m = 0; m < 2; m++) {
        for (int i = 0; i < BYTES; i++) pattern[m][i] = (unsigned char)(7 * i + 101 * m + i / 256);
        works(tamis_device_upload(device, NULL, memory[m], 0, pattern[m], BYTES));
    }
}

static void has(int m, const unsigned char *expected) {
    unsigned char found[BYTES];
    works(tamis_device_download(device, NULL, found, memory[m], 0, BYTES));
    assert_memory_equal(found, expected, BYTES);
}

TEST(read_and_write) {
    unsigned char part[40];
    write_patterns();
    has(0, pattern[0]);
    works(tamis_device_download(device, NULL, part, memory[1], 333, sizeof part));
    assert_memory_equal(part, pattern[1] + 333, sizeof part);
    works(tamis_device_upload(device, NULL, memory[0], BYTES - sizeof part, part, sizeof part));
    memcpy(pattern[0] + BYTES - sizeof part, part, sizeof part);
    has(0, pattern[0]);
}

/* Any place, any size; what is around it stays. */
TEST(copies_within) {
    static const size_t cases[][3] = {{0, 0, BYTES}, {0, 1, 1},       {1, 0, 7},         {5, 992, 8},
                                      {992, 4, 8},   {128, 256, 512}, {3, 700, 299},     {700, 3, 300},
                                      {BYTES, 0, 0}, {0, BYTES, 0},   {BYTES - 1, 17, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t to = cases[i][0], from = cases[i][1], bytes = cases[i][2];
        write_patterns();
        works(tamis_device_copy(device, NULL, memory[0], to, memory[1], from, bytes));
        memcpy(pattern[0] + to, pattern[1] + from, bytes);
        has(0, pattern[0]);
        has(1, pattern[1]);
        if ((to > from ? to - from : from - to) < bytes) continue;
        works(tamis_device_copy(device, NULL, memory[1], to, memory[1], from, bytes));
        memcpy(pattern[1] + to, pattern[1] + from, bytes);
        has(1, pattern[1]);
    }
}

/* One after another without waiting: each sees what the one before it left. */
TEST(copies_are_in_order) {
    write_patterns();
    for (size_t i = 1; i < BYTES; i++) {
        works(tamis_device_copy(device, NULL, memory[0], i, memory[0], i - 1, 1));
        pattern[0][i] = pattern[0][i - 1];
    }
    has(0, pattern[0]);
    works(tamis_stream_synchronize(device, NULL));
}

TEST(copies_are_refused) {
    char host[8] = "";
    write_patterns();
    REFUSED(ARGUMENT, "^device = NULL: open one with tamis_device_open$",
            tamis_device_copy(NULL, NULL, memory[0], 0, memory[1], 0, 1));
    REFUSED(ARGUMENT, "^to = NULL: expected an address for 3 bytes$",
            tamis_device_copy(device, NULL, NULL, 0, memory[1], 0, 3));
    REFUSED(ARGUMENT, "^from = NULL: expected the address of 3 bytes$",
            tamis_device_copy(device, NULL, memory[0], 0, NULL, 0, 3));
    REFUSED(ARGUMENT, "^to = NULL: expected an address for 3 bytes$",
            tamis_device_upload(device, NULL, NULL, 0, host, 3));
    REFUSED(ARGUMENT, "^from = NULL: expected the address of 3 bytes$",
            tamis_device_download(device, NULL, host, NULL, 0, 3));
    REFUSED(ARGUMENT, "^to_offset = 10, from_offset = 10: ranges of 1 bytes overlap, since to = from$",
            tamis_device_copy(device, NULL, memory[0], 10, memory[0], 10, 1));
    REFUSED(ARGUMENT, "^to_offset = 0, from_offset = 99: ranges of 100 bytes overlap, since to = from$",
            tamis_device_copy(device, NULL, memory[0], 0, memory[0], 99, 100));
    REFUSED(ARGUMENT, "^to_offset = 99, from_offset = 0: ranges of 100 bytes overlap, since to = from$",
            tamis_device_copy(device, NULL, memory[0], 99, memory[0], 0, 100));
    works(tamis_device_copy(device, NULL, NULL, 0, NULL, 0, 0));
    has(0, pattern[0]);
    has(1, pattern[1]);
}

static int open_all(void **state) {
    if (set_up(state) != 0) return -1;
    for (int m = 0; m < 2; m++) works(tamis_device_allocate(device, BYTES, &memory[m]));
    return 0;
}

static int close_all(void **state) {
    for (int m = 0; m < 2; m++) tamis_device_free(device, memory[m]);
    return tear_down(state);
}

TEST_ON_DEVICE(open_all, close_all)
