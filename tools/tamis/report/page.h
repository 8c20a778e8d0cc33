/* The page: one HTML file that needs no other. */
#ifndef TOOL_PAGE_H
#define TOOL_PAGE_H

#include "results.h"
#include "text.h"

/* Adds the whole page. title NULL: made from the suites. */
void tool_page_write(const tool_results *results, const char *title, tool_text *out);

/* The embedded text of that name; "" where there is none. */
const char *tool_page_text_of(const char *name);

#endif
