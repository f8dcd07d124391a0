# Everything volproof promises about real devices, in one boot. Nothing here asserts a time.
#
# `cases` in this folder, when there, names the ones to run.
. ./check.sh
. ./devices.sh

for case in $(cat cases 2>/dev/null || echo topology placement guard errors stall fit disturbed restore crash unplug nine outputs stacks); do
  note "$case, after $SECONDS s"
  [ -e "./$case.sh" ] || fail "$case" "there is no such case"
  . "./$case.sh"
done
echo end >&3
