# Everything volproof promises about real devices, in one boot. Nothing here asserts a time.
#
# `cases` in this folder, when there, names the ones to run, and `from` the one to begin with.
. ./check.sh
. ./devices.sh

from=$(cat from 2>/dev/null)
for case in $(cat cases 2>/dev/null || echo topology placement guard errors stall fit disturbed restore crash unplug nine outputs faults anatomy stacks); do
  [ -z "$from" ] || [ "$case" = "$from" ] || continue
  from=
  note "$case, after $SECONDS s"
  [ -e "./$case.sh" ] || fail "$case" "there is no such case"
  . "./$case.sh"
done
echo end >&3
