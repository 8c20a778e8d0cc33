# Several devices: shards, and what exchanges their rows.
tamis_test_area(group)
foreach(name shard shard_errors)
    tamis_add_test(NAME test_${name} SOURCES test_${name}.c TIMEOUT 120)
endforeach()
tamis_add_test(NAME test_group SOURCES test_group.c group_case.c TIMEOUT 300)
tamis_add_test(NAME test_cover SOURCES test_cover.c group_case.c TIMEOUT 300)
tamis_add_test(NAME test_group_gradient SOURCES test_group_gradient.c gradient_case.c gradient_bounds.c TIMEOUT 300)
tamis_add_test(NAME test_group_errors SOURCES test_group_errors.c TIMEOUT 120)
tamis_add_test(NAME test_transport SOURCES test_transport.c transport_case.c TIMEOUT 120)

# One device whose memory does not hold the matrices.
tamis_add_test(NAME test_slabs SOURCES test_slabs.c TIMEOUT 300)

# METIS, and two that stand in for it, with integers of either width.
foreach(width 32 64)
    add_library(tamis_stub_metis_${width} MODULE stub_metis.c)
    target_compile_definitions(tamis_stub_metis_${width} PRIVATE INTEGER=int${width}_t)
    tamis_warnings(tamis_stub_metis_${width})
endforeach()
tamis_add_test(NAME test_metis SOURCES test_metis.c TIMEOUT 120)
add_dependencies(tamis_test_group tamis_stub_metis_32 tamis_stub_metis_64)
target_compile_definitions(tamis_test_group PRIVATE "STUB_32=\"$<TARGET_FILE:tamis_stub_metis_32>\"" "STUB_64=\"$<TARGET_FILE:tamis_stub_metis_64>\"")
