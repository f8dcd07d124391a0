# Nine disks driven together, each reported and all summed.
disks=
for n in 1 2 3 4 5 6 7 8 9; do disks="$disks $(disk NINE$n)"; done
# shellcheck disable=SC2086
wants 0 "" volproof run $disks --rw randread --bs 4k --iodepth 8 --runtime 3 --json out/nine.json
for device in $disks; do
  says "$said" "${device}" || because "$device is not in the report"
done
jq -e '.steps[0].read.ios > 0' out/nine.json || because "no sum in the Record"
conclude nine/sum
