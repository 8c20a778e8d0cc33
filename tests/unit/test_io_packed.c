/* Packed files: .gz, .xz and .zst, whole, in several parts, cut short, broken, and far too large. */
#include "test_io_support.h"

#if TAMIS_HAVE_ZLIB
#include <zlib.h>
#endif
#if TAMIS_HAVE_LZMA
#include <lzma.h>
#endif
#if TAMIS_HAVE_ZSTD
#include <zstd.h>
#endif

static const char content[] = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n2 3 -2e3\n1 2 .25\n";
static const char expected[] = "csr 2x3 3| 0 0 1.5| 0 1 0.25| 1 2 -2000";

/* Each packs `bytes` into `packed` and returns the length; 0: not built in. */
typedef size_t pack_function(const void *data, size_t bytes, unsigned char *packed, size_t room);

static size_t pack_gzip(const void *data, size_t bytes, unsigned char *packed, size_t room) {
#if TAMIS_HAVE_ZLIB
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    memcpy(&stream.next_in, &data, sizeof data);
    stream.avail_in = (uInt)bytes;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t used = stream.total_out;
    deflateEnd(&stream);
    return used;
#else
    return 0;
#endif
}

static size_t pack_xz(const void *data, size_t bytes, unsigned char *packed, size_t room) {
#if TAMIS_HAVE_LZMA
    size_t used = 0;
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, data, bytes, packed, &used, room), LZMA_OK);
    return used;
#else
    return 0;
#endif
}

static size_t pack_zstd(const void *data, size_t bytes, unsigned char *packed, size_t room) {
#if TAMIS_HAVE_ZSTD
    const size_t used = ZSTD_compress(packed, room, data, bytes, 3);
    assert_false(ZSTD_isError(used));
    return used;
#else
    return 0;
#endif
}

static const struct packer {
    const char *ending, *name;
    pack_function *pack;
} packers[] = {{".mtx.gz", "gzip", pack_gzip}, {".mtx.xz", "xz", pack_xz}, {".mtx.zst", "Zstandard", pack_zstd}};
enum { PACKERS = 3, ROOM = 1 << 20 };

TEST(unpacks) {
    static unsigned char packed[ROOM];
    for (int i = 0; i < PACKERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "a%s", packers[i].ending);
        const size_t whole = packers[i].pack(content, sizeof content - 1, packed, ROOM);
        if (whole == 0) {
            print_message("skipped: %s is not built in\n", packers[i].name);
            continue;
        }
        io_expect_bytes(name, packed, whole, NULL, expected);
        io_expect_bytes("no ending", packed, whole, NULL, expected);
        /* a file in two parts, as cat a.gz b.gz makes them */
        const size_t first = packers[i].pack(content, 60, packed, ROOM);
        const size_t second = packers[i].pack(content + 60, sizeof content - 61, packed + first, ROOM - first);
        io_expect_bytes(name, packed, first + second, NULL, expected);
    }
}

TEST(unpacked_lines_are_counted) {
    static unsigned char packed[ROOM];
    static const char bad[] = "%%MatrixMarket matrix coordinate real general\n2 3 1\n9 1 1.5\n";
    for (int i = 0; i < PACKERS; i++) {
        const size_t bytes = packers[i].pack(bad, sizeof bad - 1, packed, ROOM);
        if (bytes > 0)
            io_refuse_bytes("b.mtx.gz", packed, bytes, NULL, TAMIS_ERROR_FORMAT,
                            "b.mtx.gz:3: found '9', expected a row index from 1 to 2");
    }
}

/* Cut anywhere, or with any one byte changed, it must be refused or read, and never leak. */
TEST(survives_damage) {
    static unsigned char packed[ROOM];
    const tamis_read_options *const options = IO_WITH(.threads = 0);
    for (int i = 0; i < PACKERS; i++) {
        const size_t bytes = packers[i].pack(content, sizeof content - 1, packed, ROOM);
        for (size_t cut = 8; cut < bytes; cut++) {
            tamis_owned_sparse *matrix = NULL;
            const int64_t live = tamis_memory_live();
            if (tamis_read_sparse_memory("c.mtx.gz", packed, cut, options, &matrix) == TAMIS_OK)
                fail_msg("%s cut to %zu bytes was read", packers[i].name, cut);
            assert_int_equal(tamis_memory_live(), live);
        }
        for (size_t at = 0; at < bytes; at++) {
            tamis_owned_sparse *matrix = NULL;
            const int64_t live = tamis_memory_live();
            packed[at] ^= 0x41;
            (void)tamis_read_sparse_memory("c.mtx.gz", packed, bytes, options, &matrix);
            tamis_owned_sparse_free(matrix);
            assert_int_equal(tamis_memory_live(), live);
            packed[at] ^= 0x41;
        }
    }
}

TEST(says_what_is_broken) {
    static unsigned char packed[ROOM];
    for (int i = 0; i < PACKERS; i++) {
        char message[64];
        snprintf(message, sizeof message, "c: the %s data are damaged: truncated", packers[i].name);
        const size_t bytes = packers[i].pack(content, sizeof content - 1, packed, ROOM);
        if (bytes > 0) io_refuse_bytes("c", packed, bytes - (i < 2 ? 9 : 3), NULL, TAMIS_ERROR_FORMAT, message);
    }
}

#if TAMIS_HAVE_ZLIB
static void refuse_from(const unsigned char *packed, size_t bytes, size_t at) {
    char message[256];
    snprintf(message, sizeof message,
             "m.gz: the gzip data end at byte %zu of the file, and what stands behind them is no gzip member: expected "
             "one, or zeros up to the end",
             at);
    io_refuse_bytes("m.gz", packed, bytes, NULL, TAMIS_ERROR_FORMAT, message);
}
#endif

/* Behind a gzip member stands another one, or zeros up to the end, as tapes have them. */
TEST(refuses_what_is_no_member) {
#if TAMIS_HAVE_ZLIB
    static unsigned char packed[ROOM];
    const size_t first = pack_gzip(content, 60, packed, ROOM);
    const size_t second = pack_gzip(content + 60, sizeof content - 61, packed + first, ROOM - first);
    const size_t bytes = first + second;
    memset(packed + bytes, 0, 3 << 9);
    io_expect_bytes("m.gz", packed, bytes + (3 << 9), NULL, expected);
    io_expect_bytes("m.gz", packed, bytes + 1, NULL, expected);
    static const char *const ends[] = {"X", "\x1f", "garbage", "\0\0\0X"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t more = i == 3 ? 4 : strlen(ends[i]);
        memcpy(packed + bytes, ends[i], more);
        refuse_from(packed, bytes + more, bytes);
    }
    packed[first] = 'X'; /* the second member is lost */
    refuse_from(packed, bytes, first);
    packed[first] = 0x1f;
    packed[first + 2] = 7; /* its method is not known */
    tamis_owned_sparse *matrix = NULL;
    REFUSED(FORMAT, "m.gz: the gzip data are damaged at byte ",
            tamis_read_sparse_memory("m.gz", packed, bytes, NULL, &matrix));
#else
    skip_because("built without the compression library");
#endif
}

/* 400 MiB of blank lines in 60 kB (xz): refused long before the end. */
TEST(refuses_bombs) {
#if TAMIS_HAVE_LZMA
    enum { ZEROS = 16 << 20, TIMES = 25 };
    unsigned char *const zeros = calloc(1, ZEROS), *const packed = malloc(ROOM);
    assert_non_null(zeros);
    assert_non_null(packed);
    memset(zeros, '\n', ZEROS); /* behind a heading: blank lines, which are no entries */
    const size_t heading = pack_xz(content, 60, packed, ROOM);
    const size_t one = pack_xz(zeros, ZEROS, packed + heading, ROOM - heading);
    assert_true(heading + one * TIMES < ROOM);
    for (size_t i = 1; i < TIMES; i++) memcpy(packed + heading + i * one, packed + heading, one);
    io_refuse_bytes("bomb.mtx.xz", packed, heading + one * TIMES, NULL, TAMIS_ERROR_FORMAT,
                    "bomb.mtx.xz: expands to more than 1200 times its size: this is not a matrix");
    free(zeros);
    free(packed);
#else
    skip_because("built without the compression library");
#endif
}
