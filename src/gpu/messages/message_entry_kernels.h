/* What message_vectors.simt and message_numbers.simt share. */

/* What an entry makes of an element of z and x. With `taken` it is 0 unless the element's argument, `from`, is the
   entry. */
FUNCTION real entry_element(const int term, const int taken, real z, real x, real sign, taken_entry from, int64 entry) {
    const real y = term == TERM_X ? z : term == TERM_ADD ? z + sign * x : z * x;
    return !taken || from == (taken_entry)entry ? y : (real)0;
}
