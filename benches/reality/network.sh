#!/usr/bin/env bash
# Eight hosts that are network namespaces, joined by bridges: a star, or a tree of two levels that is 2:1 oversubscribed.
#
#   network.sh up NAME star|tree           hosts NAME0 … NAME7 with the addresses 10.88.0.1 … 8
#   network.sh shape NAME MBIT BURST LIMIT both ends of each link, by a token bucket
#   network.sh unshape NAME
#   network.sh drops NAME                  packets that the shapers have dropped
#   network.sh down NAME
#
# The tree has hosts 0 … 3 on one bridge, 4 … 7 on another, and between both one link of twice a host's rate. tc's token bucket (tbf)
# gives MBIT Mbit/s with headers, BURST bytes at once, a queue of LIMIT bytes. What waits there are single packets: veth would hand on
# 64 KiB in one piece. Needs root; nothing outside of the namespaces is touched.
set -euo pipefail
action=$1 name=$2
hosts=$(seq 0 7)

# bridge HOST: the namespace of the bridge that a host hangs on.
bridge() { if [ -e "/var/run/netns/${name}right" ] && [ "$1" -ge 4 ]; then echo "${name}right"; else echo "${name}left"; fi; }

# ends: a namespace, a device and a multiple of the rate of a host for both ends of every link.
ends() {
  for i in $hosts; do printf '%s\n' "$name$i eth0 1" "$(bridge "$i") port$i 1"; done
  if [ -e "/var/run/netns/${name}right" ]; then printf '%s\n' "${name}left trunk 2" "${name}right trunk 2"; fi
}

case $action in
  up)
    sides=left
    [ "$3" = tree ] && sides='left right'
    for side in $sides; do
      ip netns add "$name$side"
      ip -n "$name$side" link add bridge type bridge
      ip -n "$name$side" link set bridge up
    done
    if [ "$3" = tree ]; then ip -n "${name}left" link add trunk type veth peer name trunk netns "${name}right"; fi
    for i in $hosts; do
      ip netns add "$name$i"
      ip -n "$name$i" link set lo up
      ip -n "$name$i" link add eth0 type veth peer name "port$i" netns "$(bridge "$i")"
      ip -n "$name$i" address add "10.88.0.$((i + 1))/24" dev eth0
    done
    ends | while read -r space device _; do
      case $device in port* | trunk) ip -n "$space" link set "$device" master bridge ;; esac
      ip -n "$space" link set "$device" gso_max_segs 1 up
    done
    # Namespaces have the congestion control of the machine, which may be another one than CUBIC.
    for i in $hosts; do ip -n "$name$i" route replace 10.88.0.0/24 dev eth0 src "10.88.0.$((i + 1))" congctl "${CONGESTION:-cubic}"; done
    ;;
  shape)
    ends | while read -r space device factor; do
      tc -n "$space" qdisc replace dev "$device" root tbf rate "$(($3 * factor))mbit" burst "$4" limit "$5"
    done
    ;;
  unshape)
    ends | while read -r space device _; do tc -n "$space" qdisc del dev "$device" root 2>/dev/null || true; done
    ;;
  drops)
    ends | while read -r space device _; do tc -n "$space" -s qdisc show dev "$device"; done |
      awk '/dropped/ { sub(/.*dropped /, ""); sum += $1 } END { print sum + 0 }'
    ;;
  down)
    for i in $hosts left right; do ip netns delete "$name$i" 2>/dev/null || true; done
    ;;
esac
