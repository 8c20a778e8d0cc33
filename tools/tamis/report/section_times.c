/* Times: bars of every case. */
#include "charts.h"
#include "sections.h"

enum { OPEN = 2 };

void tool_section_times(const tool_page *page, tool_text *out) {
    const tool_cases *cases = page->cases;
    tool_add_aid(
        out, "Shorter is better. Whiskers span the middle half of the samples, and the tall tick is the minimum time. "
             "If they are far from the bar\u2019s end, the machine was not idle. The plan\u2019s choice is bold.");
    tool_text_add(out,
                  "<ul class=\"legend\"><li><i class=\"k ka\"></i>the plan\u2019s choice</li><li><i class=\"k ko\"></i>"
                  "other methods of Tamis</li><li><i class=\"k kp\"></i>peers</li><li><i class=\"k kb\"></i>naive "
                  "loop</li></ul>\n");
    for (int i = 0; i < cases->settings; i++) {
        const tool_setting *setting = &cases->setting[i];
        tool_part_begin(out, i, OPEN, setting->label);
        tool_text_add(out, "<div class=\"grid\">");
        for (int j = 0; j < setting->cases; j++) {
            const tool_case *one = &cases->at[setting->first + j];
            tool_text_add(out, "<figure><figcaption><b>");
            tool_add_matrix(out, one->matrix, one->stand_in);
            tool_text_add(out, "</b> <small>");
            tool_add_size(out, one);
            tool_text_add(out, "</small></figcaption>\n");
            tool_chart_bars(out, one);
            tool_text_add(out, "</figure>");
        }
        tool_text_add(out, "</div>\n");
        tool_part_end(out, i, OPEN);
    }
}
