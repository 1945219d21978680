package clusters

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// startTimeout is for one cluster or etcd on a busy machine.
const startTimeout = 3 * time.Minute

const (
	podRange     = "10.244.0.0/16"
	serviceRange = "10.96.0.0/16"

	// ServerService is the address of the Service kubernetes, at which pods of real nodes
	// reach the API server.
	ServerService = "10.96.0.1"
)

// auditPolicy leaves out the requests of the control plane.
const auditPolicy = `{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "None", "users": ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kwok"]},
    {"level": "None", "userGroups": ["system:nodes"]},
    {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*"]},
    {"level": "Metadata"}
  ]
}
`

// lessCollection makes Go collect garbage less often: to start an API server then takes a
// fifth less CPU time, and 100 MB more.
const lessCollection = "GOGC=400"

// startProgram starts one of the programs with additional environment variables.
func (f *Fleet) startProgram(name, log, program string, flags []string, env ...string) (*process, error) {
	cmd := exec.Command(f.Tools.file(program), flags...)
	cmd.Dir, cmd.Env = f.Dir, append(append(environ(f.Dir), lessCollection), env...)
	return f.starter.start(name, log, cmd)
}

// Run starts another program as a part of the cluster: Kill, Pause and Stop include
// it, and Err reports an unexpected end. Resume does not restart it. Its log is in
// the cluster's directory, under its name.
func (c *Cluster) Run(file string, flags, env []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	program := filepath.Base(file)
	cmd := exec.Command(file, flags...)
	cmd.Dir, cmd.Env = c.Dir, append(append(environ(c.Dir), lessCollection), env...)
	p, err := c.fleet.starter.start(program+" of "+c.Name, c.file(program+".log"), cmd)
	if err != nil {
		return err
	}
	c.parts[program], c.stopped = p, true
	return nil
}

// startEtcd starts the store of all clusters. Its data need not survive the
// machine.
func (f *Fleet) startEtcd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for range 5 {
		var urls [2]string
		for i := range urls {
			port, err := f.ports.next()
			if err != nil {
				return err
			}
			urls[i] = "http://127.0.0.1:" + strconv.Itoa(port)
		}
		p, err := f.startProgram("etcd", f.file("etcd.log"), "etcd", []string{
			"--name=default", "--data-dir=" + f.file("etcd"), "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls=" + urls[0], "--advertise-client-urls=" + urls[0],
			"--listen-peer-urls=" + urls[1], "--initial-advertise-peer-urls=" + urls[1], "--initial-cluster=default=" + urls[1],
		})
		if err != nil {
			return err
		}
		f.etcd, f.etcdURL = p, urls[0]
		err = Poll(ctx, "etcd is healthy", p.err, func(ctx context.Context) error {
			return fetch(ctx, http.DefaultClient, urls[0]+"/health")
		})
		if err == nil || !p.portTaken() {
			return err
		}
	}
	return fmt.Errorf("etcd: every port was taken")
}

func (c *Cluster) serverFlags() []string {
	return c.asVersion([]string{
		"--etcd-servers=" + c.fleet.etcdURL, "--etcd-prefix=/" + directoryName(c.Name),
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(c.port), "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=" + serviceRange,
		"--tls-cert-file=" + c.file("server.crt"), "--tls-private-key-file=" + c.file("server.key"),
		"--client-ca-file=" + c.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.file("sa.pub"), "--service-account-signing-key-file=" + c.file("sa.key"),
		"--authorization-mode=RBAC", "--allow-privileged=true", "--profiling=false", "--shutdown-delay-duration=0s",
		"--audit-policy-file=" + c.fleet.file("audit-policy.json"), "--audit-log-path=" + c.auditLog(), "--audit-log-maxsize=10000",
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + c.file("kubelet-client.crt"), "--kubelet-client-key=" + c.file("kubelet-client.key"),
	})
}

func (c *Cluster) clientFlags(program, kubeconfig string) []string {
	flags := []string{"--kubeconfig=" + kubeconfig}
	switch program {
	case "kwok":
		// Leases are off: after a kill, the next kwok would wait 40 seconds for
		// them to expire.
		return append(flags, "--config="+c.fleet.file("stages.yaml"), "--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
			"--node-lease-duration-seconds=0", "--cidr="+podRange, "--node-ip=127.0.0.1")
	case "kube-controller-manager":
		// Nodes never expire: nothing renews their leases, and a cluster may be
		// paused for long.
		flags = append(flags, "--service-account-private-key-file="+c.file("sa.key"), "--root-ca-file="+c.file("ca.crt"),
			"--use-service-account-credentials=false", "--cluster-cidr="+podRange, "--node-monitor-grace-period=24h")
	}
	return c.asVersion(append(flags, "--leader-elect=false", "--secure-port=0", "--profiling=false"))
}

// asVersion makes all parts of Kubernetes emulate an older version. An older server
// lacks APIs that newer clients need.
func (c *Cluster) asVersion(flags []string) []string {
	if c.emulate == "" {
		return flags
	}
	return append(flags, "--emulated-version="+c.emulate)
}
