# Shared libraries that run with an older glibc than this machine's: TAMIS_GLIBC=2.17. The compiler is the usual one, so that the machine code is;
# Zig links, which brings the symbols of every glibc (PyPI's package ziglang). Libraries of compression are linked into ours, since this machine's
# need its own glibc.
set(TAMIS_GLIBC "" CACHE STRING "the oldest glibc with which the shared libraries run, as 2.17; empty: this machine's")
if(NOT TAMIS_GLIBC)
    return()
endif()
find_program(TAMIS_ZIG_PYTHON NAMES python3 DOC "a Python that has the package ziglang")
execute_process(COMMAND "${TAMIS_ZIG_PYTHON}" -I -m ziglang version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
if(failed)
    message(FATAL_ERROR "TAMIS_GLIBC=${TAMIS_GLIBC}, but ${TAMIS_ZIG_PYTHON} has no ziglang: pip install ziglang, or set TAMIS_ZIG_PYTHON")
endif()
# the compiler's run-time library finds the instruction sets of the processor
execute_process(COMMAND "${CMAKE_C_COMPILER}" -print-libgcc-file-name OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(CMAKE_C_CREATE_SHARED_LIBRARY "\"${TAMIS_ZIG_PYTHON}\" -I -m ziglang cc -target ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.${TAMIS_GLIBC} -shared -s \
<LINK_FLAGS> -Wl,-soname,<TARGET_SONAME> -o <TARGET> <OBJECTS> <LINK_LIBRARIES> \"${runtime}\"")
set(CMAKE_C_CREATE_SHARED_MODULE "${CMAKE_C_CREATE_SHARED_LIBRARY}")
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)

