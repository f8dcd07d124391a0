# A place that takes no more bytes, for each reason that the kernel has: no figure of a run is lost. The host has no quota.
modprobe -a xfs dm-mod dm-flakey
volume=$(disk VB0) read=$(disk NINE1)

reads() { awk '{print $1}' "/sys/block/${read##*/}/stat"; }
begun() { [ "$(reads)" -gt $(($1 + 100)) ]; }
# once_begun COMMAND...: when the run has begun to read. It stands still meanwhile, and so does not end before the command does.
once_begun() {
  until_true 60 begun "$before" || return
  run=$(pidof volproof)
  kill -STOP $run
  "$@"
  kill -CONT $run
}

# kept NAME WHY COMMAND...: a place for outputs that the command spoils while a run goes on. The run says so, shows its figures, and saves each
# output elsewhere.
kept() {
  name=outputs/$1 why_not=$2 before=$(reads); shift 2
  once_begun "$@" & spoiler=$!
  wants 7 "$why_not" volproof run "$read" --rw randread --bs 4k --runtime 8s --tune off \
    --json /mnt/place/r.json --csv /mnt/place/r.csv --html /mnt/place/r.html
  wait $spoiler
  says "$said" "randread" || because "the screen shows no figures"
  for form in json csv html; do
    second=$(echo "$said" | tr -s '\n ' ' ' | sed -n "s,.*/r\.$form could not be saved: [^;]*; it is in \([^ ]*\) instead.*,\1,p")
    [ -s "$second" ] || because "there is no second place of r.$form"
    case $form in json) jq -e '.steps[0].read.ios > 0' "$second" >/dev/null || because "$second has no figures" ;; esac
    rm -f "$second"
  done
  conclude "$name"
}
fill() { dd if=/dev/zero of="/mnt/place/much" bs=64k; dd if=/dev/zero of="/mnt/place/more" bs=1k; }

# The quota of a group, which XFS holds against root too.
wipefs -qa "$volume"
mkfs.xfs -q -f "$volume" && mount -o gquota "$volume" /mnt && mkdir /mnt/place && chgrp 1000 /mnt/place && chmod 2775 /mnt/place &&
  xfs_quota -x -c 'limit -g bhard=4m 1000' /mnt || because "no quota could be set"
kept quota "quota exceeded" fill
umount /mnt

# A filesystem that becomes full.
dmsetup create rig-small --table "0 8192 linear $volume 0"
mke2fs -q -F -t ext2 -m 0 /dev/mapper/rig-small && mount /dev/mapper/rig-small /mnt && mkdir /mnt/place || because "no small filesystem"
kept full "no space left" fill
umount /mnt
dmsetup remove rig-small

# A disk that begins to fail each request, or each write: its filesystem fails, or becomes read-only.
end=$(sectors "$volume")
becomes() { dmsetup suspend --noflush rig-failing && dmsetup load rig-failing --table "0 $end $1" && dmsetup resume rig-failing; }
# failing NAME TABLE: a place on a disk that becomes this one.
failing() {
  dmsetup create rig-failing --table "0 $end linear $volume 0"
  mke2fs -q -F -t ext4 /dev/mapper/rig-failing && mount -o errors=remount-ro /dev/mapper/rig-failing /mnt && mkdir /mnt/place && sync ||
    because "not mounted"
  kept "$1" "input/output error|read-only" becomes "$2"
  umount -l /mnt
  until_true 10 dmsetup remove --force rig-failing
  wipefs -qa "$volume" 2>/dev/null
}
failing failing error
failing flaky "flakey $volume 0 0 600"
failing flaky-writes "flakey $volume 0 0 600 1 error_writes"
