if(TARGET zk_rpc)
  cuzk_test(test_rpc ${CMAKE_CURRENT_LIST_DIR}/rpc_test.c LINK zk_rpc)
  target_sources(test_rpc PRIVATE ${CMAKE_CURRENT_LIST_DIR}/rpc_fake_engine.c)
endif()
