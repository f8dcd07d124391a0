# Errors planted at a known place are reported at that place.
null_blk nullb0 submit_queues=4 queue_mode=2 size=64
null_blk nullb1 submit_queues=4 queue_mode=2 size=64 memory_backed=1 badblocks=+2048-2055

# names_offset NAME TARGET BYTE WRITTEN OPTION...: fio finds the error there, so it is there; we say so too, with the number as we write it.
names_offset() {
  name=errors/$1 target=$2 byte=$3 written=$4; shift 4
  found=$(fio --name=x --filename="$target" --direct=1 --ioengine=io_uring --bs=4k --size=4m --minimal "$@" 2>&1 |
    sed -n 's/.*io_u error.*Input.output error.*offset=\([0-9]*\).*/\1/p' | sed q)
  if [ "$found" != "$byte" ]; then
    fail "$name" "fio found the error at '$found', not at $byte"
  else
    for engine in "io_uring --iodepth 4" "libaio --iodepth 4" psync; do
      wants 7 "(EIO|Input/output error).*\b$written\b|\b$written\b.*(EIO|Input/output error)" \
        volproof run "$target" --engine $engine --bs 4k --size 4m --runtime 2 "$@"
    done
    conclude "$name"
  fi
}

end=$(sectors nullb0)
dmsetup create rig-error --table "0 1024 linear /dev/nullb0 0
1024 8 error
1032 $((end - 1032)) linear /dev/nullb0 1032"
names_offset dm-error /dev/mapper/rig-error 524288 524,288 --rw=read
names_offset null_blk-badblocks /dev/nullb1 1048576 1,048,576 --rw=read
dmsetup remove rig-error

# A disk that begins to fail: what came before the error is kept.
reads() { awk '{print $1}' /sys/block/nullb0/stat; }
begun() { [ "$(reads)" -gt $(($1 + 100)) ]; }
dmsetup create rig-error --table "0 $end linear /dev/nullb0 0"
fails_later() {
  until_true 60 begun "$1"
  dmsetup suspend --noflush rig-error && dmsetup load rig-error --table "0 $end error" && dmsetup resume rig-error
}
fails_later "$(reads)" & later=$!
wants 7 "EIO|Input/output error" \
  volproof run /dev/mapper/rig-error --rw randread --bs 4k --iodepth 4 --runtime 600 --json /tmp/error.json
wait $later || because "the disk did not fail"
jq -e '.steps[0].read.ios > 0' /tmp/error.json || because "no I/O from before the error was kept"
dmsetup remove rig-error

# One that fails in its second half: with --continue-on-error both sides are counted.
half=$((end / 16 * 8))
dmsetup create rig-error --table "0 $half linear /dev/nullb0 0
$half $((end - half)) error"
wants 0 "EIO|Input/output error" \
  volproof run /dev/mapper/rig-error --rw randread --bs 4k --iodepth 4 --runtime 4 --continue-on-error --json /tmp/error.json
jq -e '.steps[0].read.ios > 0' /tmp/error.json || because "no I/O was counted between the errors"
conclude errors/appear-later-and-in-places
dmsetup remove rig-error
remove_null_blk nullb0
remove_null_blk nullb1
