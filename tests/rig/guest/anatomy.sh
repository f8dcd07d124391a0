# Where the time goes: what is planted above the queue, in it and below it grows in its part, and in no other. No time is asserted: what a part grows by is
# held against what the whole grows by, in the mean of the traced requests.
mount -t tracefs nodev /sys/kernel/tracing
modprobe -a dm-delay mq-deadline

# traced NAME TARGET OPTION...: a run, and the means of its parts in nanoseconds. A guest that starves may trace few requests in the time.
traced() {
  name=$1; shift
  wants 0 "Where the time goes" volproof run "$@" --rw randread --bs 4k --runtime 12s --tune off --anatomy --json "/tmp/$name.json"
  jq -c '.steps[0].evidence.anatomy | .joined as $n | {n: $n, unjoined, whole: (.whole_ns.sum_ns / $n),
    parts: ([.parts[] | {key: .part, value: (.time_ns.sum_ns / $n)}] | from_entries), completions, cost}' "/tmp/$name.json" >"/tmp/$name.parts" ||
    because "$name: no parts"
  note "anatomy $name: $(cat "/tmp/$name.parts")"
  [ -z "$(ls /sys/kernel/tracing/instances)" ] || because "$name left $(ls /sys/kernel/tracing/instances)"
}
# grows NAME PART BEFORE AFTER: the part grows by what the whole grows by, within 5 %.
grows() {
  jq -es --arg part "$2" '((.[1].parts[$part] - .[0].parts[$part]) / (.[1].whole - .[0].whole)) as $share
    | .[1].whole > 1.5 * .[0].whole and ($share - 1 | fabs) < 0.05' "/tmp/$3.parts" "/tmp/$4.parts" >/dev/null ||
    because "$2: $(cat "/tmp/$3.parts") became $(cat "/tmp/$4.parts")"
  conclude "anatomy/$1"
}

null_blk nullb7 submit_queues=1 queue_mode=2 irqmode=2 completion_nsec=5000000 size=1024 hw_queue_depth=64 || because "no null_blk"
device=/dev/nullb7
traced plain $device --iodepth 1

# Above the queue: a device mapper that delays each request before the disk has it.
dmsetup create rig-above --table "0 $(sectors $device) delay $device 0 50"
traced above /dev/mapper/rig-above --iodepth 1
grows above submit plain above

# Below the queue: a loop device over it.
loop=$(losetup --find --show --direct-io=on /dev/mapper/rig-above)
traced below "$loop" --iodepth 1
grows below device plain below
losetup --detach "$loop"
dmsetup remove rig-above

# Four threads, and one of them at a time has the tag.
echo none >/sys/block/nullb7/queue/scheduler
traced threads $device --engine psync --numjobs 4
remove_null_blk nullb7
null_blk nullb7 submit_queues=1 queue_mode=2 irqmode=2 completion_nsec=5000000 size=1024 hw_queue_depth=1 || because "no null_blk of one tag"
traced one-tag $device --engine psync --numjobs 4
grows one-tag tag threads one-tag

# The scheduler holds back what the driver does not take: it has tags of its own.
echo mq-deadline >/sys/block/nullb7/queue/scheduler
echo 64 >/sys/block/nullb7/queue/nr_requests
fio --name=writes --filename=$device --rw=randwrite --bs=4k --direct=1 --ioengine=libaio --iodepth=8 --time_based --runtime=600 >/dev/null 2>&1 & writer=$!
traced deadline $device --engine psync --numjobs 4
kill $writer
wait $writer 2>/dev/null
grows deadline scheduler threads deadline
remove_null_blk nullb7

# A killed run leaves its instance, and the next start says so and takes it away.
volproof run "$(disk NINE1)" --rw randread --runtime 10m --tune off --anatomy >/dev/null 2>&1 & pid=$!
has_instance() { ls -d /sys/kernel/tracing/instances/volproof-$pid-*; }
until_true 30 has_instance || because "no instance"
kill -9 $pid
wait $pid 2>/dev/null
wants 0 "removed .*instances/volproof-$pid-" volproof presets
[ -z "$(ls /sys/kernel/tracing/instances)" ] || because "left: $(ls /sys/kernel/tracing/instances)"
conclude anatomy/killed
umount /sys/kernel/tracing
