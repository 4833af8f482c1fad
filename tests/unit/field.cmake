cuzk_test(test_field_vectors ${CMAKE_CURRENT_LIST_DIR}/field_vectors_test.c LINK zk_field)
cuzk_test(test_field ${CMAKE_CURRENT_LIST_DIR}/field_test.c LINK zk_field)
