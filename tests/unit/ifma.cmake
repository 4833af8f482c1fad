cuzk_test(test_ifma_msm ${CMAKE_CURRENT_LIST_DIR}/ifma_msm_test.c LINK zk_msm)

add_executable(ifma_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/ifma_bench.c)
target_link_libraries(ifma_bench PRIVATE cuzk_flags zk_msm zk_ntt)
cuzk_test(test_ifma_ntt ${CMAKE_CURRENT_LIST_DIR}/ifma_ntt_test.c LINK zk_ntt)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  cuzk_test(test_ifma_field ${CMAKE_CURRENT_LIST_DIR}/ifma_field_test.c LINK zk_ntt zk_field)
  add_library(ifma_field_lanes OBJECT ${CMAKE_CURRENT_LIST_DIR}/ifma_field_lanes.c)
  target_link_libraries(ifma_field_lanes PRIVATE cuzk_flags)
  target_compile_options(ifma_field_lanes PRIVATE
    -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512ifma -mbmi2 -madx -fno-sanitize=undefined)
  target_link_libraries(test_ifma_field PRIVATE ifma_field_lanes)
endif()
