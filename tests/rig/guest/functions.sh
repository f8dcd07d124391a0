# Everything volproof promises about real devices, in one boot. Nothing here asserts a time.
#
# `cases` in this folder, when there, names the ones to run.
. ./check.sh
. ./devices.sh

for case in $(cat cases 2>/dev/null || echo topology guard errors stall restore unplug nine); do
  note "$case"
  . "./$case.sh"
done
echo end >&3
