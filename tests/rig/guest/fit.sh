# The needs of etcd on a filesystem whose disk delays every request by 1, 5 and 12 ms, and on one that is limited to 60 requests a second. A flush is a write of data and often one
# of the filesystem's log, so that 5 ms are too slow for a p99 of 10 ms. At 12 ms every flush takes longer than 10 ms: that is a FAIL on any host.
modprobe -q xfs
null_blk nullb0 queue_mode=2 memory_backed=1 size=400
mkdir -p /mnt/fit

# etcd NAME RUNTIME MILLISECONDS DEVICE MKFS...: the answer to the need of the p99 on such a disk, whose flushes take so long at least.
etcd() {
  name=$1 runtime=$2 delay=$3 disk=$4 record=out/fit-${1%% *}.json
  shift 4
  "$@" "$disk" && mount "$disk" /mnt/fit || because "there is no filesystem"
  said=$(volproof fit /mnt/fit --for etcd --runtime "$runtime" --json "$record" 2>&1); code=$?
  echo "$said"
  answer=$(jq -r '.verdict.claims[] | select(.need.figure == "p99 of flushes") | "\(.outcome) \(.measured / 1e6)"' "$record")
  flushes=$(jq '.steps[0].sync.ios' "$record")
  note "fit: at $name the p99 of $flushes flushes is ${answer#* } ms: ${answer% *}"
  awk "BEGIN {exit !(${answer#* } >= $delay)}" || because "the p99 is ${answer#* } ms on a disk of $delay ms"
  # The program may be late on a busy host, and never early.
  case $answer in
    pass*) awk "BEGIN {exit !(${answer#* } < 10 && $delay < 5)}" || because "PASS at ${answer#* } ms" ;;
    fail*) awk "BEGIN {exit !(${answer#* } > 10)}" || because "FAIL at ${answer#* } ms" ;;
    # A guest on a busy host does too few flushes, or at too uneven a pace, for an answer; not where all of them are slow.
    inconclusive*)
      [ "$delay" -le 10 ] || because "no answer, although every flush takes $delay ms"
      note "fit: $(jq -r '[.verdict.claims[] | select(.need.figure == "p99 of flushes") | .reason] | first' "$record")" ;;
    *) because "$answer" ;;
  esac
  says "$said" 'for etcd \(minimum\): (p99 of flushes|flushes a second)' || because "it ended with $code and said: $(echo "$said" | tail -n 20)"
  umount /mnt/fit
  conclude "fit/etcd on a disk of $name"
}

# delayed MILLISECONDS RUNTIME
delayed() {
  dmsetup create rig-slow --table "0 $(sectors nullb0) delay /dev/nullb0 0 $1"
  etcd "$1 ms" "$2" "$1" /dev/mapper/rig-slow mkfs.xfs -q -f
  dmsetup remove rig-slow
}
delayed 1 61s
delayed 5 20s
delayed 12 20s
remove_null_blk nullb0
# A flush is two requests there, so that two follow each other by 33 ms: a FAIL by a limit of the volume.
etcd "60 requests a second" 20s 16 "$(disk SLOW)" mkfs.xfs -q -f
