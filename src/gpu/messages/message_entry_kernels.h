/* Shared by message_vectors.simt and message_numbers.simt. */

#if defined(EDGE_TEXT)
#define ENTRY_X READS_X
#define ENTRY_Y READS_Y
#define ENTRY_Z READS_Z
#else
#define ENTRY_X (TERM != TERM_X)
#define ENTRY_Y (TERM == TERM_GATE)
#define ENTRY_Z 1
#endif

/* Where an entry is, and its number. */
typedef struct entry_place {
    int64 row, column, entry;
} entry_place;

/* The entry's term of elements z and x, and with TERM_GATE of y, the entry's own; of a text w times it. With `taken` it
   is 0 unless the entry is the element's argument, `from`. */
FUNCTION real entry_element(const int term, const int taken, real z, real x, real y, real w, real sign,
                            taken_entry from, entry_place at, int32 head, text_numbers n) {
    const real of = term == TERM_TEXT   ? w * text_of(x, y, z, at.row, at.column, head, n)
                    : term == TERM_X    ? z
                    : term == TERM_ADD  ? z + sign * x
                    : term == TERM_GATE ? unless_below(z, x + y)
                                        : z * x;
    return !taken || from == (taken_entry)at.entry ? of : (real)0;
}
