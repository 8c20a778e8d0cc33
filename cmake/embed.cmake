# Writes text files into a table of names, texts that end with a zero, and lengths:
#   cmake -DOUTPUT=sources.c -DHEADER=gpu/jit.h -DTYPE=tamis_gpu_source -DTABLE=tamis_gpu_source [-DBARE=ON]
#         -DFILES="a;b" -P embed.cmake
# It is TABLEs[] of TABLE_count entries. BARE: the names are without their endings.
set(text "/* Made by cmake/embed.cmake. */\n#include \"${HEADER}\"\n\n")
set(rows "")
set(count 0)
foreach(file IN LISTS FILES)
    if(BARE)
        get_filename_component(name "${file}" NAME_WE)
    else()
        get_filename_component(name "${file}" NAME)
    endif()
    file(READ "${file}" bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "static const unsigned char text_${count}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${name}\", text_${count}, sizeof text_${count} - 1},\n")
    math(EXPR count "${count} + 1")
endforeach()
if(NOT rows)
    set(rows "    {0}\n") # C has no empty tables
endif()
string(APPEND text "\nconst ${TYPE} ${TABLE}s[] = {\n${rows}};\nconst int ${TABLE}_count = ${count};\n")
file(WRITE "${OUTPUT}" "${text}")
