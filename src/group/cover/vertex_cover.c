/*
 * A minimum weighted vertex cover of a bipartite graph is a minimum cut (Koenig): arcs from a source to each left
 * vertex, and from each right vertex to a sink, have the vertex's price as capacity, and the edges between have
 * infinite capacity. Dinic's algorithm finds a maximum flow; with equal prices it is Hopcroft and Karp's. The cut
 * consists of the left vertices that the source cannot reach in the residual graph and the right vertices that it can;
 * it is the same for every maximum flow.
 */
#include "group/cover/vertex_cover.h"

#include "base/scope.h"

enum { UNSEEN = -1 };

typedef struct flow {
    const tamis_bipartite *graph;
    int64_t edges;
    int32_t *on, *from;              /* by edge: its flow, its left end */
    int64_t *back_starts;            /* edges of right vertex v: back[back_starts[v]] .. back[back_starts[v + 1] - 1] */
    int32_t *back;                   /* numbers of edges */
    int32_t *left_room, *right_room; /* capacities that are left */
    int32_t *left_level, *right_level;
    int64_t *left_next, *right_next; /* next untried edge of each vertex in the current phase */
    int32_t *queue, *path;           /* queue: vertices, left before right ones; path: edges */
} flow;

static tamis_status allocate(flow *f) {
    const int64_t left = f->graph->left, right = f->graph->right;
    TRY(tamis_allocate_zeros(f->edges, "a cover", f->on));
    TRY(tamis_allocate_zeros(f->edges, "a cover", f->from));
    TRY(tamis_allocate_zeros(right + 2, "a cover", f->back_starts));
    TRY(tamis_allocate_zeros(f->edges, "a cover", f->back));
    TRY(tamis_allocate_zeros(left, "a cover", f->left_room));
    TRY(tamis_allocate_zeros(right, "a cover", f->right_room));
    TRY(tamis_allocate_zeros(left, "a cover", f->left_level));
    TRY(tamis_allocate_zeros(right, "a cover", f->right_level));
    TRY(tamis_allocate_zeros(left, "a cover", f->left_next));
    TRY(tamis_allocate_zeros(right, "a cover", f->right_next));
    TRY(tamis_allocate_zeros(left + right, "a cover", f->queue));
    return tamis_allocate_zeros(left + right, "a cover", f->path);
}

/* Lists the edges of each right vertex. */
static void list_back(flow *f) {
    const tamis_bipartite *const g = f->graph;
    int64_t *const next = f->back_starts + 1; /* becomes the end of each list */
    for (int64_t e = 0; e < f->edges; e++) next[g->ends[e] + 1]++;
    for (int32_t v = 0; v < g->right; v++) next[v + 1] += next[v];
    for (int32_t u = 0; u < g->left; u++)
        for (int64_t e = g->starts[u]; e < g->starts[u + 1]; e++) {
            f->from[e] = u;
            f->back[next[g->ends[e]]++] = (int32_t)e;
        }
}

static int32_t lower(int32_t x, int32_t y) { return x < y ? x : y; }

/* Greedy initial flow, which is most of the flow. */
static void begin(flow *f) {
    const tamis_bipartite *const g = f->graph;
    for (int32_t u = 0; u < g->left; u++) f->left_room[u] = g->left_price;
    for (int32_t v = 0; v < g->right; v++) f->right_room[v] = g->right_price;
    for (int32_t u = 0; u < g->left; u++)
        for (int64_t e = g->starts[u]; e < g->starts[u + 1] && f->left_room[u] > 0; e++) {
            const int32_t more = lower(f->left_room[u], f->right_room[g->ends[e]]);
            f->on[e] += more;
            f->left_room[u] -= more;
            f->right_room[g->ends[e]] -= more;
        }
}

/* Breadth-first search: sets the distances of vertices from the source. Returns true if the sink is reachable. */
static bool find_levels(flow *f) {
    const tamis_bipartite *const g = f->graph;
    int64_t first = 0, last = 0;
    bool found = false;
    for (int32_t v = 0; v < g->right; v++) f->right_level[v] = UNSEEN;
    for (int32_t u = 0; u < g->left; u++) {
        f->left_level[u] = f->left_room[u] > 0 ? 0 : UNSEEN;
        if (f->left_room[u] > 0) f->queue[last++] = u;
    }
    while (first < last) {
        const int32_t vertex = f->queue[first++];
        if (vertex < g->left) {
            for (int64_t e = g->starts[vertex]; e < g->starts[vertex + 1]; e++) {
                const int32_t v = g->ends[e];
                if (f->right_level[v] != UNSEEN) continue;
                f->right_level[v] = f->left_level[vertex] + 1;
                f->queue[last++] = g->left + v;
                found = found || f->right_room[v] > 0;
            }
            continue;
        }
        const int32_t v = vertex - g->left;
        for (int64_t t = f->back_starts[v]; t < f->back_starts[v + 1]; t++) {
            const int32_t e = f->back[t], u = f->from[e];
            if (f->on[e] == 0 || f->left_level[u] != UNSEEN) continue;
            f->left_level[u] = f->right_level[v] + 1;
            f->queue[last++] = u;
        }
    }
    return found;
}

/* Augments the flow along a path to the sink, whose edges alternate forwards and backwards. */
static void send(flow *f, int64_t length) {
    const int32_t source = f->from[f->path[0]], last = f->graph->ends[f->path[length - 1]];
    int32_t more = lower(f->left_room[source], f->right_room[last]);
    for (int64_t i = 1; i < length; i += 2) more = lower(more, f->on[f->path[i]]);
    for (int64_t i = 0; i < length; i++) f->on[f->path[i]] += i % 2 == 0 ? more : -more;
    f->left_room[source] -= more;
    f->right_room[last] -= more;
}

/* Extends the path from a left vertex; false if there is no further edge. */
static bool go_right(flow *f, int32_t u, int64_t length) {
    for (; f->left_next[u] < f->graph->starts[u + 1]; f->left_next[u]++)
        if (f->right_level[f->graph->ends[f->left_next[u]]] == f->left_level[u] + 1) {
            f->path[length] = (int32_t)f->left_next[u];
            return true;
        }
    return false;
}

static bool go_left(flow *f, int32_t v, int64_t length) {
    for (; f->right_next[v] < f->back_starts[v + 1]; f->right_next[v]++) {
        const int32_t e = f->back[f->right_next[v]];
        if (f->on[e] == 0 || f->left_level[f->from[e]] != f->right_level[v] + 1) continue;
        f->path[length] = e;
        return true;
    }
    return false;
}

/* Finds an augmenting path along rising levels from a left vertex to the sink. Returns its number of edges; 0 if there
   is none. */
static int64_t find_path(flow *f, int32_t source) {
    int64_t length = 0;
    while (true) {
        const int32_t e = length > 0 ? f->path[length - 1] : 0;
        if (length % 2 == 0) {
            if (go_right(f, length > 0 ? f->from[e] : source, length))
                length++;
            else if (length == 0)
                return 0;
            else
                f->right_next[f->graph->ends[f->path[--length]]]++;
            continue;
        }
        if (f->right_room[f->graph->ends[e]] > 0) return length;
        if (go_left(f, f->graph->ends[e], length))
            length++;
        else
            f->left_next[f->from[f->path[--length]]]++;
    }
}

static void fill(flow *f) {
    const tamis_bipartite *const g = f->graph;
    while (find_levels(f)) {
        for (int32_t u = 0; u < g->left; u++) f->left_next[u] = g->starts[u];
        for (int32_t v = 0; v < g->right; v++) f->right_next[v] = f->back_starts[v];
        for (int32_t u = 0; u < g->left; u++)
            for (int64_t length; f->left_room[u] > 0 && (length = find_path(f, u)) > 0;) send(f, length);
    }
}

tamis_status tamis_vertex_cover(const tamis_bipartite *graph, bool *covers) {
    flow f = {.graph = graph, .edges = graph->starts[graph->left]};
    TAMIS_SCOPE;
    TRY(allocate(&f));
    list_back(&f);
    begin(&f);
    fill(&f);
    for (int32_t u = 0; u < graph->left; u++) covers[u] = f.left_level[u] == UNSEEN;
    return TAMIS_OK;
}
