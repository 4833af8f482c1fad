cuzk_test(test_lanes_msm ${CMAKE_CURRENT_LIST_DIR}/lanes_msm_test.c LINK zk_msm)

add_executable(ifma_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/ifma_bench.c)
target_link_libraries(ifma_bench PRIVATE cuzk_flags zk_msm zk_ntt)
cuzk_test(test_lanes_ntt ${CMAKE_CURRENT_LIST_DIR}/lanes_ntt_test.c LINK zk_ntt)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  cuzk_test(test_field_lanes ${CMAKE_CURRENT_LIST_DIR}/field_lanes_test.c LINK zk_field)
  foreach(isa ifma fma)
    add_library(field_lanes_${isa} OBJECT ${CMAKE_CURRENT_LIST_DIR}/field_lanes_${isa}.c)
    target_link_libraries(field_lanes_${isa} PRIVATE cuzk_flags)
    target_link_libraries(test_field_lanes PRIVATE field_lanes_${isa})
  endforeach()
  target_compile_options(field_lanes_ifma PRIVATE
    -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512ifma -mbmi2 -madx -fno-sanitize=undefined)
  target_compile_options(field_lanes_fma PRIVATE ${CUZK_FMA_FLAGS})
endif()
