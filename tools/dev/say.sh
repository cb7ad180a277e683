# How ./ronde-dev speaks: one line a step, what and why.
step() { printf '\033[1m==> %s\033[0m (%s)\n' "$1" "$2" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }
note() { printf '    %s\n' "$@"; }

# One sentence and exit code 2: the user can do something about it.
refuse() {
  printf 'ronde-dev: %s\n' "$@" >&2
  exit 2
}

wrong_use() { refuse "$1; './ronde-dev help' lists the commands"; }
