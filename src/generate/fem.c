/*
 * Finite elements. The nodes of a 3-D grid are numbered line by line and plane by plane. Each has `block` unknowns, and
 * a dense block couples it to each of its nearest nodes. In that numbering a neighbour is a fixed distance away, so the
 * pattern is a symmetric set of block diagonals. Only some nodes have the last diagonal, so that nnz meets the target.
 */
#include "generate/kinds.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

typedef struct neighbour {
    int64_t squared; /* distance in the grid */
    int64_t reach;   /* distance in the numbering */
} neighbour;

static int nearer_first(const void *left, const void *right) {
    const neighbour *const a = left, *const b = right;
    if (a->squared != b->squared) return a->squared < b->squared ? -1 : 1;
    return (a->reach > b->reach) - (a->reach < b->reach);
}

static int smaller_first(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Returns the largest integer whose cube is at most n, but at least 1. */
static int64_t cube_root(int64_t n) {
    int64_t root = 1;
    while (root < 2000000 && (root + 1) * (root + 1) * (root + 1) <= n) root++;
    return root;
}

/* Returns the number of ordered pairs of nodes at that distance in the numbering. */
static int64_t pairs_at(int64_t nodes, int64_t reach) { return reach == 0 ? nodes : 2 * (nodes - reach); }

/* Lists the neighbours in a cube of that radius with nonnegative reach, nearest first. */
static tamis_status list_cube(int64_t nodes, int64_t radius, neighbour **list, int64_t *count) {
    const int64_t side = cube_root(nodes), edge = 2 * radius + 1;
    void *memory;
    TRY(tamis_allocate(tamis_times(tamis_times(edge, edge), edge), sizeof(neighbour), "neighbours", &memory));
    neighbour *const all = memory;
    int64_t n = 0;
    for (int64_t z = -radius; z <= radius; z++)
        for (int64_t y = -radius; y <= radius; y++)
            for (int64_t x = -radius; x <= radius; x++) {
                const int64_t reach = x + side * (y + side * z);
                if (reach >= 0 && reach < nodes) all[n++] = (neighbour){x * x + y * y + z * z, reach};
            }
    qsort(all, (size_t)n, sizeof *all, nearer_first);
    *list = all;
    *count = n;
    return TAMIS_OK;
}

/* Adds reaches, nearest first, until `wanted` pairs of nodes are connected or the list ends. Returns the number of
   pairs. */
static int64_t take_reaches(tamis_row_plan *plan, const neighbour *list, int64_t count, int64_t wanted,
                            unsigned char *taken) {
    int64_t pairs = 0;
    plan->reach_count = 0;
    plan->partial = -1;
    for (int64_t i = 0; i < count && pairs < wanted; i++) {
        const int64_t reach = list[i].reach, more = pairs_at(plan->nodes, reach);
        if (taken[reach / 8] >> reach % 8 & 1) continue;
        taken[reach / 8] = (unsigned char)(taken[reach / 8] | 1 << reach % 8);
        plan->reaches[plan->reach_count++] = reach;
        if (more > wanted - pairs) {
            plan->partial = reach;
            plan->partial_total = reach == 0 ? wanted - pairs : (wanted - pairs + 1) / 2;
        }
        pairs += more;
    }
    return pairs;
}

static tamis_status choose_reaches(tamis_row_plan *plan, int64_t wanted) {
    const int64_t side = cube_root(plan->nodes);
    for (int64_t radius = 1;; radius *= 2) {
        tamis_status status = TAMIS_OK;
        neighbour *list = NULL;
        void *taken = NULL, *reaches = NULL;
        int64_t count = 0, pairs = 0;
        TRY_GOTO(cleanup, list_cube(plan->nodes, radius, &list, &count));
        TRY_GOTO(cleanup, tamis_allocate_zeroed(plan->nodes / 8 + 1, 1, "marks of neighbours", &taken));
        TRY_GOTO(cleanup, tamis_allocate(count, sizeof(int64_t), "distances of neighbours", &reaches));
        plan->reaches = reaches;
        pairs = take_reaches(plan, list, count, wanted, taken);
    cleanup:
        tamis_release(list);
        tamis_release(taken);
        if (status != TAMIS_OK) return status;
        /* nodes beyond the sides of the cube are nearer than its corners; that does not matter here */
        if (pairs >= wanted || radius > 2 * side + 2) return TAMIS_OK;
        tamis_release(plan->reaches);
        plan->reaches = NULL;
    }
}

static tamis_status plan_fem(tamis_row_plan *plan) {
    const tamis_recipe *const recipe = plan->recipe;
    if (recipe->rows != recipe->cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows = %lld, cols = %lld: a mesh needs a square matrix",
                          (long long)recipe->rows, (long long)recipe->cols);
    plan->nodes = recipe->rows / recipe->block + (recipe->rows % recipe->block != 0);
    if (recipe->nnz == 0) return TAMIS_OK;
    const double cells = (double)recipe->rows / (double)plan->nodes; /* the last node may be smaller */
    const double wanted = (double)recipe->nnz / (cells * cells) + 0.5;
    TRY(choose_reaches(plan, wanted < 1 ? 1 : (int64_t)wanted));
    qsort(plan->reaches, (size_t)plan->reach_count, sizeof *plan->reaches, smaller_first);
    if (__builtin_mul_overflow(2 * plan->reach_count, recipe->block, &plan->longest) || plan->longest > recipe->cols)
        plan->longest = recipe->cols;
    return TAMIS_OK;
}

/* Returns true if the pair of nodes (first, first + partial) is connected. Stratified sampling: the nodes are cut into
   partial_total equal intervals, and one random node of each is connected. */
static bool is_connected(const tamis_row_plan *plan, int64_t first) {
    const int64_t all = plan->nodes - plan->partial, total = plan->partial_total;
    const int64_t stretch = tamis_scale(first, total, all);
    /* interval s has the nodes with floor(first * total / all) = s */
    const int64_t begin = tamis_scale_up(stretch, all, total), end = tamis_scale_up(stretch + 1, all, total);
    const uint64_t bits = tamis_random_at(plan->recipe->seed, tamis_stream(TAMIS_STREAM_NODES, 0), (uint64_t)stretch);
    return first == begin + tamis_scale_bits(bits, end - begin);
}

static bool connects(const tamis_row_plan *plan, int64_t first, int64_t reach) {
    return reach != plan->partial || is_connected(plan, first);
}

static int64_t put_node(const tamis_recipe *recipe, int64_t node, int64_t count, int64_t *columns) {
    const int64_t begin = node * recipe->block;
    const int64_t width = recipe->cols - begin < recipe->block ? recipe->cols - begin : recipe->block;
    for (int64_t j = 0; columns && j < width; j++) columns[count + j] = begin + j;
    return count + width;
}

static int64_t row_fem(const tamis_row_plan *plan, tamis_row_room *room, int64_t row, int64_t *columns) {
    const tamis_recipe *const recipe = plan->recipe;
    const int64_t node = row / recipe->block;
    int64_t count = 0;
    (void)room;
    for (int64_t i = plan->reach_count - 1; i >= 0; i--) {
        const int64_t reach = plan->reaches[i];
        if (reach > 0 && reach <= node && connects(plan, node - reach, reach))
            count = put_node(recipe, node - reach, count, columns);
    }
    for (int64_t i = 0; i < plan->reach_count; i++) {
        const int64_t reach = plan->reaches[i];
        if (reach < plan->nodes - node && connects(plan, node, reach))
            count = put_node(recipe, node + reach, count, columns);
    }
    return count;
}

const tamis_row_kind tamis_row_kind_fem = {plan_fem, row_fem};
