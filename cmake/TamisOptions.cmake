# What can be switched, and what of it was found.

set(TAMIS_CPU_INLINE ON CACHE STRING "kernels of the CPU specialised by inlining: ON; for tests OFF, which compiles in a sixth \
of the time, or some instruction sets, as v3;neon, or of one some types, as v4_f32;v4_bf16_pairs; native is the first of TAMIS_CPU_ISA=native")
option(TAMIS_LAB "the laboratory: the papers' algorithms beside our own, in the same libraries" OFF)
option(TAMIS_PROGRAM "the program `tamis` beside the libraries; the tests need it" ON)
set(TAMIS_CPU_ISA "" CACHE STRING "the instruction sets that kernels are compiled for, of v4;v3;v2 \
on x86-64, of sve512;sve256;sve128;neon on aarch64; those of other processors count for nothing, and without one all are. native: \
the best that runs here, and as a fallback the one that runs everywhere, whose 16-bit types are not specialised by inlining")
set(TAMIS_SANITIZE "" CACHE STRING "sanitizers, as -fsanitize= takes them: address,undefined or thread")
set(TAMIS_COMPRESSIONS ZLIB LZMA ZSTD ISAL)
foreach(library IN LISTS TAMIS_COMPRESSIONS)
    set(TAMIS_WITH_${library} AUTO CACHE STRING "compressed files through ${library}: AUTO, ON or OFF")
    set_property(CACHE TAMIS_WITH_${library} PROPERTY STRINGS AUTO ON OFF)
endforeach()

set(TAMIS_WITH_DECIMAL AUTO CACHE STRING "fast numbers in text by the C++ headers of fast_float and Dragonbox: AUTO, ON or OFF")
set_property(CACHE TAMIS_WITH_DECIMAL PROPERTY STRINGS AUTO ON OFF)

set(TAMIS_MPI AUTO CACHE STRING "libtamis_mpi, groups of processes: AUTO, ON or OFF")
set_property(CACHE TAMIS_MPI PROPERTY STRINGS AUTO ON OFF)

# compilations that were done before are not done again
find_program(TAMIS_CCACHE ccache)
if(TAMIS_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER "${TAMIS_CCACHE}")
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()
add_compile_definitions(_GNU_SOURCE=)
if(TAMIS_SANITIZE)
    add_compile_options(-fsanitize=${TAMIS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
    add_link_options(-fsanitize=${TAMIS_SANITIZE})
    find_program(TAMIS_GOLD ld.gold) # a hundred test programs are linked in a third of the time
    if(TAMIS_GOLD)
        add_link_options(-fuse-ld=gold)
    endif()
endif()

find_package(Threads REQUIRED)

# name of the library for -l; a header; the CMake variable
function(tamis_find_compression name library header)
    set(TAMIS_HAVE_${name} OFF PARENT_SCOPE)
    if(TAMIS_WITH_${name} STREQUAL "OFF")
        return()
    endif()
    set(TAMIS_${name}_NAME ${library} PARENT_SCOPE)
    find_library(TAMIS_${name}_LIBRARY ${library})
    find_path(TAMIS_${name}_INCLUDE ${header})
    if(TAMIS_${name}_LIBRARY AND TAMIS_${name}_INCLUDE)
        set(TAMIS_HAVE_${name} ON PARENT_SCOPE)
    elseif(TAMIS_WITH_${name} STREQUAL "ON")
        message(FATAL_ERROR "TAMIS_WITH_${name}=ON, but ${header} or lib${library} was not found")
    endif()
endfunction()
tamis_find_compression(ZLIB z zlib.h)
tamis_find_compression(LZMA lzma lzma.h)
tamis_find_compression(ZSTD zstd zstd.h)
tamis_find_compression(ISAL isal isa-l/igzip_lib.h)

# src/io/text/decimal.cc, the one C++ file: the C compiler's driver compiles it, where there is a C++ compiler behind it. It needs no C++ run
# time, so that the libraries stay those of C.
set(TAMIS_HAVE_DECIMAL OFF)
if(NOT TAMIS_WITH_DECIMAL STREQUAL "OFF")
    find_path(TAMIS_FAST_FLOAT_INCLUDE fast_float/fast_float.h)
    file(GLOB versions "${CMAKE_SYSROOT}/usr/include/dragonbox-*") # Debian's folder has the version in its name
    find_path(TAMIS_DRAGONBOX_INCLUDE dragonbox/dragonbox.h HINTS ${versions})
    set(reason "fast_float/fast_float.h or dragonbox/dragonbox.h was not found")
    if(TAMIS_FAST_FLOAT_INCLUDE AND TAMIS_DRAGONBOX_INCLUDE)
        set(TAMIS_DECIMAL_OPTIONS -x c++ -std=c++17 -fno-exceptions -fno-rtti -DNDEBUG "-I${PROJECT_SOURCE_DIR}/src"
            "-idirafter${TAMIS_FAST_FLOAT_INCLUDE}" "-idirafter${TAMIS_DRAGONBOX_INCLUDE}")
        if(CMAKE_SYSROOT)
            set(sysroot "--sysroot=${CMAKE_SYSROOT}")
        endif()
        execute_process(COMMAND "${CMAKE_C_COMPILER}" ${sysroot} ${TAMIS_DECIMAL_OPTIONS} -fsyntax-only "${PROJECT_SOURCE_DIR}/src/io/text/decimal.cc"
            RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE reason)
        if(NOT failed)
            set(TAMIS_HAVE_DECIMAL ON)
        endif()
    endif()
    if(TAMIS_WITH_DECIMAL STREQUAL "ON" AND NOT TAMIS_HAVE_DECIMAL)
        message(FATAL_ERROR "TAMIS_WITH_DECIMAL=ON, but ${reason}")
    endif()
endif()

# sanitizers report what MPI itself does; a wheel and a cross build cannot know the site's MPI
set(TAMIS_HAVE_MPI OFF)
if(TAMIS_MPI STREQUAL "ON")
    find_package(MPI REQUIRED COMPONENTS C)
elseif(TAMIS_MPI STREQUAL "AUTO" AND NOT TAMIS_SANITIZE AND NOT SKBUILD AND NOT CMAKE_CROSSCOMPILING)
    find_package(MPI QUIET COMPONENTS C)
endif()
if(MPI_C_FOUND)
    set(TAMIS_HAVE_MPI ON)
endif()
