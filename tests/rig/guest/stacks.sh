# Random stacks of all that the guest's kernel has, judged by the guard as by the plain model of tests/machine/guard/stacks.rs.
modprobe -a dm-crypt raid0 raid1 bcache btrfs virtio_scsi sd_mod

# The paths to one volume have one world-wide name.
paths=$(grep -l naa.5000c500a1b2c3d4 /sys/block/sd*/device/wwid | sed 's,/sys/block/\(sd[a-z]*\)/.*,/dev/\1,' | tr '\n' '=')
read -r many seed <stacks
VOLPROOF_LAYERS=1 VOLPROOF_STACKS=$many VOLPROOF_SEED=$seed \
  VOLPROOF_DISKS="$(disk VB0) $(disk PATHS) ${paths%=}" \
  stacks --exact guard::stacks::random_stacks_are_judged_as_a_plain_model_does --nocapture >/tmp/stacks 2>&1
code=$?
cat /tmp/stacks
[ $code = 0 ] || because "$(grep -m1 -A3 'panicked' /tmp/stacks | tr '\n' ' ')"
note "$(grep 'writes allowed' /tmp/stacks)"
conclude guard/stacks
