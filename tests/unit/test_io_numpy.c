/* .npy and .npz: by hand, and against NumPy and SciPy in both directions where they are installed. */
#include "io/formats/npy.h"
#include "io/pack/zip.h"
#include "io_folder.h"
#include "sparse/element.h"

/* ---- by hand */

static size_t npy(unsigned char *file, const char *header, const void *data, size_t bytes) {
    const size_t length = strlen(header);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (unsigned char)(length & 0xff);
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + 10, header, length);
    if (bytes > 0) memcpy(file + 10 + length, data, bytes);
    return 10 + length + bytes;
}

/* An archive of such members, of which each is at most 512 bytes long; its name, which the caller frees. */
static char *make_archive(int count, const char *const *names, unsigned char (*content)[512], const size_t *bytes) {
    char *const path = io_temporary(".npz");
    tamis_output output;
    works(tamis_output_open(path, false, &output));
    tamis_zip_writer zip = {.output = &output};
    for (int i = 0; i < count; i++) {
        works(tamis_zip_begin(&zip, names[i]));
        works(tamis_zip_write(&zip, content[i], (int64_t)bytes[i]));
        works(tamis_zip_end(&zip));
    }
    works(tamis_output_close(&output, tamis_zip_finish(&zip)));
    return path;
}

static void refuse_npy(const unsigned char *file, size_t bytes, tamis_status status, const char *message) {
    tamis_owned_dense *array = NULL;
    const int64_t live = tamis_memory_live();
    const tamis_status found = tamis_read_dense_memory("b.npy", file, bytes, TAMIS_F32, &array);
    assert_string_equal(tamis_last_error(), message);
    assert_int_equal(found, status ? status : TAMIS_ERROR_FORMAT);
    assert_null(array);
    assert_int_equal(tamis_memory_live(), live);
}

TEST(refuses_bad_npy) {
    static const float four[] = {1, 2, 3, 4};
    static const io_refusal cases[] = {
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }",
         "b.npy: elements of type c8 are not supported; expected f2, f4, f8 or integers", TAMIS_ERROR_UNSUPPORTED},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
         "b.npy: elements of type O0 are not supported; expected f2, f4, f8 or integers", TAMIS_ERROR_UNSUPPORTED},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
         "b.npy: structured arrays are not supported", TAMIS_ERROR_UNSUPPORTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 1), }",
         "b.npy: found 3 dimensions, expected 1 or 2"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "b.npy: found 0 dimensions, expected 1 or 2"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }",
         "b.npy: found 16 bytes of elements, expected 5 elements of 4 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }",
         "b.npy: in the .npy header: expected a shape that fits memory"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
         "b.npy: in the .npy header: expected a size in shape"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (4,), }", "b.npy: in the .npy header: expected True or False"},
        {"{'descr': '<f4', 'shape': (4,), }", "b.npy: in the .npy header: expected descr, fortran_order and shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1}",
         "b.npy: in the .npy header: expected descr, fortran_order and shape only"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4", "b.npy: in the .npy header: expected a dictionary"},
        {"[]", "b.npy: in the .npy header: expected a dictionary"},
        {"{'descr': '<f", "b.npy: in the .npy header: expected descr to be a type such as '<f4'"},
    };
    unsigned char file[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t bytes = npy(file, cases[i].content, four, sizeof four);
        refuse_npy(file, bytes, cases[i].status, cases[i].message);
    }
    const size_t bytes = npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", four, sizeof four);
    refuse_npy(file, 20, 0, "b.npy: in the .npy header: expected more: it is truncated");
    refuse_npy(file, 3, 0, "b.npy: expected the beginning of a .npy array");
    file[6] = 9;
    refuse_npy(file, bytes, 0, "b.npy: in the .npy header: expected version 1, 2 or 3");
}

TEST(keeps_the_layout) {
    static const double six[] = {1, 2, 3, 4, 5, 6};
    unsigned char file[512];
    const size_t bytes = npy(file, "{'shape': (2L, 3L), \"descr\": '<f8', 'fortran_order': True}\n", six, sizeof six);
    OWN(tamis_owned_dense) *array = NULL;
    works(tamis_read_dense_memory("a", file, bytes, TAMIS_F16, &array));
    const tamis_dense *const dense = tamis_owned_dense_view(array);
    assert_int_equal(dense->layout, TAMIS_COLUMN_MAJOR);
    assert_int_equal(dense->rows, 2);
    assert_int_equal(dense->cols, 3);
    for (int i = 0; i < 6; i++) assert_int_equal(((const uint16_t *)dense->data)[i], tamis_f16_from_f32((float)six[i]));
}

/* Integers that no double holds are counted, whatever type is asked for. */
TEST(inexact_integers_are_counted) {
    static const int64_t some[] = {9007199254740992, 9007199254740993, -9007199254740993, INT64_MAX, INT64_MIN, 7};
    static const struct {
        const char *descr;
        int inexact;
    } cases[] = {{"<i8", 3}, {"<u8", 3}, {"<f8", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[128];
        unsigned char file[512];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (6,), }", cases[i].descr);
        const size_t bytes = npy(file, header, some, sizeof some);
        OWN(char) *const path = io_temporary(".npy");
        FILE *const out = fopen(path, "w");
        assert_non_null(out);
        assert_int_equal(fwrite(file, 1, bytes, out), bytes);
        fclose(out);
        OWN(tamis_owned_dense) *array = NULL;
        tamis_read_report report;
        memset(&report, 0xff, sizeof report);
        works(tamis_read_dense_reported(path, TAMIS_F32, &report, &array));
        assert_int_equal(report.inexact, cases[i].inexact);
        assert_int_equal(report.times_column, 0);
        remove(path);
    }
    tamis_owned_dense *array = NULL;
    REFUSED(ARGUMENT, "^report = NULL: expected an address for the report$",
            tamis_read_dense_reported("a.npy", TAMIS_F32, NULL, &array));
}

/* An index of 2^63 or more is no negative one; nor is it another one's last bits. */
TEST(indices_beyond_int64) {
    static const uint64_t large[] = {(uint64_t)1 << 63, UINT64_MAX, INT64_MAX, 1};
    static const char *const names[] = {"format.npy", "shape.npy", "indices.npy", "indptr.npy", "data.npy"};
    static const int64_t shape[] = {1, 3}, offsets[] = {0, 1};
    static const float value[] = {2};
    for (int which = 0; which < 4; which++) {
        unsigned char content[5][512];
        const size_t bytes[] = {
            npy(content[0], "{'descr': '|S3', 'fortran_order': False, 'shape': (), }", "csr", 3),
            npy(content[1], "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", shape, sizeof shape),
            npy(content[2], "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", &large[which], 8),
            npy(content[3], "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", offsets, sizeof offsets),
            npy(content[4], "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", value, sizeof value)};
        tamis_npy array;
        works(tamis_npy_open("a.npy", content[2], (int64_t)bytes[2], (int64_t)bytes[2], &array));
        assert_int_equal(tamis_npy_integer(&array, 0), which == 3 ? 1 : INT64_MAX);
        if (!io_can_write(".npz")) continue;
        OWN(char) *const path = make_archive(5, names, content, bytes);
        OWN(tamis_owned_sparse) *matrix = NULL;
        const tamis_status status = tamis_read_sparse(path, NULL, &matrix);
        if (which == 3)
            works(status);
        else if (status != TAMIS_ERROR_FORMAT ||
                 !strstr(tamis_last_error(), "element 0 is 9223372036854775807, expected 0 to 2"))
            fail_msg("%s", tamis_last_error());
        unlink(path);
    }
}

TEST(refuses_bad_archives) {
    io_refuse_bytes("b.npz", "PK\5\6", 4, NULL, TAMIS_ERROR_FORMAT,
                    "b.npz: a broken zip archive: its end record is missing");
    io_refuse("b.npz", "", NULL, "b.npz: a broken zip archive: its end record is missing");
    static const char empty[22] = "PK\5\6";
    io_refuse_bytes("b.npz", empty, sizeof empty, NULL, TAMIS_ERROR_FORMAT,
                    "b.npz: found no format.npy, expected what scipy.sparse.save_npz writes");
    if (!io_can_write(".npz")) return;
    static const char *const members[] = {"adj_indices.npy",
                                          "adj_\x1bindptr.npy"}; /* the message has no control characters */
    unsigned char content[2][512] = {"x", "x"};
    OWN(char) *const path = make_archive(2, members, content, (size_t[]){1, 1});
    tamis_owned_sparse *matrix = NULL;
    REFUSED(FORMAT, ": found no format.npy but adj_indices.npy, adj_?indptr.npy, expected what ",
            tamis_read_sparse(path, NULL, &matrix));
    unlink(path);
}

static size_t own_archive(unsigned char *file, size_t room) {
    static const int32_t offsets[] = {0, 2, 3}, columns[] = {0, 2, 1};
    static const float values[] = {1, 2, 3};
    const tamis_sparse S = {.rows = 2, .cols = 3, .nnz = 3, .offsets = offsets, .columns = columns, .values = values};
    OWN(char) *const path = io_temporary(".npz");
    works(tamis_write_sparse(path, &S));
    const size_t bytes = io_load(path, file, room);
    unlink(path);
    return bytes;
}

/* The checksum of each of the five members, as the archive's directory has it. */
TEST(notices_wrong_checksums) {
    enum { CHECKSUM_AT = 16, LENGTH_AT = 28, NAME_AT = 46 };
    static unsigned char file[8192];
    if (!io_can_write(".npz")) skip_because("built without zlib");
    const size_t bytes = own_archive(file, sizeof file);
    int members = 0;
    for (size_t at = 0; at + CHECKSUM_AT + 4 <= bytes; at++) {
        if (memcmp(file + at, "PK\1\2", 4) != 0) continue;
        members++;
        char message[256];
        snprintf(message, sizeof message, "c.npz: a broken zip archive: %.*s: its checksum is wrong",
                 file[at + LENGTH_AT], (const char *)file + at + NAME_AT);
        for (int byte = 0; byte < 4; byte++) {
            file[at + CHECKSUM_AT + (size_t)byte] ^= 0x40;
            io_refuse_bytes("c.npz", file, bytes, NULL, TAMIS_ERROR_FORMAT, message);
            file[at + CHECKSUM_AT + (size_t)byte] ^= 0x40;
        }
    }
    assert_int_equal(members, 5);
}

/* A file of the library's own, whole and damaged: cut short or with a byte changed it is refused or read. */
TEST(survives_damage) {
    static unsigned char file[8192];
    if (!io_can_write(".npz")) skip_because("built without zlib");
    const size_t bytes = own_archive(file, sizeof file);
    io_expect_bytes("a.npz", file, bytes, NULL, "csr 2x3 3| 0 0 1| 0 2 2| 1 1 3");
    const tamis_read_options *const options = IO_WITH(.threads = 0);
    const int64_t live = tamis_memory_live();
    int refused = 0;
    for (size_t at = 0; at < bytes; at++) {
        tamis_owned_sparse *matrix = NULL;
        assert_int_not_equal(tamis_read_sparse_memory("c.npz", file, at, options, &matrix), TAMIS_OK);
        file[at] ^= 0x15;
        refused += tamis_read_sparse_memory("c.npz", file, bytes, options, &matrix) != TAMIS_OK;
        tamis_owned_sparse_free(matrix);
        file[at] ^= 0x15;
        assert_int_equal(tamis_memory_live(), live);
    }
    assert_true(refused > (int)bytes / 2);
}

/* ---- against NumPy and SciPy */

/* The interpreter that has SciPy: that of build/python, where scripts/install-python-packages.sh puts it, or the
   system's. NULL: none. */
static const char *find_python(void) {
    static char own[1024];
    static const char *const system_ones[] = {"python3", "/usr/bin/python3"};
    const char *const given = getenv("TAMIS_TEST_PYTHON");
    char line[1200];
    if (given)
        snprintf(own, sizeof own, "%s/bin/python3", given);
    else
        snprintf(own, sizeof own, "%s/build/python/bin/python3", TAMIS_SOURCE_FOLDER);
    for (int i = -1; i < 2; i++) {
        const char *const candidate = i < 0 ? own : system_ones[i];
        snprintf(line, sizeof line, "%s " TAMIS_SOURCE_FOLDER "/tests/unit/test_io_numpy.py probe 2>/dev/null",
                 candidate);
        if (system(line) == 0) return candidate;
    }
    return NULL;
}

/* "": it has not been looked for; NULL: it is nowhere. */
static const char *interpreter = "";

static bool have_scipy(void) {
    if (interpreter && !interpreter[0]) interpreter = find_python();
    return interpreter != NULL;
}

#define NO_SCIPY "no SciPy in build/python (scripts/install-python-packages.sh) or python3 (python3-scipy)"

static void python_line(char *line, size_t room, const char *command) {
    snprintf(line, room, "%s " TAMIS_SOURCE_FOLDER "/tests/unit/test_io_numpy.py %s %s", interpreter, command, folder);
}

static char *text_of_dense(const tamis_dense *dense) {
    char *const text = malloc(64 + (size_t)(dense->rows * dense->cols) * 32);
    assert_non_null(text);
    int used = sprintf(text, "%lldx%lld", (long long)dense->rows, (long long)dense->cols);
    const bool by_rows = dense->layout == TAMIS_ROW_MAJOR;
    for (int64_t i = 0; i < dense->rows; i++)
        for (int64_t j = 0; j < dense->cols; j++)
            used +=
                sprintf(text + used, " %.17g",
                        io_value(dense->data, dense->type, by_rows ? i * dense->stride + j : j * dense->stride + i));
    return text;
}

static void expect_dense(const char *path, const char *expected) {
    OWN(tamis_owned_dense) *array = NULL;
    works(tamis_read_dense(path, TAMIS_F64, &array));
    OWN(char) *const text = text_of_dense(tamis_owned_dense_view(array));
    if (strcmp(text, expected) != 0) fail_msg("%s: %s, expected %s", path, text, expected);
}

TEST_AS(reads_what_scipy_writes, .setup_func = make_folder, .teardown_func = remove_folder) {
    if (!have_scipy()) skip_because(NO_SCIPY);
    if (!io_can_write(".npz")) skip_because("built without zlib");
    static char line[65536];
    python_line(line, sizeof line, "make");
    assert_int_equal(system(line), 0);
    FILE *const list = fopen(in_folder("list"), "r");
    assert_non_null(list);
    int files = 0;
    for (; fgets(line, sizeof line, list); files++) {
        line[strcspn(line, "\n")] = '\0';
        char *const expected = strchr(line, '\t');
        assert_non_null(expected);
        *expected = '\0';
        if (strcmp(expected - 4, ".npy") == 0)
            expect_dense(line, expected + 1);
        else
            io_expect_file(line, IO_WITH(.format = strncmp(expected + 1, "coo", 3) == 0 ? TAMIS_COO : TAMIS_CSR),
                           expected + 1);
    }
    fclose(list);
    print_message("%d files\n", files);
    assert_true(files > 60);
    look_into_folder(true);
}

/* Five entries with the value row * 10 + column + 0.5, in every combination of types that there is. */
static void write_sparse(tamis_format format, tamis_index_type index_type, tamis_index_type offset_type,
                         tamis_type type, bool pattern) {
    static const int64_t wide[3][5] = {{0, 2, 2, 5}, {0, 0, 2, 2, 2}, {0, 3, 1, 2, 3}};
    int32_t narrow[3][5];
    double values[5];
    const void *arrays[3]; /* offsets, rows and columns */
    for (int k = 0; k < 3; k++) {
        for (int t = 0; t < 5; t++) narrow[k][t] = (int32_t)wide[k][t];
        arrays[k] = (k == 0 ? offset_type : index_type) == TAMIS_I32 ? (const void *)narrow[k] : wide[k];
    }
    for (int t = 0; t < 5; t++) tamis_element_store(values, type, t, (double)(wide[1][t] * 10 + wide[2][t]) + 0.5);
    tamis_sparse S = coo_of(type, 3, 4, 5, arrays[1], arrays[2], pattern ? NULL : values);
    S.format = format;
    S.offsets = arrays[0];
    S.index_type = index_type;
    S.offset_type = offset_type;
    static const char *const endings[] = {"npz", "mtx", "mtx.gz"};
    for (int i = 0; i < 3; i++) {
        if (!io_can_write(endings[i])) continue;
        char name[256];
        snprintf(name, sizeof name, "written-%s-%s-%s-%s-%s.%s", tamis_format_name(format),
                 tamis_index_type_name(index_type), tamis_index_type_name(offset_type), tamis_type_name(type),
                 pattern ? "pattern" : "values", endings[i]);
        works(tamis_write_sparse(in_folder(name), &S));
        char text[128];
        snprintf(text, sizeof text, "%s 3x4 5%s", tamis_format_name(format),
                 pattern ? "| 0 0| 0 3| 2 1| 2 2| 2 3" : "| 0 0 0.5| 0 3 3.5| 2 1 21.5| 2 2 22.5| 2 3 23.5");
        io_expect_file(in_folder(name),
                       IO_WITH(.format = format, .values = pattern ? TAMIS_VALUES_NONE : TAMIS_VALUES_AS_FILED), text);
    }
}

static void write_dense(tamis_type type, tamis_layout layout) {
    double numbers[40];
    const bool by_rows = layout == TAMIS_ROW_MAJOR;
    const int64_t stride = by_rows ? 6 : 5;
    for (int i = 0; i < 40; i++) {
        const int64_t line = i / stride, at = i % stride;
        tamis_element_store(numbers, type, i, (double)(by_rows ? line * 10 + at : at * 10 + line) + 0.5);
    }
    const tamis_dense dense = {.data = numbers, .rows = 3, .cols = 4, .stride = stride, .type = type, .layout = layout};
    static const char *const endings[] = {"npy", "mtx", "mtx.gz"};
    for (int i = 0; i < 3; i++) {
        if (!io_can_write(endings[i])) continue;
        char name[128];
        snprintf(name, sizeof name, "written-dense-%s-%s.%s", tamis_type_name(type), tamis_layout_name(layout),
                 endings[i]);
        works(tamis_write_dense(in_folder(name), &dense));
        expect_dense(in_folder(name), "3x4 0.5 1.5 2.5 3.5 10.5 11.5 12.5 13.5 20.5 21.5 22.5 23.5");
    }
}

TEST_AS(scipy_reads_what_is_written, .setup_func = make_folder, .teardown_func = remove_folder) {
    for (int type = TAMIS_F32; type <= TAMIS_BF16; type++) {
        for (int i = 0; i < 16; i++)
            write_sparse((tamis_format)(i & 1), (tamis_index_type)(i >> 1 & 1), (tamis_index_type)(i >> 2 & 1),
                         (tamis_type)type, i >> 3);
        write_dense((tamis_type)type, TAMIS_ROW_MAJOR);
        write_dense((tamis_type)type, TAMIS_COLUMN_MAJOR);
    }
    if (!have_scipy()) {
        look_into_folder(true);
        skip_because(NO_SCIPY);
    }
    char line[2048], answer[4096] = "";
    python_line(line, sizeof line, "check");
    FILE *const checked = popen(line, "r");
    assert_non_null(checked);
    const size_t length = fread(answer, 1, sizeof answer - 1, checked);
    answer[length] = '\0';
    pclose(checked);
    assert_string_equal(answer, "OK\n");
    look_into_folder(true);
}
