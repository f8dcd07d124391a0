# What may go wrong under a run, one row each: whatever it is, the run ends with its code and a sentence, the first step's result is saved,
# nothing else is written, and the settings are back. Quotas, full and failing places for outputs are in outputs.sh, planted errors in
# errors.sh, disks that are unplugged in unplug.sh.
modprobe -a dm-mod dm-flakey nvme-loop xfs
json=/tmp/fault.json group=/sys/fs/cgroup/fault
disk=$(disk NINE1) volume=$(disk VB0)
for load in read write; do
  printf '[defaults]\nrw = "rand%s"\nbs = "4k"\niodepth = 4\n[[step]]\nname = "one"\nruntime = "1s"\n[[step]]\nname = "two"\nruntime = "6s"\n' $load \
    >/tmp/$load.toml
done

# Writes to every disk but those that are named, and all their settings.
writes_elsewhere() {
  for entry in /sys/block/*; do
    case " $own " in *" ${entry##*/} "*) ;; *) echo "${entry##*/} $(awk '{print $5}' "$entry/stat")" ;; esac
  done
}
settings() { grep -s '' /sys/block/*/queue/* | grep -v '/io_timeout:'; }
first_is_saved() { jq -e '.steps[0].name == "one"' $json; }

# fault NAME CODES PATTERN TARGET COMMAND OPTION...: COMMAND spoils the second step of a run on TARGET.
fault() {
  name=faults/$1 codes=$2 pattern=$3 target=$4 spoil=$5; shift 5
  note "$name, after $SECONDS s"
  settings >/tmp/settings
  elsewhere=$(writes_elsewhere)
  rm -f $json
  (
    [ ! -d $group ] || echo 0 >$group/cgroup.procs
    exec $within volproof run "$target" --plan /tmp/$load.toml --tune on --json $json "$@"
  ) >/tmp/fault 2>&1 & pid=$!
  until_true 60 first_is_saved || because "the first step was not saved"
  $spoil || because "'$spoil' ended with $?"
  until_true 60 ended $pid || { kill -9 $pid; because "the run did not end"; }
  wait $pid
  code=$?
  cat /tmp/fault
  says "$codes" "\\b$code\\b" || because "exit code $code"
  says "$(cat /tmp/fault)" "$pattern" || because "it said nothing like '$pattern'"
  jq -e '[.steps[0].read, .steps[0].write] | map(.ios? // 0) | add > 0' $json >/dev/null || because "the first step has no figures"
  [ "$(writes_elsewhere)" = "$elsewhere" ] || because "something else was written"
  changed=$(settings | grep -vxFf /tmp/settings | head -n 3)
  [ -z "$changed" ] || because "left behind: $changed"
  wants 0 "nothing" volproof restore
  conclude "$name"
}

# Around the run: its clocks, its CPUs, its group.
load=read own= within=
ahead() { date -s "@$(($(date +%s) + 86400))"; }
back() { date -s "@$(($(date +%s) - 86400))"; }
fault clock-forward "0 6" "two" "$disk" ahead
fault clock-back "0 6" "two" "$disk" back
within="unshare --time --fork --boottime 8640000 --monotonic 8640000"
fault time-namespace "0 6" "two" "$disk" true
within=
unplug_cpu() { echo 0 >/sys/devices/system/cpu/cpu3/online; }
fault cpu-unplugged "0 6" "two" "$disk" unplug_cpu
echo 1 >/sys/devices/system/cpu/cpu3/online
storm() { for _ in $(seq 40); do for entry in /sys/block/*/uevent; do echo change >"$entry"; done; done; }
fault uevents "0 6" "two" "$disk" storm

mkdir $group && echo "+cpu +memory +io" >/sys/fs/cgroup/cgroup.subtree_control || because "no cgroup"
freeze() { echo 1 >$group/cgroup.freeze && sleep 2 && echo 0 >$group/cgroup.freeze; }
fault frozen "0 6" "suspended|stopped|did nothing|stall" "$disk" freeze
squeeze() { echo 4M >$group/memory.high; }
fault memory-high "0 6" "two" "$disk" squeeze
echo max >$group/memory.high
throttle() { echo "$(cat "/sys/block/${disk##*/}/dev") rbps=65536" >$group/io.max; }
fault io-max "0 6" "cgroup" "$disk" throttle
rmdir $group

# Below the run: what ends, or fails, under its target.
null_blk nullb0 submit_queues=4 queue_mode=2 size=64 memory_backed=1
end=$(sectors nullb0) own="nullb0 dm-0"
dmsetup create rig-flaky --table "0 $end linear /dev/nullb0 0"
swapped() { dmsetup suspend --noflush rig-flaky && dmsetup load rig-flaky --table "0 $end $1" && dmsetup resume rig-flaky; }
flaky() { swapped "flakey /dev/nullb0 0 0 600"; }
failing() { swapped "error"; }
whole() { swapped "linear /dev/nullb0 0"; }
fault flakey "7" "EIO|Input/output error" /dev/mapper/rig-flaky flaky
whole
fault error "7" "EIO|Input/output error" /dev/mapper/rig-flaky failing
whole
fault error-ridden "0 6" "EIO|Input/output error" /dev/mapper/rig-flaky failing --continue-on-error
dmsetup remove rig-flaky

truncate -s 64M /tmp/backing
loop=$(losetup -f --show /tmp/backing) own=$(basename "$loop")
shrink() { truncate -s 0 /tmp/backing; }
fault loop-without-its-file "0 6 7" "two" "$loop" shrink
truncate -s 64M /tmp/backing
detach() { losetup -d "$loop"; }
fault loop-detached "0 6 7" "two" "$loop" detach
rm /tmp/backing

port=/sys/kernel/config/nvmet/ports/1 system=/sys/kernel/config/nvmet/subsystems/rig
mkdir $system $system/namespaces/1 $port && echo 1 >$system/attr_allow_any_host && echo /dev/nullb0 >$system/namespaces/1/device_path &&
  echo 1 >$system/namespaces/1/enable && echo loop >$port/addr_trtype && ln -s $system $port/subsystems/rig || because "no NVMe target"
echo transport=loop,nqn=rig,hostnqn=nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555,hostid=11111111-2222-3333-4444-555555555555 >/dev/nvme-fabrics
fabric=$(grep -ls rig /sys/class/nvme/nvme*/subsysnqn) fabric=$(dirname "${fabric:-/none/x}")
namespace() { for entry in /sys/block/nvme[0-9]n1; do grep -qsx rig "$entry/device/subsysnqn" && echo "/dev/${entry##*/}"; done; }
until_true 20 test -b "$(namespace)"
disconnect() { echo 1 >"$fabric/delete_controller"; }
remote=$(namespace) own="nullb0 $(cd /sys/block && echo ${remote:5:5}*)"
fault nvme-disconnected "4 7" "${remote##*/}" "$remote" disconnect
rm $port/subsystems/rig && rmdir $port $system/namespaces/1 $system
remove_null_blk nullb0

# A filesystem that becomes read-only under the file that is written, and one whose quota is less than the file.
load=write own=${volume##*/}
wipefs -qa "$volume"
mke2fs -q -F -t ext4 "$volume" && mount -o errors=remount-ro "$volume" /mnt || because "not mounted"
read_only() { echo rig >"/sys/fs/ext4/${volume##*/}/trigger_fs_error"; }
fault read-only "0 6 7" "read-only|input/output error|two" /mnt read_only --file-size 32MiB
umount /mnt
mkfs.xfs -q -f "$volume" && mount -o gquota "$volume" /mnt && mkdir /mnt/place && chgrp 1000 /mnt/place && chmod 2775 /mnt/place &&
  xfs_quota -x -c 'limit -g bhard=4m 1000' /mnt || because "no quota could be set"
wants 7 "quota" volproof run /mnt/place --plan /tmp/write.toml --file-size 32MiB
[ -z "$(ls -A /mnt/place)" ] || because "a test file stays"
conclude faults/quota
umount /mnt
wipefs -qa "$volume"
