# What end-to-end scripts have in common: sourced, with the folder $work made. Ends with the line of the counts: `counts`.
passed=0 failed=0
pass() { passed=$((passed + 1)); echo "ok $1"; }
fail() { failed=$((failed + 1)); echo "FAIL $1"; }
# expect NAME EXIT_CODE TEXT command...: exit code, and TEXT in what it prints
expect() {
    name=$1 code=$2 text=$3
    shift 3
    "$@" >"$work/out" 2>&1
    found=$?
    if [ $found = "$code" ] && grep -q -e "$text" "$work/out"; then pass "$name"; else
        fail "$name: exit $found, expected $code and \"$text\""
        cat "$work/out"
    fi
}
# patient command...: its limit bounds a hang, on the slowest machine
patient() { timeout -k 5 300 "$@"; }
# wait_for TEXT [COUNT]: until the daemon's log has it; five minutes, as for all that has to come
wait_for() {
    for _ in $(seq 6000); do
        [ "$(grep -c -e "$1" "$work/log")" -ge "${2:-1}" ] && return 0
        sleep 0.05
    done
    fail "the log never says: $1"
    cat "$work/log"
    return 1
}
# until_true command...: as long; exit code
until_true() {
    for _ in $(seq 3000); do
        "$@" >"$work/out" 2>&1 && return 0
        sleep 0.1
    done
    return 1
}
counts() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
}
