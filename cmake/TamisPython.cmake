# The wheel of the Python package: the two shared libraries beside the Python files, and nothing else. scikit-build-core sets
# SKBUILD, builds these two targets and installs this component (pyproject.toml).
set_target_properties(tamis_shared tamis_ml_shared PROPERTIES VERSION ${TAMIS_INTERFACE} INSTALL_RPATH "$ORIGIN") # a wheel has no links
install(TARGETS tamis_shared tamis_ml_shared LIBRARY DESTINATION lib COMPONENT python NAMELINK_SKIP)
