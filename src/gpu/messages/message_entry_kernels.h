/* Shared by message_vectors.simt and message_numbers.simt. */

/* The entry's term of elements z and x, and with TERM_GATE of y, the entry's own. With `taken` it is 0 unless the entry
   is the element's argument, `from`. */
FUNCTION real entry_element(const int term, const int taken, real z, real x, real y, real sign, taken_entry from,
                            int64 entry) {
    const real of = term == TERM_X      ? z
                    : term == TERM_ADD  ? z + sign * x
                    : term == TERM_GATE ? unless_below(z, x + y)
                                        : z * x;
    return !taken || from == (taken_entry)entry ? of : (real)0;
}
