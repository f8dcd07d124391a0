# One command on a volume, and what its Record is to say: outcome, cause, and a condition on the evidence. `suite` is the first word of each check.
mkdir -p out

# Seconds of the emulated battery clock, which is the host's. A guest that starved while it measured its time-stamp counter has a clock of its own.
host_seconds() { cat /sys/class/rtc/rtc0/since_epoch; }
# next_second: waits for the clock of the host to turn, and sets `turned`.
next_second() { turned=$(host_seconds); until [ "$(host_seconds)" != "$turned" ]; do sleep 0.02; done; turned=$(host_seconds); }
own_ms() { awk '{printf "%d", 1000 * $1}' /proc/uptime; }
clock_is_right() {
  next_second; first=$turned own=$(own_ms)
  sleep 5
  next_second; passed=$((1000 * (turned - first))) own=$(($(own_ms) - own))
  note "$suite: the guest's clock counts $own ms where the host's counts $passed ms"
  [ $((100 * own)) -gt $((95 * passed)) ] && [ $((100 * own)) -lt $((105 * passed)) ]
}
if ! clock_is_right; then
  echo "RIG: the clock is wrong" >/dev/console
  exit 1
fi

gp3="--promise aws:gp3 --volume-size 100GiB --offline"
short="--rw randread --ramp 2s --runtime 20s"

# run NAME TARGET... OPTION...: one command; its Record, what it said, its exit code and its time are kept.
run() {
  name=$1; shift
  began=$SECONDS host_began=$(host_seconds)
  # shellcheck disable=SC2086
  volproof run $gp3 $short --json "out/$name.json" "$@" >"out/$name.txt" 2>&1
  echo $? >"out/$name.code"
  took="$((SECONDS - began)) s ($(($(host_seconds) - host_began)) s of the host)"
}

# expect NAME CODE OUTCOME CAUSE [CONDITION]: the exit code, the word, a cause that was shown or proven (none for no cause at all, - for any), and a
# condition in jq on its evidence.
expect() {
  name=$1 code=$2 outcome=$3 cause=$4 condition=${5:-true}
  found=$(jq -c '[.causes.rows[]? | select(.finding == "shown" or .finding == "proven") | {cause, evidence}]' "out/$name.json")
  got=$(jq -r '.verdict.outcome // "none" | ascii_upcase' "out/$name.json")
  note "$suite $name: expected $outcome $cause, found ${got:-no Record} $(echo "$found" | jq -r '[.[].cause] | join(",")') after $took; $(jq -r '
    .verdict.claims[0] | "\(.basis // ""), \(.measured | round) of \(.promised | round), delivered \(.delivered.share // "-"), \(.reason)"' "out/$name.json")"
  [ "$(cat "out/$name.code")" = "$code" ] || because "exit code $(cat "out/$name.code") instead of $code: $(tail -n 2 "out/$name.txt" | tr '\n' ' ')"
  [ "$got" = "$outcome" ] || because "$got instead of $outcome"
  case $cause in
    -) ;;
    none) [ "$found" = "[]" ] || because "causes where none was to be found: $found" ;;
    *)
      echo "$found" | jq -e --arg c "$cause" "[.[] | select(.cause == \$c) | .evidence | select($condition)] | length > 0" >/dev/null ||
        because "no $cause with $condition: $found"
      ;;
  esac
  [ -z "$why" ] || note "$(jq -c --arg n "$name" '{name: $n, doubts: [.warnings[]? | "\(.code): \(.message)"],
    trials: [.causes.rows[]? | {cause, finding, not_tried, evidence, trials: [.trials[]? | [.depth, .block_bytes, .ios_per_second, .interval, .latency_ns]]}]}' "out/$name.json")"
  conclude "$suite/$name"
}
