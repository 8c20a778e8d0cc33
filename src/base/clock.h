/* Monotonic time in seconds. */
#ifndef TAMIS_BASE_CLOCK_H
#define TAMIS_BASE_CLOCK_H

double tamis_clock_seconds(void);

#endif
