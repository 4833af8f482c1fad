cuzk_test(test_base ${CMAKE_CURRENT_LIST_DIR}/base_test.c LINK zk_base)
cuzk_test(test_base_json ${CMAKE_CURRENT_LIST_DIR}/base_json_test.c LINK zk_base)
cuzk_test(test_base_io ${CMAKE_CURRENT_LIST_DIR}/base_io_test.c LINK zk_base)
