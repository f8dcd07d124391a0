# The devices of the functions boot: the host's are found by serial, the rest is made here.

# disk SERIAL: its device node.
disk() {
  for entry in /sys/block/vd* /sys/block/nvme*n[0-9]; do
    case $entry in *nvme*c*n*) continue ;; esac
    serial=$(cat "$entry/serial" 2>/dev/null || cat "$entry/device/serial" 2>/dev/null)
    [ "$(echo $serial)" = "$1" ] && echo "/dev/${entry##*/}" && return 0
  done
  return 1
}

# path DEVICE: the entry that has the queues. An NVMe head has none, its path has them.
path() {
  entry=/sys/block/${1##*/}
  case $entry in */nvme*n*) [ -d "$entry/mq" ] || entry=$(ls -d "${entry%n[0-9]*}"c*n* | sed q) ;; esac
  echo "$entry"
}

# queues DEVICE: "queue:cpu,cpu ..." in the order of the queues, as the kernel gives it.
queues() {
  entry=$(path "$1")
  [ -d "$entry/mq" ] || return 0
  for queue in $(ls "$entry/mq" | sort -n); do
    echo "$queue:$(tr -d ' ' <"$entry/mq/$queue/cpu_list")"
  done | tr '\n' ' ' | sed 's/ $//'
}

# null_blk NAME ATTRIBUTE=VALUE...
null_blk() {
  folder=/sys/kernel/config/nullb/$1; shift
  mkdir "$folder" || return 1
  for pair in "$@"; do
    echo "${pair#*=}" >"$folder/${pair%%=*}" || return 1
  done
  echo 1 >"$folder/power"
}
remove_null_blk() { echo 0 >"/sys/kernel/config/nullb/$1/power"; rmdir "/sys/kernel/config/nullb/$1"; }

# In this order: configfs is a module that null_blk brings.
modprobe null_blk nr_devices=0
mount -t configfs configfs /sys/kernel/config
modprobe brd rd_nr=1 rd_size=65536
modprobe loop max_loop=8
modprobe zram num_devices=1
modprobe sd_mod
modprobe scsi_debug dev_size_mb=64 submit_queues=4 delay=0
modprobe dm-mod
sectors() { cat "/sys/class/block/${1##*/}/size"; }

# the SCSI disk comes up a little later than its module
scsi_disk() { for entry in /sys/block/sd*; do [ -e "$entry" ] && echo "/dev/${entry##*/}" && return 0; done; return 1; }
until_true 10 scsi_disk
