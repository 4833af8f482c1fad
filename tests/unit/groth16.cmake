cuzk_test(test_groth16_toy ${CMAKE_CURRENT_LIST_DIR}/groth16_toy_test.c LINK zk_groth16)
cuzk_test(test_groth16_damage ${CMAKE_CURRENT_LIST_DIR}/groth16_damage_test.c LINK zk_groth16)
cuzk_test(test_groth16_setup ${CMAKE_CURRENT_LIST_DIR}/groth16_setup_test.c LINK zk_groth16)
cuzk_test(test_groth16_oom ${CMAKE_CURRENT_LIST_DIR}/groth16_oom_test.c LINK zk_groth16)
