cuzk_test(test_hash ${CMAKE_CURRENT_LIST_DIR}/hash_test.c LINK zk_hash)
cuzk_test(test_hash_vectors ${CMAKE_CURRENT_LIST_DIR}/hash_vectors_test.c LINK zk_hash zk_base)
