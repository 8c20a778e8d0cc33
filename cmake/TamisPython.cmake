# The wheel of the Python package: the three shared libraries beside the Python files, of which one is
# written from the headers, and nothing else. scikit-build-core sets
# SKBUILD, builds these targets and installs this component (pyproject.toml).
set_target_properties(tamis_shared tamis_ml_shared tamis_xla_shared PROPERTIES VERSION ${TAMIS_INTERFACE} INSTALL_RPATH "$ORIGIN") # a wheel has no links
install(TARGETS tamis_shared tamis_ml_shared tamis_xla_shared LIBRARY DESTINATION lib COMPONENT python NAMELINK_SKIP)
install(FILES "${TAMIS_DECLARATIONS}" DESTINATION . COMPONENT python)
get_target_property(compiled tamis_python_calls TYPE)
if(compiled STREQUAL "MODULE_LIBRARY")
    install(TARGETS tamis_python_calls LIBRARY DESTINATION lib COMPONENT python)
endif()
