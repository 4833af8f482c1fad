cuzk_test_script(e2e_usage ${CMAKE_CURRENT_LIST_DIR}/usage.sh)
