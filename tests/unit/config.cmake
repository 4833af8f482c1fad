cuzk_test(test_config ${CMAKE_CURRENT_LIST_DIR}/config_test.c LINK zk_config zk_base)
