/* What the sections share. */
#include "sections.h"

void tool_add_aid(tool_text *out, const char *aid) { tool_text_add(out, "<p class=\"aid\">%s</p>\n", aid); }

int tool_matrix_number(const tool_results *results, const tool_matrix_record *one) {
    for (int i = 0; i < results->matrices; i++) {
        const tool_matrix_record *other = &results->matrix[i];
        if (other->matrix == one->matrix && other->rows == one->rows && other->nnz == one->nnz &&
            other->spy == one->spy) {
            return i;
        }
    }
    return -1;
}

void tool_add_matrix(tool_text *out, const char *matrix, bool stand_in) {
    tool_add_escaped(out, matrix);
    if (stand_in) tool_text_add(out, " <span class=\"tag\">stand-in</span>");
}

void tool_part_begin(tool_text *out, int number, int open, const char *title) {
    tool_text_add(out, number < open ? "<h3>" : "<details><summary>");
    tool_add_escaped(out, title);
    tool_text_add(out, number < open ? "</h3>\n" : "</summary>\n");
}

void tool_part_end(tool_text *out, int number, int open) { tool_text_add(out, number < open ? "" : "</details>\n"); }

void tool_add_place(tool_text *out, const tool_cases *cases, const void *at) {
    const tool_case *one = at;
    if (!one) return;
    tool_add_escaped(out, one->matrix);
    if (one->stand_in) tool_text_add(out, "*");
    tool_text_add(out, ", ");
    tool_add_escaped(out, cases->setting[one->setting].label);
}

void tool_add_machine(tool_text *out, const tool_cases *cases, int machine) {
    if (cases->machines < 2) return;
    const tool_machine *at = &cases->machine[machine];
    tool_text_add(out, "<h3 class=\"machine\">");
    tool_add_escaped(out, at->model ? at->model : at->device);
    if (at->model) {
        tool_text_add(out, " <small>");
        tool_add_escaped(out, at->device);
        tool_text_add(out, "</small>");
    }
    tool_text_add(out, "</h3>\n");
}

void tool_add_size(tool_text *out, const tool_case *one) {
    const tool_measurement *at = one->at[0];
    tool_text_add(out, "%s\u00a0\u00d7\u00a0%s, %s nonzeros", tool_word_count(at->rows).text,
                  tool_word_count(at->cols).text, tool_word_short((double)at->nnz).text);
    if (one->class_name) {
        tool_text_add(out, ", ");
        tool_add_escaped(out, one->class_name);
    }
}
