/* What simt.h has to know of long_rows_kernels.h: before both. */
#define TEAMS          (GROUP / TEAM)
#define BATCH          (ROWS * POSITIONS)
#define SHARE          (TEAM / ROWS) /* lanes that have scores of a row */
#define LANES          TEAM
#define ROW_REALS      (TEAM * WIDTH_REALS)
#define UNITS          (WIDTH_REALS / UNIT)
#define TEAMS_TOGETHER 1
#define PLACES         32
