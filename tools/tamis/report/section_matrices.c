/* The matrices: a spy plot each, with size, class and where it is from. */
#include <string.h>

#include "charts.h"
#include "sections.h"

enum { OPEN = 24 };

static void add_card(const tool_matrix_record *one, int number, tool_text *out) {
    tool_text_add(out, "<li>");
    if (one->spy) {
        tool_chart_spy(out, one, number, 132, false);
    } else {
        tool_text_add(out, "<span class=\"none\">no picture</span>");
    }
    tool_text_add(out, "<div><b>");
    tool_add_matrix(out, one->matrix, one->stand_in);
    tool_text_add(out, "</b><small>%s\u00a0\u00d7\u00a0%s<br>%s nonzeros, %s a row", tool_word_count(one->rows).text,
                  tool_word_count(one->cols).text, tool_word_count(one->nnz).text, tool_word_number(one->mean).text);
    if (one->class_name) {
        tool_text_add(out, "<br>");
        tool_add_escaped(out, one->class_name);
        if (one->class_reason) {
            tool_text_add(out, ": ");
            tool_add_escaped(out, one->class_reason);
        }
    }
    if (one->group && strcmp(one->group, "-") != 0) {
        tool_text_add(out, "<br>group ");
        tool_add_escaped(out, one->group);
    }
    if (one->spec) {
        tool_text_add(out, "<br><code>");
        tool_add_escaped(out, one->spec);
        tool_text_add(out, "</code>");
    }
    tool_text_add(out, "</small></div></li>\n");
}

void tool_section_matrices(const tool_page *page, tool_text *out) {
    int count = 0;
    for (int i = 0; i < page->results->matrices; i++) {
        if (tool_matrix_number(page->results, &page->results->matrix[i]) != i) continue;
        if (count == 0) {
            tool_add_aid(
                out,
                "The positions of the nonzeros; darker cells have more, on a logarithmic scale. The class decides the "
                "row of the first table. A stand-in is generated with the structure of the matrix that it is named "
                "after.");
            tool_text_add(out, "<ul class=\"cards\">\n");
        }
        if (count++ == OPEN) tool_text_add(out, "</ul><details><summary>More matrices</summary><ul class=\"cards\">\n");
        add_card(&page->results->matrix[i], i, out);
    }
    if (count > 0) tool_text_add(out, "</ul>%s\n", count > OPEN ? "</details>" : "");
}
