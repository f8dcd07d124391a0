# A place that takes no more bytes, for each reason that the kernel has: no figure of a run is lost. The host has no quota.
modprobe -a xfs dm-mod
volume=$(disk VB0)
measured="--rw randread --bs 4k --runtime 200ms --tune off"

# kept NAME WHY FOLDER: a run whose outputs do not fit there says so, shows its figures, and saves each output elsewhere.
kept() {
  wants 1 "$2" volproof run "$(disk NINE1)" $measured --json "$3/r.json" --csv "$3/r.csv" --html "$3/r.html"
  says "$said" "randread" || because "the screen shows no figures"
  for form in json csv html; do
    second=$(echo "$said" | tr -s '\n ' ' ' | sed -n "s,.*/r\.$form could not be saved: [^;]*; it is in \([^ ]*\) instead.*,\1,p")
    [ -s "$second" ] || because "there is no second place of r.$form"
    case $form in json) jq -e '.steps[0].read.ios > 0' "$second" >/dev/null || because "$second has no figures" ;; esac
    rm -f "$second"
  done
  conclude "outputs/$1"
}

# The quota of a group, which XFS holds against root too: there is room for a first name, and not for what is in it.
wipefs -qa "$volume"
mkfs.xfs -q -f "$volume" && mount -o gquota "$volume" /mnt && mkdir /mnt/full && chgrp 1000 /mnt/full && chmod 2775 /mnt/full &&
  xfs_quota -x -c 'limit -g bhard=8k 1000' /mnt || because "no quota could be set"
kept quota "quota exceeded" /mnt/full
umount /mnt

# A filesystem with room for little.
dmsetup create rig-small --table "0 2048 linear $volume 0"
mke2fs -q -F -t ext2 -m 0 /dev/mapper/rig-small && mount /dev/mapper/rig-small /mnt || because "no small filesystem"
dd if=/dev/zero of=/mnt/much bs=1k 2>/dev/null
truncate -s -4096 /mnt/much
kept full "no space left" /mnt
umount /mnt
dmsetup remove rig-small

# A disk that fails every write from the second on, while the run measures: the filesystem is found to be bad or read-only.
end=$(sectors "$volume")
dmsetup create rig-failing --table "0 $end linear $volume 0"
mke2fs -q -F -t ext4 /dev/mapper/rig-failing && mount -o errors=remount-ro /dev/mapper/rig-failing /mnt || because "not mounted"
{ sleep 1; dmsetup suspend --noflush rig-failing; dmsetup load rig-failing --table "0 $end error"; dmsetup resume rig-failing; } & failing=$!
measured="--rw randread --bs 4k --runtime 5s --tune off"
kept failing "input/output error|read-only" /mnt
wait $failing
umount -l /mnt
until_true 10 dmsetup remove --force rig-failing
wipefs -qa "$volume" 2>/dev/null
