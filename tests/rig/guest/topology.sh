# What each kind of device shows of its hardware queues, and what volproof makes of it.

# shows NAME DEVICE QUEUES REQUESTS [CARRIED]: the kernel's own view is the one we know ...
shows() {
  same "topology/$1: kernel" "$3 requests=$4" \
    "$(queues "$2") requests=$(cat "$(path "$2")/queue/nr_requests" 2>/dev/null || echo none)"
  map_is_told "$1" "$2" "${5:-$3}"
}

# queues_of_json: the same text from what `topo --json` says.
queues_of_json() {
  jq -r '
    def each: split(",") | map(split("-") | map(tonumber) | if length == 2 then range(.[0]; .[1] + 1) else .[0] end);
    [.. | objects | select(has("queues")) | .queues[] | "\(.index):\(.cpus | each | map(tostring) | join(","))"] | join(" ")'
}

# ... and ours is the same: every queue with its CPUs; of a device without any, those of the disks
# that carry it.
map_is_told() {
  told=$(volproof topo "$2" --json) || { fail "topology/$1: volproof" "exit code $?"; return 0; }
  echo "$told"
  same "topology/$1: volproof" "$3" "$(echo "$told" | queues_of_json)"
}

null_blk nullb0 submit_queues=4 queue_mode=2 hw_queue_depth=256 size=256
null_blk nullb1 submit_queues=2 poll_queues=2 queue_mode=2 hw_queue_depth=256 size=256
truncate -s 64M /tmp/loop-image
losetup /dev/loop0 /tmp/loop-image
echo 64M >/sys/block/zram0/disksize
dmsetup create rig-linear --table "0 $(sectors /dev/nullb0) linear /dev/nullb0 0"
linear=$(basename "$(readlink -f /dev/mapper/rig-linear)")
[ -e "/dev/$linear" ] || linear=dm-0

shows virtio-4-queues "$(disk VB0)" "0:0 1:1 2:2 3:3" 256
shows virtio-1-queue "$(disk VB1)" "0:0,1,2,3" 256
# A virtio disk with a poll queue: the driver looks at its parameter when it takes a disk.
rebind() { echo "$1" >/sys/bus/virtio/drivers/virtio_blk/unbind && echo "$1" >/sys/bus/virtio/drivers/virtio_blk/bind; }
virtio=$(basename "$(readlink -f "/sys/block/$(basename "$(disk VB0)")/device")")
echo 1 >/sys/module/virtio_blk/parameters/poll_queues
rebind "$virtio"
shows virtio-poll-queues "$(disk VB0)" "0:0,1 1:2 2:3 3:0,1,2,3" 256
echo 0 >/sys/module/virtio_blk/parameters/poll_queues
rebind "$virtio"
shows nvme-poll-queues "$(disk NV0)" "0:0,1 1:2,3 2:0,1 3:2,3" 1023
shows null_blk-4-queues /dev/nullb0 "0:0 1:1 2:2 3:3 4:0,1,2,3" 256
shows null_blk-poll-queues /dev/nullb1 "0:0,1 1:2,3 2:0,1,2,3" 256
shows scsi_debug "$(scsi_disk)" "0:0 1:1 2:2 3:3" 192
shows loop /dev/loop0 "0:0,1,2,3" 128
shows brd /dev/ram0 "" none
shows zram /dev/zram0 "" none
shows device-mapper "/dev/$linear" "" none "0:0 1:1 2:2 3:3 4:0,1,2,3"

dmsetup remove rig-linear
echo 1 >/sys/block/zram0/reset
losetup -d /dev/loop0
rm /tmp/loop-image
remove_null_blk nullb0
remove_null_blk nullb1
