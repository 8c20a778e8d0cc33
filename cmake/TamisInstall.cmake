# Library, headers, program, manual pages, completions; a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS tamis_shared tamis_static EXPORT TamisTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES include/tamis/tamis.h include/tamis/matrix.h "${PROJECT_BINARY_DIR}/include/tamis/version.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tamis")
