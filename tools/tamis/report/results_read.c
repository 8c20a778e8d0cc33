/* One JSON line into a record, by tables that name the fields. The only file that knows jansson. */
#include "results.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "exit.h"

#ifndef TOOL_HAVE_JANSSON

bool tool_results_readable(void) { return false; }

bool tool_results_line(tool_results *results, const char *text, size_t length, int line, char reason[160]) {
    (void)results;
    (void)text;
    (void)length;
    (void)line;
    snprintf(reason, 160, "built without jansson");
    return false;
}

#else
#include <jansson.h>

bool tool_results_readable(void) { return true; }

typedef enum value_kind { TEXT, REAL, COUNT, TRUTH, VERDICT, PAIR, SIX } value_kind;

typedef struct field {
    const char *name;
    value_kind kind;
    size_t offset;
} field;

#define AT(type, member) offsetof(tool_##type, member)

static const field run_fields[] = {
    {"run", TEXT, AT(run_record, run)},
    {"started", TEXT, AT(run_record, started)},
    {"suite", TEXT, AT(run_record, suite)},
    {"tier", TEXT, AT(run_record, tier)},
    {"title", TEXT, AT(run_record, title)},
    {"paper", TEXT, AT(run_record, paper)},
    {"version", TEXT, AT(run_record, version)},
    {"compiler", TEXT, AT(run_record, compiler)},
    {"system", TEXT, AT(run_record, system)},
    {"processor", TEXT, AT(run_record, processor)},
    {"processors", COUNT, AT(run_record, processors)},
    {"device", TEXT, AT(run_record, device)},
    {"model", TEXT, AT(run_record, model)},
    {"instruction_set", TEXT, AT(run_record, instruction_set)},
    {"driver", TEXT, AT(run_record, driver)},
    {"threads", COUNT, AT(run_record, threads)},
    {"multiprocessors", COUNT, AT(run_record, multiprocessors)},
    {"cache_l1", COUNT, AT(run_record, cache_l1)},
    {"cache_l2", COUNT, AT(run_record, cache_l2)},
    {"cache_l3", COUNT, AT(run_record, cache_l3)},
    {"memory", COUNT, AT(run_record, memory)},
    {"measured", TRUTH, AT(run_record, measured)},
    {"ceiling_threads", COUNT, AT(run_record, ceiling_threads)},
    {"fp32_gflops", PAIR, AT(run_record, fp32_gflops)},
    {"fp64_gflops", PAIR, AT(run_record, fp64_gflops)},
    {"l1_gbs", PAIR, AT(run_record, l1_gbs)},
    {"l2_gbs", PAIR, AT(run_record, l2_gbs)},
    {"l3_gbs", PAIR, AT(run_record, l3_gbs)},
    {"memory_gbs", PAIR, AT(run_record, memory_gbs)},
    {"gather_gbs", SIX, AT(run_record, gather_gbs)},
    {"gather_bytes", SIX, AT(run_record, gather_bytes)},
    {NULL, TEXT, 0},
};

static const field matrix_fields[] = {
    {"run", TEXT, AT(matrix_record, run)},
    {"matrix", TEXT, AT(matrix_record, matrix)},
    {"spec", TEXT, AT(matrix_record, spec)},
    {"group", TEXT, AT(matrix_record, group)},
    {"class", TEXT, AT(matrix_record, class_name)},
    {"class_reason", TEXT, AT(matrix_record, class_reason)},
    {"spy", TEXT, AT(matrix_record, spy)},
    {"stand_in", TRUTH, AT(matrix_record, stand_in)},
    {"rows", COUNT, AT(matrix_record, rows)},
    {"cols", COUNT, AT(matrix_record, cols)},
    {"nnz", COUNT, AT(matrix_record, nnz)},
    {"max", COUNT, AT(matrix_record, max)},
    {"empty_rows", COUNT, AT(matrix_record, empty_rows)},
    {"bandwidth", COUNT, AT(matrix_record, bandwidth)},
    {"spy_rows", COUNT, AT(matrix_record, spy_rows)},
    {"spy_cols", COUNT, AT(matrix_record, spy_cols)},
    {"density", REAL, AT(matrix_record, density)},
    {"mean", REAL, AT(matrix_record, mean)},
    {"variation", REAL, AT(matrix_record, variation)},
    {NULL, TEXT, 0},
};

static const field measurement_fields[] = {
    {"run", TEXT, AT(measurement, run)},
    {"suite", TEXT, AT(measurement, suite)},
    {"operation", TEXT, AT(measurement, operation)},
    {"edge", TEXT, AT(measurement, edge)},
    {"matrix", TEXT, AT(measurement, matrix)},
    {"group", TEXT, AT(measurement, group)},
    {"class", TEXT, AT(measurement, class_name)},
    {"type", TEXT, AT(measurement, type)},
    {"device", TEXT, AT(measurement, device)},
    {"model", TEXT, AT(measurement, model)},
    {"driver", TEXT, AT(measurement, driver)},
    {"algorithm", TEXT, AT(measurement, algorithm)},
    {"parameters", TEXT, AT(measurement, parameters)},
    {"variant", TEXT, AT(measurement, variant)},
    {"instruction_set", TEXT, AT(measurement, instruction_set)},
    {"version", TEXT, AT(measurement, version)},
    {"compiler", TEXT, AT(measurement, compiler)},
    {"started", TEXT, AT(measurement, started)},
    {"stand_in", TRUTH, AT(measurement, stand_in)},
    {"auto", TRUTH, AT(measurement, automatic)},
    {"baseline", TRUTH, AT(measurement, baseline)},
    {"peer", TRUTH, AT(measurement, peer)},
    {"cold", TRUTH, AT(measurement, cold)},
    {"disturbed", TRUTH, AT(measurement, disturbed)},
    {"passed", VERDICT, AT(measurement, passed)},
    {"rows", COUNT, AT(measurement, rows)},
    {"cols", COUNT, AT(measurement, cols)},
    {"nnz", COUNT, AT(measurement, nnz)},
    {"inner", COUNT, AT(measurement, inner)},
    {"width", COUNT, AT(measurement, width)},
    {"batch", COUNT, AT(measurement, batch)},
    {"threads", COUNT, AT(measurement, threads)},
    {"samples", COUNT, AT(measurement, samples)},
    {"calls", COUNT, AT(measurement, calls)},
    {"seed", COUNT, AT(measurement, seed)},
    {"setup_ms", REAL, AT(measurement, setup)},
    {"init_ms", REAL, AT(measurement, initial)},
    {"median_ms", REAL, AT(measurement, median)},
    {"median_low_ms", REAL, AT(measurement, low)},
    {"median_high_ms", REAL, AT(measurement, high)},
    {"q1_ms", REAL, AT(measurement, q1)},
    {"q3_ms", REAL, AT(measurement, q3)},
    {"min_ms", REAL, AT(measurement, min)},
    {"max_ms", REAL, AT(measurement, max)},
    {"cleanup_ms", REAL, AT(measurement, cleanup)},
    {"gflops", REAL, AT(measurement, gflops)},
    {"bytes_min", REAL, AT(measurement, bytes)},
    {"floor_ms", REAL, AT(measurement, floor)},
    {"floor_ratio", REAL, AT(measurement, floor_ratio)},
    {"relative_error", REAL, AT(measurement, error)},
    {"tolerance", REAL, AT(measurement, tolerance)},
    {"compared_share", REAL, AT(measurement, share)},
    {"speedup", REAL, AT(measurement, speedup)},
    {"gather_ms", REAL, AT(measurement, gather)},
    {"check_ms", REAL, AT(measurement, check)},
    {"predicted_ms", REAL, AT(measurement, predicted)},
    {"clock_mhz", REAL, AT(measurement, clock)},
    {"others_processors", REAL, AT(measurement, others)},
    {"stolen_processors", REAL, AT(measurement, stolen)},
    {NULL, TEXT, 0},
};

static const field traffic_fields[] = {
    {"run", TEXT, AT(traffic_record, run)},
    {"matrix", TEXT, AT(traffic_record, matrix)},
    {"device", TEXT, AT(traffic_record, device)},
    {"model", TEXT, AT(traffic_record, model)},
    {"algorithm", TEXT, AT(traffic_record, algorithm)},
    {"parameters", TEXT, AT(traffic_record, parameters)},
    {"stand_in", TRUTH, AT(traffic_record, stand_in)},
    {"rows", COUNT, AT(traffic_record, rows)},
    {"cols", COUNT, AT(traffic_record, cols)},
    {"nnz", COUNT, AT(traffic_record, nnz)},
    {"inner", COUNT, AT(traffic_record, inner)},
    {"tiles", COUNT, AT(traffic_record, tiles)},
    {"tile_columns", COUNT, AT(traffic_record, tile_columns)},
    {"median_ms", REAL, AT(traffic_record, median)},
    {"dram_read_bytes", REAL, AT(traffic_record, read)},
    {"dram_write_bytes", REAL, AT(traffic_record, written)},
    {"model_a_bytes", REAL, AT(traffic_record, dense_a_bytes)},
    {"model_s_bytes", REAL, AT(traffic_record, sparse_bytes)},
    {NULL, TEXT, 0},
};

static double real_of(const json_t *value) { return json_is_number(value) ? json_number_value(value) : (double)NAN; }

static int64_t count_of(const json_t *value) {
    if (json_is_integer(value)) return (int64_t)json_integer_value(value);
    const double real = real_of(value);
    return fabs(real) < 9e18 ? (int64_t)real : 0;
}

static void numbers(const json_t *value, double *to, size_t count) {
    for (size_t i = 0; i < count; i++) to[i] = real_of(json_array_get(value, i));
}

static bool of_its_kind(const json_t *value, value_kind kind) {
    if (!value || json_is_null(value)) return true;
    switch (kind) {
    case TEXT: return json_is_string(value);
    case REAL:
    case COUNT: return json_is_number(value);
    case TRUTH:
    case VERDICT: return json_is_boolean(value);
    default: return json_is_array(value);
    }
}

/* Fills a record from an object; what the object lacks becomes NULL, NaN, 0 or false. */
static bool fill(tool_pool *pool, const json_t *object, const field *fields, void *record, char reason[160]) {
    for (; fields->name; fields++) {
        const json_t *value = json_object_get(object, fields->name);
        void *at = (char *)record + fields->offset;
        if (!of_its_kind(value, fields->kind)) {
            snprintf(reason, 160, "\"%s\" has a value of the wrong kind", fields->name);
            return false;
        }
        switch (fields->kind) {
        case TEXT: *(const char **)at = tool_pool_keep(pool, json_string_value(value)); break;
        case REAL: *(double *)at = real_of(value); break;
        case COUNT: *(int64_t *)at = count_of(value); break;
        case TRUTH: *(bool *)at = json_is_true(value); break;
        case VERDICT: *(int *)at = json_is_true(value) ? 1 : json_is_false(value) ? 0 : -1; break;
        case PAIR: numbers(value, at, 2); break;
        case SIX: numbers(value, at, 6); break;
        }
    }
    return true;
}

static bool add_run(tool_results *results, const json_t *object, char reason[160]) {
    results->run = tool_grow(results->run, (size_t)results->runs + 1, sizeof *results->run);
    tool_run_record *run = &results->run[results->runs];
    *run = (tool_run_record){.file = results->files};
    if (!fill(&results->pool, object, run_fields, run, reason)) return false;
    results->runs++;
    return true;
}

/* A raster that does not have its size is none. */
static void check_spy(tool_matrix_record *matrix) {
    const bool sized =
        matrix->spy_rows > 0 && matrix->spy_cols > 0 && matrix->spy_rows <= 1000 && matrix->spy_cols <= 1000;
    if (!sized || !matrix->spy || strlen(matrix->spy) != (size_t)(matrix->spy_rows * matrix->spy_cols) ||
        strspn(matrix->spy, "0123456789") != strlen(matrix->spy)) {
        matrix->spy = NULL;
    }
}

static bool add_matrix(tool_results *results, const json_t *object, char reason[160]) {
    results->matrix = tool_grow(results->matrix, (size_t)results->matrices + 1, sizeof *results->matrix);
    tool_matrix_record *matrix = &results->matrix[results->matrices];
    *matrix = (tool_matrix_record){.file = results->files};
    if (!fill(&results->pool, object, matrix_fields, matrix, reason)) return false;
    if (!matrix->matrix) {
        snprintf(reason, 160, "a matrix without a name");
        return false;
    }
    check_spy(matrix);
    results->matrices++;
    return true;
}

static bool add_measurement(tool_results *results, const json_t *object, int line, char reason[160]) {
    if (results->measurements % 256 == 0) {
        results->measurement =
            tool_grow(results->measurement, (size_t)results->measurements + 256, sizeof *results->measurement);
    }
    tool_measurement *one = &results->measurement[results->measurements];
    *one = (tool_measurement){.file = results->files, .line = line};
    if (!fill(&results->pool, object, measurement_fields, one, reason)) return false;
    if (!one->operation || !one->matrix || !one->device || !one->algorithm || !one->type) {
        snprintf(reason, 160, "not a measurement: operation, matrix, type, device and algorithm are needed");
        return false;
    }
    if (one->batch < 1) one->batch = 1; /* as before there were any */
    if (!one->edge) one->edge = tool_pool_keep(&results->pool, "none");
    results->measurements += one->median > 0; /* what was not measured is passed over */
    return true;
}

static bool add_traffic(tool_results *results, const json_t *object, char reason[160]) {
    results->traffic = tool_grow(results->traffic, (size_t)results->traffics + 1, sizeof *results->traffic);
    tool_traffic_record *traffic = &results->traffic[results->traffics];
    *traffic = (tool_traffic_record){.file = results->files};
    if (!fill(&results->pool, object, traffic_fields, traffic, reason)) return false;
    if (!traffic->matrix || !traffic->algorithm || traffic->tiles < 1) {
        snprintf(reason, 160, "traffic without matrix, algorithm or tiles");
        return false;
    }
    results->traffics++;
    return true;
}

bool tool_results_line(tool_results *results, const char *text, size_t length, int line, char reason[160]) {
    json_error_t error;
    json_t *object = json_loadb(text, length, 0, &error);
    bool good = false;
    if (!object) {
        snprintf(reason, 160, "invalid JSON: %.120s", error.text);
    } else if (!json_is_object(object)) {
        snprintf(reason, 160, "not a JSON object");
    } else {
        const char *record = json_string_value(json_object_get(object, "record"));
        if (!record || strcmp(record, "measurement") == 0) {
            good = add_measurement(results, object, line, reason);
        } else if (strcmp(record, "run") == 0) {
            good = add_run(results, object, reason);
        } else if (strcmp(record, "matrix") == 0) {
            good = add_matrix(results, object, reason);
        } else if (strcmp(record, "traffic") == 0) {
            good = add_traffic(results, object, reason);
        } else {
            good = true;
        }
    }
    json_decref(object);
    return good;
}

#endif
