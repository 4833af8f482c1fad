#!/bin/sh
# Rejects includes that point upwards: a folder of src/ may include headers of its own and of lower ranks only.
# Folders of equal rank do not see each other. Ends with `N passed, N failed` (one case a folder).
set -u
cd "$(dirname "$0")/.." || exit 2
# folder=rank, bottom up
ranks="base=0 field=1 hash=2 curve=2 pairing=3 ntt=3 msm=3 program=4 cuda=4 backend=5 circuit=5 groth16=6 filecoin=7 config=8 engine=8 rpc=9 cli=10"
rank_of() { for r in $ranks; do case $r in "$1="*) echo "${r#*=}"; return;; esac; done; echo none; }
passed=0 failed=0
for dir in src/*/; do
    folder=$(basename "$dir")
    own=$(rank_of "$folder")
    bad=0
    if [ "$own" = none ]; then echo "src/$folder: no rank in scripts/check-layers.sh"; bad=1; fi
    for line in $(grep -rHno '#include "[^"]*"' "$dir" --include='*.[ch]' --include='*.inc' --include='*.S' | sed 's/#include "//; s/"$//'); do
        target=${line##*:}
        case $target in */*) ;; cuzk.h) continue;; *) echo "${line%:*}: include \"$target\" names no layer"; bad=1; continue;; esac
        up=${target%%/*}
        [ "$up" = "$folder" ] && continue
        rank=$(rank_of "$up")
        if [ "$rank" = none ] || [ "$own" = none ] || [ "$rank" -ge "$own" ]; then
            echo "${line%:*}: layer $folder (rank $own) must not include $target (rank $rank)"; bad=1
        fi
    done
    if [ $bad = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
