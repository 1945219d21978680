// Command sandbox starts control planes for the clusters of the example fleet
// and keeps them until it is interrupted. With -build it only builds them. With
// -flux, Flux runs for each, too; -argocd and -operators only build Argo CD and the
// operators of the example. With -nodes, each has real nodes beside those that are played.
//
//	go run ./testdata/clusters/sandbox [-build] [-flux] [-argocd] [-operators] [-nodes N] [CLUSTER...]
//
// The arguments are those of fleetc list; all clusters when there are none.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
	"github.com/fleetc/fleetc/testdata/gitops"
	"github.com/fleetc/fleetc/testdata/operators"
)

func main() {
	build := flag.Bool("build", false, "build the control planes and start none")
	withOperators := flag.Bool("operators", false, "with -build, build the operators of the example, too")
	flux := flag.Bool("flux", false, "build and run Flux, too")
	argocd := flag.Bool("argocd", false, "with -build, build Argo CD, too")
	nodes := flag.Int("nodes", 0, "how many real nodes each cluster has")
	flag.Parse()
	// This also ends what is being built or started.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Stdout, *build, *flux, *argocd, *withOperators, *nodes, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, build, flux, argocd, withOperators bool, nodes int, patterns []string) error {
	if build {
		tools, err := clusters.Build(ctx, os.Stderr)
		if err == nil {
			fmt.Fprintln(out, tools.Dir)
		}
		if err == nil && flux {
			_, err = gitops.Build(ctx, os.Stderr)
		}
		if err == nil && withOperators {
			_, err = operators.Build(ctx, os.Stderr)
		}
		if err == nil && argocd {
			_, err = gitops.BuildArgoCD(ctx, os.Stderr)
		}
		return err
	}
	specs, err := example(ctx, patterns)
	if err != nil {
		return err
	}
	for i := range specs {
		specs[i].RealNodes = nodes
	}
	fmt.Fprintf(out, "starting %d clusters\n", len(specs))
	f, err := clusters.Start(ctx, os.Stderr, specs...)
	if err != nil {
		return err
	}
	if flux {
		err = startFlux(ctx, f)
	}
	if err == nil {
		explain(out, f, nodes)
		err = wait(ctx, f)
	}
	fmt.Fprintln(out, "\nstopping the clusters")
	return errors.Join(err, f.Stop(err != nil))
}

// startFlux starts Flux for every cluster.
func startFlux(ctx context.Context, f *clusters.Fleet) error {
	for _, c := range f.Clusters() {
		if _, err := gitops.Start(ctx, os.Stderr, f, c); err != nil {
			return err
		}
	}
	return nil
}

// example asks fleetc for the clusters of the example fleet.
func example(ctx context.Context, patterns []string) ([]clusters.Spec, error) {
	var complaints strings.Builder
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./cmd/fleetc", "list", "-o", "json"}, patterns...)...)
	cmd.Stderr = &complaints
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("fleetc list: %w\n%s", err, complaints.String())
	}
	var listed []struct{ ID, Context, Kubernetes string }
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, fmt.Errorf("fleetc list: %w", err)
	}
	var specs []clusters.Spec
	for _, c := range listed {
		// The minor version alone: 1.36.2 is emulated as 1.36.
		version := strings.SplitN(c.Kubernetes, ".", 3)
		specs = append(specs, clusters.Spec{
			Name: c.ID, Context: c.Context, Version: strings.Join(version[:min(2, len(version))], "."), Nodes: 3, SimulateOperators: true,
		})
	}
	return specs, nil
}

// explain says what runs and what to type.
func explain(out io.Writer, f *clusters.Fleet, nodes int) {
	all := f.Clusters()
	fmt.Fprintf(out, "\n%d clusters run:\n\n", len(all))
	for _, c := range all {
		fmt.Fprintf(out, "  %-22s %-24s --context %s\n", c.Name, c.Server, c.Context)
	}
	fmt.Fprintf(out, `
In another terminal:

  export KUBECONFIG=%s
  alias kubectl=%s/kubectl
  go run ./cmd/fleetc apply --dry-run %s
  go run ./cmd/fleetc apply %s
  kubectl --context %s get pods --all-namespaces
  go run ./cmd/fleetc apply

Nodes and pods are played by kwok: nothing really runs in them. Webhooks admit
everything, and the operators of cert-manager and Prometheus are played. A pod
with the annotation fleetc.test/stuck: ImagePullBackOff does not get ready, one
with fleetc.test/fail: "true" fails. Logs are in %s.
%s
Ctrl-C ends all of it and leaves nothing.
`, f.Kubeconfig, f.Tools.Dir, all[0].Name, all[0].Name, all[0].Context, f.Dir, realNodes(nodes))
}

// realNodes explains how to use real nodes.
func realNodes(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(`
Each cluster also has real nodes (%d). A pod runs there if it has
nodeSelector: {fleetc.test/node: real} and
tolerations: [{key: fleetc.test/node, operator: Exists}]. The nodes have the image
%s and reach no registry.
`, n, clusters.Busybox)
}

// wait returns when the user interrupts the program, when its parent process
// ends, or with the error of a cluster.
func wait(ctx context.Context, f *clusters.Fleet) error {
	parent := os.Getppid()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := f.Err(); err != nil {
			return err
		}
		if os.Getppid() != parent {
			return nil
		}
	}
}
