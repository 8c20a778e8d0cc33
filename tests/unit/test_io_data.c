/* The collection of real matrices: every file, against the sizes that its README states. */
#include <tamis/structure.h>

#include "support/shared_data.h"
#include "test_io_support.h"

/* Files that are read in a way of their own; what is no matrix has no row here and no sizes in the README. */
static const struct special {
    const char *name;
    bool skipped, undirected, relabel;
} specials[] = {
    {"facebook_combined.txt.gz", false, true, false}, /* each edge once */
    {"wiki-Vote.txt.xz", false, false, true},         /* the README counts the nodes that occur */
    {"anonymous-msweb.data.xz", true, false, false},  /* a format that is not read */
};

typedef struct wanted {
    char path[512];
    int64_t rows, cols, nnz;
} wanted;

/* A number with commas between thousands. */
static const char *take_number(const char *p, int64_t *number) {
    if (*p < '0' || *p > '9') return NULL;
    for (*number = 0; (*p >= '0' && *p <= '9') || *p == ','; p++)
        if (*p != ',') *number = *number * 10 + (*p - '0');
    return p;
}

/* "| `path` | what | rows x cols ... | nnz ... |"; "7,115 nodes" for rows and columns alike. */
static bool parse_row(const char *line, wanted *row) {
    if (strncmp(line, "| `", 3) != 0) return false;
    const char *const end = strchr(line + 3, '`');
    if (!end || end - line > 500) return false;
    snprintf(row->path, sizeof row->path, "%.*s", (int)(end - line - 3), line + 3);
    const char *p = end + 4;
    p = strstr(p, " | ");
    if (!p) return false;
    p = take_number(p + 3, &row->rows);
    if (!p) return false;
    row->cols = row->rows;
    if (strncmp(p, " x ", 3) == 0)
        p = take_number(p + 3, &row->cols);
    else if (strncmp(p, " nodes", 6) != 0)
        return false;
    p = p ? strstr(p, " | ") : NULL;
    return p && take_number(p + 3, &row->nnz);
}

/* The README counts nonzeros: stored zeros do not count. */
static int64_t count_nonzeros(const tamis_sparse *S) {
    if (!S->values) return S->nnz;
    int64_t count = 0;
    for (int64_t t = 0; t < S->nnz; t++) count += io_value(S->values, S->value_type, t) != 0;
    return count;
}

static bool check_file(const char *folder, const wanted *row) {
    tamis_read_options options = io_options();
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (!strstr(row->path, specials[i].name)) continue;
        if (specials[i].skipped) return false;
        options.undirected = specials[i].undirected;
        options.relabel = specials[i].relabel;
    }
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, row->path);
    tamis_owned_sparse *matrix = NULL;
    if (tamis_read_sparse(path, &options, &matrix) == TAMIS_ERROR_UNSUPPORTED) {
        print_message("skipped: %s\n", tamis_last_error()); /* a packer that is not built in */
        return false;
    }
    if (*tamis_last_error() != '\0') fail_msg("%s", tamis_last_error());
    const tamis_sparse *const S = tamis_owned_sparse_view(matrix);
    works(tamis_validate(S));
    if (S->rows != row->rows || S->cols != row->cols || count_nonzeros(S) != row->nnz)
        fail_msg("%s: %lld x %lld, %lld nonzeros; expected %lld x %lld, %lld", row->path, (long long)S->rows,
                 (long long)S->cols, (long long)count_nonzeros(S), (long long)row->rows, (long long)row->cols,
                 (long long)row->nnz);
    tamis_owned_sparse_free(matrix);
    return true;
}

TEST(every_file_has_the_stated_sizes) {
    const char *const folder = shared_data_folder();
    if (!folder) skip_because("there is no collection of real matrices (TAMIS_SHARED_DATA names one)");
    char path[1024];
    snprintf(path, sizeof path, "%s/README.md", folder);
    FILE *const readme = fopen(path, "r");
    assert_non_null(readme);
    static char line[8192];
    int files = 0;
    const int64_t live = tamis_memory_live();
    while (fgets(line, sizeof line, readme)) {
        wanted row;
        if (parse_row(line, &row)) files += check_file(folder, &row);
    }
    fclose(readme);
    print_message("%d files\n", files);
    assert_int_equal(tamis_memory_live(), live);
    if (files == 0) skip_because("every file is packed, and no packer is built in");
}
