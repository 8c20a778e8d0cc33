/*
 * METIS graphs: line 1 "vertices edges [fmt [constraints]]", then a line for each vertex with its neighbours, counted
 * from 1. fmt has up to three digits: vertex sizes, vertex weights, edge weights are present (1) or not (0). Lines that
 * begin with % are comments; a blank line is a vertex without neighbours. Each edge must be listed at both ends. This
 * is checked by two sums of hashes over all edges, in both directions, which agree only if both ends are listed (with
 * overwhelming probability); missing edges are searched only if they differ.
 */
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "io/formats/format.h"
#include "io/rows/rows.h"
#include "io/text/lists.h"

typedef struct graph_header {
    int64_t vertices, edges, skipped; /* skipped: numbers before each vertex's neighbours */
    bool weighted;
    int64_t line; /* of the sizes */
    const char *body;
} graph_header;

/* Sums over all (vertex, neighbour) minus sums over all (neighbour, vertex): zero if every edge is listed at both
   ends. */
typedef struct graph_sums {
    uint64_t edges, weights;
    bool comments; /* there are comments among the vertices, so line numbers do not follow from vertices */
} graph_sums;

enum { MOST_CONSTRAINTS = 1 << 20, REPORT_EVERY = 1 << 16 };

static const char *skip_percent_lines(const tamis_bounded_text *text, const char *p) {
    for (const char *q = tamis_skip_blanks(p); *q == '%'; q = tamis_skip_blanks(p)) p = tamis_next_line(text, q);
    return p;
}

static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Two random numbers per vertex. Products of one end's first with the other end's second number hash an edge in each
   direction. */
typedef struct vertex_hash {
    uint64_t here, there;
} vertex_hash;

static inline vertex_hash hash_of(int64_t vertex) {
    const uint64_t first = mix((uint64_t)vertex + 0x9e3779b97f4a7c15u);
    return (vertex_hash){first | 1, (first ^ first >> 32) * 0xd6e8feb86659fd93u};
}

static inline void add_edge(graph_sums *sums, vertex_hash from, int64_t neighbour, bool weighted, double weight) {
    const vertex_hash to = hash_of(neighbour);
    const uint64_t difference = from.here * to.there - to.here * from.there;
    sums->edges += difference;
    if (!weighted) return;
    uint64_t bits;
    memcpy(&bits, &weight, sizeof bits);
    sums->weights += difference * (mix(bits + 1) | 1);
}

static tamis_status take_format(const tamis_bounded_text *text, const char **p, int64_t *sizes, int64_t *weights,
                                bool *edge_weights) {
    const char *const start = tamis_skip_blanks(*p);
    int digits[3] = {0}, count = 0;
    const char *q = start;
    for (; (*q == '0' || *q == '1') && count < 3; q++, count++) {
        digits[0] = digits[1];
        digits[1] = digits[2];
        digits[2] = *q - '0';
    }
    if (count == 0 || !(tamis_is_blank(*q) || tamis_at_line_end(text, q)))
        return tamis_text_fail(text, start, "a format of up to three digits 0 or 1");
    *sizes = digits[0];
    *weights = digits[1];
    *edge_weights = digits[2] != 0;
    *p = q;
    return TAMIS_OK;
}

static tamis_status take_header(const tamis_reading *reading, graph_header *header) {
    const tamis_bounded_text *const text = &reading->text;
    const char *p = tamis_skip_comments(text, text->begin, "%");
    *header = (graph_header){.line = tamis_text_line(text, p)};
    TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST, "a vertex count", &header->vertices));
    TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST / 2, "an edge count", &header->edges));
    int64_t sizes = 0, weights = 0, constraints = 1;
    if (!tamis_at_line_end(text, tamis_skip_blanks(p))) {
        TRY(take_format(text, &p, &sizes, &weights, &header->weighted));
        if (!tamis_at_line_end(text, tamis_skip_blanks(p)))
            TRY(tamis_text_index(text, &p, 1, MOST_CONSTRAINTS, "a constraint count", &constraints));
    }
    TRY(tamis_text_line_end(text, &p, "the sizes"));
    header->skipped = sizes + weights * constraints;
    header->body = p;
    const int64_t room = tamis_input_room(reading->input, p) + 1; /* a vertex takes a line end, a neighbour two bytes */
    if (header->vertices > room || header->edges * 2 > room / 2 + 1)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s:%lld: %lld vertices and %lld edges are more than the file can hold",
                          text->name, (long long)header->line, (long long)header->vertices, (long long)header->edges);
    return TAMIS_OK;
}

/* Returns true if the first NUMBERS numbers are all valid vertices. */
static bool names_vertices(const char *p, int64_t vertices) {
    enum { NUMBERS = 256 };
    for (int i = 0; i < NUMBERS; i++) {
        int64_t vertex;
        p += strspn(p, " \t\r\n");
        const char *const after = tamis_parse_index(p, &vertex);
        if (!after) return true; /* the end, or an error that the reader reports */
        if (vertex < 1 || vertex > vertices) return false;
        p = after;
    }
    return true;
}

/* Recognises "vertices edges [format [weights]]" with numbers that are possible for a graph, since the first line of an
   edge list looks similar. */
static bool sniff_metis(const tamis_bounded_text *text) {
    if (tamis_konect_of(text).found) return false; /* KONECT's second comment may precede lines of the same form */
    const char *p = tamis_skip_comments(text, text->begin, "%"), *third = NULL;
    int numbers = 0;
    int64_t sizes[5] = {0}, most;
    for (const char *after; numbers < 5 && (after = tamis_parse_index(p, &sizes[numbers])); numbers++) {
        if (numbers == 2) third = p;
        p = tamis_skip_blanks(after);
    }
    if (numbers < 2 || numbers > 4 || *p != '\n' || !tamis_is_digit(*tamis_skip_blanks(p + 1))) return false;
    if (third && (strspn(third, "01") > 3 || tamis_is_digit(third[strspn(third, "01")]))) return false;
    if (sizes[0] == INT64_MAX || __builtin_mul_overflow(sizes[0], sizes[0] + 1, &most)) most = INT64_MAX;
    return sizes[1] <= most / 2 && (numbers > 2 || names_vertices(p + 1, sizes[0]));
}

static tamis_status skip_numbers(const tamis_bounded_text *text, const char **p, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double ignored;
        const char *const start = tamis_skip_blanks(*p);
        const char *const after = tamis_parse_real(start, &ignored);
        if (!after) return tamis_text_fail(text, start, "a vertex size or weight");
        *p = after;
    }
    return TAMIS_OK;
}

/* Parses one vertex: the rest of the line at *p. */
static tamis_status take_vertex(const tamis_reading *reading, const graph_header *header, int64_t vertex,
                                const char **p, graph_sums *sums, tamis_rows *list) {
    const tamis_bounded_text *const text = &reading->input->text;

    const vertex_hash from = hash_of(vertex);
    if (header->skipped > 0) TRY(skip_numbers(text, p, header->skipped));
    for (;;) {
        const char *const start = tamis_skip_blanks(*p);
        if (tamis_at_line_end(text, start)) {
            *p = start < text->end ? start + 1 : start;
            return TAMIS_OK;
        }
        int64_t neighbour = 0;
        *p = start;
        TRY(tamis_text_index(text, p, 1, header->vertices, "a neighbour", &neighbour));
        double weight = 1;
        if (header->weighted) {
            const char *const weight_at = tamis_skip_blanks(*p);
            *p = tamis_parse_real(weight_at, &weight);
            if (!*p) return tamis_text_fail(text, weight_at, "an edge weight");
            tamis_note_number(reading->options.report, weight_at, *p, weight);
        }
        if (list->count == header->edges * 2)
            return tamis_text_fail(text, start, "no more neighbours after %lld, twice the edge count of the first line",
                                   (long long)list->count);
        if (!tamis_is_blank(**p) && !tamis_at_line_end(text, *p)) return tamis_text_fail(text, *p, "a blank");
        add_edge(sums, from, neighbour - 1, header->weighted, weight);
        tamis_rows_add(list, neighbour - 1, weight);
    }
}

/* Skips comments, advancing through windows, to a vertex's line or the end of the file. */
static tamis_status find_vertex(tamis_input *input, const char **p, bool *comments) {
    const char *from = *p;
    *p = skip_percent_lines(&input->text, from);
    *comments |= *p != from;
    while (*p >= input->text.end && !input->ended) {
        TRY(tamis_input_next(input));
        from = input->text.begin;
        *p = skip_percent_lines(&input->text, from);
        *comments |= *p != from;
    }
    return TAMIS_OK;
}

/* Finds neighbour `of` in a vertex's sorted row: its first position, and how often it occurs. */
static int64_t count_neighbours(const tamis_sparse *S, int64_t vertex, int64_t of, int64_t *first) {
    const int64_t begin = tamis_row_start(S, vertex), end = tamis_row_start(S, vertex + 1);
    int64_t low = *first = tamis_index_first(S->columns, S->index_type, begin, end, of);
    while (low < end && tamis_index_load(S->columns, S->index_type, low) == of) low++;
    return low - *first;
}

static tamis_status refuse_edge(const tamis_reading *reading, const graph_header *header, const graph_sums *sums,
                                int64_t vertex, int64_t neighbour, bool weights) {
    char line[32] = "";
    if (!sums->comments) snprintf(line, sizeof line, ":%lld", (long long)header->line + (long long)vertex + 1);
    return tamis_fail(
        TAMIS_ERROR_FORMAT,
        "%s%s: vertex %lld has the neighbour %lld, but vertex %lld does not have %lld%s: expected each edge "
        "at both of its ends",
        reading->text.name, line, (long long)vertex + 1, (long long)neighbour + 1, (long long)neighbour + 1,
        (long long)vertex + 1, weights ? " with that weight" : "");
}

/* Finds the first edge that differs between its ends, in a copy with sorted rows. */
static tamis_status find_fault(const tamis_reading *reading, const graph_header *header, const graph_sums *sums,
                               const tamis_sparse *S) {
    const bool weights = sums->edges == 0;
    for (int64_t vertex = 0; vertex < S->rows; vertex++) {
        for (int64_t t = tamis_row_start(S, vertex); t < tamis_row_start(S, vertex + 1); t++) {
            const int64_t neighbour = tamis_index_load(S->columns, S->index_type, t);
            int64_t here, there;
            const int64_t times = count_neighbours(S, vertex, neighbour, &here);
            const int64_t back = count_neighbours(S, neighbour, vertex, &there);
            bool fault = weights ? false : times > back;
            if (weights && times == 1 && back == 1)
                fault = tamis_element_load(S->values, S->value_type, here) !=
                        tamis_element_load(S->values, S->value_type, there);
            if (fault) return refuse_edge(reading, header, sums, vertex, neighbour, weights);
        }
    }
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: edges that are listed more than once have other weights at one end",
                      reading->text.name);
}

static tamis_status check_symmetry(const tamis_reading *reading, const graph_header *header, const graph_sums *sums,
                                   const tamis_rows *list) {
    if (sums->edges == 0 && sums->weights == 0) return TAMIS_OK;
    if (sums->edges == 0 && !list->values)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: an edge has another weight at one of its ends than at the other",
                          reading->text.name);
    const tamis_sparse view = tamis_rows_view(list);
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.index_type = options.offset_type = TAMIS_I64;
    options.value_type = TAMIS_F64;
    options.sort = true;
    tamis_owned_sparse *sorted = NULL;
    TRY(tamis_convert(&view, &options, &sorted));
    const tamis_status status = find_fault(reading, header, sums, tamis_owned_sparse_view(sorted));
    tamis_owned_sparse_free(sorted);
    return status;
}

static tamis_status take_vertices(const tamis_reading *reading, const graph_header *header, tamis_rows *list) {
    tamis_input *const input = reading->input;
    const tamis_bounded_text *const text = &input->text;
    const char *p = header->body;
    graph_sums sums = {0};
    for (int64_t vertex = 0; vertex < header->vertices; vertex++) {
        TRY(find_vertex(input, &p, &sums.comments));
        if (p >= text->end)
            return tamis_text_fail(text, p, "the line of vertex %lld of %lld", (long long)vertex + 1,
                                   (long long)header->vertices);
        TRY(take_vertex(reading, header, vertex, &p, &sums, list));
        tamis_rows_set_offset(list, vertex + 1, list->count);
        if (vertex % REPORT_EVERY == 0)
            TRY(tamis_progress_step(&reading->progress, (double)vertex / (double)header->vertices, text->name));
    }
    TRY(tamis_text_file_end(text, p, "%", "the last vertex"));
    while (!input->ended) {
        TRY(tamis_input_next(input));
        TRY(tamis_text_file_end(text, text->begin, "%", "the last vertex"));
    }
    if (list->count != header->edges * 2)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s:%lld: %lld edges need %lld neighbours, but the file lists %lld",
                          text->name, (long long)header->line, (long long)header->edges, (long long)header->edges * 2,
                          (long long)list->count);
    return check_symmetry(reading, header, &sums, list);
}

static tamis_status read_metis(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    graph_header header;
    TRY(take_header(reading, &header));
    tamis_rows list;
    TAMIS_SCOPE;
    TRY(tamis_rows_create(reading, header.vertices, header.edges * 2, tamis_needs_wide(header.vertices),
                          header.weighted && tamis_wants_values(reading), &list));
    list.cols = header.vertices;
    TRY(take_vertices(reading, &header, &list));
    return tamis_rows_finish(reading, &list, matrix);
}

const tamis_file_row tamis_metis_file = {
    .format = TAMIS_FILE_METIS,
    .lines = true,
    .name = "metis",
    .endings = ".graph .metis",
    .sniff = sniff_metis,
    .read = read_metis,
};
