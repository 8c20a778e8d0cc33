# Library, headers, and what other projects find them by: a CMake package (find_package(tamis): tamis::tamis, tamis::tamis_ml
# and either with _static) and pkg-config files. The program installs its own manual page and completions.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/tamis")

install(TARGETS tamis_shared tamis_static tamis_ml_shared tamis_ml_static EXPORT tamis-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
file(GLOB public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tamis/*.h")
install(FILES ${public_headers} "${PROJECT_BINARY_DIR}/include/tamis/version.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tamis")
install(EXPORT tamis-targets NAMESPACE tamis:: DESTINATION "${package_folder}")
set_target_properties(tamis_shared PROPERTIES EXPORT_NAME tamis)
set_target_properties(tamis_ml_shared PROPERTIES EXPORT_NAME tamis_ml)

if(TAMIS_HAVE_MPI) # find_package(tamis COMPONENTS mpi): tamis::tamis_mpi
    set_target_properties(tamis_mpi_shared PROPERTIES EXPORT_NAME tamis_mpi)
    install(TARGETS tamis_mpi_shared EXPORT tamis-mpi-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(FILES "${PROJECT_SOURCE_DIR}/src/mpi/tamis/mpi.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tamis")
    install(EXPORT tamis-mpi-targets NAMESPACE tamis:: DESTINATION "${package_folder}")
endif()

configure_package_config_file(cmake/tamis-config.cmake.in "${PROJECT_BINARY_DIR}/tamis-config.cmake"
    INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tamis-config-version.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tamis-config.cmake" "${PROJECT_BINARY_DIR}/tamis-config-version.cmake"
    DESTINATION "${package_folder}")

# what a static link needs beside -ltamis
set(private_libraries "-lpthread -lm")
foreach(compression IN LISTS TAMIS_COMPRESSIONS)
    if(TAMIS_HAVE_${compression})
        string(APPEND private_libraries " -l${TAMIS_${compression}_NAME}")
    endif()
endforeach()
# folders may be absolute, as Nix, Guix and Spack give them; else the package can be moved
foreach(kind LIBDIR INCLUDEDIR)
    set(package_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
        set(package_${kind} "${CMAKE_INSTALL_${kind}}")
    endif()
endforeach()
set(package_prefix "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH package_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
    string(PREPEND package_prefix "\${pcfiledir}/")
endif()
configure_file(cmake/tamis.pc.in "${PROJECT_BINARY_DIR}/tamis.pc" @ONLY)
set(ml_private_libraries "${private_libraries}")
configure_file(cmake/tamis_ml.pc.in "${PROJECT_BINARY_DIR}/tamis_ml.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tamis.pc" "${PROJECT_BINARY_DIR}/tamis_ml.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
