#!/usr/bin/env bash
# A star of eight hosts that are network namespaces, each with a shaped link to a bridge in a namespace of its own.
#
#   network.sh up NAME MBIT BURST LIMIT    hosts NAME0 … NAME7 with the addresses 10.88.0.1 … 8
#   network.sh drops NAME                  packets that the shapers have dropped
#   network.sh down NAME
#
# Both ends of a link are shaped by tc's token bucket (tbf): MBIT Mbit/s with headers, BURST bytes at once, a queue of LIMIT bytes. What
# waits there are single packets: veth would hand on 64 KiB in one piece. Needs root; nothing outside of the namespaces is touched.
set -euo pipefail
action=$1 name=$2
hosts=$(seq 0 7)

# shaped NAMESPACE DEVICE
shaped() {
  ip -n "$1" link set "$2" gso_max_segs 1 up
  tc -n "$1" qdisc add dev "$2" root tbf rate "${mbit}mbit" burst "$burst" limit "$limit"
}

case $action in
  up)
    mbit=$3 burst=$4 limit=$5
    ip netns add "${name}switch"
    ip -n "${name}switch" link add bridge type bridge
    ip -n "${name}switch" link set bridge up
    for i in $hosts; do
      ip netns add "$name$i"
      ip -n "$name$i" link set lo up
      ip -n "$name$i" link add eth0 type veth peer name "port$i" netns "${name}switch"
      ip -n "${name}switch" link set "port$i" master bridge
      ip -n "$name$i" address add "10.88.0.$((i + 1))/24" dev eth0
      shaped "$name$i" eth0
      shaped "${name}switch" "port$i"
    done
    ;;
  drops)
    for i in $hosts; do
      tc -n "$name$i" -s qdisc show dev eth0
      tc -n "${name}switch" -s qdisc show dev "port$i"
    done | awk '/dropped/ { sub(/.*dropped /, ""); sum += $1 } END { print sum + 0 }'
    ;;
  down)
    for i in $hosts switch; do ip netns delete "$name$i" 2>/dev/null || true; done
    ;;
esac
