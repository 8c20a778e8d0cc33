/* The commit that the program was built of, as scripts/commit.sh has it; a file of the build defines it. */
#ifndef TAMIS_TOOL_COMMIT_H
#define TAMIS_TOOL_COMMIT_H

extern const char tool_commit[];

#endif
