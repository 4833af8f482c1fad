cuzk_test(test_ifma_msm ${CMAKE_CURRENT_LIST_DIR}/ifma_msm_test.c LINK zk_msm)

add_executable(ifma_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/ifma_bench.c)
target_link_libraries(ifma_bench PRIVATE cuzk_flags zk_msm zk_ntt)
cuzk_test(test_ifma_ntt ${CMAKE_CURRENT_LIST_DIR}/ifma_ntt_test.c LINK zk_ntt)
