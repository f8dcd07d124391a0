# Volumes of AWS, played by tests/rig/fake_ebs.py: what their page of counters proves, and what it must not, in real time.
#
# The promise is that of an aws:gp3: 3,000 IOPS, and 90 % of them for 99 % of the time. All loads only read. `port` is that of the target on the
# host, `cases` in this folder, when there, names the cases to run: `matrix` is the long one.
. ./check.sh
. ./devices.sh
suite=ebs
. ./judged.sh
modprobe virtio_net
modprobe nvme-tcp
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0

# volume NAME: attaches a volume, and prints its device.
volume() {
  nqn=nqn.2014-08.org.example
  disk "vol$1" || {
    echo "transport=tcp,traddr=10.0.2.2,trsvcid=$(cat port),nqn=$nqn:$1,hostnqn=$nqn:host,hostid=11111111-2222-3333-4444-555555555555,nr_io_queues=1,keep_alive_tmo=0" >/dev/nvme-fabrics
    until_true 10 disk "vol$1"
    disk "vol$1"
  }
}
short="--rw randread --ramp 2s --runtime 60s"
load="--bs 4k --tune off"
# run_owned NAME TARGET... OPTION...: the same as `run`. A guest that starved counted in other moments than the page did, so that nothing is proven: up to
# twice more.
run_owned() {
  for _ in 1 2 3; do
    run "$@"
    jq -e '[.steps[0].provider[].standing] | all(. == "ours")' "out/$1.json" >/dev/null && break
    note "ebs $1: $(jq -c '[.steps[0].provider[] | {standing, counts}]' "out/$1.json")"
  done
}
# What is proven of the volume: nothing.
unproven() {
  jq -e '[.causes.rows[]? | select(.finding == "proven" and (.cause | test("limit|throttle")))] == [] and .verdict.claims[0].proven_limit == null' \
    "out/$1.json" >/dev/null || because "$1: something is proven: $(jq -c '.steps[].provider' "out/$1.json")"
}
# told NAME WORDS: what the disk counts, in the report.
told() {
  volproof show "out/$1.json" --details | tr -s '\n ' ' ' | grep -qF "$2" || because "not told: $2: $(volproof show "out/$1.json" --details | grep -A4 'disk counts')"
}
# agrees NAME FIGURE...: figures of the first step agree with the page within 1 %: `rate`, and on a machine at rest `latency` and `queue`.
agrees() {
  name=$1; shift
  ratios=$(jq -c '.steps[0] | . as $s | .provider[0] | {rate: (.counts.ios * 1e9 / .counted_ns / $s.read.iops),
    latency: (.read.mean_ns / $s.read.service_latency_ns.mean), queue: (.queue_mean / $s.in_flight_mean)}' "out/$name.json")
  note "ebs $name: the page's figures over ours: $ratios"
  for figure; do
    echo "$ratios" | jq -e --arg f "$figure" '.[$f] - 1 | fabs < 0.01' >/dev/null || because "the page's $figure and ours differ: $ratios"
  done
}
# percent OF DEPTH: a gp3 that gives a part of its promise.
percent() {
  # shellcheck disable=SC2086
  run_owned "p$1-$2" "$(volume "p$1")" $load --iodepth "$2"
  agrees "p$1-$2" rate
  limit=".provider.limit | (.of_instance | not) and (.counts_bytes | not) and .per_second > $((2970 * $1 / 100)) and .per_second < $((3030 * $1 / 100))"
  if [ "$1" -lt 90 ]; then
    expect "p$1-$2" 1 FAIL volume-limit "$limit"
  else
    expect "p$1-$2" 0 PASS none
  fi
}
matrix() { for of in 10 50 90 97 100; do for depth in 1 16 128; do percent $of $depth; done; done; }

part() {
  # shellcheck disable=SC2086
  run_owned part "$(volume part)" $load --iodepth 16
  agrees part rate
  expect part 1 FAIL volume-limit '.provider.limit | (.of_instance | not) and (.counts_bytes | not) and .per_second > 57 and .per_second < 63'
}
# The limit is named after half a minute.
named() {
  # shellcheck disable=SC2086
  short="--rw randread --runtime 30s" run_owned named "$(volume named)" $load --iodepth 16 --no-follow-up
  told named "proven: the volume's limit, "
  conclude ebs/named
}
# Two good volumes behind one limit of the instance.
instance() {
  # shellcheck disable=SC2086
  run_owned instance "$(volume pair1)" "$(volume pair2)" $load --iodepth 16
  expect instance 6 INVALID instance-limit '.provider.limit | .of_instance and .per_second > 76 and .per_second < 84'
}
flat() {
  for name in stall slow; do
    # shellcheck disable=SC2086
    run $name "$(volume $name)" $load --iodepth 16
    expect $name 1 FAIL not-throttled '.provider.limit == null'
  done
}
# Another user, or a page that is wrong: outcomes by experiment, and nothing is proven.
others() {
  # shellcheck disable=SC2086
  run shared "$(volume shared)" $load --iodepth 16 --budget 2min
  unproven shared
  told shared "another user is on the volume"
  expect shared 1 FAIL -
}
lies() {
  for name in fewer longer; do
    # shellcheck disable=SC2086
    run $name "$(volume $name)" $load --iodepth 16 --budget 3min
    unproven $name
    expect $name 1 FAIL -
  done
}
local_disks() {
  # shellcheck disable=SC2086
  run_owned local "$(volume local)" $load --iodepth 16
  expect local 6 INVALID instance-limit '.provider.limit | .of_instance and .per_second > 57 and .per_second < 63'
  # shellcheck disable=SC2086
  run hot "$(volume hot)" $load --iodepth 16 --budget 3min
  expect hot 1 FAIL thermal-throttle '.heat.slowed_ns >= 58000000000'
}
# What the provider says so far, to root and to others.
asked() {
  device=$(volume idle)
  wants 0 "AWS counts since it was attached: [0-9,]+ reads" volproof check "$device"
  chmod 644 "$device"
  wants 3 "run as root to let the provider testify" setpriv --reuid 1000 --regid 1000 --clear-groups volproof check "$device"
  conclude ebs/asked
}
# A watch beside a load of others, while the volume's limit is raised and the volume is detached and attached again.
watched() {
  device=$(volume watched)
  # shellcheck disable=SC2086
  volproof watch "$device" $gp3 --no-live --file out/watched.watch >out/watched.said 2>&1 & watch=$!
  sleep 5
  # shellcheck disable=SC2086
  short="--rw randread --ramp 0 --runtime 75s" run watched "$device" $load --iodepth 16 --no-follow-up
  controller=${device##*/}
  echo 1 >"/sys/class/nvme/${controller%n[0-9]*}/delete_controller"
  until_true 10 gone volwatched
  sleep 3
  device=$(volume watched)
  sleep 12
  # shellcheck disable=SC2086
  short="--rw randread --ramp 0 --runtime 15s" run after "$device" $load --iodepth 1 --no-follow-up
  kill -INT $watch
  wait $watch || because "the watch ended with $?"
  answer=$(volproof show out/watched.watch)
  echo "$answer"
  of_run=$(jq '.steps[0].provider[0].volume_exceeded.ios_ns / 1e9' out/watched.json)
  of_watch=$(echo "$answer" | tr -s '\n ' ' ' | sed -n 's/.* by the volume \([0-9.]*\) s.*/\1/p')
  note "ebs watched: the volume's limit exceeded for $of_run s by the run, $of_watch s by the watch; $(echo "$answer" | tail -n 1)"
  echo "$of_run ${of_watch:-0}" | awk '{ exit !($2 > $1 - 2 && $2 < $1 + 2 && $2 > 20) }' || because "throttled for $of_watch s in the watch, $of_run s in the run"
  says "$answer" "the limit that AWS enforces is below the promise, proven" || because "the limit below the promise is not told"
  says "$answer" "the device went away 1 time" || because "the detached volume is not told"
  says "$answer" "by the instance 0.0 s" || because "the instance is blamed"
  conclude ebs/watched
}
gone() { ! disk "$1"; }

for case in $(cat cases 2>/dev/null || echo part instance others asked watched); do
  $case &
  rows="${rows:-} $!"
done
# shellcheck disable=SC2086
wait $rows
echo end >&3
