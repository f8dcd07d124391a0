# Whatever happens to a run, the machine is as it was: at the end, or at volproof's next start.
. ./knobs.sh

ends_well() {
  for signal in INT TERM HUP; do
    started "$first" 60
    kill -$signal $pid
    wait $pid
    code=$?
    case $way$signal$code in runINT130 | runTERM* | runHUP* | tune*[0-9]) ;; *) because "exit code $code" ;; esac
    put_back "restore/$way: after SIG$signal"
  done
}

# killed STARTER...: nine at once, every one killed at a moment of its own, from before the first
# knob to after the end, every third of them while its knobs are changed; then a start of volproof, any of them, puts everything back.
killed() {
  RANDOM=20261121
  changed=0 kills=0 nth=0
  for starter in "$@"; do
    for device in $disks; do
      nth=$(((nth + 1) % 3)) moment="$((RANDOM % 10))$((RANDOM % 10))"
      if [ $nth = 0 ]; then
        start "$device" 600
        { until_true 20 tuned "$device"; sleep "0.$moment"; kill -9 $pid; } 2>/dev/null &
      else
        start "$device" 2
        { sleep "$((RANDOM % 3)).$moment"; kill -9 $pid; } 2>/dev/null &
      fi
    done
    wait
    for device in $disks; do kills=$((kills + 1)); tuned "$device" && changed=$((changed + 1)); done
    # shellcheck disable=SC2086
    volproof $starter >/tmp/starter 2>&1 || because "'$starter' ended with $?: $(tail -n 2 /tmp/starter)"
    knobs >/tmp/after
    cmp -s /tmp/before /tmp/after || {
      because "after '$starter': $(diff /tmp/before /tmp/after | grep '^[-+][^-+]' | head -n 4 | tr '\n' ' ')"
      volproof restore >/dev/null 2>&1
    }
  done
  note "restore: $changed of $kills kills of $way left knobs changed"
  # Each start puts back what the kills before it left, so that few are still seen when all have ended.
  [ $changed -gt 0 ] || because "none of $kills kills left knobs changed"
  conclude "restore/$way: after $kills kills"
  wants 0 "" volproof restore
  wants 0 "" volproof restore
  put_back "restore/$way: twice is harmless"
}

# Somebody else's change in the middle is theirs.
not_ours() {
  queue=/sys/block/${first##*/}/queue
  started "$first" 60
  echo 0 >"$queue/rq_affinity"
  stopped $pid
  [ "$(cat "$queue/rq_affinity")" = 0 ] || because "somebody else's value was overwritten"
  says "$(cat "/tmp/said-${first##*/}")" "rq_affinity" || because "nothing was said about rq_affinity"
  # The same after a kill.
  echo 1 >"$queue/rq_affinity"
  started "$first" 60
  kill -9 $pid
  wait $pid 2>/dev/null
  echo 0 >"$queue/rq_affinity"
  volproof restore >/tmp/said 2>&1
  [ "$(cat "$queue/rq_affinity")" = 0 ] || because "restore overwrote somebody else's value"
  says "$(cat /tmp/said)" "rq_affinity" || because "restore said nothing about rq_affinity"
  echo 1 >"$queue/rq_affinity"
  put_back "restore/$way: not over somebody else's value"
}

# Two on one disk would undo each other; on two disks they do not meet.
together() {
  second=$(disk NINE2)
  started "$first" 60
  long=$pid
  case $way in
    run) volproof run "$first" $load --runtime 1 --json /tmp/record ;;
    tune) volproof tune "$first" ;;
  esac >/tmp/said 2>&1 && because "a second one on the same disk was accepted"
  cat /tmp/said
  started "$second" 60
  stopped $pid
  tuned "$first" || because "the one on another disk put back this disk's knobs"
  tuned "$second" && because "the other disk was not put back while this one is held"
  stopped $long
  put_back "restore/$way: on two disks at once"
}

for way in run tune; do
  [ $way = tune ] || can run --tune "restore/$way" || continue
  ends_well
  case $way in
    run) killed presets "plan . --rw randread" "topo $first" "promise --list" "check $first" restore ;;
    tune) killed "tune --dry-run $first" "completions bash" ;;
  esac
  not_ours
  together
done
way=run
if can run --tune "restore/run: at its end"; then
  started "$first" 2
  wait $pid || because "the run ended with $?"
  put_back "restore/run: at its end"
fi
usual_knobs
