/* The most memory that reading takes, by the system's account; not under sanitizers, which keep what is freed. */
#include "test_io_lines.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* What is freed goes back to the system. */
static void free_at_once(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 16);
#endif
}

static double status_of(const char *name) {
    char line[256];
    double kilobytes = 0;
    FILE *const file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) kilobytes = atof(line + strlen(name));
    if (file) fclose(file);
    return kilobytes * 1024;
}

/* From now on the peak is that of what comes; false where the system does not do that. */
static bool reset_peak(void) {
    FILE *const file = fopen("/proc/self/clear_refs", "w");
    if (!file) return false;
    const bool written = fputs("5", file) >= 0;
    return fclose(file) == 0 && written && status_of("VmHWM:") < 1.1 * status_of("VmRSS:");
}

/* Times the result, which is of 32-bit indices and offsets and of floats. */
static void expect_peak(const char *name, const char *text, size_t bytes, bool relabel, double most) {
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    OWN(tamis_owned_sparse) *matrix = NULL;
    options.threads = 2;
    options.relabel = relabel;
    const bool known = reset_peak();
    const double before = status_of("VmRSS:");
    works(tamis_read_sparse_memory(name, text, bytes, &options, &matrix));
    const double peak = status_of("VmHWM:") - before;
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    const double result = 4.0 * (double)(S->rows + 1) + (S->values ? 8.0 : 4.0) * (double)S->nnz;
    print_message("%s: %.2f times the result\n", name, peak / result);
    if (known && peak > most * result) fail_msg("%s: %.2f times the result, expected %.2f", name, peak / result, most);
}

enum { LINES = 3000000 };

TEST(lists_become_rows) {
    static const struct {
        const char *name, *head;
        io_order order;
        bool with_values, relabel;
        double most;
    } cases[] = {
        {"rising.mtx", "%%MatrixMarket matrix coordinate real general\n750000 4000 3000000\n", RISING, true, false,
         1.35},
        {"falling.mtx", "%%MatrixMarket matrix coordinate real general\n750000 4000 3000000\n", FALLING, true, false,
         1.6},
        {"columns.mtx", "%%MatrixMarket matrix coordinate real general\n750000 30000 3000000\n", BY_COLUMN, true, false,
         1.6},
        {"symmetric.mtx", "%%MatrixMarket matrix coordinate real symmetric\n750000 750000 3000000\n", FALLING, true,
         false, 1.6},
        {"pattern.mtx", "%%MatrixMarket matrix coordinate pattern general\n750000 4000 3000000\n", FALLING, false,
         false, 2},
        {"rising.el", "", RISING, true, false, 1.35},
        {"falling.el", "", FALLING, true, false, 1.6},
        {"relabelled.el", "", FALLING, true, true, 2.7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        OWN(char) *const text = io_lines(cases[i].head, cases[i].order, LINES, cases[i].with_values, false, &bytes);
        expect_peak(cases[i].name, text, bytes, cases[i].relabel, cases[i].most);
    }
}

TEST(documents) {
    size_t bytes;
    OWN(char) *const text = io_documents(1000000, &bytes);
    expect_peak("a.ldac", text, bytes, false, 1.6);
}

TEST(harwell_boeing) {
    size_t bytes;
    OWN(char) *const text = io_boeing_lines("RUA", &bytes);
    expect_peak("a.rua", text, bytes, false, 3.5); /* the text alone is three times the result */
}

TEST_RUN() {
    free_at_once();
    return test_run(NULL, NULL, NULL, NULL);
}
