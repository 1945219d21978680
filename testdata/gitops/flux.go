// Package gitops runs real Flux and Argo CD for clusters of package clusters, and serves
// their sources on loopback: git repositories, a registry and Helm charts. The controllers
// are processes next to the control plane, which end with it; there are no containers.
//
// The controllers are built once from the modules in testdata/flux and testdata/argocd (see
// Build and BuildArgoCD). Tests do not wait for intervals: they call Poke or Refresh.
package gitops

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// controllers are the programs of Flux, which are also the names of their
// modules in github.com/fluxcd.
var controllers = []string{"source-controller", "kustomize-controller", "helm-controller"}

// crds is the directory of Flux's CRDs in a build.
const crds = "crds"

// startTimeout is the timeout for the CRDs and the controllers of one cluster
// on a busy machine.
const startTimeout = 3 * time.Minute

var recipe = clusters.Recipe{Name: "flux", Parts: append([]string{crds}, controllers...), Finish: copyCRDs}

// Build returns the directory with Flux's controllers and CRDs, and builds it
// if necessary; see [clusters.Recipe.Build].
func Build(ctx context.Context, log io.Writer) (dir string, err error) {
	built, err := recipe.Build(ctx, log)
	if err != nil {
		return "", err
	}
	return built.Dir, nil
}

// copyCRDs copies the CRDs of the controllers from their modules.
func copyCRDs(dir string, module func(string) (string, error)) error {
	for _, c := range controllers {
		from, err := module("github.com/fluxcd/" + c)
		if err != nil {
			return err
		}
		if err := copyFiles(filepath.Join(from, "config", "crd", "bases"), "*.yaml", filepath.Join(dir, crds)); err != nil {
			return err
		}
	}
	return nil
}

// Namespace is the usual namespace of Flux's own objects.
const Namespace = "flux-system"

// Flux is a running Flux for one cluster.
type Flux struct {
	Cluster *clusters.Cluster
}

// Start builds Flux if necessary, installs its CRDs in a cluster of the fleet
// and starts its controllers. They end with the cluster.
func Start(ctx context.Context, log io.Writer, fleet *clusters.Fleet, c *clusters.Cluster) (*Flux, error) {
	dir, err := Build(ctx, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := install(ctx, fleet, c, Namespace, filepath.Join(dir, crds)); err != nil {
		return nil, err
	}
	if err := startControllers(ctx, dir, fleet, c); err != nil {
		return nil, err
	}
	return &Flux{Cluster: c}, nil
}

// startControllers starts the controllers as an administrator of the cluster.
// The user name is unique, to find it in the audit log.
func startControllers(ctx context.Context, dir string, fleet *clusters.Fleet, c *clusters.Cluster) error {
	kubeconfig, err := c.User("flux", "system:masters")
	if err != nil {
		return err
	}
	port, err := fleet.Port()
	if err != nil {
		return err
	}
	storage := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for _, program := range controllers {
		// "0" disables the server.
		flags := []string{"--metrics-addr=0", "--health-addr=0", "--log-level=info", "--requeue-dependency=1s"}
		if program == "source-controller" {
			data := filepath.Join(c.Dir, "sources")
			if err := os.Mkdir(data, 0o700); err != nil {
				return err
			}
			flags = append(flags, "--storage-addr="+storage, "--storage-adv-addr="+storage, "--storage-path="+data)
		}
		if err := c.Run(filepath.Join(dir, program), flags, []string{"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + Namespace}); err != nil {
			return err
		}
	}
	return listening(ctx, c, storage)
}
