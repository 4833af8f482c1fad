cuzk_test(test_ifma_msm ${CMAKE_CURRENT_LIST_DIR}/ifma_msm_test.c LINK zk_msm)
