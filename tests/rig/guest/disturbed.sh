# What the kernel changes beside the file that is written: for every knob and scheduler of each kind of disk, it is no more
# than what volproof journals before it writes that knob.
modprobe -q kyber-iosched
modprobe -q bfq

files() { find "$queue/" -type f | sort | xargs grep -sH ''; }

# listed KIND DEVICE
listed() {
  entry=$(path "$2") queue=$(path "$2")/queue changes=0
  files >/tmp/begin
  schedulers=$(tr -d '[]' <"$queue/scheduler")
  for scheduler in $schedulers; do
    echo "$scheduler" >"$queue/scheduler"
    volproof tune --dry-run --json "$2" >/tmp/settings.json || because "tune --dry-run ended with $?"
    for pair in $(printf 'scheduler=%s ' $schedulers) rq_affinity=0 nomerges=2 nr_requests=32 wbt_lat_usec=0 add_random=1 \
      add_random=0; do
      knob=${pair%%=*}
      [ -e "$queue/$knob" ] || continue
      # Not what the kernel begins with, so that a reset is seen.
      {
        echo "$scheduler" >"$queue/scheduler"
        echo 55 >"$queue/nr_requests"
        echo 4321 >"$queue/wbt_lat_usec"
        echo 96 >"$queue/read_ahead_kb"
      } 2>/dev/null
      files >/tmp/one
      echo "${pair#*=}" 2>/dev/null >"$queue/$knob"
      files >/tmp/other
      jq -r --arg knob "$knob" '.knobs[] | select(.knob == $knob) | .path, .disturbs[]' /tmp/settings.json >/tmp/named
      for file in $(diff /tmp/one /tmp/other | sed -n 's/^-\(\/[^:]*\):.*/\1/p'); do
        changes=$((changes + 1))
        grep -qxF "$file" /tmp/named || because "under $scheduler, $pair changed $file"
      done
    done
  done
  [ $changes -gt 5 ] || because "only $changes changes were seen: this shows nothing"
  # As it was, for the cases after this one: the scheduler first.
  sed -n 's/.*\/scheduler:.*\[\(.*\)\].*/\1/p' /tmp/begin >"$queue/scheduler"
  sed 's/:.*//' /tmp/begin | while read -r file; do
    value=$(sed -n "s|^$file:||p" /tmp/begin)
    case $value in *\[*) continue ;; esac
    [ "$(cat "$file")" = "$value" ] || echo "$value" >"$file"
  done 2>/dev/null
  conclude "disturbed/$1"
}

listed virtio "$(disk NINE1)"
listed scsi "$(scsi_disk)"
listed nvme "$(disk NV0)"
null_blk nullb0 submit_queues=2 queue_mode=2 size=64 || because "null_blk could not be made"
listed null_blk /dev/nullb0
remove_null_blk nullb0
