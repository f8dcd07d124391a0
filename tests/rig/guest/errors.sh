# Errors planted at a known place are reported at that place.
modprobe dm-flakey
null_blk nullb0 submit_queues=4 queue_mode=2 size=64
null_blk nullb1 submit_queues=4 queue_mode=2 size=64 memory_backed=1 badblocks=+2048-2055

# names_offset NAME TARGET BYTE OPTION...: fio finds the error there, so it is there; we say so too.
names_offset() {
  name=errors/$1 target=$2 byte=$3; shift 3
  found=$(fio --name=x --filename="$target" --direct=1 --ioengine=io_uring --bs=4k --size=4m --minimal "$@" 2>&1 |
    sed -n 's/.*io_u error.*Input.output error.*offset=\([0-9]*\).*/\1/p' | sed q)
  if [ "$found" != "$byte" ]; then
    fail "$name" "fio found the error at '$found', not at $byte"
  else
    for engine in "io_uring --iodepth 4" "libaio --iodepth 4" psync; do
      wants 1 "(EIO|Input/output error).*\b$byte\b|\b$byte\b.*(EIO|Input/output error)" \
        volproof run "$target" --engine $engine --bs 4k --size 4m --runtime 2 "$@"
    done
    conclude "$name"
  fi
}

end=$(sectors nullb0)
dmsetup create rig-error --table "0 1024 linear /dev/nullb0 0
1024 8 error
1032 $((end - 1032)) linear /dev/nullb0 1032"
names_offset dm-error /dev/mapper/rig-error 524288 --rw=read
names_offset null_blk-badblocks /dev/nullb1 1048576 --rw=read
dmsetup remove rig-error

# A device that fails every other second: what came before the error is kept, and with
# --continue-on-error both sides are counted.
dmsetup create rig-flakey --table "0 $end flakey /dev/nullb0 0 1 1"
wants 1 "EIO|Input/output error" \
  volproof run /dev/mapper/rig-flakey --rw randread --bs 4k --iodepth 4 --runtime 4 --json /tmp/flakey.json
jq -e '.steps[0].read.ios > 0' /tmp/flakey.json || because "no I/O from before the error was kept"
wants 0 "EIO|Input/output error" \
  volproof run /dev/mapper/rig-flakey --rw randread --bs 4k --iodepth 4 --runtime 4 --continue-on-error --json /tmp/flakey.json
jq -e '.steps[0].read.ios > 0' /tmp/flakey.json || because "no I/O was counted between the errors"
conclude errors/dm-flakey
dmsetup remove rig-flakey
remove_null_blk nullb0
remove_null_blk nullb1
