# Emulated cloud volumes of known promise: what was expected of each, against what volproof found.
#
# Rates are low enough that the emulated CPUs are not the limit, two volumes at most are driven at a
# time, and a run is as long as its verdict needs. No time is asserted: the throttles make the truth.
#
# `cases` in this folder, when there, names the ones to run.
. ./check.sh
modprobe null_blk nr_devices=0
mount -t configfs configfs /sys/kernel/config
mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
mkdir -p out

# null_blk NAME ATTRIBUTE=VALUE...
null_blk() {
  folder=/sys/kernel/config/nullb/$1; shift
  mkdir "$folder" || return 1
  for pair in "$@"; do echo "${pair#*=}" >"$folder/${pair%%=*}"; done
  echo 1 >"$folder/power"
}
remove_null_blk() { echo 0 >"/sys/kernel/config/nullb/$1/power"; rmdir "/sys/kernel/config/nullb/$1"; }

disk() {
  for entry in /sys/block/vd*; do
    [ "$(cat "$entry/serial")" = "$1" ] && echo "/dev/${entry##*/}" && return 0
  done
  return 1
}

# run NAME DEVICE OPTION...: one ad-hoc step; its Record and exit code are kept.
run() {
  name=$1 device=$2; shift 2
  volproof run "$device" --rw randread --tune off --json "out/$name.json" "$@" >"out/$name.txt" 2>&1
  echo $? >"out/$name.code"
}

# expect NAME CODE OUTCOME FINDING [CONDITION]: the exit code (- for any), the verdict, a description, doubt or shown cause by its code, and a
# condition in jq on the numbers of that description or the evidence of that cause.
expect() {
  name=$1 code=$2 outcome=$3 finding=$4 condition=${5:-true}
  found=$(jq -c '[(.findings[]? | {code, numbers}), (.warnings[]? | {code}),
    (.causes.rows[]? | select(.finding == "shown" or .finding == "proven") | {code: .cause, numbers: .evidence})]' "out/$name.json")
  [ -n "$found" ] || because "no Record"
  got=$(jq -r '.verdict.outcome // "none" | ascii_upcase' "out/$name.json")
  note "volumes $name: expected $outcome ${finding:-anything}, found $got $(echo "$found" | jq -r '[.[].code] | join(",")')"
  [ "$code" = - ] || [ "$(cat "out/$name.code")" = "$code" ] || because "exit code $(cat "out/$name.code") instead of $code: $(tail -n 2 "out/$name.txt" | tr '\n' ' ')"
  [ "$outcome" = none ] || [ "$got" = "$outcome" ] || because "$got instead of $outcome"
  [ -z "$finding" ] || echo "$found" | jq -e --arg f "$finding" \
    "[.[] | select(.code == \$f) | .numbers | select($condition)] | length > 0" >/dev/null ||
    because "no $finding with $condition: $found"
  conclude "volumes/$name"
}

pl0="--promise alibaba:cloud_essd.PL0 --volume-size 40GiB --offline"
pl1="--promise alibaba:cloud_essd.PL1 --volume-size 20GiB --offline"
ssd="--promise alibaba:cloud_ssd --volume-size 20GiB --offline"
steady="--bs 4k --iodepth 32 --ramp 5s --runtime 65s"

# Exactly at the promise: PASS. A tenth under: FAIL, and the experiments show the cap.
promised() {
  run pl0 "$(disk PL0)" $pl0 $steady &
  run ssd "$(disk SSD)" $ssd $steady &
  wait
  expect pl0 0 PASS ""
  expect ssd 0 PASS ""
}
under() {
  run pl1 "$(disk PL1)" $pl1 $steady &
  run ten-percent-under "$(disk UNDER)" $pl1 $steady &
  wait
  expect pl1 0 PASS ""
  expect ten-percent-under 1 FAIL cap '.limit | (.counts_bytes | not) and .per_second > 2470 and .per_second < 2570'
}
# Three seconds decide nothing by themselves, and a minute more does.
short() {
  run three-seconds "$(disk PL0)" $pl0 --bs 4k --iodepth 32 --runtime 3s --no-follow-up
  run a-minute-more "$(disk PL0)" $pl0 --bs 4k --iodepth 32 --runtime 3s
  expect three-seconds 5 INCONCLUSIVE ""
  expect a-minute-more 0 PASS ""
}
shapes() {
  run bandwidth "$(disk PL1)" $pl1 --bs 256k --iodepth 16 --ramp 5s --runtime 65s --why
  run burst "$(disk BURST)" $pl1 --bs 4k --iodepth 32 --runtime 60s --no-follow-up
  expect bandwidth - none cap '.limit.counts_bytes'
  # 3000 for 15 s over 1000: 30,000 credits, however evenly the guest lets them flow.
  expect burst - none burst '.baseline_per_second > 980 and .baseline_per_second < 1020 and
    (.burst_seconds * (.level_per_second - .baseline_per_second) | . > 28500 and . < 31500)'
}
# Our own cgroup is the limit, and is named before the provider.
cgroup() {
  device=$(disk SSD)
  echo +io >/sys/fs/cgroup/cgroup.subtree_control
  mkdir -p /sys/fs/cgroup/limited
  if echo "$(cat "/sys/block/${device##*/}/dev") riops=1500" >/sys/fs/cgroup/limited/io.max 2>/dev/null; then
    (echo 0 >/sys/fs/cgroup/limited/cgroup.procs; run own-cgroup "$device" $ssd $steady)
    expect own-cgroup 6 INVALID own-cgroup-limit
  else
    skip volumes/own-cgroup "this guest has no io.max"
  fi
}
# A load thread that has a CPU to itself and needs all of it: no verdict on the volume.
cpu() {
  null_blk nullb0 submit_queues=4 queue_mode=2 irqmode=0 size=1024
  run one-cpu /dev/nullb0 --promise alibaba:cloud_essd.PL3 --volume-size 20TiB --offline --bs 4k --iodepth 128 --cpus 1 --runtime 20s
  expect one-cpu 6 INVALID ""
  remove_null_blk nullb0
}
# null_blk limits itself to 50 MiB/s, as well as its timers let it here; the disk's own count says how well that is.
mbps() {
  null_blk nullb0 submit_queues=4 queue_mode=2 irqmode=0 size=256 mbps=50
  run mbps /dev/nullb0 --bs 4k --iodepth 16 --runtime 30s
  read -r _ _ sectors _ </sys/block/nullb0/stat
  ours=$(jq '.steps[0].read.bytes' out/mbps.json)
  rate=$(jq '.steps[0].read.bytes_per_second / 1048576' out/mbps.json)
  note "volumes mbps: expected 50 MiB/s at most, found $rate MiB/s; the disk counted $((sectors * 512)) bytes, volproof $ours"
  awk "BEGIN {exit !($rate > 5 && $rate < 51)}" || because "$rate MiB/s under a limit of 50"
  awk "BEGIN {d = $ours / ($sectors * 512) - 1; exit !(d < 0.01 && d > -0.01)}" || because "the disk counted $((sectors * 512)) bytes, volproof $ours"
  conclude volumes/mbps
  remove_null_blk nullb0
}

# A sweep finds the limits that the volume was given.
limits() {
  volproof sweep "$(disk PL0)" --bs 4k,16k,64k,128k,256k --iodepth 16,32,64 --runtime 10s --repeats 1 $pl0 --tune off --json out/limits.json
  fit=$(jq -r '.answer.sweep.caps[0] | "\(.iops_cap) \(.bytes_cap)"' out/limits.json)
  note "volumes limits: expected 2280 IOPS and 115343360 B/s, found $fit B/s"
  echo "$fit" | awk '{a = $1 / 2280 - 1; b = $2 / 115343360 - 1; exit !(a < 0.01 && a > -0.01 && b < 0.01 && b > -0.01)}' ||
    because "$fit B/s instead of 2280 and 115343360"
  conclude volumes/limits
}
# The highest load that keeps a p99 of 20 ms, beside what searches over depths find. QEMU lets a tenth of a second of requests through at once, and the others
# follow one after another: a response is longer than 20 ms where the queue M/D/1 waits for longer than 120 ms. At 481 a second that is one in a hundred (Erlang 1909).
load() {
  device=$(disk LOAD)
  volproof slo "$device" --p99 20ms --iodepth 64 --runtime 20s --confirm 90s --tune off --json out/load.json
  jq '.answer.load | del(.trials)' out/load.json
  found=$(jq .answer.load.holds_per_second out/load.json)
  fio --name=target --filename="$device" --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=64 --latency_target=20ms --latency_window=5s \
    --latency_percentile=99 --time_based --runtime=60 --output-format=json >out/load-fio.json
  depth=$(jq '.jobs[0].latency_depth' out/load-fio.json)
  run load-depth "$device" --bs 4k --iodepth "$depth" --runtime 30s
  rate=$(jq '.steps[0].read.iops | round' out/load-depth.json)
  run load-rate "$device" --bs 4k --iodepth 1024 --rate-iops "$rate" --arrival poisson --runtime 60s
  closed=$(jq '.steps[0].read.service_latency_ns.percentiles["99"] / 1e6' out/load-depth.json)
  offered=$(jq '.steps[0].read.response_latency_ns.percentiles["99"] / 1e6' out/load-rate.json)
  note "volumes load: expected 481 IOPS within 20 ms, found $found; fio's latency_target found depth $depth, which does $rate IOPS with a p99 of $closed ms, and of $offered ms for clients that do not wait"
  # An emulated machine on a busy host is slower at times, and never faster.
  awk "BEGIN {d = $found / 481 - 1; exit !(d < 0.01 && d > -0.06)}" || because "$found instead of 481"
  awk "BEGIN {exit !($rate > 490 && $offered > 20)}" || because "at depth $depth $rate IOPS, whose p99 is $offered ms in open loop"
  conclude volumes/load
}

for case in $(cat cases 2>/dev/null || echo promised under short shapes cgroup cpu mbps limits load); do
  $case
done
echo end >&3
