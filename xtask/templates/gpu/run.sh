#!/bin/bash
# Runs what `cargo xtask gpu-pack` has put beside this script, on a machine with a GPU. plan.txt lists the programs.
usage="usage: run.sh [--out DIR] [--budget SECONDS] [--only REGEX] STAGE...
  STAGE            a suite and how PEs share the GPU: see run.sh --list; info: what machine this is;
                   build: compiles the programs that are not in the pack;
                   bench: dushbench gpu, with arguments behind a --
  --out DIR        folder for logs and results (\$OUT, or ./out)
  --budget SECONDS nothing new is started after so many (570)
  --only REGEX     only programs whose name matches"
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$PWD/out} budget=570 only=. stages=()
while (($#)); do
  case $1 in
    --out) out=$2; shift ;;
    --budget) budget=$2; shift ;;
    --only) only=$2; shift ;;
    --list) awk '!/^#/ && NF { n = split($2, modes, ","); for (i = 1; i <= n; i++) print $1 "-" modes[i] }' "$here/plan.txt" | uniq | sort -u; exit ;;
    --help | -h) echo "$usage"; exit ;;
    --) shift; break ;;
    -*) echo "run.sh: there is no $1"; echo "$usage"; exit 2 ;;
    *) stages+=("$1") ;;
  esac
  shift
done
((${#stages[@]})) || { echo "$usage"; exit 2; }

export PATH=$here/prefix/bin:$PATH:/usr/local/cuda/bin LD_LIBRARY_PATH=$here/prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
work=$(mktemp -d /tmp/dushmem-pack-XXXXXX)
logs=$work/logs
mkdir -p "$logs" "$out"
start=$SECONDS
summary=$out/summary.txt
: >"$summary"
: >"$out/failures.txt"
say() { echo "$*" | tee -a "$summary"; }

# A daemon of MPS of our own, in a private folder.
mps_start() {
  export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps-log
  mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
  nvidia-cuda-mps-control -d || say "FAIL  nvidia-cuda-mps-control -d: exit $?"
}
mps_stop() {
  [ -n "${CUDA_MPS_PIPE_DIRECTORY:-}" ] || return 0
  local servers
  servers=$(echo get_server_list | timeout 5 nvidia-cuda-mps-control 2>/dev/null)
  echo quit -t 5 | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1
  # A server that a hung client keeps does not go by itself.
  for pid in $servers; do kill -9 "$pid" 2>/dev/null; done
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
finish() {
  mps_stop
  tar czf "$out/logs.tgz" -C "$logs" . 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT

# run LOG LIMIT COMMAND...: exit code in $code, seconds in $took.
run() {
  local log=$1 limit=$2 from=$EPOCHREALTIME
  shift 2
  timeout -k 5 "$limit" "$@" >"$log" 2>&1 </dev/null
  code=$?
  took=$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
}

# Whether a log and an exit code are what the plan says.
right() {
  local log=$1 code=$2 kind=$3 words=$4
  case $kind in
    fails) [ "$code" != 0 ] && [ "$code" != 124 ] && [ "$code" != 137 ] && grep -qF -- "$words" "$log" ;;
    ring) [ "$code" = 0 ] && [ "$(grep -cE '^PE ([0-9]+): received ([0-9]+), expected \2$' "$log")" = "$words" ] ;;
    *) [ "$code" = 0 ] && grep -qF -- "$words" "$log" ;;
  esac
}

# line MODE SUITE PES LIMIT PROGRAM WORDS...: one line of the plan.
line() {
  local mode=$1 suite=$2 pes=$3 limit=$4 program=$5
  shift 5
  local settings=() arguments=() kind=says words="all right" wrap=() direct='' part=settings
  for word in "$@"; do
    case $part:$word in
      settings:memcheck) wrap=(compute-sanitizer --tool memcheck --error-exitcode 99 --target-processes all) ;;
      settings:alone) direct=yes ;;
      *:--) part=arguments ;;
      *:says | *:fails | *:ring) part=words kind=$word words='' ;;
      settings:*) settings+=("$word") ;;
      arguments:*) arguments+=("$word") ;;
      words:*) words+="${words:+ }$word" ;;
    esac
  done
  local told="" failed=0 n log command
  for n in ${pes//,/ }; do
    if ((SECONDS - start > budget)); then told+=" n=$n:not-run"; skipped=$((skipped + 1)); continue; fi
    log=$logs/$suite-$mode.$program.${arguments[*]:+$(echo "${arguments[*]}" | tr -c 'a-zA-Z0-9\n' _).}$n.log
    [ -e "$log" ] && log=${log%.log}.$RANDOM.log
    command=(env "${settings[@]}")
    [ -n "$direct" ] || command+=(dushrun -n "$n")
    command+=("${wrap[@]}" "$here/programs/$program" "${arguments[@]//@n/$n}")
    run "$log" "$limit" "${command[@]}"
    [ $kind = ring ] && words=$n
    if right "$log" "$code" "$kind" "$words"; then
      told+=" $n:${took}s"
      passed=$((passed + 1))
    else
      told+=" $n:FAIL(exit $code, ${took}s)"
      failed=1 failures=$((failures + 1))
      { echo "---- $suite-$mode $program ${arguments[*]} n=$n ${settings[*]}: exit $code after ${took}s, wanted: $kind $words"
        grep -v '^$' "$log" | head -c 1500 | head -n 12; } >>"$out/failures.txt"
      # What hangs with few PEs hangs with many; and its processes may have left MPS in a bad state.
      if [ "$code" = 124 ] || [ "$code" = 137 ]; then
        [ "$mode" = mps ] && { mps_stop; mps_start; }
        hangs=$((hangs + 1))
        break
      fi
    fi
  done
  local verdict=ok
  ((failed)) && verdict=FAIL
  say "$(printf '%-4s %-14s %s' $verdict "$suite-$mode" "$program${arguments[*]:+ ${arguments[*]}}${settings[*]:+ (${settings[*]})}:$told")"
}

stage() {
  local suite=${1%-*} mode=${1##*-} found=0 from=$SECONDS
  passed=0 failures=0 skipped=0 hangs=0
  [ "$mode" = mps ] && mps_start
  while read -r -a words; do
    [ ${#words[@]} -ge 5 ] && [ "${words[0]}" = "$suite" ] || continue
    [[ ,${words[1]}, == *,$mode,* ]] || continue
    found=1
    [[ ${words[4]} =~ $only ]] || continue
    if [ ! -x "$here/programs/${words[4]}" ]; then say "FAIL $1 ${words[4]}: not in this pack"; failures=$((failures + 1)); continue; fi
    if ((hangs >= 5)); then skipped=$((skipped + 1)); continue; fi
    line "$mode" "$suite" "${words[@]:2}"
  done < <(grep -v '^#' "$here/plan.txt")
  [ "$mode" = mps ] && mps_stop
  ((found)) || { say "FAIL $1: the plan has no such stage"; failures=1; }
  say "==== $1: $passed right, $failures wrong, $skipped not run; $((SECONDS - from)) s"
  ((failures + skipped == 0)) || bad=1
}

# Compiles what is missing, as many at a time as there are CPUs.
build() {
  local name words from=$SECONDS nvshmem
  mkdir -p "$here/programs"
  while read -r name words; do
    [ -x "$here/programs/$name" ] && continue
    [[ $name =~ $only ]] || continue
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
    (
      cd "$here/src" || exit
      # shellcheck disable=SC2086
      dushcc $words -o "$here/programs/$name" >"$logs/build.$name.log" 2>&1 || echo "FAIL build $name: $(grep -m1 -i error "$logs/build.$name.log")"
    ) &
  done < <(awk '{ print ($1 ~ /^(names|coll)/ ? 0 : 1), $0 }' "$here/build.txt" | sort -s -k1,1n | cut -d' ' -f2-)
  nvshmem=$(wheel)
  for peer in none ${nvshmem:+nvshmem}; do
    [[ bench =~ $only ]] || continue
    dushbench gpu --build-only --programs "$here/programs" --peer $peer ${nvshmem:+--nvshmem "$nvshmem"} >"$logs/build.$peer.log" 2>&1 || { echo "FAIL build bench ($peer):"; tail -3 "$logs/build.$peer.log"; } &
  done
  wait
  say "==== build: $(find "$here/programs" -type f | wc -l) programs; $((SECONDS - from)) s"
}

# Where the machine's NVSHMEM is.
wheel() { python3 -c 'import nvidia.nvshmem as n; print(list(n.__path__)[0])' 2>/dev/null; }

info() {
  {
    nvidia-smi --query-gpu=name,uuid,driver_version,memory.total,compute_mode --format=csv,noheader
    uname -srm
    ldd --version | head -1
    nproc
    dushinfo
  } 2>&1 | tee "$out/info.txt" | head -60
}

# Both libraries in one run. NVSHMEM is the machine's wheel.
bench() {
  local nvshmem left=$((budget - SECONDS + start))
  nvshmem=$(wheel)
  timeout -k 10 $((left + 20)) dushbench gpu --programs "$here/programs" --out "$out" --budget $((left > 60 ? left - 60 : 1)) --limit 60 ${nvshmem:+--nvshmem "$nvshmem"} "$@" 2>&1 | tee "$out/bench.txt"
  [ "${PIPESTATUS[0]}" -le 1 ] || bad=1
}

bad=0
for name in "${stages[@]}"; do
  case $name in
    info) info ;;
    build) build ;;
    bench) bench "$@" ;;
    *) stage "$name" ;;
  esac
done
[ -s "$out/failures.txt" ] && head -c 7000 "$out/failures.txt"
echo "==== all: $((SECONDS - start)) s"
exit $bad
