package clusters

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const cniDir = "/usr/lib/cni"

// nodesSupported returns an error that names everything that the machine lacks for real
// nodes.
func nodesSupported() error {
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "they need root, for namespaces, mounts and cgroups")
	}
	for _, name := range []string{"containerd", "ctr", "containerd-shim-runc-v2", "runc", "busybox", "ip", "iptables", "mount"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, "the program "+name+" is not in the PATH")
		}
	}
	if path, err := exec.LookPath("busybox"); err == nil && !isStatic(path) {
		missing = append(missing, path+" is not a static program: install busybox-static")
	}
	for _, name := range []string{"bridge", "host-local", "loopback"} {
		if file := filepath.Join(cniDir, name); !exists(file) {
			missing = append(missing, "the CNI plugin "+file+" does not exist")
		}
	}
	if names := missingControllers(); len(names) > 0 {
		missing = append(missing, fmt.Sprintf("%s has no cgroup controllers for %s", cgroupDir, strings.Join(names, ", ")))
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("this machine cannot run real nodes:\n  " + strings.Join(missing, "\n  ") +
		"\nOn Debian: apt-get install containerd runc containernetworking-plugins busybox-static iproute2 iptables")
}

// isStatic reports whether a program needs no shared libraries.
func isStatic(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}
