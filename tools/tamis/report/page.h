/* The page: one HTML file that needs no other. */
#ifndef TOOL_PAGE_H
#define TOOL_PAGE_H

#include "results.h"
#include "text.h"

/* Adds the whole page. title NULL: made from the suites. */
void tool_page_write(const tool_results *results, const char *title, tool_text *out);

/* page.css, page.js and roofline.css, which cmake/embed.cmake writes into the program. */
typedef struct tool_page_text {
    const char *name;
    const unsigned char *text; /* ends with a zero */
    size_t bytes;              /* before it */
} tool_page_text;

extern const tool_page_text tool_page_texts[];
extern const int tool_page_text_count;

/* The text of that name; "" where there is none. */
const char *tool_page_text_of(const char *name);

#endif
