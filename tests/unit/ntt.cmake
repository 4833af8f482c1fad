cuzk_test(test_ntt ${CMAKE_CURRENT_LIST_DIR}/ntt_test.c LINK zk_ntt zk_hash)
