# How a case reports: one line per check on descriptor 3, which the host reads while it happens.
# What a check printed goes into the log that the host keeps.

ok() { echo "ok $*" >&3; }
fail() { name=$1; shift; echo "FAIL $name: $*" >&3; }
skip() { name=$1; shift; echo "skip $name: $*" >&3; }
note() { echo "# $*" >&3; }

# same NAME WANTED FOUND
same() {
  if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "wanted '$2', found '$3'"; fi
}

# holds NAME COMMAND...: the command succeeds.
holds() {
  name=$1; shift
  echo "== $name: $*"
  if "$@"; then ok "$name"; else fail "$name" "'$*' ended with $?"; fi
}

# says TEXT PATTERN: an extended regular expression, case ignored; line breaks count as blanks.
says() { echo "$1" | tr -s '\n ' ' ' | grep -qiE -- "$2"; }

# A check of several conditions: each `wants` adds to $why, `conclude` reports.
why=

# wants CODE PATTERN COMMAND...: the command ends with that exit code and says PATTERN. A busy machine voids figures (6 in place of 0), which these
# checks do not look at.
wants() {
  wanted=$1 pattern=$2; shift 2
  echo "== $*"
  said=$("$@" 2>&1 </dev/null); code=$?
  echo "$said"
  [ "$wanted $code" = "0 6" ] && says "$said" "NOT VALID" && code=0
  if [ $code != "$wanted" ]; then
    because "'$*' ended with $code instead of $wanted: $(echo "$said" | tail -n 2 | tr '\n' ' ')"
  elif ! says "$said" "$pattern"; then
    because "'$*' said nothing like '$pattern': $(echo "$said" | tail -n 2 | tr '\n' ' ')"
  fi
}
because() { why="${why:+$why; }$*"; }
conclude() {
  if [ -z "$why" ]; then ok "$1"; else fail "$1" "$why"; fi
  why=
}

# can HELP PATTERN NAME: whether the program under test has it; a check that needs it is skipped.
can() {
  volproof $1 --help 2>&1 | grep -qE -- "^ +$2( |\$)" && return 0
  skip "$3" "this volproof has no '$2'"
  return 1
}

# until_true SECONDS COMMAND...: wait for a state, as nothing here depends on how long it takes: so many seconds on a host that has
# nothing else to do, and five times as long on one that is busy.
until_true() {
  deadline=$((SECONDS + 5 * $1)); shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.05
  done
}

# ended PID: a process of this shell is no more.
ended() { ! kill -0 "$1" 2>/dev/null; }
