#!/usr/bin/env bash
# test_program.sh SECONDS PROGRAM: runs all tests of a GoogleTest program in one process, for SECONDS at most. Prints the
# output of tests that fail, are skipped or do not end, and the summary; a test that passes says nothing.
set -uo pipefail

timeout --kill-after=10 "$@" 2>&1 | awk '
  /^\[ RUN      \] / { running = $4; output = "" }
  running { output = output $0 "\n" }
  running && /\[       OK \] / { running = ""; next }
  running && /\[  (FAILED |SKIPPED) \] / && index($0, "] " running) { printf "%s", output; running = ""; next }
  !running && !/^(\[-+\].*)?$/ { print }
  END {
    if (!running) exit 0
    printf "%s\n[  FAILED  ] %s did not end\n", output, running
    exit 1
  }'
codes=("${PIPESTATUS[@]}")
case ${codes[0]} in
  0) exit "${codes[1]}" ;;  # 1: the program left in the middle of a test
  124 | 137) echo "$2 was stopped after $1 s" ;;
  129 | 1[3-9]?) echo "$2 ended with signal $((codes[0] - 128)), SIG$(kill -l "$((codes[0] - 128))")" ;;
esac
exit "${codes[0]}"
