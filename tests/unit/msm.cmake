cuzk_test(test_msm ${CMAKE_CURRENT_LIST_DIR}/msm_test.c LINK zk_msm zk_hash)
