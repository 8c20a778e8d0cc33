/*
 * The file of timings has lines: one names the format; one the library's version and the number of its counts; one the
 * machine; then for each case "case LABEL", the numbers of its problem and of its evidence in the order of the table
 * below, and a line "time ALGORITHM SECONDS SETUP" for each algorithm, and "end". So a fit needs neither the matrices
 * nor, for a processor, the machine. Predictions for GPUs also read the limits of a device. Files of format 1 have no
 * second line.
 */
#include "select/timings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tamis/version.h>

#include "base/edges.h"
#include "base/memory.h"
#include "base/status.h"

static const char *const format_version = "tamis timings 2", *const format_before = "tamis timings 1";

/* Changes whenever a plan counts something else, or otherwise, in the evidence that a case keeps: rates that are fitted
   to the counts of one version serve no other. */
enum { COUNTS = 1 };

typedef enum number_kind { WHOLE, LONG, TRUTH, REAL } number_kind;

/* Numbers of a case: offsets in tamis_timed_case. */
static const struct {
    size_t at;
    number_kind kind;
    int count;
} numbers[] = {
#define NUMBER(member, kind, count)                                                                                    \
    { offsetof(tamis_timed_case, member), kind, count }
    NUMBER(problem.operation, WHOLE, 1),
    NUMBER(problem.edge, WHOLE, 1),
    NUMBER(problem.type, WHOLE, 1),
    NUMBER(problem.output_type, WHOLE, 1),
    NUMBER(problem.value_type, WHOLE, 1),
    NUMBER(problem.math, WHOLE, 1),
    NUMBER(problem.rows, LONG, 1),
    NUMBER(problem.cols, LONG, 1),
    NUMBER(problem.nnz, LONG, 1),
    NUMBER(problem.offset_type, WHOLE, 1),
    NUMBER(problem.index_type, WHOLE, 1),
    NUMBER(problem.has_values, TRUTH, 1),
    NUMBER(problem.inner, LONG, 1),
    NUMBER(problem.width, LONG, 1),
    NUMBER(problem.batch, LONG, 1),
    NUMBER(problem.keep_softmax, TRUTH, 1),
    NUMBER(problem.d_is_b, TRUTH, 1),
    NUMBER(problem.threads, WHOLE, 1),
    NUMBER(problem.deterministic, TRUTH, 1),
    NUMBER(evidence.profile.mean, REAL, 1),
    NUMBER(evidence.profile.variation, REAL, 1),
    NUMBER(evidence.profile.max, LONG, 1),
    NUMBER(evidence.profile.min, LONG, 1),
    NUMBER(evidence.profile.empty_rows, LONG, 1),
    NUMBER(evidence.profile.bandwidth, LONG, 1),
    NUMBER(evidence.profile.mean_span, REAL, 1),
    NUMBER(evidence.profile.density, REAL, 1),
    NUMBER(evidence.profile.sorted, TRUTH, 1),
    NUMBER(evidence.profile.duplicates, LONG, 1),
    NUMBER(evidence.fresh_share, REAL, 1),
    NUMBER(evidence.panel_fresh, REAL, 2),
    NUMBER(evidence.row_fresh, REAL, 1),
    NUMBER(evidence.sampled, REAL, TAMIS_SAMPLED_MOST),
    NUMBER(evidence.cache_l1, LONG, 3),
    NUMBER(evidence.expected_calls, LONG, 1),
    NUMBER(evidence.ceilings.measured, TRUTH, 1),
    NUMBER(evidence.ceilings.threads, WHOLE, 1),
    NUMBER(evidence.ceilings.fp32_gflops, REAL, 2 * 6), /* to memory_gbs */
    NUMBER(evidence.ceilings.gather_gbs, REAL, 2 * 6),
    NUMBER(evidence.ceilings.gather_bytes, LONG, 6),
};

enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static void write_number(FILE *file, const char *at, number_kind kind) {
    switch (kind) {
    case WHOLE: fprintf(file, "%d ", *(const int *)(const void *)at); break;
    case LONG: fprintf(file, "%lld ", (long long)*(const int64_t *)(const void *)at); break;
    case TRUTH: fprintf(file, "%d ", *(const bool *)(const void *)at); break;
    case REAL: fprintf(file, "%.6g ", *(const double *)(const void *)at); break;
    }
}

static bool read_number(FILE *file, char *at, number_kind kind) {
    double value;
    if (fscanf(file, "%lf", &value) != 1 || !isfinite(value) || fabs(value) > 9e18) return false;
    switch (kind) {
    case WHOLE: *(int *)(void *)at = (int)fmax(fmin(value, INT32_MAX), INT32_MIN); break;
    case LONG: *(int64_t *)(void *)at = (int64_t)value; break;
    case TRUTH: *(bool *)(void *)at = value != 0; break;
    case REAL: *(double *)(void *)at = value; break;
    }
    return true;
}

static size_t size_of(number_kind kind) {
    static const size_t sizes[] = {sizeof(int), sizeof(int64_t), sizeof(bool), sizeof(double)};
    return sizes[kind];
}

/* ------------------------------------------------------------------------------------------ the list */

tamis_timed_case *tamis_timing_list_find(const tamis_timing_list *list, const char *label) {
    for (int64_t i = list->count - 1; i >= 0; i--) /* the latest is asked for most often */
        if (strcmp(list->cases[i]->label, label) == 0) return list->cases[i];
    return NULL;
}

static tamis_status make(tamis_timing_list *list, const char *label, tamis_timed_case **made) {
    if (list->count == list->room) {
        const int64_t room = 2 * list->room + 64;
        TRY(tamis_reallocate(list->room, room, sizeof(tamis_timed_case *), "timed cases", (void **)&list->cases));
        list->room = room;
    }
    TRY(tamis_allocate_zeroed(1, sizeof **made, "a timed case", (void **)made));
    snprintf((*made)->label, sizeof(*made)->label, "%s", label);
    list->cases[list->count++] = *made;
    return TAMIS_OK;
}

tamis_status tamis_timing_list_add(tamis_timing_list *list, const char *label, const tamis_problem *problem,
                                   const tamis_timing *timing) {
    tamis_timed_case *to = tamis_timing_list_find(list, label);
    if (!to) {
        TRY(make(list, label, &to));
        to->problem = *problem;
        to->evidence = *problem->evidence;
        to->problem.evidence = &to->evidence;
        to->problem.offsets = to->problem.columns = NULL; /* the caller's */
        to->problem.parameters = "";
    }
    if (to->count < TAMIS_TIMINGS_OF_CASE) to->at[to->count++] = *timing;
    return TAMIS_OK;
}

void tamis_timing_list_clear(tamis_timing_list *list) {
    for (int64_t i = 0; i < list->count; i++) tamis_release(list->cases[i]);
    tamis_release(list->cases);
    list->cases = NULL;
    list->count = list->room = 0;
}

/* ------------------------------------------------------------------------------------------ files */

void tamis_timing_list_write(const tamis_timing_list *list, const char *key, FILE *file) {
    fprintf(file, "%s\nlibrary %s, counts %d\n%s\n", format_version, TAMIS_VERSION_STRING, COUNTS, key);
    for (int64_t i = 0; i < list->count; i++) {
        const tamis_timed_case *const one = list->cases[i];
        fprintf(file, "case %s\n", one->label);
        for (int k = 0; k < NUMBERS; k++)
            for (int j = 0; j < numbers[k].count; j++)
                write_number(file, (const char *)one + numbers[k].at + (size_t)j * size_of(numbers[k].kind),
                             numbers[k].kind);
        fprintf(file, "\n");
        for (int k = 0; k < one->count; k++)
            fprintf(file, "time %s %.6g %.6g\n", one->at[k].algorithm->description.name, one->at[k].seconds,
                    one->at[k].setup_seconds);
        fprintf(file, "end\n");
    }
}

static const tamis_algorithm *algorithm_of(const tamis_backend *backend, const char *name) {
    const tamis_algorithm *algorithm;
    for (int i = 0; (algorithm = backend->algorithm(i)) != NULL; i++)
        if (strcmp(algorithm->description.name, name) == 0) return algorithm;
    return NULL;
}

/* A problem that predictions can be asked for: its numbers index tables, and products of them do not overflow. */
static bool is_sound(const tamis_timed_case *one) {
    enum { SIDE_MOST = 1 << 30 };
    const tamis_problem *const p = &one->problem;
    const tamis_evidence *const e = &one->evidence;
    const int64_t sides[] = {p->rows,      p->cols,        p->inner,    p->width,
                             p->batch - 1, p->threads - 1, e->cache_l1, e->expected_calls - 1};
    const double shares[] = {e->fresh_share, e->panel_fresh[0], e->panel_fresh[1], e->row_fresh};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
        if (sides[i] < 0 || sides[i] > SIDE_MOST) return false;
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        if (!(shares[i] >= 0 && shares[i] <= 1)) return false;
    const bool dims = p->nnz >= 0 && p->nnz <= INT64_MAX >> 16 && e->profile.max >= 0 && e->profile.max <= p->nnz;
    return dims && p->operation >= TAMIS_OP_SDDMM && p->operation <= TAMIS_OP_FUSED && (int)p->edge >= 0 &&
           (int)p->edge < (int)TAMIS_EDGE_COUNT && p->type >= TAMIS_F32 && p->type <= TAMIS_BF16 &&
           p->output_type >= TAMIS_F32 && p->output_type <= TAMIS_BF16 && p->value_type >= TAMIS_F32 &&
           p->value_type <= TAMIS_BF16 && p->offset_type >= TAMIS_I32 && p->offset_type <= TAMIS_I64 &&
           p->index_type >= TAMIS_I32 && p->index_type <= TAMIS_I64;
}

static bool read_numbers(FILE *file, const tamis_timing_list *list, tamis_timed_case *to) {
    for (int k = 0; k < NUMBERS; k++)
        for (int j = 0; j < numbers[k].count; j++)
            if (!read_number(file, (char *)to + numbers[k].at + (size_t)j * size_of(numbers[k].kind), numbers[k].kind))
                return false;
    to->evidence.profile.rows = to->problem.rows;
    to->evidence.profile.cols = to->problem.cols;
    to->evidence.profile.nnz = to->problem.nnz;
    to->problem.evidence = &to->evidence;
    to->problem.backend = list->backend;
    to->problem.device = list->device;
    to->problem.parameters = "";
    return is_sound(to);
}

/* Timings of algorithms that this library does not have are skipped: another version made them. */
static bool read_times(FILE *file, const tamis_timing_list *list, tamis_timed_case *to) {
    char word[8], name[64];
    while (fscanf(file, "%7s", word) == 1 && strcmp(word, "time") == 0) {
        tamis_timing timing = {.seconds = 0};
        if (fscanf(file, "%63s %lf %lf", name, &timing.seconds, &timing.setup_seconds) != 3) return false;
        if (!(timing.seconds > 0 && timing.seconds < 1e9 && timing.setup_seconds >= 0 && timing.setup_seconds < 1e9))
            return false;
        timing.algorithm = algorithm_of(list->backend, name);
        if (timing.algorithm && !(timing.algorithm->description.operations >> to->problem.operation & 1)) return false;
        if (timing.algorithm && to->count < TAMIS_TIMINGS_OF_CASE) to->at[to->count++] = timing;
    }
    return !feof(file) && strcmp(word, "end") == 0;
}

static tamis_status read_case(tamis_timing_list *list, FILE *file, const char *path) {
    char label[TAMIS_TIMING_LABEL];
    tamis_timed_case *made = NULL;
    const bool found = fscanf(file, " case %191[^\n]", label) == 1;
    if (feof(file)) return TAMIS_OK; /* cut short */
    if (!found)
        return tamis_fail(TAMIS_ERROR_FILE, "%s: expected a line \"case ...\" after %lld cases", path,
                          (long long)list->count);
    if (tamis_timing_list_find(list, label))
        return tamis_fail(TAMIS_ERROR_FILE, "%s: the case \"%s\" is there twice", path, label);
    TRY(make(list, label, &made));
    if (read_numbers(file, list, made) && read_times(file, list, made)) return TAMIS_OK;
    tamis_release(list->cases[--list->count]);
    if (feof(file)) return TAMIS_OK; /* cut short */
    return tamis_fail(TAMIS_ERROR_FILE, "%s: the case \"%s\" has a number that is missing or impossible", path, label);
}

static bool read_line(FILE *file, char *line, int bytes) {
    if (!fgets(line, bytes, file)) return false;
    line[strcspn(line, "\n")] = 0;
    return true;
}

static tamis_status read_version(FILE *file, const char *path) {
    char line[TAMIS_DEVICE_KEY] = "", version[32] = "0.2.0";
    int counts = 1; /* of format 1 */
    if (!read_line(file, line, sizeof line) || (strcmp(line, format_version) != 0 && strcmp(line, format_before) != 0))
        return tamis_fail(TAMIS_ERROR_FILE, "%s: the first line is not \"%s\"", path, format_version);
    if (strcmp(line, format_version) == 0 &&
        (!read_line(file, line, sizeof line) || sscanf(line, "library %31[^,], counts %d", version, &counts) != 2))
        return tamis_fail(TAMIS_ERROR_FILE, "%s: the second line is not \"library VERSION, counts NUMBER\"", path);
    if (counts == COUNTS) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_FILE,
                      "%s: version %s wrote it, which counts otherwise than " TAMIS_VERSION_STRING
                      " (%d, not %d): measure again into a new file",
                      path, version, counts, COUNTS);
}

tamis_status tamis_timing_list_read(tamis_timing_list *list, FILE *file, const char *path, char key[TAMIS_DEVICE_KEY]) {
    char line[TAMIS_DEVICE_KEY] = "";
    tamis_status status = TAMIS_OK;
    TRY(read_version(file, path));
    if (!read_line(file, line, sizeof line)) return tamis_fail(TAMIS_ERROR_FILE, "%s: it names no machine", path);
    tamis_device_key_of_chip(line);
    if (list->count > 0 && strcmp(line, key) != 0)
        return tamis_fail(TAMIS_ERROR_FILE, "%s: it has timings of another machine, %s", path, line);
    const int64_t before = list->count;
    for (int c; status == TAMIS_OK && (c = fgetc(file)) != EOF;) {
        if (c == '\n' || c == ' ') continue;
        ungetc(c, file);
        status = read_case(list, file, path);
    }
    while (status != TAMIS_OK && list->count > before) tamis_release(list->cases[--list->count]);
    if (list->count == 0) tamis_timing_list_clear(list);
    if (status == TAMIS_OK && list->count > before) snprintf(key, TAMIS_DEVICE_KEY, "%s", line);
    return status;
}
