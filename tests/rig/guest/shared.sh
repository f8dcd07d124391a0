# One of two guests that have one disk. The host answers on the port `clock` (see tests/rig/shared). The file `rank` has the number of this guest.
. ./check.sh
rank=$(cat rank)
hostname "guest$rank"
disk=/dev/vda
# How far the clock may be off: below the hundredth of the window from which on a fleet is invalid.
error_us=200000
exec 4<>/dev/virtio-ports/clock

ask() { echo "$1" >&4; read -r answer <&4; }
# off: by how many microseconds the host's clock is ahead of this one, and how wrong that may be: the shortest of 32 round trips.
off() {
  wrong_us=
  for _ in $(seq 32); do
    sent=${EPOCHREALTIME/./}
    ask time
    came=${EPOCHREALTIME/./}
    trip=$(((came - sent) / 2))
    [ -z "$wrong_us" ] || [ $trip -lt "$wrong_us" ] || continue
    wrong_us=$trip off_us=$((answer - (sent + came) / 2))
  done
}
# Whether the clock is right by what is said of it.
right() { off; [ $((${off_us#-} + wrong_us)) -le $error_us ]; }
set_right() {
  off
  to=$((${EPOCHREALTIME/./} + off_us))
  date -s "@$((to / 1000000)).$(printf %06d $((to % 1000000)))"
  right
}
until_true 10 set_right || because "the clock is off by $off_us us, wrong by $wrong_us us at most"

begun() { ask begin; [ "$answer" != wait ]; }
until_true 30 begun || because "the other guest is not there"

# 1,200 in flight on both are half a second of the greater promise that the host holds them against: no load shows more.
[ -n "$why" ] ||
  wants 0 'IOPS' volproof run $disk --rw randread --bs 4k --iodepth 600 --runtime 63s --start-at "$answer" --rank "$rank/2" --shared \
    --clock-error "$((error_us / 1000))ms" --precondition fill --destroy SHARED --no-live --json out/record.json
right || because "the clock went wrong: off by $off_us us, wrong by $wrong_us us at most"
conclude "shared/rank $rank fills and measures its part"
echo end >&3
