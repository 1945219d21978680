# The first process of a real node, in new PID, mount and network namespaces:
# when it ends, the kernel ends every process of the node and removes its mounts and
# its network.
set -eu
dir=$1 name=$2
# Mounts of the machine are not changed. Containers see mounts of the node.
mount --make-rprivate /
mount --make-rshared /
mount -t proc proc /proc
for state in /run /var/lib /var/log; do mount -t tmpfs tmpfs "$state"; done
# Names of other networks are unknown at once.
: >"$dir/resolv.conf"
[ ! -f /etc/resolv.conf ] || mount --bind "$dir/resolv.conf" /etc/resolv.conf
# kubelet sets these parameters of the kernel. The machine keeps its own values.
for parameter in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
	kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
	file=$dir/parameter-$(echo "${parameter%=*}" | tr / -)
	echo "${parameter#*=}" >"$file"
	mount --bind "$file" "/proc/sys/${parameter%=*}"
done

trap 'exit 1' TERM
run() { # PROGRAM FLAGS...: the node ends with the program
	(
		status=0
		"$@" || status=$?
		echo "$1 ended with status $status"
		kill -TERM 1
	) &
}
run containerd --config "$dir/containerd.toml" --root "$dir/containerd" --state /run/containerd --address "$dir/containerd.sock" 2>"$dir/containerd.log"
until ctr --address "$dir/containerd.sock" version >/dev/null 2>&1; do sleep 0.1; done
for image in "$dir"/images/*.tar; do
	ctr --address "$dir/containerd.sock" --namespace k8s.io images import "$image" >/dev/null
done

# The link and the API server are ready, and the other files are written.
read -r kubelet address host port service
ip link set lo up
ip address add "$address/30" dev eth0
ip link set eth0 up
ip route add default via "$host"
# Pods reach the API server at the address of the Service kubernetes.
for chain in PREROUTING OUTPUT; do
	iptables --table nat --append "$chain" --destination "$service" --protocol tcp --dport 443 --jump DNAT --to-destination "$host:$port"
done
run "$kubelet" --kubeconfig "$dir/kubeconfig" --config "$dir/kubelet.yaml" --root-dir "$dir/kubelet" --cert-dir "$dir/certificates" \
	--hostname-override "$name" --node-ip "$address" --node-labels fleetc.test/node=real 2>"$dir/kubelet.log"
wait
