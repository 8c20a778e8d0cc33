/* Structure classes. The first rule that holds, from the top, gives the class. */
#include <tamis/structure.h>

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "sparse/check.h"
#include "sparse/structure.h"

static const char rules[] =
    "empty: no nonzeros\n"
    "diagonal: bandwidth 0\n"
    "dense: density of 0.5 or more\n"
    "banded: bandwidth at most 10 % of the columns (in blocks: runs of consecutive columns of 2 or more on average)\n"
    "banded with outliers: 80 % of the nonzeros within 5 % of the columns from the diagonal\n"
    "blocks: runs of consecutive columns of 4 or more on average\n"
    "power law: variation of 1 or more, and a longest row of 10 means or more\n"
    "diagonal and scatter: 90 % of the diagonal stored, at most 16 nonzeros a row\n"
    "uniform: variation of at most 0.35\n"
    "irregular: none of the above\n";

const char *tamis_structure_rules(void) { return rules; }

static void scan(const tamis_sparse *S, tamis_structure *structure) {
    int64_t runs = 0, near = 0, diagonal = 0;
    const int64_t reach = S->cols / 20 > 1 ? S->cols / 20 : 1;
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t begin = S->nnz ? tamis_row_start(S, i) : 0, end = S->nnz ? tamis_row_start(S, i + 1) : 0;
        int64_t before = -2;
        bool on_diagonal = false;
        for (int64_t t = begin; t < end; t++) {
            const int64_t column = tamis_index_load(S->columns, S->index_type, t);
            const int64_t distance = column > i ? column - i : i - column;
            runs += column != before + 1;
            near += distance <= reach;
            on_diagonal |= distance == 0;
            before = column;
        }
        diagonal += on_diagonal;
        int bin = 0;
        while (bin < 62 && (end - begin) >> bin) bin++;
        structure->histogram[bin]++;
        if (bin + 1 > structure->histogram_bins) structure->histogram_bins = bin + 1;
    }
    const int64_t longest = S->rows < S->cols ? S->rows : S->cols;
    if (runs > 0) structure->run = (double)S->nnz / (double)runs;
    if (S->nnz > 0) structure->near_share = (double)near / (double)S->nnz;
    if (longest > 0) structure->diagonal = (double)diagonal / (double)longest;
}

static void set_class(tamis_structure *structure, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void set_class(tamis_structure *structure, const char *name, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(structure->reason, sizeof structure->reason, format, arguments);
    va_end(arguments);
    structure->name = name;
}

/* Writes 1234567 as "1,234,567". */
static const char *grouped(int64_t count, char *text, size_t bytes) {
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < bytes; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = 0;
    return text;
}

static void classify(const tamis_profile *profile, tamis_structure *structure) {
    char bandwidth[40];
    const double reach = profile->cols > 0 ? 100 * (double)profile->bandwidth / (double)profile->cols : 0;
    const double run = structure->run;
    if (profile->nnz == 0) {
        set_class(structure, "empty", "no nonzeros");
    } else if (profile->bandwidth == 0) {
        set_class(structure, "diagonal", "every nonzero is on the diagonal");
    } else if (profile->density >= 0.5) {
        set_class(structure, "dense", "%.0f %% of the entries are stored", 100 * profile->density);
    } else if (reach <= 10) {
        set_class(structure, run >= 2 ? "banded in blocks" : "banded",
                  "bandwidth %s is %.1f %% of the columns (10 %% or less), runs of %.1f consecutive columns",
                  grouped(profile->bandwidth, bandwidth, sizeof bandwidth), reach, run);
    } else if (structure->near_share >= 0.8) {
        set_class(structure, "banded with outliers",
                  "%.0f %% of the nonzeros lie within 5 %% of the columns from the diagonal",
                  100 * structure->near_share);
    } else if (run >= 4) {
        set_class(structure, "blocks", "runs of %.1f consecutive columns on average (4 or more)", run);
    } else if (profile->variation >= 1 && (double)profile->max >= 10 * profile->mean) {
        set_class(structure, "power law",
                  "row lengths vary by %.1f means (1 or more), the longest row is %.0f means (10 or more)",
                  profile->variation, (double)profile->max / profile->mean);
    } else if (structure->diagonal >= 0.9 && profile->mean <= 16) {
        set_class(structure, "diagonal and scatter",
                  "%.0f %% of the diagonal is stored, %.1f nonzeros a row (16 or less)", 100 * structure->diagonal,
                  profile->mean);
    } else if (profile->variation <= 0.35) {
        set_class(structure, "uniform", "row lengths vary by %.2f means (0.35 or less)", profile->variation);
    } else {
        set_class(structure, "irregular", "row lengths vary by %.2f means, no band, no blocks", profile->variation);
    }
}

tamis_status tamis_structure_find(const tamis_sparse *S, const tamis_profile *profile, tamis_structure *structure) {
    tamis_profile own;
    tamis_sparse view;
    void *offsets = NULL;
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    if (!structure) return tamis_fail(TAMIS_ERROR_ARGUMENT, "structure = NULL: expected an address for the result");
    TRY(tamis_format_check(S, TAMIS_CSR));
    if (!profile) TRY(tamis_row_profile(S, &own));
    TRY(tamis_slice_rebase(S, &view, &offsets));
    *structure = (tamis_structure){.name = NULL};
    scan(&view, structure);
    classify(profile ? profile : &own, structure);
    tamis_release(offsets);
    return TAMIS_OK;
}
