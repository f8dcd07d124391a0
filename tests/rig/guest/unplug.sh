# A disk that goes away: the run ends by itself, keeps what it had, and nothing is left behind.
load="--rw randread --bs 4k --iodepth 4 --runtime 600"

reads() { awk '{print $1}' "/sys/block/${1##*/}/stat"; }
works() { [ "$(reads "$1")" -gt $(($2 + 100)) ]; }
gone() { [ ! -e "/sys/block/${1##*/}" ]; }

# unplugged NAME DEVICE REMOVE: the file that removes it when 1 is written to it
unplugged() {
  name=unplug/$1 device=$2 remove=$3
  before=$(reads "$device")
  rm -f out/unplug.json
  volproof run "$device" $load --json out/unplug.json >/tmp/unplug 2>&1 & pid=$!
  until_true 20 works "$device" "$before" || because "the run did not start"
  echo 1 >"$remove"
  if until_true 60 ended $pid; then
    wait $pid
    code=$?
    [ $code = 7 ] || [ $code = 4 ] || because "exit code $code"
    says "$(cat /tmp/unplug)" "${device##*/}" || because "the disk is not named"
    jq -e '.steps[0].read.ios > 0' out/unplug.json >/dev/null || because "what was measured before is lost"
  else
    kill -9 $pid
    because "the run did not end"
  fi
  cat /tmp/unplug
  until_true 10 gone "$device" || because "the disk is still there"
  wants 0 "" volproof presets
  wants 0 "" volproof restore
  conclude "$name"
}

device=$(scsi_disk)
unplugged scsi "$device" "/sys/block/${device##*/}/device/delete"
for host in /sys/class/scsi_host/*; do echo "- - -" >"$host/scan"; done
until_true 10 scsi_disk || fail unplug/scsi-again "the disk did not come back"
device=$(disk NV1) controller=$(basename "${device%n*}")
unplugged nvme "$device" "/sys/class/nvme/$controller/device/remove"

if can run --tune unplug/before-restore; then
  # Killed while tuned, then unplugged: the next start puts back what is there, without a fuss
  # about what is not.
  device=$(scsi_disk) other=$(disk NINE1)
  knobs() { cat "/sys/block/${other##*/}/queue/rq_affinity"; }
  tuned() { [ "$(knobs)" = 2 ]; }
  before=$(knobs)
  volproof run "$device" "$other" $load --tune on --quiet >/tmp/unplug 2>&1 & pid=$!
  until_true 20 tuned || because "rq_affinity was never 2"
  kill -9 $pid
  wait $pid
  echo 1 >"/sys/block/${device##*/}/device/delete"
  until_true 10 gone "$device"
  volproof restore >/tmp/unplug 2>&1
  code=$?
  cat /tmp/unplug
  [ $code = 0 ] || [ $code = 4 ] || because "restore ended with $code"
  [ "$(knobs)" = "$before" ] || because "the disk that is there was not put back"
  wants 0 "" volproof restore
  conclude unplug/before-restore

  # Unplugged while its value is being put back: strace holds the very write until the disk is gone. (-D: restore is the shell's own
  # child, and goes on when strace is killed.)
  for host in /sys/class/scsi_host/*; do echo "- - -" >"$host/scan"; done
  until_true 10 scsi_disk || because "the disk did not come back"
  device=$(scsi_disk) before=$(knobs)
  volproof tune --keep "$device" "$other" >/tmp/keep 2>&1 || because "not tuned"
  queue=/sys/block/${device##*/}/queue
  strace -D -qq -o /tmp/strace -P "$queue/rq_affinity" -e trace=write -e inject=write:delay_enter=3600s \
    volproof restore >/tmp/unplug 2>&1 & pid=$!
  # The call under way is number 1, write, and its first argument is the file.
  writes() {
    read -r call file rest <"/proc/$pid/syscall"
    [ "$call" = 1 ] && readlink "/proc/$pid/fd/$((file))" | grep -q 'queue/rq_affinity$'
  }
  until_true 20 writes || because "restore did not come to rq_affinity"
  tuned || because "the other disk was put back before: nothing was left to do"
  echo 1 >"$queue/../device/delete"
  until_true 10 gone "$device" || because "the disk is still there"
  writes || because "the write did not wait for the disk to go"
  kill -9 "$(sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$pid/status")"
  wait $pid || because "restore ended with $?"
  cat /tmp/unplug
  says "$(cat /tmp/unplug)" "${device##*/}.*(gone|no longer|another)" || because "the disk that is gone is not named"
  [ "$(knobs)" = "$before" ] || because "the disk that is there was not put back"
  wants 0 "nothing" volproof restore
  conclude unplug/during-restore
fi
