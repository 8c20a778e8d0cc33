# python/tamis/_declarations.py, the C interface for ctypes, is written from the headers whenever one changed: beside the package's other
# files, so that the package runs from the sources too. Without Python nothing needs it.
find_package(Python 3.9 QUIET COMPONENTS Interpreter)
if(Python_FOUND)
    file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tamis/*.h")
    set(script "${PROJECT_SOURCE_DIR}/scripts/python-declarations.py")
    set(stamp "${PROJECT_BINARY_DIR}/python-declarations.stamp")
    set(TAMIS_DECLARATIONS "${PROJECT_SOURCE_DIR}/python/tamis/_declarations.py")
    add_custom_command(OUTPUT "${stamp}" BYPRODUCTS "${TAMIS_DECLARATIONS}"
        COMMAND "${Python_EXECUTABLE}" "${script}" "${TAMIS_DECLARATIONS}" COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
        DEPENDS "${script}" ${headers} "${PROJECT_SOURCE_DIR}/src/base/edge_rows.h" VERBATIM)
    add_custom_target(tamis_declarations DEPENDS "${stamp}")
    add_dependencies(tamis_shared tamis_declarations)
endif()
