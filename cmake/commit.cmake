# cmake -DOUTPUT=FILE.c -DSCRIPT=commit.sh -P commit.cmake: a C file with the commit, written anew only where it has changed.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${SCRIPT}" OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
    set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#include \"cli/commit.h\"\n\nconst char tool_commit[] = \"@commit@\";\n" @ONLY)
