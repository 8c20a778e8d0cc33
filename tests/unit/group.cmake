# Several devices: shards, and what exchanges their rows.
foreach(name shard shard_errors)
    tamis_add_test(NAME test_${name} SOURCES test_${name}.c TIMEOUT 120)
endforeach()
