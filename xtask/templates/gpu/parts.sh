# What run.sh is made of: the plan, daemons of MPS, one run of a program, tables.

# The lines of the plan: number, suite, modes, PEs, seconds, program, and the words behind them; by tabs.
plan() {
  awk '!/^#/ && NF >= 5 {
    words = ""
    for (i = 6; i <= NF; i++) words = words (i > 6 ? " " : "") $i
    print NR "\t" $1 "\t" $2 "\t" $3 "\t" $4 "\t" $5 "\t" words
  }' "$here/plan.txt"
}

# GPUs of this machine.
gpus() { echo "${GPUS:-$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')}"; }

# Where a wheel of NVIDIA's is on this machine: nvshmem, nccl.
wheel() { python3 -c "import nvidia.$1 as n; print(list(n.__path__)[0])" 2>/dev/null; }
# The options of dushbench for those that there are.
others() {
  local name at
  for name in nvshmem nccl; do
    at=$(wheel $name) && printf '%s\n%s\n' "--$name" "$at"
  done
}

info() {
  {
    nvidia-smi --query-gpu=name,uuid,driver_version,memory.total,compute_mode --format=csv,noheader
    nvidia-smi topo -m
    uname -srm
    ldd --version | head -1
    nproc
    dushinfo
  } 2>&1
}

under_mps() { case $1 in mps | pairsmps) ;; *) false ;; esac; }

# The daemon of a slot.
daemon_of() { [ "$daemons" = one ] && echo 0 || echo "$1"; }
mps_start() {
  local at=$work/mps$1
  mkdir -p "$at/pipe" "$at/log"
  # It keeps nothing of this script's open.
  CUDA_MPS_PIPE_DIRECTORY=$at/pipe CUDA_MPS_LOG_DIRECTORY=$at/log nvidia-cuda-mps-control -d \
    >"$at/said" 2>&1 </dev/null {slots}>&- {room}>&- || { echo "FAIL    nvidia-cuda-mps-control -d: exit $?: $(head -1 "$at/said")"; rm -rf "$at"; return 1; }
}
mps_stop() {
  local at=$work/mps$1 servers pid
  [ -d "$at" ] || return 0
  export CUDA_MPS_PIPE_DIRECTORY=$at/pipe CUDA_MPS_LOG_DIRECTORY=$at/log
  servers=$(echo get_server_list | timeout 5 nvidia-cuda-mps-control 2>/dev/null)
  echo quit -t 5 | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1
  # A server that a hung client keeps does not go by itself.
  for pid in $servers; do kill -9 "$pid" 2>/dev/null; done
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  rm -rf "$at"
}
# Daemons for that many slots.
mps_begin() {
  local slot
  for ((slot = 0; slot < $1; slot++)); do
    mps_start "$slot" || bad=1
    [ "$daemons" = each ] || break
  done
}

# Seconds, without a process that could be left behind.
pause() {
  [ -n "${idle:-}" ] || exec {idle}<> <(:)
  read -rt "$1" -u "$idle" _
}
microseconds() { echo "${EPOCHREALTIME//[.,]/}"; }

# What the processes of a session are doing.
doing() {
  local stat task line words
  for stat in /proc/[0-9]*/stat; do
    read -r line <"$stat" || continue
    # Behind the name, which may have blanks: state, parent, group, session.
    read -r -a words <<<"${line##*) }"
    [ "${words[3]}" = "$1" ] || continue
    for task in "${stat%stat}"task/*; do
      read -r line <"$task/stat" || continue
      read -r -a words <<<"${line##*) }"
      echo "     ${task##*/} $(cat "$task/comm") ${words[0]} $(cat "$task/wchan")"
    done
  done 2>/dev/null
}

# run LOG LIMIT COMMAND...: exit code in $code (124: it was ended), seconds in $took. Nothing of it is left.
run() {
  local log=$1 limit=$2 from until group
  shift 2
  from=$(microseconds)
  until=$((from + limit * 1000000))
  setsid "$@" >>"$log" 2>&1 </dev/null {slots}>&- {room}>&- &
  group=$!
  # shellcheck disable=SC2064
  trap "kill -KILL -- -$group 2>/dev/null; exit 143" TERM
  code=''
  while kill -0 "$group" 2>/dev/null; do
    pause 0.05
    (($(microseconds) > until)) || continue
    { echo "---- ended after $limit s; what its threads were doing:"; doing "$group"; } >>"$log"
    # dushrun says then what the PEs wait for.
    kill -TERM -- "-$group" 2>/dev/null
    until=$(($(microseconds) + 5000000))
    while kill -0 "$group" 2>/dev/null && (($(microseconds) < until)); do pause 0.05; done
    code=124
    break
  done
  kill -KILL -- "-$group" 2>/dev/null
  wait "$group" 2>/dev/null
  code=${code:-$?}
  trap - TERM
  took=$(awk -v a="$from" -v b="$(microseconds)" 'BEGIN { printf "%.1f", (b - a) / 1e6 }')
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

# Whether an earlier call has found it right.
was_right() {
  awk -F'\t' -v stage="$1" -v program="$2" -v words="$3" -v n="$4" '
    $1 == stage && $3 == program && $4 == words && $5 == n { is = $6 == "ok" }
    END { exit !is }' "$work/earlier.tsv"
}

# record VERDICT CODE SECONDS WHY: a line of the results, of the item whose words `one` has set, and one to read.
record() {
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$stage" "$line" "$program" "${words[*]}" "$n" "$1" "$2" "$3" "$4" >>"$results"
  printf '%-7s %-14s n=%s %s: %s s%s\n' "$1" "$stage" "$n" "$program${words[*]:+ ${words[*]}}" "$3" "${4:+: ${4:0:160}}"
}

# one SLOT SLOTS LINE STAGE MODE PES SECONDS PROGRAM WORDS: a program with one number of PEs.
one() {
  local slot=$1 count=$2 line=$3 stage=$4 mode=$5 n=$6 limit=$7 program=$8 words
  read -r -a words <<<"$9"
  local settings=() arguments=() kind=says wanted="all right" wrap=() direct='' bound=yes part=settings word
  for word in "${words[@]}"; do
    case $part:$word in
      settings:memcheck) wrap=(compute-sanitizer --tool memcheck --error-exitcode 99 --target-processes all) ;;
      settings:alone) direct=yes ;;
      settings:unbound) bound='' ;;
      *:--) part=arguments ;;
      *:says | *:fails | *:ring) part=words kind=$word wanted='' ;;
      settings:*) settings+=("$word") ;;
      arguments:*) arguments+=("${word//@n/$n}") ;;
      words:*) wanted+="${wanted:+ }$word" ;;
    esac
  done
  [ $kind = ring ] && wanted=$n
  local left=$((start + budget + grace - SECONDS)) cut='' hung
  ((SECONDS - start > budget)) && { record 'not run' '' 0 'the time was up'; return; }
  [ -e "$work/hung/$stage.$line" ] && { record 'not run' '' 0 'it hangs with fewer PEs'; return; }
  hung=("$work/hung/$stage".*)
  [ -e "${hung[4]:-}" ] && { record 'not run' '' 0 'five programs of this suite hang'; return; }
  [ -x "$here/programs/$program" ] || { record missing '' 0 'not in this pack'; return; }
  [ -z "$most" ] || limit=$((limit < most ? limit : most))
  ((limit <= left)) || { limit=$((left > 1 ? left : 1)) cut=yes; }
  if under_mps "$mode"; then
    local at
    at=$work/mps$(daemon_of "$slot")
    [ -d "$at" ] || { record 'not run' '' 0 'there is no daemon of MPS'; return; }
    settings+=("CUDA_MPS_PIPE_DIRECTORY=$at/pipe" "CUDA_MPS_LOG_DIRECTORY=$at/log")
    # A server has 64 queues, for all of its clients.
    if [ "$daemons" = one ] && ((count > 1)); then
      local queues=$((64 / (count * n)))
      settings+=("CUDA_DEVICE_MAX_CONNECTIONS=$((queues < 2 ? 2 : queues > 32 ? 32 : queues))")
    fi
  fi
  local command=(env)
  # dushrun sets these two itself.
  [ -n "$direct" ] && command+=(CUDA_DEVICE_MAX_CONNECTIONS=32 CUDA_MODULE_LOADING=EAGER)
  command+=("${settings[@]}")
  if [ -z "$direct" ]; then
    command+=(dushrun -n "$n")
    case $mode:$bound in each:yes | pairs:yes | pairsmps:yes) command+=(--gpu-bind=each) ;; esac
  fi
  command+=("${wrap[@]}" "$here/programs/$program" "${arguments[@]}")
  local log code took
  log=$logs/$stage.$program.$(echo "${words[*]}" | tr -c 'a-zA-Z0-9\n' _ | cut -c1-80).$line.$n.log
  run "$log" "$limit" "${command[@]}"
  if right "$log" "$code" "$kind" "$wanted"; then record ok "$code" "$took" ''; return; fi
  if [ "$code" = 124 ] && [ -n "$cut" ]; then record 'not run' '' "$took" 'the time was up while it ran'; return; fi
  local verdict=FAIL
  # 137: somebody has killed it, too.
  if [ "$code" = 124 ] || [ "$code" = 137 ]; then
    verdict=HANGS
    : >"$work/hung/$stage.$line"
    # Its processes may have left the daemon in a bad state.
    if under_mps "$mode"; then
      if [ "$daemons" = each ]; then mps_stop "$slot"; mps_start "$slot"; else : >"$work/restart"; fi
    fi
  fi
  record $verdict "$code" "$took" "$(grep -v '^ *$' "$log" | grep -v '^     [0-9]' | tail -n 3 | tr '\t\n' '  ' | head -c 400)"
  { echo "---- $stage $program ${words[*]} n=$n: exit $code after ${took} s, wanted: $kind $wanted"
    grep -v '^ *$' "$log" | awk 'NR <= 8 { print; next } { last[NR % 6] = $0; n = NR } END { if (n > 14) print "[...]"; for (i = n - 5 < 9 ? 9 : n - 5; i <= n; i++) print last[i % 6] }' | cut -c1-300; } >>"$out/failures.txt"
}

# The last result of everything, by suite and line of the plan: summary.md and summary.json.
tables() {
  local latest=$work/latest.tsv machine
  machine=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sort | uniq -c | sed 's/^ *//')
  cat "$work/earlier.tsv" "$results" | awk -F'\t' '
    { key = $1 FS $3 FS $4 FS $5; if (!(key in at)) at[key] = ++n; row[at[key]] = $0 }
    END { for (i = 1; i <= n; i++) print row[i] }' | sort -s -t"$(printf '\t')" -k1,1 -k2,2n -k5,5n >"$latest"
  awk -F'\t' -v machine="${machine:-no GPU}" '
    function shown(words) { sub(/(^| )(says|fails) .*$/, "", words); sub(/(^| )ring$/, "", words); return words }
    function cell(verdict, code, seconds) {
      if (verdict == "ok") return seconds " s"
      if (verdict == "not run") return "not run"
      return "**" verdict "**" (code != "" && verdict == "FAIL" ? " " code : "")
    }
    function clean(text) { gsub(/\|/, "\\|", text); gsub(/`/, "\047", text); return text }
    {
      what = $1 FS $3 FS $4
      if (!(what in seen)) { seen[what] = ++lines; suite[lines] = $1; name[lines] = $3; words[lines] = $4 }
      if (!($5 in wide)) { wide[$5] = 1; columns[++width] = $5 + 0 }
      cells[seen[what], $5 + 0] = cell($6, $7, $8)
      count[$6]++
      if ($6 != "ok" && $9 != "") why[++bad] = "- " $1 ", " $3 ($4 != "" ? " " clean($4) : "") ", " $5 " PE" ($5 > 1 ? "s" : "") ": " $6 ($7 != "" ? ", code " $7 : "") ", " $8 " s: `" clean($9) "`"
    }
    END {
      for (i = 1; i < width; i++) for (j = i + 1; j <= width; j++) if (columns[j] < columns[i]) { t = columns[i]; columns[i] = columns[j]; columns[j] = t }
      printf "Machine: %s. %d right, %d wrong, %d that hang, %d not in the pack, %d not run.\n\n", machine, count["ok"], count["FAIL"], count["HANGS"], count["missing"], count["not run"]
      printf "| suite | program |"; for (i = 1; i <= width; i++) printf " %d PE%s |", columns[i], (columns[i] > 1 ? "s" : "")
      printf "\n|---|---|"; for (i = 1; i <= width; i++) printf "--:|"
      printf "\n"
      for (l = 1; l <= lines; l++) {
        printf "| %s | %s%s |", suite[l], name[l], shown(words[l]) != "" ? " " clean(shown(words[l])) : ""
        for (i = 1; i <= width; i++) printf " %s |", cells[l, columns[i]]
        printf "\n"
      }
      if (bad) { printf "\n"; for (i = 1; i <= bad; i++) print why[i] }
    }' "$latest" >"$out/summary.md"
  awk -F'\t' -v machine="$machine" '
    function text(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); gsub(/[\001-\037]/, " ", s); return "\"" s "\"" }
    function number(s) { return s == "" ? "null" : s }
    BEGIN { gsub(/\n/, "; ", machine); printf "{\"machine\": %s, \"runs\": [", text(machine) }
    { printf "%s\n  {\"suite\": %s, \"program\": %s, \"words\": %s, \"pes\": %d, \"verdict\": %s, \"code\": %s, \"seconds\": %s, \"said\": %s}", (NR > 1 ? "," : ""), text($1), text($3), text($4), $5, text($6), number($7), number($8), text($9) }
    END { print "\n]}" }' "$latest" >"$out/summary.json"
}
