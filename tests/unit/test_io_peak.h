/* The most memory that reading takes, by the system's account. */
#ifndef TAMIS_TEST_IO_PEAK_H
#define TAMIS_TEST_IO_PEAK_H

#include "test_io_support.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* What is freed goes back to the system. */
static inline void io_free_at_once(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 16);
#endif
}

static inline double io_status_of(const char *name) {
    char line[256];
    double kilobytes = 0;
    FILE *const file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) kilobytes = atof(line + strlen(name));
    if (file) fclose(file);
    return kilobytes * 1024;
}

/* From now on the peak is that of what comes; false where the system does not do that. */
static inline bool io_reset_peak(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false; /* they keep what is freed */
#else
    FILE *const file = fopen("/proc/self/clear_refs", "w");
    if (!file) return false;
    const bool written = fputs("5", file) >= 0;
    return fclose(file) == 0 && written && io_status_of("VmHWM:") < 1.1 * io_status_of("VmRSS:");
#endif
}

/* Times the result, which is of 32-bit indices and offsets and of floats. */
static inline void io_expect_peak(const char *name, const char *text, size_t bytes, bool relabel, double most) {
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    tamis_owned_sparse *matrix = NULL;
    options.threads = 2;
    options.relabel = relabel;
    const bool known = io_reset_peak();
    const double before = io_status_of("VmRSS:");
    assert_int_equal(tamis_read_sparse_memory(name, text, bytes, &options, &matrix), TAMIS_OK);
    const double peak = io_status_of("VmHWM:") - before;
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    const double result = 4.0 * (double)(S->rows + 1) + (S->values ? 8.0 : 4.0) * (double)S->nnz;
    print_message("%s: %.2f times the result\n", name, peak / result);
    if (known && peak > most * result) fail_msg("%s: %.2f times the result, expected %.2f", name, peak / result, most);
    tamis_owned_sparse_free(matrix);
}

#endif
