/* The points of a roofline, from the cases. */
#include <math.h>

#include "charts.h"
#include "figures.h"

static double intensity_of(const tool_measurement *at) { return at->gflops * at->median * 1e6 / at->bytes; }

/* The points of a machine's cases of a class (all classes: everything), with the styles that they use. */
int tool_roof_points(const tool_cases *cases, const tool_styles *styles, int machine, const char *class_name, bool all,
                     tool_roof_point *points, bool *used) {
    int count = 0;
    for (int i = 0; i < cases->count; i++) {
        const tool_case *one = &cases->at[i];
        if (!tool_case_of(cases, one, machine, NULL) || (!all && one->class_name != class_name)) continue;
        for (int j = 0; j < one->count; j++) {
            const tool_measurement *at = one->at[j];
            const double intensity = intensity_of(at);
            if (!(intensity > 0) || !isfinite(intensity) || (at->parameters && !at->automatic)) continue;
            const tool_style *style = tool_styles_of(styles, at);
            const int number = (int)(style - styles->at);
            used[number] = true;
            points[count++] = (tool_roof_point){intensity, at->gflops, number};
        }
    }
    return count;
}
