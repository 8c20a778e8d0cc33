/* Text and numbers as the page writes them: escaped, with units, short. */
#ifndef TOOL_MARKUP_H
#define TOOL_MARKUP_H

#include "text.h"

/* Adds text with & < > " escaped; bytes that are no UTF-8 and control characters become U+FFFD. */
void tool_add_escaped(tool_text *text, const char *given);

/* The same, cut after `most` characters with an ellipsis. */
void tool_add_escaped_short(tool_text *text, const char *given, int most);

/* Adds what another text holds; of any length. */
void tool_add_raw(tool_text *text, const char *given);

/* Milliseconds with the unit that fits: "1.23 ms". The blank does not break, "u" is a micro sign. */
tool_word tool_word_time(double milliseconds);

/* "1.65x" with a multiplication sign; four significant digits at most. */
tool_word tool_word_ratio(double ratio);

/* "12 %" */
tool_word tool_word_percent(double percent);

/* A coordinate with one decimal at most: "12", "12.5". */
tool_word tool_word_place(double value);

/* A number for a cell that is sorted: four significant digits, never an exponent; "" when it is not finite. */
tool_word tool_word_cell(double value);

#endif
