# The warnings that every target is built with. They are errors in the presets alone: a compiler that is newer than ours
# may find new ones, which should not end a user's build.
option(TAMIS_WARNINGS_ARE_ERRORS "Let warnings end the build" OFF)

function(tamis_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra $<$<BOOL:${TAMIS_WARNINGS_ARE_ERRORS}>:-Werror> -Wconversion -Wsign-conversion -Wshadow -Wpedantic -Wstrict-prototypes
        -Wmissing-prototypes -Wcast-qual -Wvla -Wformat=2 -Wundef -Wpointer-arith -Wwrite-strings)
endfunction()
