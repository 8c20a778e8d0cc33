/* What cell_entries.cu writes of each cell, and the kernels of compute capability 9.0 read. */
typedef struct cell_record {
    int64 entries, list;     /* where its entries and its columns begin */
    int64 panel, next_panel; /* its panel, and that of the next cell */
    int32 begins[8 + 1];     /* of the entries of 16 rows each, counted from `entries`; and the end */
    int32 last;              /* of its columns */
    int32 unused[2];
} cell_record;
