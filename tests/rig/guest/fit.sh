# The needs of etcd on a filesystem whose disk delays every request by 1, 5 and 12 ms. A flush is a write of data and one of the filesystem's log
# at least, so that 5 ms are too slow for a p99 of 10 ms, and 12 ms are by far.
modprobe -q xfs
null_blk nullb0 queue_mode=2 memory_backed=1 size=400
mkdir -p /mnt/fit

# etcd MILLISECONDS RUNTIME: the answer to the need of the p99 on such a disk.
etcd() {
  delay=$1 record=out/fit-$1.json
  dmsetup create rig-slow --table "0 $(sectors nullb0) delay /dev/nullb0 0 $delay"
  mkfs.xfs -q -f /dev/mapper/rig-slow && mount /dev/mapper/rig-slow /mnt/fit || because "there is no filesystem"
  said=$(volproof fit /mnt/fit --for etcd --runtime "$2" --json "$record" 2>&1); code=$?
  echo "$said"
  answer=$(jq -r '.verdict.claims[] | select(.need.figure == "p99 of flushes") | "\(.outcome) \(.measured / 1e6)"' "$record")
  flushes=$(jq '.steps[0].sync.ios' "$record")
  note "fit: at $delay ms the p99 of $flushes flushes is ${answer#* } ms: ${answer% *}"
  awk "BEGIN {exit !(${answer#* } >= $delay)}" || because "the p99 is ${answer#* } ms on a disk of $delay ms"
  # The program may be late on a busy host, and never early.
  case $answer in
    pass*) awk "BEGIN {exit !(${answer#* } < 10 && $delay < 5)}" || because "PASS at ${answer#* } ms" ;;
    fail*) awk "BEGIN {exit !(${answer#* } > 10)}" || because "FAIL at ${answer#* } ms" ;;
    # A guest on a busy host does too few flushes, or at too uneven a pace, for an answer.
    inconclusive*) note "fit: $(jq -r '[.verdict.claims[] | select(.need.figure == "p99 of flushes") | .reason] | first' "$record")" ;;
    *) because "$answer" ;;
  esac
  says "$said" 'for etcd \(minimum\): (p99 of flushes|flushes a second)' || because "it ended with $code and said: $(echo "$said" | tail -n 20)"
  umount /mnt/fit
  dmsetup remove rig-slow
  conclude "fit/etcd on a disk of $delay ms"
}
etcd 1 6s
etcd 5 6s
etcd 12 40s
remove_null_blk nullb0
