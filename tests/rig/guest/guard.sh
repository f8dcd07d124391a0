# The guard against every signature and every use of a disk, made with the real tools.
#
# One virtio disk is used again and again; nothing but a refused command touches it in between.
disk=$(disk VB0)
serial=VB0
write="--rw randwrite --bs 4k --io-size 64k"

wipe() {
  wipefs -qa "$disk" 2>/dev/null
  for seek in 0 64 508; do dd if=/dev/zero of="$disk" bs=1M count=4 seek=$seek conv=fsync 2>/dev/null; done
  blockdev --rereadpt "$disk" 2>/dev/null
  echo 3 >/proc/sys/vm/drop_caches
}
ends_of_disk() {
  dd if="$disk" bs=1M count=1 iflag=direct 2>/dev/null | md5sum
  dd if="$disk" bs=1M skip=511 iflag=direct 2>/dev/null | md5sum
}
sectors_written() { awk '{print $7}' "/sys/block/${disk##*/}/stat"; }

# signature NAME WORD COMMAND...: what the command leaves on the disk is named and kept; only the
# disk's serial gives it up.
signature() {
  name=guard/signature/$1 word=$2; shift 2
  wipe
  "$@" >/tmp/made 2>&1 || { cat /tmp/made; fail "$name" "could not be made: $(tail -n 1 /tmp/made)"; return; }
  sync
  [ -n "$(blkid -p -o value -s TYPE -s PTTYPE "$disk")" ] || because "blkid does not see it either"
  if [ -n "$why" ]; then conclude "$name"; return; fi
  before=$(ends_of_disk) sectors=$(sectors_written)
  wants 3 "$word" volproof check "$disk"
  wants 3 "$word" volproof run "$disk" $write
  wants 3 "" volproof check "$disk" --destroy WRONG
  wants 0 "" volproof check "$disk" --destroy $serial
  [ "$sectors" = "$(sectors_written)" ] || because "sectors were written"
  [ "$before" = "$(ends_of_disk)" ] || because "the disk has changed"
  conclude "$name"
}

# use NAME WORD MAKE UNDO [TARGET [PREFIX]]: a disk in use is refused, with consent too; reads are
# allowed. The prefix stands before every volproof.
use() {
  name=guard/use/$1 word=$2 target=${5:-$disk} volproof=${6:-volproof}
  wipe
  if ! eval "$3" >/tmp/made 2>&1; then
    cat /tmp/made
    fail "$name" "could not be made: $(tail -n 1 /tmp/made)"
  else
    wants 3 "$word" $volproof check "$target"
    wants 3 "$word" $volproof check "$target" --destroy $serial
    wants 3 "$word" $volproof run "$target" $write --destroy $serial
    wants 0 "" $volproof run "$target" --rw randread --bs 4k --io-size 64k
    conclude "$name"
  fi
  eval "$4" >/tmp/made 2>&1 || { cat /tmp/made; fail "$name: undo" "$(tail -n 1 /tmp/made)"; }
}

table() { echo "size=400M" | sfdisk -q --label "$1" "$disk"; }
md() { yes | mdadm --create /dev/md0 --run --force --level=1 --raid-devices=2 --metadata="$1" "$disk" missing; }
luks() {
  echo secret | cryptsetup luksFormat -q --type "$1" --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$disk" -
}
iso() { mkdir -p /tmp/iso && echo content >/tmp/iso/file && genisoimage -quiet -o "$disk" /tmp/iso; }
# There is no ZFS and no Ceph in Debian's kernel or main section: their marks are written by hand.
# ZFS: uberblock magic at every KiB of the second half of the first label.
zfs() {
  for kib in $(seq 128 255); do
    printf '\014\261\272\000\000\000\000\000' | dd of="$disk" bs=1024 seek="$kib" conv=notrunc 2>/dev/null
  done
}
bluestore() { printf 'bluestore block device\n00000000-0000-0000-0000-000000000000\n' | dd of="$disk" conv=notrunc; }
filesystem() { mke2fs -q -F -t ext4 "$disk" 400M; }
partition=${disk}1
filesystem_on_partition() { table gpt && until_true 5 test -b "$partition" && mke2fs -q -F -t ext4 "$partition"; }

modprobe -a raid1 dm-crypt dm-multipath dm-round-robin dm-thin-pool dm-cache dm-cache-smq dm-writecache bcache xfs btrfs

signature gpt "gpt" table gpt
signature mbr "mbr|dos" table dos
signature ext2 ext2 mke2fs -q -F -t ext2 "$disk"
signature ext3 ext3 mke2fs -q -F -t ext3 "$disk"
signature ext4 ext4 mke2fs -q -F -t ext4 "$disk"
signature xfs xfs mkfs.xfs -q -f "$disk"
signature btrfs btrfs mkfs.btrfs -q -f "$disk"
signature f2fs f2fs mkfs.f2fs -q -f "$disk"
signature fat "fat" mkfs.fat -I "$disk"
signature exfat exfat mkfs.exfat "$disk"
signature ntfs ntfs mkfs.ntfs -q -F -Q "$disk"
signature iso9660 iso iso
signature swap swap mkswap "$disk"
signature lvm lvm lvm pvcreate -q -y "$disk"
for version in 0.90 1.0 1.1 1.2; do
  signature "md-$version" "md|raid" eval "md $version && mdadm --stop /dev/md0"
done
signature luks1 luks luks luks1
signature luks2 luks luks luks2
signature bcache bcache make-bcache -B "$disk"
signature zfs zfs zfs
signature bluestore "bluestore" bluestore

use mounted "mount" \
  "filesystem && mount $disk /mnt" "umount /mnt"
use mounted-read-only "mount" \
  "filesystem && mount -o ro $disk /mnt" "umount /mnt"
use bind-mount "mount" \
  "filesystem && mkdir -p /tmp/bind && mount $disk /mnt && mkdir /mnt/inner && mount --bind /mnt/inner /tmp/bind && umount -l /mnt" \
  "umount /tmp/bind"
use mounted-in-another-namespace "mount|busy|in use" \
  "filesystem && { unshare -m sh -c 'mount $disk /mnt && touch /tmp/inside && exec sleep 600' & } && until_true 10 test -e /tmp/inside" \
  "kill \$!; wait; rm -f /tmp/inside"
use mounted-partition "mount" \
  "filesystem_on_partition && mount $partition /mnt" "umount /mnt" "$partition"
use mounted-partition-of-an-unmounted-parent "mount" \
  "filesystem_on_partition && mount $partition /mnt" "umount /mnt"
use swap "swap" \
  "mkswap $disk && swapon $disk" "swapoff $disk"
use swap-partition-of-the-parent "swap" \
  "table gpt && until_true 5 test -b $partition && mkswap $partition && swapon $partition" "swapoff $partition"
use device-mapper-holder "held|holder|dm-" \
  "dmsetup create rig-holder --table '0 8192 linear $disk 0'" "dmsetup remove rig-holder"
use device-mapper-holder-on-a-partition "held|holder|dm-" \
  "table gpt && until_true 5 test -b $partition && dmsetup create rig-holder --table '0 8192 linear $partition 0'" \
  "dmsetup remove rig-holder"
use partition-of-a-held-parent "held|holder|dm-|in use|busy" \
  "table gpt && until_true 5 test -b $partition && dmsetup create rig-holder --table '0 8192 linear $disk 0'" \
  "dmsetup remove rig-holder" "$partition"
use multipath-holder "held|holder|dm-|multipath" \
  "dmsetup create rig-path --table '0 8192 multipath 0 0 1 1 round-robin 0 1 1 $disk 100'" "dmsetup remove rig-path"
use lvm-active "held|holder|lvm|dm-" \
  "lvm vgcreate -q -y rig $disk && lvm lvcreate -q -y -n volume -L 32M rig" "lvm vgchange -q -an rig && lvm vgremove -q -ff rig"
use md-member "held|holder|md" \
  "md 1.2" "mdadm --stop /dev/md0"
use crypt-open "held|holder|crypt|dm-" \
  "luks luks2 && echo secret | cryptsetup open --key-file=- $disk rig-crypt" \
  "cryptsetup close rig-crypt"
use bcache-registered "held|holder|bcache" \
  "make-bcache -B $disk && echo $disk >/sys/fs/bcache/register && until_true 5 test -e /sys/block/bcache0" \
  "echo 1 >/sys/block/bcache0/bcache/stop; until_true 5 test ! -e /sys/block/bcache0"
use loop-over-the-disk "loop" \
  "losetup /dev/loop1 $disk" "losetup -d /dev/loop1"
use read-only-flag "read-only|read only" \
  "blockdev --setro $disk" "blockdev --setrw $disk"
wipe

# a_writer: a process that has opened the disk, and not one that will.
a_writer() {
  sleep 600 1<>"$disk" & writer=$!
  opened() { [ "$(readlink "/proc/$writer/fd/1")" = "$disk" ]; }
  until_true 10 opened
}
use open-for-writing "open" \
  "a_writer" "kill \$writer"
use system-disk "system" \
  "filesystem && mount $disk /mnt && mkdir /mnt/dev /mnt/proc /mnt/sys && cp /job/bin/volproof /mnt/ &&
   mount --bind /dev /mnt/dev && mount --bind /proc /mnt/proc && mount --bind /sys /mnt/sys" \
  "umount /mnt/dev /mnt/proc /mnt/sys /mnt" "$disk" "chroot /mnt /volproof"
# Partition, RAID, encryption, logical volume, filesystem: whatever is asked for, the mount is found.
stack() {
  table gpt && until_true 5 test -b "$partition" &&
    { yes | mdadm --create /dev/md0 --run --force --level=1 --raid-devices=2 --metadata=1.2 "$partition" missing; } &&
    echo secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/md0 - &&
    echo secret | cryptsetup open --key-file=- /dev/md0 rig-crypt &&
    lvm vgcreate -q -y rig /dev/mapper/rig-crypt && lvm lvcreate -q -y -n volume -L 64M rig &&
    mke2fs -q -F -t ext4 /dev/rig/volume && mount /dev/rig/volume /mnt
}
unstack() {
  umount /mnt && lvm vgchange -q -an rig && lvm vgremove -q -ff rig && cryptsetup close rig-crypt && mdadm --stop /dev/md0
}
use stack-seen-from-the-disk "mount" stack unstack "$disk"
use stack-seen-from-the-partition "mount" stack unstack "$partition"
use stack-seen-from-the-array "mount" stack unstack /dev/md0
use stack-seen-from-the-volume "mount" stack unstack /dev/rig/volume

# Thin volumes and caches, as LVM lays them: the tables are written by hand, which needs no further tools.
part() { dmsetup create "rig-$1" --table "0 $3 linear $disk $2" && dd if=/dev/zero of="/dev/mapper/rig-$1" bs=1M count=1 2>/dev/null; }
thin() {
  part meta 0 16384 && part data 32768 262144 &&
    dmsetup create rig-pool --table "0 262144 thin-pool /dev/mapper/rig-meta /dev/mapper/rig-data 128 0" &&
    dmsetup message rig-pool 0 "create_thin 0" && dmsetup message rig-pool 0 "create_thin 1" &&
    dmsetup create rig-thin --table "0 65536 thin /dev/mapper/rig-pool 0" &&
    dmsetup create rig-other --table "0 65536 thin /dev/mapper/rig-pool 1" &&
    mke2fs -q -F -t ext4 /dev/mapper/rig-thin && mount /dev/mapper/rig-thin /mnt
}
unthin() { umount /mnt; for name in other thin pool data meta; do dmsetup remove --retry rig-$name || return; done; }
use thin-volume-seen-from-the-disk "mount" thin unthin "$disk"
use thin-volume-seen-from-itself "mount" thin unthin /dev/mapper/rig-thin
cached() {
  part meta 0 16384 && part fast 32768 65536 && part slow 131072 262144 &&
    dmsetup create rig-cached --table "0 262144 cache /dev/mapper/rig-meta /dev/mapper/rig-fast /dev/mapper/rig-slow 128 1 writeback smq 0" &&
    mke2fs -q -F -t ext4 /dev/mapper/rig-cached && mount /dev/mapper/rig-cached /mnt
}
uncached() { umount /mnt; for name in cached slow fast meta; do dmsetup remove --retry rig-$name || return; done; }
use cached-volume-seen-from-the-disk "mount" cached uncached "$disk"
use cached-volume-seen-from-its-cache "mount|held|in use" cached uncached /dev/mapper/rig-fast
use cached-volume-seen-from-its-origin "mount|held|in use" cached uncached /dev/mapper/rig-slow
writecached() {
  part fast 32768 65536 && part slow 131072 262144 &&
    dmsetup create rig-written --table "0 262144 writecache s /dev/mapper/rig-slow /dev/mapper/rig-fast 4096 0" &&
    mke2fs -q -F -t ext4 /dev/mapper/rig-written && mount /dev/mapper/rig-written /mnt
}
unwritecached() { umount /mnt; for name in written slow fast; do dmsetup remove --retry rig-$name || return; done; }
use write-cached-volume-seen-from-its-cache "mount|held|in use" writecached unwritecached /dev/mapper/rig-fast
# Two paths to one volume behind a multipath device with a partition on it.
pathed() {
  part one 0 262144 && part two 0 262144 &&
    dmsetup create rig-path --table "0 262144 multipath 2 queue_mode bio 0 1 1 round-robin 0 2 1 /dev/mapper/rig-one 100 /dev/mapper/rig-two 100" &&
    dmsetup create rig-path1 --table "0 131072 linear /dev/mapper/rig-path 2048" &&
    mke2fs -q -F -t ext4 /dev/mapper/rig-path1 && mount /dev/mapper/rig-path1 /mnt
}
unpathed() { umount /mnt; for name in path1 path two one; do dmsetup remove --retry rig-$name || return; done; }
use multipath-seen-from-one-path "mount|held|in use" pathed unpathed /dev/mapper/rig-two
use multipath-seen-from-itself "mount" pathed unpathed /dev/mapper/rig-path
# A container of arrays with metadata that the kernel does not know (Intel's, as imsm), and an array in it.
contained() {
  export IMSM_NO_PLATFORM=1 IMSM_DEVNAME_AS_SERIAL=1
  part one 0 262144 && part two 524288 262144 &&
    mdadm --create /dev/md127 --run --force -e "$1" -l container -n 2 /dev/mapper/rig-one /dev/mapper/rig-two &&
    mdadm --create /dev/md0 --run --force -l 0 -n 2 /dev/md127
}
uncontained() { mdadm --stop /dev/md0; mdadm --stop /dev/md127 && dmsetup remove --retry rig-one && dmsetup remove --retry rig-two; }
use ddf-container-seen-from-a-member "held|in use|md" "contained ddf" uncontained /dev/mapper/rig-one
use ddf-container-seen-from-the-disk "held|in use|md" "contained ddf" uncontained "$disk"
use imsm-container-seen-from-a-member "held|in use|md" "contained imsm" uncontained /dev/mapper/rig-two

# Two mapped devices over the same sectors, and a loop device beside one of them: each shares the mounted bytes.
map() { dmsetup create "$1" --table "0 $3 linear $disk $2"; }
use mapped-over-the-same-sectors "mount" \
  "filesystem && map rig-one 0 819200 && map rig-two 4096 65536 && mount /dev/mapper/rig-one /mnt" \
  "umount /mnt && dmsetup remove rig-two && dmsetup remove rig-one" /dev/mapper/rig-two
use loop-beside-a-mapped-device "mount" \
  "filesystem && map rig-one 0 819200 && mount /dev/mapper/rig-one /mnt && losetup /dev/loop1 $disk" \
  "losetup -d /dev/loop1; umount /mnt && dmsetup remove rig-one" /dev/loop1

# free NAME TARGET: nothing in use shares a byte with it, whatever lies beside it.
free() {
  string=$(volproof check "$2" --json | jq -r .consent)
  wants 0 "" volproof run "$2" $write --destroy "$string"
  conclude "guard/free/$1"
}
wipe
filesystem && map rig-one 0 819200 && map rig-two 900000 65536 && mount /dev/mapper/rig-one /mnt || because "not mapped"
free mapped-beside-a-mounted-one /dev/mapper/rig-two
umount /mnt && dmsetup remove rig-two && dmsetup remove rig-one
wipe
lvm vgcreate -q -y rig "$disk" && lvm lvcreate -q -y -n one -L 64M rig && lvm lvcreate -q -y -n two -L 64M rig &&
  mke2fs -q -F -t ext4 /dev/rig/one && mount /dev/rig/one /mnt || because "no volume group"
free volume-beside-a-mounted-one /dev/rig/two
umount /mnt && lvm vgchange -q -an rig && lvm vgremove -q -ff rig

# What cannot be read cannot be seen to be blank; no consent helps.
wipe
dmsetup create rig-unreadable --table "0 2048 error
2048 6144 linear $disk 2048"
string=$(volproof check /dev/mapper/rig-unreadable --json | jq -r .consent)
wants 3 "unreadable" volproof check /dev/mapper/rig-unreadable
wants 3 "unreadable" volproof run /dev/mapper/rig-unreadable $write --destroy "$string"
dmsetup remove rig-unreadable
conclude guard/use/unreadable

# A file that is swapped to, or that is a disk itself, is not written over; results on the disk under test are noted.
filesystem && mount "$disk" /mnt && dd if=/dev/zero of=/mnt/swap bs=1M count=16 2>/dev/null && chmod 600 /mnt/swap &&
  mkswap /mnt/swap && swapon /mnt/swap || because "no file could be swapped to"
wants 3 "swap" volproof run /mnt/swap $write --overwrite
swapoff /mnt/swap
losetup /dev/loop1 /mnt/swap
wants 3 "loop1" volproof run /mnt/swap $write --overwrite
losetup -d /dev/loop1
wants 0 "" volproof run /mnt/swap $write --overwrite --json /tmp/record
cd /mnt
wants 3 "output-disk" volproof check "$disk"
cd /job
wants 3 "mounted" volproof check "$disk"
says "$said" "output-disk" && because "the output is not on the disk any more"
umount /mnt
conclude guard/use/files-and-output

# accepted NAME DEVICE: a blank disk is ready, and only its own string unlocks it.
accepted() {
  name=guard/blank/$1
  string=$(volproof check "$2" --json | jq -r .consent)
  echo "consent of $2: $string"
  [ "$string" != null ] || because "no consent string for $2"
  wants 0 "ready" volproof check "$2"
  wants 0 "" volproof check "$2" --destroy "$string"
  wants 3 "" volproof check "$2" --destroy "${string}x"
  wants 3 "" volproof check "$2" --destroy ""
  wants 3 "" volproof run "$2" $write
  wants 3 "" volproof run "$2" $write --destroy "${string}x"
  wants 0 "" volproof run "$2" $write --destroy "$string"
  conclude "$name"
}
wipe
null_blk nullb9 memory_backed=1 size=64
truncate -s 64M /tmp/loop-image
losetup /dev/loop0 /tmp/loop-image
echo 64M >/sys/block/zram0/disksize
accepted virtio "$disk"
accepted nvme "$(disk NV0)"
accepted scsi "$(scsi_disk)"
accepted null_blk /dev/nullb9
accepted loop /dev/loop0
accepted brd /dev/ram0
accepted zram /dev/zram0
echo 1 >/sys/block/zram0/reset
losetup -d /dev/loop0
rm /tmp/loop-image
remove_null_blk nullb9

# A string that would fit two disks names neither.
for entry in $(grep -l '^TWIN' /sys/block/vd*/serial); do
  twin=/dev/$(basename "$(dirname "$entry")")
  wants 3 "" volproof check "$twin" --destroy TWIN
  wants 0 "" volproof check "$twin" --destroy "$(volproof check "$twin" --json | jq -r .consent)"
done
conclude guard/two-disks-of-one-serial

wipe
wants 0 "" volproof check "$disk" --destroy $serial
filesystem && mount "$disk" /mnt || because "could not mount"
wants 3 "mount" volproof run "$disk" $write --destroy $serial
umount /mnt
wipe
conclude guard/race/mounted-after-the-check

wipe
wants 0 "" volproof check "$disk" --destroy $serial
a_writer || because "nobody opened the disk"
wants 3 "open-for-writing" volproof run "$disk" $write --destroy $serial
kill $writer
wait $writer 2>/dev/null
conclude guard/race/a-writer-after-the-check

# While a run writes, nobody else gets the disk.
volproof run "$disk" --rw randwrite --bs 4k --runtime 600 --destroy $serial >/tmp/run 2>&1 & pid=$!
before=$(sectors_written)
written() { [ "$(sectors_written)" -gt $((before + 1000)) ]; }
until_true 20 written || because "the run did not write: $(tail -n 2 /tmp/run)"
mke2fs -q -F -t ext4 "$disk" 400M && because "mke2fs got the disk"
dmsetup create rig-thief --table "0 8192 linear $disk 0" && because "device-mapper got the disk"
swapon "$disk" && because "swap got the disk"
wants 3 "" volproof run "$disk" $write --destroy $serial
kill -INT $pid
wait $pid
wipe
conclude guard/race/during-a-run
