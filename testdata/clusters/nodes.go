package clusters

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Real nodes are in 198.18.0.0/15, which is for tests of networks (RFC 2544), so that
// no real network has their addresses. Each has a link to the machine; the number of
// the link is in its addresses and in the name of its cgroup.
const (
	linkPrefix  = "fleetc-"
	maxLinks    = 250
	nodeNetwork = "198.18."
	podNetwork  = "198.19."
)

//go:embed node
var nodeFiles embed.FS

// A realNode is containerd and kubelet in separate namespaces.
type realNode struct {
	cluster *Cluster
	name    string
	dir     string
	link    int
	number  net.Listener // reserves the number of the link
	process *process
	stdin   *os.File     // its first process waits for a line
	forward net.Listener // forwards from the link to the API server
	servers []io.Closer  // of pods, on the link
}

func (n *realNode) linkName() string    { return linkPrefix + strconv.Itoa(n.link) }
func (n *realNode) hostAddress() string { return fmt.Sprintf("%s%d.1", nodeNetwork, n.link) }
func (n *realNode) address() string     { return fmt.Sprintf("%s%d.2", nodeNetwork, n.link) }
func (n *realNode) podRange() string    { return fmt.Sprintf("%s%d.0/24", podNetwork, n.link) }

// bootNodes starts containerd on the real nodes and imports their images.
func (c *Cluster) bootNodes() error {
	if c.realNodes == 0 {
		return nil
	}
	if err := sweepCgroups(); err != nil {
		return err
	}
	c.real = nil
	for i := range c.realNodes {
		n := &realNode{cluster: c, name: fmt.Sprintf("real-%d", i+1)}
		n.dir = c.file(n.name)
		c.real = append(c.real, n)
		if err := n.boot(); err != nil {
			return fmt.Errorf("start the real node %s of %s: %w", n.name, c.Name, err)
		}
	}
	return nil
}

// boot starts the first process of the node.
func (n *realNode) boot() error {
	images := filepath.Join(n.dir, "images")
	if err := os.MkdirAll(images, 0o700); err != nil {
		return err
	}
	if err := writeImages(images, n.cluster.images); err != nil {
		return err
	}
	if err := n.writeFile("containerd.toml"); err != nil {
		return err
	}
	script, err := nodeFiles.ReadFile("node/init.sh")
	if err != nil {
		return err
	}
	stdin, input, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	n.stdin = input
	c := n.cluster
	cmd := exec.Command("sh", "-c", string(script), "init.sh", n.dir, n.name)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.SysProcAttr = n.dir, environ(n.dir), stdin, nodeAttributes()
	if n.process, err = c.fleet.starter.start("node "+n.name+" of "+c.Name, c.file(n.name+".log"), cmd); err != nil {
		return err
	}
	c.parts[n.name] = n.process
	if err := n.connect(); err != nil {
		return err
	}
	return makeCgroups(n.linkName())
}

// connect creates the link between the machine and the node.
func (n *realNode) connect() error {
	for n.link = range maxLinks {
		var err error
		if n.number, err = reserveLink(n.linkName()); err != nil {
			continue // of another node
		}
		err = ip("link", "add", n.linkName(), "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(n.process.cmd.Process.Pid))
		if err == nil {
			return errors.Join(
				ip("address", "add", n.hostAddress()+"/30", "dev", n.linkName()),
				ip("link", "set", n.linkName(), "up"),
				ip("route", "add", n.podRange(), "via", n.address()),
			)
		}
		_ = n.number.Close()
		n.number = nil
		if !strings.Contains(err.Error(), "File exists") {
			return err
		}
	}
	return fmt.Errorf("%d links exist already", maxLinks)
}

// reserveLink reserves the name of a link until the listener is closed or the process ends.
// The kernel removes a link some time after its process has ended; without the reservation,
// another node could get the name meanwhile, and lose its link to the removal of this one. It
// fails if another process has the name.
func reserveLink(name string) (net.Listener, error) { return net.Listen("unix", "@"+name) }

// joinNodes starts kubelet on the real nodes that wait for it.
func (c *Cluster) joinNodes() error {
	for _, n := range c.real {
		if n.forward != nil {
			continue
		}
		if err := n.join(); err != nil {
			return fmt.Errorf("start kubelet on the real node %s of %s: %w", n.name, c.Name, err)
		}
	}
	return nil
}

// join starts kubelet, which registers the node.
func (n *realNode) join() error {
	c := n.cluster
	var err error
	if n.forward, err = net.Listen("tcp4", net.JoinHostPort(n.hostAddress(), strconv.Itoa(c.port))); err != nil {
		return err
	}
	go forward(n.forward, net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)))
	if err := n.writeFile("kubelet.yaml"); err != nil {
		return err
	}
	if err := n.writeFile("cni/pods.conflist"); err != nil {
		return err
	}
	cert, err := c.ca.client("system:node:"+n.name, "system:nodes", adminGroup)
	if err != nil {
		return err
	}
	k := kubeconfig{Current: c.Context}
	k.add(c, n.name, cert)
	// The server's certificate does not have the address of the link.
	k.Clusters[0].Cluster.Server, k.Clusters[0].Cluster.ServerName = "https://"+n.forward.Addr().String(), "kubernetes"
	if err := k.write(filepath.Join(n.dir, "kubeconfig")); err != nil {
		return err
	}
	_, err = fmt.Fprintln(n.stdin, c.fleet.Tools.file("kubelet"), n.address(), n.hostAddress(), c.port, ServerService)
	return errors.Join(err, n.stdin.Close())
}

// writeFile writes one of the embedded files with the settings of the node.
func (n *realNode) writeFile(name string) error {
	text, err := nodeFiles.ReadFile("node/" + filepath.Base(name))
	if err != nil {
		return err
	}
	taints := "[]"
	if n.cluster.nodes > 0 {
		taints = "[{key: fleetc.test/node, value: real, effect: NoSchedule}]"
	}
	settings := strings.NewReplacer("@DIR@", n.dir, "@PODS@", n.podRange(), "@CA@", n.cluster.file("ca.crt"), "@CGROUP@", n.linkName(), "@TAINTS@", taints)
	file := filepath.Join(n.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(settings.Replace(string(text))), 0o600)
}

// remove removes the remains of a node whose process has ended.
func (n *realNode) remove() error {
	var errs []error
	if n.stdin != nil {
		_ = n.stdin.Close() // join has closed it
	}
	if n.forward != nil {
		errs = append(errs, n.forward.Close())
	}
	for _, s := range n.servers {
		errs = append(errs, s.Close())
	}
	if n.number == nil {
		return errors.Join(errs...) // without a link
	}
	// The kernel also removes the link, later.
	if err := ip("link", "delete", n.linkName()); err != nil && !strings.Contains(err.Error(), "Cannot find device") {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, removeCgroups(n.linkName()), n.number.Close())...)
}

// removeNodes removes the remains of the real nodes.
func (c *Cluster) removeNodes() error {
	var errs []error
	for _, n := range c.real {
		errs = append(errs, n.remove())
	}
	c.real = nil
	return errors.Join(errs...)
}

// forward forwards connections to an address until the listener is closed.
func forward(l net.Listener, address string) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			to, err := net.Dial("tcp4", address)
			if err != nil {
				from.Close()
				return
			}
			pipe(from, to)
		}()
	}
}

// pipe copies both ways until one side ends.
func pipe(a, b net.Conn) {
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // either side may end it
			ended <- struct{}{}
		}()
	}
	<-ended
	a.Close()
	b.Close()
}

// ip runs the program ip.
func ip(args ...string) error {
	out, err := exec.CommandContext(context.Background(), "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
