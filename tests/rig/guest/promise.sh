# Volumes below their promise and at it, and what held each of them back: outcome and cause, in real time, by one command each.
#
# The promise is that of an aws:gp3: 3,000 IOPS, 125 MiB/s, and 90 % of the IOPS for 99 % of the time. All loads only read. No time is
# asserted: the throttles make the truth. Cases run side by side in four rows, each of them at a rate that the emulated CPUs carry.
#
# `cases` in this folder, when there, names the ones to run.
. ./check.sh
. ./devices.sh
modprobe dm-delay
suite=promise
. ./judged.sh

# A tenth and a half of the promise: FAIL, whatever the first depth is.
low() {
  for depth in 16 128; do
    run "tenth-$depth" "$(disk G10)" --iodepth $depth --bs 4k --tune off
    expect "tenth-$depth" 1 FAIL cap '.limit | (.counts_bytes | not) and .per_second > 291 and .per_second < 309'
    run "half-$depth" "$(disk G50)" --iodepth $depth --bs 4k --tune off
    expect "half-$depth" 1 FAIL cap '.limit | (.counts_bytes | not) and .per_second > 1455 and .per_second < 1545'
  done
}
# 97 and 90 %: each second gives at least 90 % of what was promised, which is all that AWS promises. 100 %: kept.
high() {
  for depth in 16 128; do
    run "whole-$depth" "$(disk G100)" --iodepth $depth --bs 4k --tune off
    expect "whole-$depth" 0 PASS none
    run "most-$depth" "$(disk G97)" --iodepth $depth --bs 4k --tune off
    expect "most-$depth" 0 PASS none
    run "guaranteed-$depth" "$(disk G90)" --iodepth $depth --bs 4k --tune off
    expect "guaranteed-$depth" 0 PASS none
  done
}
# Throttles on I/Os, on bytes, and on both, of which the size of a block decides.
caps() { ios; bytes; both; }
ios() {
  run ios "$(disk IOS)" --iodepth 32 --bs 4k --tune off
  expect ios 1 FAIL cap '.limit | (.counts_bytes | not) and .per_second > 388 and .per_second < 412'
}
bytes() {
  run bytes "$(disk BYTES)" --iodepth 32 --bs 256k --tune off
  expect bytes 1 FAIL cap '.limit | .counts_bytes and .per_second > 20342374 and .per_second < 21600666'
}
both() {
  run both-small "$(disk BOTH)" --iodepth 32 --bs 4k --tune off
  expect both-small 1 FAIL cap '.limit | (.counts_bytes | not) and .per_second > 620 and .per_second < 660'
  run both-large "$(disk BOTH)" --iodepth 32 --bs 256k --tune off
  expect both-large 1 FAIL cap '.limit | .counts_bytes and .per_second > 20342374 and .per_second < 21600666'
}
# What is no throttle of one volume.
others() {
  run shared "$(disk PAIR1)" "$(disk PAIR2)" --iodepth 16 --bs 4k --tune off
  expect shared 1 FAIL volume-or-instance
  own_cgroup
  few_tags
  slow
}
# Our own cgroup is the limit, which says nothing of the volume.
own_cgroup() {
  device=$(disk FULL)
  echo +io >/sys/fs/cgroup/cgroup.subtree_control
  mkdir -p /sys/fs/cgroup/limited
  if ! echo "$(cat "/sys/block/${device##*/}/dev") riops=600" >/sys/fs/cgroup/limited/io.max 2>/dev/null; then
    skip promise/own-cgroup "this guest has no io.max"
    return
  fi
  (echo 0 >/sys/fs/cgroup/limited/cgroup.procs; run own-cgroup "$device" --iodepth 32 --bs 4k --tune off --why; echo "$took" >/tmp/took)
  took=$(cat /tmp/took)
  expect own-cgroup 6 INVALID own-limits
}
# 64 requests at a time of 19.5 ms each are 3,282 IOPS, and four at a time 205. A run that may tune gives the tags back.
few_tags() {
  modprobe -q mq-deadline
  null_blk nullb0 submit_queues=1 queue_mode=2 irqmode=2 completion_nsec=19500000 size=102400 hw_queue_depth=64 || because "null_blk could not be made"
  queue=/sys/block/nullb0/queue
  few() { echo mq-deadline >$queue/scheduler; echo 4 >$queue/nr_requests; }
  few
  run few-tags /dev/nullb0 --iodepth 32 --bs 4k --tune off
  expect few-tags 1 FAIL -
  few
  run tuned-tags /dev/nullb0 --iodepth 128 --bs 4k --tune on
  expect tuned-tags 0 PASS none
  [ "$(cat $queue/nr_requests)" = 4 ] || because "nr_requests is $(cat $queue/nr_requests) after the run"
  conclude promise/tags-put-back
  remove_null_blk nullb0
}
# A volume that takes long for each I/O: one that more load brings to its promise, and one that nothing does.
slow() {
  device=$(disk FULL)
  modprobe -q dm-delay
  dmsetup create rig-late --table "0 $(sectors "$device") delay $device 0 60"
  run late /dev/mapper/rig-late --iodepth 16 --bs 4k --tune off
  expect late 0 PASS none
  dmsetup remove rig-late
  dmsetup create rig-slow --table "0 $(sectors "$device") delay $device 0 1000"
  run slow /dev/mapper/rig-slow --iodepth 16 --bs 4k --tune off
  expect slow 1 FAIL slow-volume
  dmsetup remove rig-slow
}

for case in $(cat cases 2>/dev/null || echo low high caps others); do
  $case &
  rows="${rows:-} $!"
done
# shellcheck disable=SC2086
wait $rows
echo end >&3
