/* Rows by METIS: a stand-in with either width of integers, errors, and METIS itself where it is there. */
#include "support/test.h"

#include <tamis/generate.h>
#include <tamis/matrix.h>
#include <tamis/structure.h>

#include "support/shared_data.h"

enum { ROWS = 7, PARTS = 3 };

static int32_t offsets[] = {0, 2, 3, 5, 5, 8, 9, 10}, columns[] = {1, 1, 6, 2, 0, 4, 5, 0, 3, 0};

static tamis_sparse small_matrix(void) {
    return (tamis_sparse){
        .format = TAMIS_CSR, .rows = ROWS, .cols = ROWS, .nnz = 10, .offsets = offsets, .columns = columns};
}

static void parts_by(const char *file) {
    static const int64_t want[] = {0, 3, 6, 1, 4, 2, 5}, want_first[] = {0, 3, 5, 7};
    int64_t order[ROWS], first[PARTS + 1];
    const tamis_sparse S = small_matrix();
    setenv("TAMIS_METIS", file, 1);
    works(tamis_shard_partition(&S, PARTS, order, first));
    assert_memory_equal(order, want, sizeof want);
    assert_memory_equal(first, want_first, sizeof want_first);
    works(tamis_shard_partition(&S, 1, order, first));
    assert_true(first[0] == 0 && first[1] == ROWS && order[0] == 0 && order[6] == 6);
}

TEST(both_widths) {
    parts_by(STUB_32);
    parts_by(STUB_64);
}

TEST(errors) {
    int64_t order[ROWS], first[PARTS + 1];
    tamis_sparse S = small_matrix();
    setenv("TAMIS_METIS", STUB_32, 1);
    REFUSED(ARGUMENT, "S = NULL", tamis_shard_partition(NULL, 2, order, first));
    REFUSED(ARGUMENT, "parts = 0", tamis_shard_partition(&S, 0, order, first));
    REFUSED(ARGUMENT, "order = NULL", tamis_shard_partition(&S, 2, NULL, first));
    REFUSED(ARGUMENT, "first_rows = NULL", tamis_shard_partition(&S, 2, order, NULL));
    S.cols = 8;
    REFUSED(UNSUPPORTED, "S.rows = 7, S.cols = 8", tamis_shard_partition(&S, 2, order, first));
    S.cols = ROWS;
    setenv("STUB_METIS", "-3", 1);
    REFUSED(MEMORY, "returned -3 for 7 rows and 2 parts", tamis_shard_partition(&S, 2, order, first));
    setenv("STUB_METIS", "-4", 1);
    REFUSED(INTERNAL, "returned -4", tamis_shard_partition(&S, 2, order, first));
    unsetenv("STUB_METIS");
    setenv("TAMIS_METIS", "/nowhere/libmetis.so", 1);
    REFUSED(UNSUPPORTED, "no METIS: /nowhere/libmetis.so: not found", tamis_shard_partition(&S, 2, order, first));
    setenv("TAMIS_METIS", "libm.so.6", 1);
    REFUSED(UNSUPPORTED, "has no METIS_PartGraphKway", tamis_shard_partition(&S, 2, order, first));
}

TEST(memory_runs_out) {
    int64_t order[ROWS], first[PARTS + 1];
    const tamis_sparse S = small_matrix();
    setenv("TAMIS_METIS", STUB_32, 1);
    EACH_FAULT_OF(w, .least = 7) FAULTY(w, tamis_shard_partition(&S, PARTS, order, first));
    assert_int_equal(tamis_memory_live(), 0);
}

/* ------------------------------------------------------------------------------------------ METIS itself */

/* The rows and columns of S in another order. */
static tamis_sparse reordered(const tamis_sparse *S, const int64_t *order, int32_t *to_offsets, int32_t *to_columns) {
    const int32_t *const from = S->offsets, *const col = S->columns;
    int32_t *const place = malloc((size_t)S->rows * sizeof *place);
    tamis_sparse R = *S;
    assert_non_null(place);
    for (int64_t i = 0; i < S->rows; i++) place[order[i]] = (int32_t)i;
    to_offsets[0] = 0;
    for (int64_t i = 0; i < S->rows; i++) {
        int32_t at = to_offsets[i];
        for (int32_t t = from[order[i]]; t < from[order[i] + 1]; t++) to_columns[at++] = place[col[t]];
        to_offsets[i + 1] = at;
    }
    free(place);
    R.offsets = to_offsets;
    R.columns = to_columns;
    R.values = NULL;
    return R;
}

/* Rows that go between eight parts in S's own order, and in that of METIS. */
static void compare(const char *name, const tamis_sparse *S, int parts, double most_share) {
    tamis_shard_volume before, after;
    int64_t *const order = malloc((size_t)S->rows * sizeof *order), first[65];
    OWN(int32_t) *const to_offsets = malloc((size_t)(S->rows + 1) * sizeof *to_offsets);
    OWN(int32_t) *const to_columns = malloc((size_t)S->nnz * sizeof *to_columns);
    assert_true(order && to_offsets && to_columns);
    works(tamis_shard_survey(S, parts, NULL, NULL, &before));
    works(tamis_shard_partition(S, parts, order, first));
    assert_true(first[0] == 0 && first[parts] == S->rows);
    const tamis_sparse R = reordered(S, order, to_offsets, to_columns);
    works(tamis_validate(&R)); /* so the order has each row once */
    works(tamis_shard_survey(&R, parts, first, first, &after));
    printf("    %-14s %2d parts: %lld rows instead of %lld, %.2f times fewer; imbalance %.2f instead of %.2f\n", name,
           parts, (long long)after.ghosts, (long long)before.ghosts, (double)before.ghosts / (double)after.ghosts,
           after.imbalance, before.imbalance);
    assert_true((double)after.ghosts <= most_share * (double)before.ghosts);
    free(order);
}

static bool metis_is_here(void) {
    int64_t order[ROWS], first[PARTS + 1];
    const tamis_sparse S = small_matrix();
    const char *const file = getenv("TAMIS_TEST_METIS");
    if (file)
        setenv("TAMIS_METIS", file, 1);
    else
        unsetenv("TAMIS_METIS");
    if (tamis_shard_partition(&S, 2, order, first) == TAMIS_OK) return true;
    printf("skipped: %s\n", tamis_last_error());
    return false;
}

/* A mesh whose nodes have been shuffled: METIS finds it again. */
TEST(finds_a_mesh) {
    tamis_generate_options o = TAMIS_GENERATE_OPTIONS_INIT;
    OWN(tamis_owned_sparse) *mesh = NULL;
    if (!metis_is_here()) skip();
    o.kind = TAMIS_KIND_FEM;
    o.rows = 6000;
    o.nnz = 150000;
    o.pattern = true;
    works(tamis_generate(&o, &mesh));
    const tamis_sparse *const S = tamis_owned_sparse_view(mesh);
    OWN(int64_t) *const order = malloc((size_t)S->rows * sizeof *order);
    OWN(int32_t) *const to_offsets = malloc((size_t)(S->rows + 1) * sizeof *to_offsets);
    OWN(int32_t) *const to_columns = malloc((size_t)S->nnz * sizeof *to_columns);
    assert_true(order && to_offsets && to_columns);
    for (int64_t i = 0; i < S->rows; i++) order[i] = i * 2477 % S->rows; /* 2477 is prime */
    const tamis_sparse shuffled = reordered(S, order, to_offsets, to_columns);
    works(tamis_validate(&shuffled));
    compare("a mesh", &shuffled, 8, 0.5);
}

/* Real patterns, where they are. */
TEST(real_patterns) {
    static const struct {
        const char *file;
        bool edges;
    } files[] = {{"mesh/mdual.graph.xz", false},
                 {"snap/email-Enron.txt.gz", true},
                 {"snap/facebook_combined.txt.gz", true},
                 {"snap/ca-CondMat.mtx.xz", false},
                 {"gnn/pubmed.graph.mtx.xz", false}};
    int compared = 0;
    if (!metis_is_here()) skip();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        tamis_owned_sparse *const matrix = shared_graph(files[i].file, files[i].edges);
        if (!matrix) continue;
        compare(strchr(files[i].file, '/') + 1, tamis_owned_sparse_view(matrix), 8, 1);
        compare(strchr(files[i].file, '/') + 1, tamis_owned_sparse_view(matrix), 64, 1);
        tamis_owned_sparse_free(matrix);
        compared++;
    }
    if (compared == 0) skip();
}
