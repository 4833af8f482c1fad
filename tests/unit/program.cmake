cuzk_test(test_program ${CMAKE_CURRENT_LIST_DIR}/program_test.c LINK zk_program)
