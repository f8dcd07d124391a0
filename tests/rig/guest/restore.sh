# Whatever happens to a run, the machine is as it was: at the end, or at volproof's next start.
disks=
for n in 1 2 3 4 5 6; do disks="$disks $(disk NINE$n)"; done
modprobe -q kyber-iosched

# What a run may tune, as one text.
knobs() {
  for device in $disks; do
    for knob in rq_affinity scheduler nomerges nr_requests add_random wbt_lat_usec io_poll io_poll_delay iostats read_ahead_kb; do
      echo "${device##*/} $knob $(cat "/sys/block/${device##*/}/queue/$knob" 2>/dev/null)"
    done
  done
  echo "aio-max-nr $(cat /proc/sys/fs/aio-max-nr)"
}
# Values that nobody sets by default, so that putting back defaults is seen too.
for device in $disks; do
  queue=/sys/block/${device##*/}/queue
  echo kyber >"$queue/scheduler"
  echo 1 >"$queue/rq_affinity"
  echo 1 >"$queue/nomerges"
  echo 1 >"$queue/add_random"
done
knobs >/tmp/before
cat /tmp/before
first=${disks# }; first=${first%% *}
load="--rw randread --bs 4k --iodepth 4 --tune --quiet"

# put_back NAME: every knob is as before.
put_back() {
  knobs >/tmp/after
  if cmp -s /tmp/before /tmp/after; then
    conclude "$1"
  else
    because "$(diff /tmp/before /tmp/after | grep '^[-+][^-+]' | head -n 6 | tr '\n' ' ')"
    conclude "$1"
    volproof restore >/dev/null 2>&1
  fi
}
tuned() { [ "$(cat "/sys/block/${1##*/}/queue/rq_affinity")" = 2 ]; }
# The journal stands before the first knob changes, so a knob that has changed is no race.
start() { volproof run "$1" $load --runtime "$2" >"/tmp/run-${1##*/}" 2>&1 & pid=$!; }

if can run --tune restore; then
  start "$first" 2
  until_true 20 tuned "$first" || because "rq_affinity was never 2"
  wait $pid || because "the run ended with $?: $(tail -n 2 "/tmp/run-${first##*/}")"
  put_back "restore/at the end of a run"

  for signal in INT:130 TERM: HUP:; do
    start "$first" 60
    until_true 20 tuned "$first" || because "rq_affinity was never 2"
    kill -"${signal%:*}" $pid
    wait $pid
    code=$?
    [ -z "${signal#*:}" ] || [ $code = "${signal#*:}" ] || because "exit code $code instead of ${signal#*:}"
    put_back "restore/after SIG${signal%:*}"
  done

  # Six runs at once, every one killed at a moment of its own, nine times: 54 moments, from before
  # the first knob to after the end. Any subcommand puts everything back.
  RANDOM=20261121
  changed=0 killed=0
  for starter in "presets" "plan /dev/null --rw randread --runtime 1" "topo $first" "presets" "--version" "presets" "check $first" "presets" "restore"; do
    pids=
    for device in $disks; do
      start "$device" 2
      { sleep "$((RANDOM % 3)).$((RANDOM % 10))$((RANDOM % 10))"; kill -9 $pid; } 2>/dev/null &
      pids="$pids $!"
    done
    wait
    for device in $disks; do killed=$((killed + 1)); tuned "$device" && changed=$((changed + 1)); done
    # shellcheck disable=SC2086
    volproof $starter >/tmp/starter 2>&1
    knobs >/tmp/after
    cmp -s /tmp/before /tmp/after || {
      because "after '$starter': $(diff /tmp/before /tmp/after | grep '^[-+][^-+]' | head -n 4 | tr '\n' ' ')"
      volproof restore >/dev/null 2>&1
    }
  done
  note "restore: $changed of $killed kills left knobs changed"
  [ $changed -ge 10 ] || because "only $changed of $killed kills came while knobs were changed"
  conclude "restore/after $killed kills"

  wants 0 "" volproof restore
  wants 0 "" volproof restore
  put_back "restore/twice is harmless"

  # Somebody else's change in the middle of a run is theirs.
  start "$first" 60
  until_true 20 tuned "$first" || because "rq_affinity was never 2"
  echo 0 >"/sys/block/${first##*/}/queue/rq_affinity"
  kill -INT $pid
  wait $pid
  [ "$(cat "/sys/block/${first##*/}/queue/rq_affinity")" = 0 ] || because "somebody else's value was overwritten"
  says "$(cat "/tmp/run-${first##*/}")" "rq_affinity" || because "nothing was said about rq_affinity"
  echo 1 >"/sys/block/${first##*/}/queue/rq_affinity"
  volproof restore >/dev/null 2>&1
  put_back "restore/not over somebody else's value"

  # Two runs on one disk would undo each other; on two disks they do not meet.
  second=$(disk NINE2)
  start "$first" 60
  until_true 20 tuned "$first" || because "rq_affinity was never 2"
  long=$pid
  volproof run "$first" $load --runtime 1 >/tmp/second 2>&1 && because "a second run on the same disk was accepted"
  cat /tmp/second
  wants 0 "" volproof run "$second" $load --runtime 1
  tuned "$first" || because "the run on another disk put back this disk's knobs"
  kill -INT $long
  wait $long
  put_back "restore/concurrent runs"
fi
for device in $disks; do
  queue=/sys/block/${device##*/}/queue
  echo none >"$queue/scheduler"
  echo 0 >"$queue/nomerges"
  echo 0 >"$queue/add_random"
done
