# A stall of 200 ms under a fixed rate of 200 IOPS shows in the response latency as it was.
#
# The truth comes from the kernel: the time of every completion on the device below, set against a
# schedule that a stall does not move. fio at the same rate waits for the stall before it goes on,
# and so times most of what was due meanwhile from a late start; both are printed. How much
# fio hides depends on what else the host does.
rate=200 seconds=5
tracing=/sys/kernel/tracing
completed=$tracing/events/block/block_rq_complete
mount -t tracefs tracefs $tracing 2>/dev/null
null_blk nullb0 submit_queues=4 queue_mode=2 irqmode=2 completion_nsec=1000000 size=256
dmsetup create rig-slow --table "0 $(sectors nullb0) linear /dev/nullb0 0"
IFS=: read -r major minor </sys/block/nullb0/dev
echo mono >$tracing/trace_clock
echo "dev == $((major << 20 | minor))" >$completed/filter
echo 1 >$completed/enable

reads() { awk '{print $1}' /sys/block/nullb0/stat; }
halfway() { [ "$(reads)" -ge $(($1 + rate * seconds / 2)) ]; }
# stalled COMMAND...: runs it with the stall in its middle, traced.
stalled() {
  before=$(reads)
  echo >$tracing/trace
  echo 1 >$tracing/tracing_on
  { until_true 60 halfway "$before"; dmsetup suspend --nolockfs rig-slow; sleep 0.2; dmsetup resume rig-slow; } & stall=$!
  "$@"
  wait $stall
  echo 0 >$tracing/tracing_on
}

# due PERCENT: that percentile, in ms, of completion minus due time over the traced I/Os. The
# schedule is anchored at the I/O that came closest to it, one service time after it was due.
due() {
  awk -v rate=$rate -v percent="$1" '
    / block_rq_complete: / { at = $0; sub(/: block_rq_complete.*/, "", at); sub(/.* /, "", at); done[n++] = at }
    END {
      for (i = 0; i < n; i++) { late[i] = done[i] - i / rate; if (i == 0 || late[i] < least) least = late[i] }
      for (i = 0; i < n; i++) bin[int((late[i] - least + 0.001) * 1e4)]++
      rank = n - int(n * percent / 100)
      for (b = 1e6; b >= 0 && seen < rank; b--) seen += bin[b]
      printf "%.1f", (b + 1.5) / 10
    }' $tracing/trace
}

stalled fio --name=fio --filename=/dev/mapper/rig-slow --direct=1 --ioengine=io_uring --bs=4k --rw=randread \
  --iodepth=32 --rate_iops=$rate --time_based --runtime=$seconds --lat_percentiles=1 --output-format=json >out/stall-fio.json
truth=$(due 99)
told=$(jq '.jobs[0].read.lat_ns.percentile["99.000000"] / 1e6' out/stall-fio.json)
note "stall: fio says p99 $told ms, the truth is $truth ms"
awk "BEGIN {exit !($truth > 100)}" || because "no stall was seen, p99 $truth ms"
conclude "stall/the stall is real"

for engine in io_uring libaio; do
  stalled volproof run /dev/mapper/rig-slow --rw randread --bs 4k --iodepth 32 --engine $engine \
    --rate-iops $rate --runtime $seconds --json out/stall-$engine.json
  truth=$(due 99)
  told=$(jq '.steps[0].read.response_latency_ns.percentiles["99"] / 1e6' out/stall-$engine.json)
  note "stall: volproof with $engine says p99 $told ms, the truth is $truth ms"
  awk "BEGIN {exit !($truth > 100)}" || because "no stall was seen, p99 $truth ms"
  # A busy host lets the program see completions later than the kernel does, and none earlier.
  awk "BEGIN {d = $told / $truth - 1; exit !(d < 0.5 && d > -0.05)}" || because "p99 $told ms, truth $truth ms"
  conclude "stall/response latency of $engine"
done
echo 0 >$completed/enable
dmsetup remove rig-slow
remove_null_blk nullb0
