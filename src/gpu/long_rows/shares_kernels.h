/* Constants of long_rows_kernels.h that simt.h needs. Include before both. */
#define TEAMS          (GROUP / TEAM)
#define BATCH          (ROWS * POSITIONS)
#define SHARE          (TEAM / ROWS) /* lanes that hold a row's scores */
#define LANES          TEAM
#define ROW_REALS      (TEAM * WIDTH_REALS)
#define UNITS          (WIDTH_REALS / UNIT)
#define TEAMS_TOGETHER 1
#define PLACES         32
