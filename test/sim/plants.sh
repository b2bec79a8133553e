#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Does the simulator find mistakes? Puts each one in, and tells after how many steps it was found.
# Some are put into the world around the production code (topofit-sim --plant), the others into a
# copy of the source in a temporary folder.
#
# usage: test/sim/plants.sh SIMULATOR [STEPS [NAME...]]
#   SIMULATOR  build/topofit-sim
#   STEPS      at most, for each of five seeds (default 1000000)
#   NAME       only these
# exit: 0 each was found, by most seeds; 1 one was not; 2 one could not be tried, or there is none
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
case ${1:-} in
"" | -h | --help) sed -n '4,12s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
simulator=$1
steps=${2:-1000000}
case $steps in *[!0-9]* | "") echo "plants.sh: $steps is no number of steps" >&2 && exit 2 ;; esac
[ $# -gt 2 ] && { shift 2; only=" $* "; } || only=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# name, file, sed expression, what it means; with tabs between them
in_source() {
    cat <<'END'
bind-after-lease	src/control/controller.c	s/now_ms < lease_held_until_ms(c->lease)/lease_term(c->lease) > 0/;s/? lease_held_until_ms(c->lease) + c->margin_ms - c->network_ms/? UINT64_MAX/	a leader goes on when its lease has run out
no-relist-on-lead	src/control/controller.c	/reflector_relist(c->pods/d;s/ \&\& pod_lists > c->lists_at_term//	a new leader binds on what it knew before
no-term	src/control/controller.c	s/steal_job->term != c->term/false/	devices booked in an earlier term are still taken for free
no-doubt	src/control/binder.c	s/return attempt->in_doubt || attempt->is_unexplained || attempt->step == POST_SENT/return false \&\& attempt->in_doubt/	a Binding whose answer was lost is taken for a failed one
conflict-is-success	src/control/binder_answer.c	s/if (answer->status == 201) {/if (answer->status == 201 \|\| answer->status == 409) {/	"already assigned" is taken for success
no-uid-in-bind	src/extender/bind.c	s/strcmp(pod->uid, args->pod_uid) != 0/false/	a pod is bound in place of its namesake that is gone
list-drops-bookings	src/cluster/cluster_pods.c	s/return !pod->finished \&\& !pod_holds_devices(pod)/return false/	a list releases what is booked for pods that it shows unbound
no-wake	src/control/waker.c	s/return now_ms >= waker->due_ms;/return false;/	nobody is woken
lock-no-wait	src/control/lock_keeper_lane.c	s/if (shown->text == NULL || shown->is_free ||/if (shown->text != lane->node || shown->is_free ||/	a lock of another pod is overwritten
lock-no-version	src/control/lock_keeper_lane.c	s/{.."metadata..":{..*annotations..":{",/{\\"metadata\\":{\\"annotations\\":{%.0s",/;s/^ *lane->sent_version);$/             "");/	the lock is written whatever the node looks like by now
lock-conflict-is-ours	src/control/lock_keeper_answer.c	s/if (api_answer_is_ok(answer))$/if (answer->status == 409 \&\& step == LANE_TAKES \&\& lane->claims != NULL)\n        lane->claims->state = CLAIM_HELD;\n    else if (api_answer_is_ok(answer))/	a refused lock is taken for ours
lock-without-doubt	src/control/lock_keeper.c	s/if (outcome == BIND_UNCLEAR) {/if (outcome == BIND_UNCLEAR) {\n        end_claim(turn, true);/	the lock is taken away while nobody knows what became of the Binding
lock-no-patience	include/topofit/lock_keeper.h	s/define LOCK_UNBOUND_MS 10000u/define LOCK_UNBOUND_MS 500u/	the lock of a pod is taken for stale before its Binding comes
lock-left	src/control/lock_keeper_lane.c	s/if (keeper->now_ms < idle_ms(shown))/if (shown->text != NULL)/	what others left locked stays so
END
}

# Steps until the mistake was found, for five seeds; the greatest number means: not found.
survived() { # simulator, options
    for seed in 1 2 3 4 5; do
        "$@" --seed $((seed * 7919)) --steps "$steps" --all --quiet |
            sed -n 's/^seed [0-9]*, step \([0-9]*\):.*/\1/p;s/^\([0-9]*\) steps, 1 seeds.*/\1/p' | head -1
    done | sort -n
}

report() { # name, what, simulator, options...
    name=$1 what=$2
    shift 2
    survived "$@" >"$work/steps"
    if [ "$(wc -l <"$work/steps")" -ne 5 ]; then
        echo "plants.sh: $name: $1 did not tell for each seed how far it came" >&2
        exit 2
    fi
    echo "$name" >>"$work/tried"
    median=$(sed -n 3p "$work/steps")
    if [ "$median" -ge "$steps" ]; then
        median="not found in $steps"
        touch "$work/missed"
    fi
    printf '%-20s  %12s  %s\n' "$name" "$median" "$what"
}

is_wanted() { [ -z "$only" ] || case $only in *" $1 "*) ;; *) return 1 ;; esac }

build() { # name, file, expression
    mkdir -p "$work/$1"
    cp -r "$source/CMakeLists.txt" "$source/include" "$source/src" "$source/test" "$source/deploy" "$work/$1"
    sed -i "$3" "$work/$1/$2"
    if cmp -s "$source/$2" "$work/$1/$2"; then
        echo "plants.sh: $1: $2 does not look as expected" >&2
        exit 2
    fi
    cmake -S "$work/$1" -B "$work/$1/build" -G Ninja >"$work/$1.log" 2>&1
    ninja -C "$work/$1/build" topofit-sim >>"$work/$1.log" 2>&1 || { tail -20 "$work/$1.log" >&2; exit 2; }
}

printf '%-20s  %12s  %s\n' mistake 'median steps' 'what it is'
"$simulator" --help | sed '1,/^mistakes:/d' | while read -r name what; do
    if is_wanted "$name"; then report "$name" "$what" "$simulator" --plant "$name"; fi
done
in_source | while IFS='	' read -r name file expression what; do
    is_wanted "$name" || continue
    build "$name" "$file" "$expression"
    report "$name" "$what" "$work/$name/build/topofit-sim"
    rm -rf "${work:?}/$name"
done
touch "$work/tried"
if [ ! -s "$work/tried" ]; then
    echo "plants.sh: there is no mistake to be found" >&2
    exit 2
fi
for name in $only; do
    grep -qx -- "$name" "$work/tried" || { echo "plants.sh: there is no mistake $name" >&2; exit 2; }
done
[ ! -e "$work/missed" ]
