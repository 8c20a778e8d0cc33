/* The sections of the page. Each adds its content, or nothing where the results have none for it. */
#ifndef TOOL_SECTIONS_H
#define TOOL_SECTIONS_H

#include "cases.h"
#include "markup.h"
#include "mean.h"
#include "style.h"

typedef struct tool_page {
    const tool_results *results;
    const tool_cases *cases;
    const tool_styles *styles;
} tool_page;

void tool_section_answer(const tool_page *page, tool_text *out);
void tool_section_speedups(const tool_page *page, tool_text *out);
void tool_section_matrix_speedups(const tool_page *page, tool_text *out);
void tool_section_times(const tool_page *page, tool_text *out);
void tool_section_rooflines(const tool_page *page, tool_text *out);
void tool_section_matrices(const tool_page *page, tool_text *out);
void tool_section_model(const tool_page *page, tool_text *out);
void tool_section_parameters(const tool_page *page, tool_text *out);
void tool_section_traffic(const tool_page *page, tool_text *out);
void tool_section_calls(const tool_page *page, tool_text *out);
void tool_section_measurements(const tool_page *page, tool_text *out);
void tool_section_machines(const tool_page *page, tool_text *out);

/* ---- what they share */

/* A paragraph that says what to look for. */
void tool_add_aid(tool_text *out, const char *aid);

/* The number of the first record of the same matrix: several runs may have described it. */
int tool_matrix_number(const tool_results *results, const tool_matrix_record *one);

/* The name of a matrix; a stand-in says so. */
void tool_add_matrix(tool_text *out, const char *matrix, bool stand_in);

/* "1,000 x 1,000, 5.00 k nonzeros, banded" */
void tool_add_size(tool_text *out, const tool_case *one);

/* The first few parts of a section are open, later ones folded under their title. */
void tool_part_begin(tool_text *out, int number, int open, const char *title);
void tool_part_end(tool_text *out, int number, int open);

/* "pwtk, SDDMM, K = 128", for the places in a mean. */
void tool_add_place(tool_text *out, const tool_cases *cases, const void *at);

/* Heading of a machine where there are several. */
void tool_add_machine(tool_text *out, const tool_cases *cases, int machine);

#endif
