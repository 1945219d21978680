package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A peer is another tool that renders the same fleet.
type peer struct {
	name    string
	about   string
	tools   []string          // required programs on the PATH
	version []string          // command that prints the version
	write   func(*work) error // writes the tool's input, next to the charts and values
	command func() []string   // run in the workload's directory; writes below out
}

var peers = []peer{
	{
		name: "helm", about: "helm template in a shell loop",
		tools: []string{"helm"}, version: []string{"helm", "version", "--short"}, write: (*work).helm,
		command: func() []string {
			return []string{"sh", "-c", "while read -r job; do ./render.sh $job || exit 1; done < jobs"}
		},
	},
	{
		name: "xargs", about: "xargs -P helm template",
		tools: []string{"helm", "xargs"}, version: []string{"helm", "version", "--short"}, write: (*work).helm,
		command: func() []string {
			return []string{"sh", "-c", "xargs -L 1 -P " + processors() + " ./render.sh < jobs"}
		},
	},
	{
		name: "helmfile", about: "helmfile, one file",
		tools: []string{"helmfile", "helm"}, version: []string{"helmfile", "version", "-o", "short"}, write: (*work).helmfile,
		command: func() []string {
			return []string{"sh", "-c", "helmfile template --quiet --include-crds --skip-tests --skip-deps --concurrency " + processors() + " > out/all.yaml"}
		},
	},
	{
		name: "tanka", about: "tk export",
		tools: []string{"tk", "helm"}, version: []string{"tk", "--version"}, write: (*work).tanka,
		command: func() []string {
			return []string{"sh", "-c", "cd tanka && tk export ../out environments --recursive --parallel " + processors() +
				" --format '{{env.metadata.name}}/{{.kind}}-{{or .metadata.namespace \"_\"}}-{{.metadata.name}}'"}
		},
	},
	{
		name: "kustomize", about: "kustomize with Helm, clusters in parallel",
		tools: []string{"kustomize", "helm", "xargs"}, version: []string{"kustomize", "version"}, write: (*work).kustomize,
		command: func() []string {
			return []string{"sh", "-c", "xargs -n 1 -P " + processors() + " ./build.sh < names"}
		},
	},
	{
		name: "holos", about: "holos render platform",
		tools: []string{"holos", "helm"}, version: []string{"holos", "--version"}, write: (*work).holos,
		command: func() []string {
			return []string{"sh", "-c", "cd holos && holos render platform --write-to ../out --concurrency " + processors()}
		},
	},
}

func processors() string { return fmt.Sprint(runtime.GOMAXPROCS(0)) }

// missing lists the tools of a peer that are not on the PATH.
func (p peer) missing() []string {
	return slices.DeleteFunc(slices.Clone(p.tools), func(tool string) bool {
		_, err := exec.LookPath(tool)
		return err == nil
	})
}

// printed returns the first line of the output of a version command. Some of
// these commands fail without network.
func printed(ctx context.Context, command []string) string {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	for _, text := range []string{stdout.String(), stderr.String()} {
		if line, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); line != "" {
			return line
		}
	}
	return fmt.Sprintf("unknown version: %v", err)
}

// run measures a peer on a workload. It removes the output of previous runs.
func (p peer) run(ctx context.Context, w *work) (result, error) {
	out := filepath.Join(w.dir, "out")
	if err := os.RemoveAll(out); err != nil {
		return result{}, err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return result{}, err
	}
	if err := p.write(w); err != nil {
		return result{}, err
	}
	r := measure(ctx, w.dir, p.command()...)
	r.What, r.Clusters = p.about, len(w.clusters)
	return r, ctx.Err()
}
