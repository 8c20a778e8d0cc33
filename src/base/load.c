#include "base/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

/* Timings are unreliable if other processes use this many processors, or this share of our threads. */
static const double BUSY = 0.15, SHARE = 0.02;
static const double LEAST_SECONDS = 0.1; /* shorter times are lost in the kernel's clock ticks */

static double children; /* processor time of processes that we started */

void tamis_load_add_own(double seconds) { children += seconds; }

tamis_load_point tamis_load_begin(void) {
    tamis_load_point now = {tamis_clock_seconds(), (double)NAN, (double)NAN, (double)NAN};
    double user = 0, nice = 0, kernel = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
    FILE *const file = fopen("/proc/stat", "re");
    if (!file) return now;
    const int read = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &kernel, &idle, &waiting,
                            &interrupts, &soft, &stolen);
    fclose(file);
    struct rusage usage;
    if (read < 7 || getrusage(RUSAGE_SELF, &usage) != 0) return now;
    const double ticks = (double)sysconf(_SC_CLK_TCK);
    now.all = (user + nice + kernel + interrupts + soft) / ticks;
    now.stolen = stolen / ticks;
    now.own = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) + children;
    return now;
}

tamis_load tamis_load_since(const tamis_load_point *begin, int threads) {
    const tamis_load_point now = tamis_load_begin();
    const char *const said = getenv("TAMIS_LOAD");
    const double seconds = now.clock - begin->clock;
    tamis_load load = {(double)NAN, (double)NAN, false};
    if (said && *said) {
        load.others = strtod(said, NULL);
        load.stolen = 0;
    } else if (seconds >= LEAST_SECONDS) {
        load.others = fmax(0, now.all - begin->all - (now.own - begin->own)) / seconds;
        load.stolen = (now.stolen - begin->stolen) / seconds;
    }
    const bool crowded = load.others + threads > (double)sysconf(_SC_NPROCESSORS_ONLN);
    const double much = fmax(BUSY, SHARE * threads);
    load.disturbed = threads > 0 && ((crowded && load.others > much) || load.stolen > much);
    return load;
}
