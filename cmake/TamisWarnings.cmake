# The warnings that every target is built with. They are errors.
function(tamis_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wpedantic -Wstrict-prototypes
        -Wmissing-prototypes -Wcast-qual -Wvla -Wformat=2 -Wundef -Wpointer-arith -Wwrite-strings)
endfunction()
