/* Axes and ticks. */
#include "axis.h"

#include <math.h>

tool_axis tool_axis_linear(double high, double from, double to, int wanted) {
    if (!(high > 0) || !isfinite(high)) high = 1;
    if (wanted < 1) wanted = 1;
    const double rough = high / wanted, unit = pow(10, floor(log10(rough)));
    static const double steps[] = {1, 2, 2.5, 5, 10};
    double step = 10 * unit;
    for (int i = 4; i >= 0; i--) {
        if (steps[i] * unit >= rough * 0.999999) step = steps[i] * unit;
    }
    tool_axis axis = {.low = 0, .high = high, .from = from, .to = to};
    for (int i = 0; i < TOOL_TICKS && i * step <= high * 1.000001; i++) axis.tick[axis.ticks++] = i * step;
    return axis;
}

/* Ticks at the given multiples of each power of ten that lie on the axis; returns how many, which may exceed the room.
 */
static int place(tool_axis *axis, const double *multiples, int count, int stride) {
    int ticks = 0;
    const int first = (int)floor(log10(axis->low)) - 1, last = (int)ceil(log10(axis->high)) + 1;
    for (int power = first; power <= last; power++) {
        if (stride > 1 && ((power % stride) + stride) % stride != 0) continue;
        for (int i = 0; i < count; i++) {
            const double value = multiples[i] * pow(10, power);
            if (value < axis->low * 0.999999 || value > axis->high * 1.000001) continue;
            if (ticks < TOOL_TICKS) axis->tick[ticks] = value;
            ticks++;
        }
    }
    return ticks;
}

/* Ticks at equal steps, where the axis is too short for those of decades. */
static void place_evenly(tool_axis *axis, int wanted) {
    const double rough = (axis->high - axis->low) / wanted, unit = pow(10, floor(log10(rough)));
    const double step = rough <= 1.000001 * unit ? unit
                        : rough <= 2 * unit      ? 2 * unit
                        : rough <= 5 * unit      ? 5 * unit
                                                 : 10 * unit;
    for (double i = ceil(axis->low / step - 1e-9); i * step <= axis->high * 1.000001 && axis->ticks < TOOL_TICKS; i++) {
        axis->tick[axis->ticks++] = i * step;
    }
}

tool_axis tool_axis_log(double low, double high, double from, double to, int wanted) {
    if (!(low > 0) || !isfinite(low)) low = 1;
    if (!(high > low) || !isfinite(high)) high = low * 2;
    tool_axis axis = {.logarithmic = true, .low = low, .high = high, .from = from, .to = to};
    static const double multiples[2][3] = {{1, 2, 5}, {1}};
    static const int counts[2] = {3, 1};
    if (wanted > TOOL_TICKS) wanted = TOOL_TICKS;
    if (high < 2.5 * low) {
        place_evenly(&axis, wanted);
        return axis;
    }
    for (int i = 0; i < 2; i++) {
        axis.ticks = place(&axis, multiples[i], counts[i], 1);
        if (axis.ticks <= wanted) return axis;
    }
    for (int stride = 2; axis.ticks > wanted; stride++) axis.ticks = place(&axis, multiples[1], 1, stride);
    return axis;
}

double tool_axis_at(const tool_axis *axis, double value) {
    double share = 0;
    if (axis->logarithmic) {
        share = value > 0 ? log(value / axis->low) / log(axis->high / axis->low) : 0;
    } else {
        share = (value - axis->low) / (axis->high - axis->low);
    }
    if (!(share >= 0)) share = 0;
    if (share > 1) share = 1;
    return axis->from + share * (axis->to - axis->from);
}
