package clusters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

// Cluster is a control plane with its nodes.
type Cluster struct {
	Name    string
	Context string // name of its context in kubeconfigs
	Server  string // https://127.0.0.1:…
	// Kubeconfig is the path of a kubeconfig with only this cluster as the current
	// context, as an administrator.
	Kubeconfig string
	// Dir is the directory of the cluster's logs, keys and files.
	Dir string

	fleet             *Fleet
	nodes, realNodes  int
	images            []Image
	emulate           string // a minor version, or ""
	port              int
	ca                *authority
	admin             pair
	http              *http.Client
	simulateOperators bool // see Spec.SimulateOperators

	services *services
	operator *operator

	mu       sync.Mutex
	parts    map[string]*process // by program or node
	real     []*realNode
	restarts int  // how often the simulator was started again
	stopped  bool // a program was killed, paused or added since the start

	before     *snapshot // of a cluster that can be reset
	auditStart int64     // size of the audit log at the last reset
}

// simulator is the program that plays nodes and pods. maxRestarts is how often it may
// crash.
const (
	simulator   = "kwok"
	maxRestarts = 3
)

// clients are the programs that talk to the API server, with their users.
var clients = map[string]string{
	"kube-controller-manager": "system:kube-controller-manager",
	"kube-scheduler":          "system:kube-scheduler",
	"kwok":                    "system:kwok",
}

const adminGroup = "system:masters" // the administrators' group

// start starts the cluster for the first time.
func (c *Cluster) start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.writeKeys(); err != nil {
		return err
	}
	if err := c.bootNodes(); err != nil {
		return err
	}
	if err := c.startServer(ctx); err != nil {
		return err
	}
	k := kubeconfig{Current: c.Context}
	k.add(c, "admin", c.admin)
	if err := k.write(c.Kubeconfig); err != nil {
		return err
	}
	if err := c.startClients(); err != nil {
		return err
	}
	if err := c.createObjects(ctx); err != nil {
		return err
	}
	if err := c.joinNodes(); err != nil {
		return err
	}
	if c.simulateOperators {
		if err := c.operate(); err != nil {
			return err
		}
	}
	return c.waitReady(ctx)
}

// writeKeys creates the cluster's directory with the keys and certificates of its
// server.
func (c *Cluster) writeKeys() error {
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		return err
	}
	var err error
	if c.ca, err = newAuthority(directoryName(c.Name)); err != nil {
		return err
	}
	server, err := c.ca.server()
	if err != nil {
		return err
	}
	if c.admin, err = c.ca.client("admin", adminGroup); err != nil {
		return err
	}
	kubelet, err := c.ca.client("kube-apiserver", adminGroup)
	if err != nil {
		return err
	}
	private, public, err := signingKeys()
	if err != nil {
		return err
	}
	if c.http, err = newClient(c.ca.pem, c.admin); err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"ca.crt": c.ca.pem, "server.crt": server.cert, "server.key": server.key,
		"kubelet-client.crt": kubelet.cert, "kubelet-client.key": kubelet.key, "sa.key": private, "sa.pub": public,
	} {
		if err := os.WriteFile(c.file(name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// startServer starts the API server, on another port if the first one is taken.
func (c *Cluster) startServer(ctx context.Context) error {
	for range 5 {
		port, err := c.fleet.ports.next()
		if err != nil {
			return err
		}
		c.port = port
		p, err := c.startAPIServer()
		if err != nil {
			return err
		}
		server := "https://127.0.0.1:" + strconv.Itoa(port)
		err = c.waitServer(ctx, server)
		if err == nil {
			c.setServer(server)
			return nil
		}
		if !p.portTaken() {
			return err
		}
	}
	return fmt.Errorf("%s: every port was taken", c.Name)
}

// startAPIServer starts the API server at the cluster's port.
func (c *Cluster) startAPIServer() (*process, error) {
	flags := c.serverFlags()
	if !c.simulateOperators && c.realNodes == 0 {
		return c.startPart("kube-apiserver", flags)
	}
	more, env, err := c.startServices()
	if err != nil {
		return nil, err
	}
	return c.startPart("kube-apiserver", append(flags, more...), env...)
}

// setServer sets the address of the cluster in the kubeconfigs.
func (c *Cluster) setServer(server string) {
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	c.Server = server
}

// startClients starts the programs that use the API server and are not running.
func (c *Cluster) startClients() error {
	for program := range clients {
		if c.parts[program].running() {
			continue
		}
		if err := c.startClient(program); err != nil {
			return err
		}
	}
	return nil
}

// startClient starts one of the clients.
func (c *Cluster) startClient(program string) error {
	user := clients[program]
	cert, err := c.ca.client(user, adminGroup)
	if err != nil {
		return err
	}
	file, err := c.login(user, cert)
	if err != nil {
		return err
	}
	p, err := c.startPart(program, c.clientFlags(program, file))
	if err == nil && program == simulator {
		go c.restart(p)
	}
	return err
}

// restart starts the simulator again when it crashed: kwok 0.8.0 compiles its stages
// when they first match, without a lock, and its workers crash the process when two of
// them do so at a time. It plays a part of the tests and is not under test, so the
// crash is reported, and counts as an error only when it repeats.
func (c *Cluster) restart(p *process) {
	<-p.ended
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.stopped.Load() || c.restarts >= maxRestarts || c.parts[simulator] != p {
		return
	}
	c.restarts++
	c.stopped = true
	fmt.Fprintf(c.fleet.log, "%s ended (%s) and is started again\n", p.name, p.cmd.ProcessState)
	if err := c.startClient(simulator); err != nil {
		c.restarts = maxRestarts // partError reports the end
		fmt.Fprintf(c.fleet.log, "%s cannot be started again: %s\n", p.name, err)
	}
}

// CrashSimulator kills the program that simulates nodes, as a fault in it does, and
// returns when it has ended. The cluster starts it again and reports that.
func (c *Cluster) CrashSimulator() error {
	c.mu.Lock()
	p := c.parts[simulator]
	c.stopped = true
	c.mu.Unlock()
	if err := kill(p.cmd.Process); err != nil {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.ended
	return nil
}

func (c *Cluster) startPart(program string, flags []string, env ...string) (*process, error) {
	p, err := c.fleet.startProgram(program+" of "+c.Name, c.file(program+".log"), program, flags, env...)
	if err != nil {
		return nil, err
	}
	c.parts[program] = p
	return p, nil
}

// Kill kills all processes of the control plane and of real nodes, as a crash does. Its
// data stays in etcd. The cluster refuses connections until Resume.
func (c *Cluster) Kill() error {
	if err := c.Err(); err != nil {
		return err
	}
	return c.kill()
}

func (c *Cluster) kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	var errs []error
	for _, p := range c.parts {
		errs = append(errs, p.kill())
	}
	return errors.Join(append(errs, c.removeNodes())...)
}

// Pause stops all processes of the control plane; containers go on. The kernel accepts connections,
// and nothing answers until Resume.
func (c *Cluster) Pause() error { return c.signal(pause) }

func (c *Cluster) signal(send func(*os.Process) error) error {
	if err := c.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, p := range c.parts {
		if !p.running() {
			continue
		}
		if err := send(p.cmd.Process); err != nil {
			return fmt.Errorf("signal %s: %w", p.name, err)
		}
	}
	return nil
}

// Resume restarts a killed or paused cluster at the same address with its data. It
// returns when the API server and the nodes are ready; killed controllers start to
// work at about that time.
func (c *Cluster) Resume(ctx context.Context) error {
	if err := c.signal(resume); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if !c.parts["kube-apiserver"].running() {
		if _, err := c.startAPIServer(); err != nil {
			return err
		}
	}
	if len(c.real) == 0 {
		if err := c.bootNodes(); err != nil {
			return err
		}
	}
	if err := c.waitServer(ctx, c.Server); err != nil {
		return err
	}
	if err := c.startClients(); err != nil {
		return err
	}
	if err := c.joinNodes(); err != nil {
		return err
	}
	return c.waitReady(ctx)
}

// Err names the parts that ended unexpectedly; nil when there are none.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.partError()
}

func (c *Cluster) partError() error {
	var errs []error
	for _, program := range slices.Sorted(maps.Keys(c.parts)) {
		if program == simulator && c.restarts < maxRestarts {
			continue // restart starts it again
		}
		errs = append(errs, c.parts[program].err())
	}
	return errors.Join(errs...)
}

func (c *Cluster) file(name string) string { return filepath.Join(c.Dir, name) }
