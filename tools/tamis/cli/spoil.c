/* Corrupts results on purpose (fault injection): a comparison that has never failed in a test may be unable to fail. */
#include "cli/spoil.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/operands.h"

static void spoil_elements(const tamis_dense *output) {
    for (int64_t i = 0; i < output->rows && output->cols > 0; i++)
        tool_dense_set(output, i, 0, 1 + 1.25 * fabs(tool_dense_get(output, i, 0)));
}

static void spoil_padding(const tamis_dense *output) {
    const bool by_rows = output->layout == TAMIS_ROW_MAJOR;
    const int64_t lines = by_rows ? output->rows : output->cols, used = by_rows ? output->cols : output->rows;
    for (int64_t i = 0; i < lines && used < output->stride; i++)
        tool_element_set(output->data, output->type, i * output->stride + used, 1);
}

/* Spoils the last byte of all. */
static void spoil_end(const tamis_dense *output) {
    const bool by_rows = output->layout == TAMIS_ROW_MAJOR;
    const int64_t lines = by_rows ? output->rows : output->cols, used = by_rows ? output->cols : output->rows;
    const size_t bytes = (size_t)(lines * output->stride) * tamis_type_size(output->type);
    if (used < output->stride && bytes > 0) memset((char *)output->data + bytes - 1, 0, 1);
}

void tool_spoil(const tamis_dense *output, void *memory) {
    static int results = 0;
    const char *const what = getenv("TAMIS_SPOIL");
    if (!what) return;
    results++;
    const char *const when = results == 1 ? "first" : "late";
    if (strcmp(what, "result") == 0 || strcmp(what, when) == 0) spoil_elements(output);
    if (strcmp(what, "padding") == 0) spoil_padding(output);
    if (strcmp(what, "end") == 0) spoil_end(output);
    if (strcmp(what, "before") == 0 && memory && memory != output->data) memset(memory, 0, 1);
}
