# Reading and writing files.
foreach(name boeing data faults foreign graphs lists market number numpy packed rows scipy svmlight temporal write)
    tamis_add_test(NAME test_io_${name} SOURCES test_io_${name}.c TIMEOUT 120)
    target_compile_definitions(test_io_${name} PRIVATE
        TAMIS_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}" TAMIS_TEST_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}")
    foreach(compression ZLIB LZMA ZSTD)
        if(TAMIS_HAVE_${compression})
            target_compile_definitions(test_io_${name} PRIVATE TAMIS_HAVE_${compression})
            target_include_directories(test_io_${name} SYSTEM PRIVATE "${TAMIS_${compression}_INCLUDE}")
            target_link_libraries(test_io_${name} PRIVATE "${TAMIS_${compression}_LIBRARY}")
        endif()
    endforeach()
endforeach()
