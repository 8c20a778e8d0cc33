/* Maxima and minima that say which entry they come from. ARGUMENT: bits of an entry's number. */
#if ARGUMENT == 64
typedef int64 taken_entry;
#else
typedef int32 taken_entry;
#endif

/* True if a number replaces the best so far: a larger one, or the first NaN. */
FUNCTION int takes(real next, real best) { return !(next <= best) && best == best; }
