cuzk_test(test_transform ${CMAKE_CURRENT_LIST_DIR}/transform_test.c LINK zk_msm zk_ntt zk_hash)
