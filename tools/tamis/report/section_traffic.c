/* What column tiles save in memory traffic, by a GPU's counters: a table for each matrix and width. */
#include <math.h>

#include "sections.h"

static bool same_study(const tool_traffic_record *a, const tool_traffic_record *b) {
    return a->matrix == b->matrix && a->inner == b->inner && a->algorithm == b->algorithm && a->device == b->device &&
           a->run == b->run && a->file == b->file;
}

static void add_gigabytes(tool_text *out, double bytes, bool bold) {
    tool_text_add(out, "<td>");
    if (isfinite(bytes)) {
        tool_text_add(out, bold ? "<strong>%s</strong>" : "%s", tool_word_number(1e-9 * bytes).text);
    }
}

static void add_row(const tool_traffic_record *one, bool least, tool_text *out) {
    tool_text_add(out, "<tr><td>%lld<td>%s", (long long)one->tiles, tool_word_count(one->tile_columns).text);
    add_gigabytes(out, one->read, least);
    add_gigabytes(out, one->dense_a_bytes, false);
    add_gigabytes(out, one->sparse_bytes, false);
    add_gigabytes(out, one->read - one->dense_a_bytes - one->sparse_bytes, false);
    tool_text_add(out, "<td>%s\n", tool_word_number(one->median).text);
}

static void add_study(const tool_results *results, int first, tool_text *out) {
    const tool_traffic_record *of = &results->traffic[first];
    double least = INFINITY;
    for (int i = first; i < results->traffics; i++) {
        if (same_study(of, &results->traffic[i]) && results->traffic[i].read < least) least = results->traffic[i].read;
    }
    tool_text_add(out, "<h3>");
    tool_add_matrix(out, of->matrix, of->stand_in);
    tool_text_add(out, ", K = %lld, ", (long long)of->inner);
    tool_add_escaped(out, of->algorithm);
    tool_text_add(out, "</h3><div class=\"wide\"><table class=\"t\"><thead><tr><th>Tiles<th>Columns a tile<th>Read, GB"
                       "<th>A by the model<th>S by the model<th>What is left for B<th>Time, ms</thead><tbody>\n");
    for (int i = first; i < results->traffics; i++) {
        const tool_traffic_record *one = &results->traffic[i];
        if (same_study(of, one)) add_row(one, one->read <= least, out);
    }
    tool_text_add(out, "</tbody></table></div>\n");
}

void tool_section_traffic(const tool_page *page, tool_text *out) {
    const tool_results *results = page->results;
    if (results->traffics == 0) return;
    tool_add_aid(
        out, "Each additional tile reads A once more, and rows of B less often. The counted bytes minus the model's "
             "bytes of A and S are those of B. Tiles pay off as long as these fall faster than A's share rises.");
    for (int i = 0; i < results->traffics; i++) {
        bool known = false;
        for (int j = 0; j < i && !known; j++) known = same_study(&results->traffic[i], &results->traffic[j]);
        if (!known) add_study(results, i, out);
    }
}
