# Nine disks with values that nobody sets by default, what a run makes of them, and whether they came back.
disks=
for n in 1 2 3 4 5 6 7 8 9; do disks="$disks $(disk NINE$n)"; done
modprobe -q kyber-iosched

# Every file of the queues and what else a run may tune, as one text; by few processes, because this is asked often and each
# costs a guest 10 ms.
knobs() {
  find $(for device in $disks; do echo "/sys/block/${device##*/}/queue/"; done) -type f | sort |
    xargs grep -sH '' /proc/sys/fs/aio-max-nr
}
set_knobs() {
  for device in $disks; do
    queue=/sys/block/${device##*/}/queue
    echo "$1" >"$queue/scheduler"
    echo "$2" >"$queue/rq_affinity"
    echo "$3" >"$queue/nomerges"
    echo "$4" >"$queue/add_random"
  done
}
usual_knobs() { set_knobs none 1 0 0; }

# Not what the kernel begins with, so that putting back defaults is seen too.
set_knobs kyber 1 1 1
for device in $disks; do
  # These two are reset when a scheduler is written.
  echo 77 >"/sys/block/${device##*/}/queue/nr_requests"
  echo 1234567 >"/sys/block/${device##*/}/queue/iosched/read_lat_nsec"
done
knobs >/tmp/before
cat /tmp/before
first=${disks# }; first=${first%% *}
load="--rw randread --bs 4k --iodepth 4 --tune on"

# put_back NAME: every knob is as before.
put_back() {
  knobs >/tmp/after
  if cmp -s /tmp/before /tmp/after; then
    conclude "$1"
  else
    because "$(diff /tmp/before /tmp/after | grep '^[-+][^-+]' | head -n 6 | tr '\n' ' ')"
    conclude "$1"
    volproof restore >/dev/null 2>&1
  fi
}
tuned() { [ "$(cat "/sys/block/${1##*/}/queue/rq_affinity")" = 2 ]; }
# start DEVICE SECONDS: tunes it in the background, the way that $way says: by a run, or by `tune`,
# which holds the values until it is told to stop.
start() {
  case $way in
    run) exec volproof run "$1" $load --runtime "$2" --json "/tmp/record-${1##*/}" ;;
    tune) exec volproof tune "$1" ;;
  esac >"/tmp/said-${1##*/}" 2>&1 &
  pid=$!
}
started() {
  start "$1" "$2"
  until_true 20 tuned "$1" || because "rq_affinity was never 2: $(tail -n 2 "/tmp/said-${1##*/}")"
}
stopped() { kill -INT $1; wait $1; }
