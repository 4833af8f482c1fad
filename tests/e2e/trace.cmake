cuzk_test_script(e2e_trace ${CMAKE_CURRENT_LIST_DIR}/trace.sh)
