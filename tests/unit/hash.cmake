cuzk_test(test_hash ${CMAKE_CURRENT_LIST_DIR}/hash_test.c LINK zk_hash)
