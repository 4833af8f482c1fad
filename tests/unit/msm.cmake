cuzk_test(test_msm ${CMAKE_CURRENT_LIST_DIR}/msm_test.c LINK zk_msm zk_hash)
cuzk_test(test_subgroup ${CMAKE_CURRENT_LIST_DIR}/subgroup_test.c LINK zk_msm zk_hash)
