/* Drawings as SVG text, well-formed as XML. A drawing is 340 units wide, so that its 12-unit letters stay legible on a
   phone; the page sets several side by side where there is room. Colours come from the classes in page.css. */
#ifndef TOOL_SVG_H
#define TOOL_SVG_H

#include "axis.h"
#include "markup.h"

enum { TOOL_SVG_WIDTH = 340 };

/* Opens a drawing that is read as an image: title names it, description tells its findings; both are escaped. */
void tool_svg_begin(tool_text *out, double width, double height, const char *title, const char *description);

/* The same as a file of its own, with a style and its title as a heading in the first 30 units. */
void tool_svg_begin_file(tool_text *out, double width, double height, const char *style, const char *title,
                         const char *description);
void tool_svg_end(tool_text *out);

/* Where a chart with row labels begins: right of the longest one (its characters), within limits. */
double tool_svg_label_width(int characters);
enum { TOOL_SVG_LABEL = 25 }; /* characters of a label, as the longest algorithm has; longer ones are cut */

/* class_name may be "" */
void tool_svg_text(tool_text *out, const char *class_name, double x, double y, const char *text, int most);
void tool_svg_line(tool_text *out, const char *class_name, double x1, double y1, double x2, double y2);

/* Lines of the grid across [from, to] with the ticks' words below (or left): kind 't' times in ms, 'x' ratios, 'n'
   plain numbers. */
void tool_svg_axis_x(tool_text *out, const tool_axis *axis, double top, double bottom, char kind);
void tool_svg_axis_y(tool_text *out, const tool_axis *axis, double left, double right, char kind);

#endif
