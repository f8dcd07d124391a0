# Runs that end by themselves: a panic, an abort, a fatal signal, a call that fails.
#
# The program has no hook for this: strace makes single system calls of the released program fail. (Every call in turn is
# for tests/machine/tune/steps.rs on the host, which is a hundred times as fast.)
. ./knobs.sh
entry=/sys/block/${first##*/}
told=/tmp/said-${first##*/}
way=run

# strike OPTION...: from now on strace meddles with the main thread of the running program.
strike() {
  strace -qq -o /tmp/strace -p $pid "$@" & tracer=$!
  until_true 20 grep -qE '^TracerPid:.[1-9]' /proc/$pid/status || because "strace could not attach"
}
# dies CODE PATTERN: the running program ends by itself, like this.
dies() {
  if until_true 60 ended $pid; then
    wait $pid; code=$?
  else
    code="none, it goes on"; kill -9 $pid
  fi
  wait $tracer
  cat "$told" /tmp/strace
  [ "$code" = "$1" ] || because "exit code $code instead of $1"
  says "$(cat "$told")" "$2" || because "it did not say '$2': $(tail -n 2 "$told")"
}

# A folder that cannot be closed is a panic of Rust's library, here of the thread that watches the load.
started "$first" 600
strike -P /proc/$pid/task -e trace=close -e inject=close:error=EIO
dies 101 "panicked"
put_back "crash/run: a panic while the load runs"
way=tune
started "$first" 600
strike -e trace=nanosleep,clock_nanosleep -e inject=nanosleep,clock_nanosleep:error=EPERM
dies 101 "panicked"
put_back "crash/tune: a panic while the values are held"
way=run

# meddled CODE PATTERN OPTION...: a short run under strace, all its threads.
meddled() {
  wanted=$1 pattern=$2; shift 2
  wants "$wanted" "$pattern" strace -f -qq -o /tmp/strace "$@" \
    volproof run "$first" $load --numjobs 2 --runtime 200ms --json /tmp/record
}
# Under a rate a worker sleeps until the next I/O is due, and panics where it cannot.
unpaced=$load
load="$load --rate-iops 100"
meddled 7 "panicked" -e trace=nanosleep,clock_nanosleep -e inject=nanosleep,clock_nanosleep:error=EPERM
load=$unpaced
put_back "crash/run: a worker panics"
meddled 2 "thread could not be started" -e trace=clone,clone3 -e inject=clone,clone3:error=EAGAIN
put_back "crash/run: no thread can be started"

# Nothing unwinds here: the values stay until the next start of any subcommand. (The library's own handler takes the first
# SIGSEGV for a stack overflow and waits for it to come again.)
for signal in ABRT SEGV KILL; do
  started "$first" 600
  struck() { kill -$signal $pid; sleep 0.2; ended $pid; }
  until_true 20 struck || because "it goes on"
  wait $pid
  code=$?
  [ $code -gt 128 ] || because "exit code $code"
  tuned "$first" || because "the values were back already: this shows nothing"
  wants 0 "" volproof presets
  put_back "crash/run: SIG$signal, and the next start"
done

# A value that the kernel refuses to take back is told with exit code 4 and the command, and is not forgotten.
by_hand="echo 1 > /sys/block/${first##*/}/queue/rq_affinity"
started "$first" 600
strike -P "$entry/queue/rq_affinity" -e trace=write -e inject=write:error=EIO
kill -INT $pid
dies 4 "$by_hand"
tuned "$first" || because "rq_affinity is back, although it could not be written"
wants 4 "$by_hand" strace -f -qq -o /tmp/strace -P "$entry/queue/rq_affinity" -e trace=write -e inject=write:error=EIO volproof restore
wants 0 "rq_affinity" volproof restore
put_back "crash/run: what cannot be put back"

usual_knobs
