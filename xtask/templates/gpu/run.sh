#!/bin/bash
# Runs what `cargo xtask gpu-pack` has put beside this script, on a machine with GPUs. plan.txt lists the programs.
usage="usage: run.sh [OPTIONS] STAGE...
  STAGE            a suite and how PEs share GPUs: see run.sh --list; info: what machine this is;
                   build: compiles the programs that are not in the pack;
                   bench: dushbench gpu, with arguments behind a --
  --out DIR        folder for results and logs (\$OUT, or ./out)
  --budget SECONDS nothing new is started after so many (540)
  --grace SECONDS  what still runs so many later is ended (20)
  --limit SECONDS  no program runs longer, whatever the plan says
  --jobs N         programs that run at the same time; a measurement always runs alone (a quarter of the CPUs, at most 4)
  --contexts N     PEs that run at the same time, since the driver takes turns at making and ending their contexts; a program
                   with more of them runs alone, and so does one whose PEs are threads (8)
  --daemons HOW    of MPS: each, one for each of them, so that one that fails takes no other with it; or one for all (each)
  --only REGEX     only lines that match: SUITE-MODE PROGRAM ARGUMENTS
  --skip REGEX     none that match
  --done FILE      results.tsv of a call before: what was right there is not run again, and stands in the table, too"
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/parts.sh"
out=${OUT:-$PWD/out} budget=540 grace=20 most='' jobs=0 contexts=8 daemons=each only=. skip='' stages=() earlier=()
while (($#)); do
  case $1 in
    --out) out=$2; shift ;;
    --budget) budget=$2; shift ;;
    --grace) grace=$2; shift ;;
    --limit) most=$2; shift ;;
    --jobs) jobs=$2; shift ;;
    --contexts) contexts=$2; shift ;;
    --daemons) daemons=$2; shift ;;
    --only) only=$2; shift ;;
    --skip) skip=$2; shift ;;
    --done) earlier+=("$2"); shift ;;
    --list) plan | awk -F'\t' '{ n = split($3, modes, ","); for (i = 1; i <= n; i++) print $2 "-" modes[i] }' | sort -u; exit ;;
    --help | -h) echo "$usage"; exit ;;
    --) shift; break ;;
    -*) echo "run.sh: there is no $1"; echo "$usage"; exit 2 ;;
    *) stages+=("$1") ;;
  esac
  shift
done
((${#stages[@]})) || { echo "$usage"; exit 2; }
((contexts > 0)) || { echo "run.sh: --contexts $contexts: 1 or more"; exit 2; }
case $daemons in each | one) ;; *) echo "run.sh: --daemons $daemons: each or one"; exit 2 ;; esac
((jobs > 0)) || { jobs=$(($(nproc) / 4)); jobs=$((jobs < 1 ? 1 : jobs > 4 ? 4 : jobs)); }

export PATH=$here/prefix/bin:$PATH:/usr/local/cuda/bin LD_LIBRARY_PATH=$here/prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
work=$(mktemp -d /tmp/dushmem-pack-XXXXXX)
logs=$work/logs results=$out/results.tsv
mkdir -p "$logs" "$work/hung" "$out"
cat "${earlier[@]}" /dev/null >"$work/earlier.tsv" || exit 2
: >"$results"
: >"$out/failures.txt"
start=$SECONDS bad=0

# Slots that programs run in: a token is the number of a free one. And a token for each PE that may run.
mkfifo "$work/slots" "$work/room"
exec {slots}<>"$work/slots" {room}<>"$work/room"
for ((pe = 0; pe < contexts; pe++)); do echo >&"$room"; done

finish() {
  trap - EXIT INT TERM
  local pids
  pids=$(jobs -p)
  # shellcheck disable=SC2086
  [ -z "$pids" ] || { kill $pids 2>/dev/null; wait $pids 2>/dev/null; }
  for slot in $(seq 0 "$jobs"); do mps_stop "$slot"; done
  find "$logs" -type f -size +200k -exec sh -c '{ head -c 50000 "$1"; echo; echo "[...]"; tail -c 100000 "$1"; } >"$1.cut" && mv "$1.cut" "$1"' _ {} \;
  tables
  tar czf "$out/logs.tgz" -C "$logs" . 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The programs of a stage, those with few PEs first: what hangs with few hangs with many. To standard output:
# line of the plan, PEs, suite, mode, seconds, program, words.
items() {
  local suite=${1%-*} mode=${1##*-}
  plan | awk -F'\t' -v suite="$suite" -v mode="$mode" -v gpus="$(gpus)" '
    $2 == suite && index("," $3 ",", "," mode ",") {
      n = split($4, pes, ",")
      for (i = 1; i <= n; i++) {
        if (mode == "each" && (pes[i] < 2 || pes[i] > gpus)) continue
        if (mode ~ /^pairs/ && (gpus < 2 || pes[i] != 2 * gpus)) continue
        print $1 "\t" pes[i] "\t" suite "\t" mode "\t" $5 "\t" $6 "\t" $7
      }
    }' | sort -s -t"$(printf '\t')" -k2,2n
}

stage() {
  local suite=${1%-*} mode=${1##*-} from=$SECONDS slot count=$jobs here_at line n program limit words name weight pe
  plan | awk -F'\t' -v suite="$suite" -v mode="$mode" '$2 == suite && index("," $3 ",", "," mode ",") { found = 1 } END { exit !found }' ||
    { echo "FAIL $1: the plan has no such stage"; bad=1; return; }
  case $suite in measure | proxy) count=1 ;; esac
  under_mps "$mode" && mps_begin "$count"
  for ((slot = 0; slot < count; slot++)); do echo "$slot" >&"$slots"; done
  while IFS=$'\t' read -r line n _ _ limit program words; do
    name="$1 $program $words"
    [[ $name =~ $only ]] || continue
    [ -z "$skip" ] || ! [[ $name =~ $skip ]] || continue
    was_right "$1" "$program" "$words" "$n" && continue
    read -r -u "$slots" slot
    # A daemon that all use is started again when nobody uses it.
    if [ -e "$work/restart" ]; then
      for ((here_at = 1; here_at < count; here_at++)); do read -r -u "$slots" _; done
      rm -f "$work/restart"
      mps_stop 0
      mps_start 0
      for ((here_at = 0; here_at < count; here_at++)); do [ "$here_at" = "$slot" ] || echo "$here_at" >&"$slots"; done
    fi
    weight=$n
    if [ "$mode" = threads ] || ((weight > contexts)); then weight=$contexts; fi
    for ((pe = 0; pe < weight; pe++)); do read -r -u "$room" _; done
    (
      trap - EXIT
      one "$slot" "$count" "$line" "$1" "$mode" "$n" "$limit" "$program" "$words"
      for ((pe = 0; pe < weight; pe++)); do echo >&"$room"; done
      echo "$slot" >&"$slots"
    ) &
  done < <(items "$1")
  for ((slot = 0; slot < count; slot++)); do read -r -u "$slots" _; done
  wait
  under_mps "$mode" && for ((slot = 0; slot < count; slot++)); do mps_stop "$slot"; done
  awk -F'\t' -v stage="$1" -v took=$((SECONDS - from)) '
    $1 == stage { n[$6]++; all++ }
    END {
      printf "==== %s: %d right, %d wrong, %d not run; %d s\n", stage, n["ok"], n["FAIL"] + n["HANGS"] + n["missing"], n["not run"], took
      exit n["ok"] != all
    }' "$results" || bad=1
}

# Compiles what is missing, as many at a time as there are CPUs.
build() {
  local name words from=$SECONDS peers=nccl given
  mkdir -p "$here/programs"
  while read -r name words; do
    [ -x "$here/programs/$name" ] && continue
    [[ $name =~ $only ]] || continue
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
    (
      trap - EXIT
      cd "$here/src" || exit
      # shellcheck disable=SC2086
      dushcc $words -o "$here/programs/$name" >"$logs/build.$name.log" 2>&1 || echo "FAIL build $name: $(grep -m1 -i error "$logs/build.$name.log")"
    ) &
  done < <(awk '{ print ($1 ~ /^(names|coll)/ ? 0 : 1), $0 }' "$here/build.txt" | sort -s -k1,1n | cut -d' ' -f2-)
  if [[ bench =~ $only ]]; then
    mapfile -t given < <(others)
    case " ${given[*]} " in *' --nvshmem '*) peers=nvshmem,nccl ;; esac
    (
      trap - EXIT
      dushbench gpu --build-only --programs "$here/programs" --peer "$peers" "${given[@]}" >"$logs/build.bench.log" 2>&1 ||
        { echo "FAIL build bench:"; tail -3 "$logs/build.bench.log"; }
    ) &
  fi
  wait
  echo "==== build: $(find "$here/programs" -type f | wc -l) programs; $((SECONDS - from)) s"
}

# The libraries beside each other in one run. The others are the machine's.
bench() {
  local given left=$((budget - SECONDS + start))
  mapfile -t given < <(others)
  timeout -k 10 $((left + 20)) dushbench gpu --programs "$here/programs" --out "$out" --budget $((left > 90 ? left - 90 : 1)) --limit 90 "${given[@]}" "$@" 2>&1 | tee "$logs/bench.txt"
  [ "${PIPESTATUS[0]}" -le 1 ] || bad=1
}

for name in "${stages[@]}"; do
  case $name in
    info) info | tee "$logs/info.txt" | head -60 ;;
    build) build ;;
    bench) bench "$@" ;;
    *) stage "$name" ;;
  esac
done
[ -s "$out/failures.txt" ] && head -c 7000 "$out/failures.txt"
echo "==== all: $((SECONDS - start)) s"
exit $bad
