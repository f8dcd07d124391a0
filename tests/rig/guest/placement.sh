# Workers run on the CPUs that the Record names, and their I/Os complete there.
#
# The guest has no other disk traffic, so every completion of these moments is one of the load's.
tracing=/sys/kernel/tracing
completed=$tracing/events/block/block_rq_complete
mount -t tracefs tracefs $tracing 2>/dev/null
null_blk nullb0 submit_queues=2 queue_mode=2 irqmode=1 hw_queue_depth=256 size=256

reads() { awk '{print $1}' "/sys/block/${1##*/}/stat"; }
works() { [ "$(reads "$1")" -gt $(($2 + 100)) ]; }
words() { sort -nu | tr '\n' ' ' | sed 's/ $//'; }
# seats PID: "thread CPU" of each load thread, the CPU that it ran on last.
seats() { awk '$2 == "(volproof-load)" {print $1, $39}' "/proc/$1/task/"*/stat 2>/dev/null; }
# irqs DEVICE: the interrupts of its PCI function.
irqs() {
  folder=$(readlink -f "$(path "$1")")
  until [ -d "$folder/msi_irqs" ] || [ -z "$folder" ]; do folder=${folder%/*}; done
  ls "$folder/msi_irqs" 2>/dev/null
}
# interrupts DEVICE: how many each CPU took from it, "CPU count" on a line.
interrupts() {
  irqs "$1" | awk -v cpus="$(nproc)" '
    NR == FNR {ours[$1 ":"]; next}
    $1 in ours {for (c = 0; c < cpus; c++) count[c] += $(c + 2)}
    END {for (c = 0; c < cpus; c++) print c, count[c] + 0}' - /proc/interrupts
}

# load DEVICE OPTION...: starts one that lasts until `look` is done with it.
load() {
  device=$1; shift
  before=$(reads "$device")
  # The Record of an interrupted run would stay, and this run's stand beside it.
  rm -f out/placed.json
  volproof run "$device" --rw randread --bs 4k --iodepth 8 --runtime 600 --json out/placed.json "$@" >/tmp/placed 2>&1 & pid=$!
  until_true 20 works "$device" "$before" || because "the load did not start: $(tail -n 2 /tmp/placed)"
}

# look: leaves in /tmp who sat where, which CPUs completed, and which took interrupts, over a second of the load and 100 of its reads.
look() {
  interrupts "$device" >/tmp/interrupts
  before=$(reads "$device")
  echo 'hist:keys=common_cpu' >$completed/trigger
  for _ in $(seq 20); do seats $pid; sleep 0.05; done | sort -u >/tmp/seats
  until_true 20 works "$device" "$before" || because "the load stands still"
  sed -n 's/.*common_cpu: *\([0-9]*\).*hitcount: *\([0-9]*\).*/\1 \2/p' $completed/hist >/tmp/completions
  echo '!hist:keys=common_cpu' >$completed/trigger
  interrupts "$device" | paste -d ' ' - /tmp/interrupts | awk '$2 > $4 {print $1}' | words >/tmp/interrupted
  kill -INT $pid
  wait $pid
  echo "seats: $(tr '\n' ',' </tmp/seats) completions: $(tr '\n' ',' </tmp/completions) interrupts: $(cat /tmp/interrupted)"
}
pinned() { jq -r '.steps[0].pinned_cpus[]' out/placed.json; }

# misplaced: what is not where the Record says; nothing when all is well.
misplaced() {
  said=$(pinned | sort -n | tr '\n' ' ') sat=$(cut -d ' ' -f 2 /tmp/seats | sort -n | tr '\n' ' ')
  [ -n "$said" ] && [ "$said" = "$sat" ] || echo "the Record says CPU $said, the workers ran on CPU $sat;"
  [ "$(awk '{n += $2} END {print n + 0}' /tmp/completions)" -gt 100 ] || echo "hardly a completion was seen;"
  for cpu in $(cut -d ' ' -f 1 /tmp/completions); do
    pinned | grep -qx "$cpu" || echo "I/Os were completed on CPU $cpu;"
  done
}
# off_their_queues QUEUES: whether each worker sits on a CPU of its queue as the kernel maps it, one worker on each
# queue before any gets two; and whether interrupts came to the CPUs of these queues alone.
off_their_queues() {
  jq -r '.steps[0].placement.seats[] | "\(.disk) \(.queue) \(.cpus)"' out/placed.json >/tmp/places
  : >/tmp/reachable
  while read -r disk queue cpu; do
    tr -d ' ' <"/sys/block/$disk/mq/$queue/cpu_list" | tr ',' '\n' >/tmp/queue
    cat /tmp/queue >>/tmp/reachable
    grep -qx "$cpu" /tmp/queue || echo "CPU $cpu does not submit into queue $queue of $disk;"
  done </tmp/places
  workers=$(wc -l </tmp/places) used=$(awk '{print $1, $2}' /tmp/places | sort -u | wc -l)
  [ "$used" = $(($1 < workers ? $1 : workers)) ] || echo "$workers workers use $used of $1 queues;"
  for cpu in $(cat /tmp/interrupted); do
    grep -qx "$cpu" /tmp/reachable || echo "interrupts came to CPU $cpu;"
  done
}

in_place() {
  found=$(misplaced; off_their_queues "$1")
  [ -z "$found" ] || because $found
}

# placed NAME DEVICE QUEUES OPTION...
placed() {
  name=placement/$1 device=$2 queues=$3; shift 3
  load "$device" --tune on "$@"
  look
  in_place "$queues"
  conclude "$name"
}
virtio=$(disk VB0) single=$(disk VB1) nvme=$(disk NV0)
placed virtio-4-jobs "$virtio" 4 --numjobs 4
placed virtio-2-jobs "$virtio" 4 --numjobs 2
placed virtio-libaio "$virtio" 4 --numjobs 3 --engine libaio
placed virtio-1-queue "$single" 1 --numjobs 2
placed nvme-2-jobs "$nvme" 2 --numjobs 2
placed nvme-4-jobs "$nvme" 2 --numjobs 4
placed null_blk /dev/nullb0 2 --numjobs 2

# Polled I/O completes where it is polled, without an interrupt.
load "$nvme" --tune on --numjobs 2 --iopoll
look
in_place 2
[ -z "$(cat /tmp/interrupted)" ] || because "interrupts on CPU $(cat /tmp/interrupted)"
conclude placement/nvme-polled

# Two disks at once share the CPUs, and each is driven from its own queues.
before=$(reads "$nvme")
rm -f out/placed.json
volproof run "$virtio" "$nvme" --rw randread --bs 4k --iodepth 8 --runtime 600 --numjobs 2 --tune on --json out/placed.json \
  >/tmp/placed 2>&1 & pid=$!
until_true 20 works "$nvme" "$before" || because "the load did not start: $(tail -n 2 /tmp/placed)"
device=$nvme
look
in_place 4
conclude placement/two-disks

# What must not pass does not pass. A worker that somebody moves:
load "$virtio" --tune on --numjobs 2
thread=$(seats $pid | sed 's/ .*//;q')
for other in 3 2 1 0; do seats $pid | grep -q " $other\$" || break; done
taskset -cp $other "$thread"
look
found=$(misplaced)
says "$found" "workers ran on CPU" || because "the check did not see that thread $thread went to CPU $other"
says "$found" "completed on CPU $other" || because "the check did not see completions on CPU $other"
conclude "placement/a worker that was moved is seen"

# A submitter beside the CPU that the interrupt of its queue comes to: with rq_affinity 0 its I/Os complete over there, and
# rq_affinity 2, which a run sets, brings them home. Two CPUs share a queue of this NVMe disk.
queue=/sys/block/$(basename "$(path "$nvme")")/queue
irq=$(awk '/nvme[0-9]*q1$/ {sub(":", "", $1); print $1}' /proc/interrupts | while read -r n; do irqs "$nvme" | grep -x "$n"; done)
there=$(cat "/proc/irq/$irq/effective_affinity_list")
here=$(tr -d ' ' <"$queue/../mq/0/cpu_list" | tr ',' '\n' | grep -vx "$there")
note "placement: queue 0 of $nvme interrupts CPU $there, the load is on CPU $here"
was=$(cat "$queue/rq_affinity")
echo 0 >"$queue/rq_affinity"
load "$nvme" --tune off --cpus "$here"
look
says "$(misplaced)" "completed on CPU $there" || because "with rq_affinity 0 nothing completed on CPU $there"
conclude "placement/completions elsewhere are seen"
load "$nvme" --tune on --cpus "$here"
look
found=$(misplaced)
[ -z "$found" ] || because $found
[ "$(cat /tmp/interrupted)" = "$there" ] || because "interrupts came to CPU $(cat /tmp/interrupted)"
# They come home by way of a softirq; the Record has these for each CPU. The controller's own log is read from any CPU, once a second.
softirqs=$(jq -r '.steps[0].evidence.per_cpu | max_by(.block_softirqs).cpu' out/placed.json)
[ "$softirqs" = "$here" ] || because "the Record counts most BLOCK softirqs on CPU '$softirqs'"
[ "$(cat "$queue/rq_affinity")" = 0 ] || because "rq_affinity was not put back"
conclude "placement/rq_affinity 2 brings completions home"
echo "$was" >"$queue/rq_affinity"
remove_null_blk nullb0
