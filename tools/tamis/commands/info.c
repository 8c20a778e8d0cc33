/* tamis info: describes the contents of a file. */
#include <math.h>
#include <stdio.h>
#include <tamis/matrix.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "model/info.h"
#include "model/use.h"

typedef struct settings {
    bool json, histogram;
    tool_reading reading;
    bool rules;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_JSON_ARRAY(AT(json)),
    {"histogram", 0, TOOL_FLAG, NULL, "yes", "show the histogram of row lengths", AT(histogram), 0, 0, NULL},
    TOOL_READING(settings),
    TOOL_FLAG("rules", 0, AT(rules), "print the rules of the structure classes"),
    {.name = NULL},
};

static int64_t stored_bytes(const tamis_sparse *S) {
    int64_t bytes = S->nnz * (int64_t)tamis_index_size(S->index_type);
    bytes += (S->rows + 1) * (int64_t)tamis_index_size(S->offset_type);
    if (S->values) bytes += S->nnz * (int64_t)tamis_type_size(S->value_type);
    return bytes;
}

static int64_t count_not_finite(const tamis_sparse *S) {
    int64_t count = 0;
    for (int64_t t = 0; S->values && t < S->nnz; t++) count += !isfinite(tool_element_get(S->values, S->value_type, t));
    return count;
}

static void print_histogram(const tamis_structure *structure) {
    int64_t most = 1;
    for (int bin = 0; bin < structure->histogram_bins; bin++)
        if (structure->histogram[bin] > most) most = structure->histogram[bin];
    puts("\n  nonzeros a row        rows");
    int first = 0;
    while (first + 1 < structure->histogram_bins && structure->histogram[first] == 0) first++;
    for (int bin = first; bin < structure->histogram_bins; bin++) {
        char range[48];
        const long long low = bin ? 1LL << (bin - 1) : 0, high = bin ? (1LL << bin) - 1 : 0;
        if (low == high)
            snprintf(range, sizeof range, "%lld", low);
        else
            snprintf(range, sizeof range, "%lld - %lld", low, high);
        const int64_t rows = structure->histogram[bin];
        const int length = (int)(40 * rows / most);
        printf("  %14s  %10s  ", range, tool_word_count(rows).text);
        for (int i = 0; i < length || (i == 0 && rows > 0); i++) putchar('#');
        putchar('\n');
    }
}

static void print_text(const tool_source *source, const char *path, const tamis_profile *profile,
                       const tamis_structure *structure, bool histogram) {
    const tamis_sparse *S = source->S;
    printf("%s\n", tool_visible(path));
    printf("  size       %s x %s, %s nonzeros, density %s %%\n", tool_word_count(profile->rows).text,
           tool_word_count(profile->cols).text, tool_word_count(profile->nnz).text,
           tool_word_number(100 * profile->density).text);
    printf("  rows       %s nonzeros on average, %s to %s, variation %.2f, %s empty\n",
           tool_word_number(profile->mean).text, tool_word_count(profile->min).text, tool_word_count(profile->max).text,
           profile->variation, tool_word_count(profile->empty_rows).text);
    printf("  columns    bandwidth %s, mean span %s, runs of %.1f; %s", tool_word_count(profile->bandwidth).text,
           tool_word_count((int64_t)(profile->mean_span + 0.5)).text, structure->run,
           profile->sorted ? "sorted" : "not sorted");
    if (profile->duplicates >= 0)
        printf(", %s duplicate%s", tool_word_count(profile->duplicates).text, profile->duplicates == 1 ? "" : "s");
    printf("\n  class      %s: %s\n", structure->name, structure->reason);
    printf("  memory     %s: %s columns, %s offsets, ", tool_word_bytes(stored_bytes(S)).text,
           tamis_index_type_name(S->index_type), tamis_index_type_name(S->offset_type));
    printf("%s%s\n", S->values ? tamis_type_name(S->value_type) : "no", " values");
    const int64_t not_finite = count_not_finite(S);
    if (not_finite > 0)
        printf("  values     %s of %s are not finite in %s\n", tool_word_count(not_finite).text,
               tool_word_count(S->nnz).text, tamis_type_name(S->value_type));
    if (source->bytes > 0)
        printf("  file       %s, read in %s (%.0f MB/s)\n", tool_word_bytes(source->bytes).text,
               tool_word_seconds(source->seconds).text, 1e-6 * (double)source->bytes / source->seconds);
    else
        printf("  generated  in %s\n", tool_word_seconds(source->seconds).text);
    if (histogram) print_histogram(structure);
}

static void print_json(tool_json *json, const tool_source *source, const char *path, const tamis_profile *profile,
                       const tamis_structure *structure) {
    const tamis_sparse *S = source->S;
    tool_json_object(json, NULL);
    tool_json_put(json, tool_str("kind", "matrix"), tool_str("file", path), tool_str("matrix", source->name));
    tool_json_structure(json, profile, structure);
    tool_json_put(json, TOOL_OF(*profile, mean_span), TOOL_OF(*structure, run), TOOL_OF(*structure, near_share),
                  tool_num("diagonal_share", structure->diagonal), TOOL_OF(*profile, sorted),
                  TOOL_OF(*profile, duplicates), tool_yes("values", S->values != NULL),
                  tool_int("values_not_finite", count_not_finite(S)), tool_int("memory_bytes", stored_bytes(S)),
                  tool_int("file_bytes", source->bytes), tool_ms("read_ms", source->seconds));
    tool_json_array(json, "histogram");
    for (int bin = 0; bin < structure->histogram_bins; bin++) tool_json_integer(json, NULL, structure->histogram[bin]);
    tool_json_end_array(json);
    tool_json_end_object(json);
}

static int show(const settings *set, const char *path, tool_json *json) {
    if (tool_is_model(path)) return tool_model_info(path, json);
    const tamis_read_options reading = tool_read_options(&set->reading, TAMIS_F32, TAMIS_I64);
    tool_source source;
    TOOL_TRY(tool_source_open(path, &reading, &source));
    tamis_profile profile;
    tamis_structure structure = {.name = NULL};
    tamis_status status = tamis_row_profile(source.S, &profile);
    if (status == TAMIS_OK) status = tamis_structure_find(source.S, &profile, &structure);
    const int code = tool_library_error(status, path);
    if (code == 0 && json) print_json(json, &source, path, &profile, &structure);
    if (code == 0 && !json) print_text(&source, path, &profile, &structure, set->histogram);
    tool_source_close(&source);
    return code;
}

static int run_info(const void *given, int count, char **operands) {
    const settings *set = given;
    if (set->rules) fputs(tamis_structure_rules(), stdout);
    if (count == 0) return set->rules ? TOOL_OK : tool_usage_error("FILE is missing");
    tool_json json = tool_json_start(stdout, true);
    if (set->json) tool_json_array(&json, NULL);
    int worst = TOOL_OK;
    for (int i = 0; i < count && !tool_interrupted(); i++) {
        if (i > 0 && !set->json) putchar('\n');
        const int code = show(set, operands[i], set->json ? &json : NULL);
        if (code) worst = code;
    }
    if (set->json) tool_json_finish(&json);
    return tool_interrupted() ? TOOL_INTERRUPTED : worst;
}

const tool_command tool_info_command =
    TOOL_COMMAND("info", "[FILE ...]", "describe a matrix (sizes, row profile, structure class) or a model", options,
                 settings, .run = run_info);
