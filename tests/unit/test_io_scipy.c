/* Files that SciPy wrote (scipy/write.py), read where SciPy is not installed. */
#include "test_io_support.h"

#define AS_CSR  "csr 3x4 5| 0 0 1| 0 2 2| 2 1 3| 2 2 4| 2 3 5"
#define AS_ONES "csr 3x4 5| 0 0 1| 0 2 1| 2 1 1| 2 2 1| 2 3 1"
#define AS_COO  "coo 3x4 5| 0 0 1| 0 2 2| 2 1 3| 2 2 4| 2 3 5"

static size_t read_file(const char *name, unsigned char *file, size_t room) {
    char path[1024];
    snprintf(path, sizeof path, TAMIS_SOURCE_FOLDER "/tests/unit/scipy/%s.npz", name);
    return io_load(path, file, room);
}

static bool is_packed(const char *name) { return !strstr(name, "stored") && !strstr(name, "big-endian"); }

TEST(reads_every_kind) {
    static const struct {
        const char *name, *expected;
        tamis_format format;
    } cases[] = {
        {"csr-f2", AS_CSR, TAMIS_CSR},
        {"csr-f4", AS_CSR, TAMIS_CSR},
        {"csr-f8", AS_CSR, TAMIS_CSR},
        {"csr-i1", AS_CSR, TAMIS_CSR},
        {"csr-i4", AS_CSR, TAMIS_CSR},
        {"csr-i8", AS_CSR, TAMIS_CSR},
        {"csr-u2", AS_CSR, TAMIS_CSR},
        {"csr-bool", AS_ONES, TAMIS_CSR},
        {"csr-f8-stored", AS_CSR, TAMIS_CSR},
        {"csr-f8-stored", AS_COO, TAMIS_COO},
        {"csr-bool-stored", AS_ONES, TAMIS_CSR},
        {"csr-int64", AS_CSR, TAMIS_CSR},
        {"csr-int64-stored", AS_CSR, TAMIS_CSR},
        {"csc-f4", AS_CSR, TAMIS_CSR},
        {"csc-f8-stored", AS_CSR, TAMIS_CSR},
        {"csc-int64", AS_CSR, TAMIS_CSR},
        {"csc-bool", AS_ONES, TAMIS_CSR},
        {"coo-f4", AS_CSR, TAMIS_CSR},
        {"coo-f4", AS_COO, TAMIS_COO},
        {"coo-f8-stored", AS_CSR, TAMIS_CSR},
        {"coo-f8-stored", AS_COO, TAMIS_COO},
        {"coo-int64", AS_CSR, TAMIS_CSR},
        {"coo-int64", AS_COO, TAMIS_COO},
        {"coo-i2-int64-stored", AS_COO, TAMIS_COO},
        {"coo-bool", AS_ONES, TAMIS_CSR},
        {"coo-backwards", AS_CSR, TAMIS_CSR},
        {"coo-backwards", "coo 3x4 5| 2 3 5| 2 2 4| 2 1 3| 0 2 2| 0 0 1", TAMIS_COO},
        {"array-csr", AS_CSR, TAMIS_CSR},
        {"array-coo", AS_COO, TAMIS_COO},
        {"csr-big-endian", AS_CSR, TAMIS_CSR},
    };
    static unsigned char file[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (is_packed(cases[i].name) && !TAMIS_HAVE_ZLIB) continue;
        const size_t bytes = read_file(cases[i].name, file, sizeof file);
        for (int type = 0; type < 4; type++) {
            const tamis_read_options *const options =
                IO_WITH(.format = cases[i].format, .index_type = type & 1 ? TAMIS_I64 : TAMIS_I32,
                        .offset_type = type & 2 ? TAMIS_I64 : TAMIS_I32);
            io_expect_bytes(cases[i].name, file, bytes, options, cases[i].expected);
        }
    }
}

/* Of members that are not packed only the checksum says that a number is another one. */
TEST(notices_a_changed_number) {
    static const double five = 5;
    static unsigned char file[8192];
    const size_t bytes = read_file("csr-f8-stored", file, sizeof file);
    size_t at = 0;
    if (!TAMIS_HAVE_ZLIB) skip_because("built without zlib, whose checksum it is");
    while (at + sizeof five <= bytes && memcmp(file + at, &five, sizeof five) != 0) at++;
    assert_true(at + sizeof five <= bytes);
    file[at + 6] ^= 1;
    io_refuse_bytes("c.npz", file, bytes, NULL, TAMIS_ERROR_FORMAT,
                    "c.npz: a broken zip archive: data.npy: its checksum is wrong");
}

TEST(refuses_blocks) {
    static unsigned char file[8192];
    if (!TAMIS_HAVE_ZLIB) skip_because("built without zlib");
    const size_t bytes = read_file("bsr", file, sizeof file);
    io_refuse_bytes("b.npz", file, bytes, NULL, TAMIS_ERROR_UNSUPPORTED,
                    "b.npz: found the format 'bsr', expected csr, csc or coo");
}
