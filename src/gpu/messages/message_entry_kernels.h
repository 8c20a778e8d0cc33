/* What message_vectors.simt and message_numbers.simt share. */

/* What an entry makes of an element of z and x, and with TERM_GATE of y, which the entry has. With `taken` it is 0
   unless the element's argument, `from`, is the entry. */
FUNCTION real entry_element(const int term, const int taken, real z, real x, real y, real sign, taken_entry from,
                            int64 entry) {
    const real of = term == TERM_X      ? z
                    : term == TERM_ADD  ? z + sign * x
                    : term == TERM_GATE ? unless_below(z, x + y)
                                        : z * x;
    return !taken || from == (taken_entry)entry ? of : (real)0;
}
