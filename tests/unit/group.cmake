# Several devices: shards, and what exchanges their rows.
foreach(name shard shard_errors)
    tamis_add_test(NAME test_${name} SOURCES test_${name}.c TIMEOUT 120)
endforeach()
tamis_add_test(NAME test_group SOURCES test_group.c group_case.c LIBRARIES tamis_test_support TIMEOUT 300)
tamis_add_test(NAME test_group_errors SOURCES test_group_errors.c TIMEOUT 120)
tamis_add_test(NAME test_transport SOURCES test_transport.c transport_case.c TIMEOUT 120)

# One device whose memory does not hold the matrices.
tamis_add_test(NAME test_slabs SOURCES test_slabs.c LIBRARIES tamis_test_support TIMEOUT 300)
