// Command apply measures how long fleetc and other tools take to apply many objects to
// a real control plane, and how many requests they send.
//
//	go run ./testdata/bench/apply [-objects 3000] [-fleetc FILE]
//
// Each tool applies the same ConfigMaps, in its own namespace, to one cluster: at
// first, again with nothing to do, and with one object changed. Tools run one after the
// other. Requests are counted in the audit log of the API server. Tools other than
// kubectl that are not on the PATH are left out and named.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fleetc/fleetc/testdata/clusters"
)

func main() {
	objects := flag.Int("objects", 3000, "how many ConfigMaps")
	program := flag.String("fleetc", "", "program to measure (default: that of this checkout)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *objects, *program, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "apply:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, objects int, program string, stdout, stderr io.Writer) (err error) {
	if objects < 1 {
		return fmt.Errorf("-objects %d: want a number above 0", objects)
	}
	dir, err := os.MkdirTemp("", "fleetc-bench-apply-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if program == "" {
		program = filepath.Join(dir, "fleetc")
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/fleetc")
		build.Stderr = stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build fleetc: %w", err)
		}
	}
	fleet, err := clusters.Start(ctx, stderr, clusters.Spec{Name: "one", Nodes: 1})
	if err != nil {
		return err
	}
	defer func() {
		if serr := fleet.Stop(false); err == nil {
			err = serr
		}
	}()
	b := &bench{dir: dir, objects: objects, cluster: fleet.Cluster("one"), stderr: stderr}
	kubectl := filepath.Join(fleet.Tools.Dir, "kubectl")
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "tool\tfirst apply\t\tnothing to do\t\tone object changed\t")
	fmt.Fprintln(t, "\trequests\tseconds\trequests\tseconds\trequests\tseconds")
	for _, tool := range tools(program, kubectl) {
		if err := b.measure(ctx, tool, t); err != nil {
			return fmt.Errorf("%s: %w", tool.name, err)
		}
	}
	return t.Flush()
}

// A bench applies the same objects with several tools.
type bench struct {
	dir     string // with a directory for each tool
	objects int
	cluster *clusters.Cluster
	stderr  io.Writer
}

// measure applies the objects three times with a tool and prints the results.
func (b *bench) measure(ctx context.Context, tool tool, to io.Writer) error {
	if _, err := exec.LookPath(tool.commands[0][0]); err != nil {
		fmt.Fprintf(b.stderr, "%s is not on the PATH, and left out\n", tool.name)
		return nil
	}
	dir := filepath.Join(b.dir, "files", tool.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fmt.Fprint(to, tool.name)
	for round, changed := range []bool{false, false, true} {
		if round == 0 {
			for _, command := range tool.before {
				if err := b.command(ctx, dir, command); err != nil {
					return err
				}
			}
		}
		for name, text := range tool.files(b.configMaps(tool.name, changed)) {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return err
			}
		}
		before, err := b.cluster.Requests()
		if err != nil {
			return err
		}
		began := time.Now()
		for _, command := range tool.commands {
			if err := b.command(ctx, dir, command); err != nil {
				return err
			}
		}
		took := time.Since(began)
		after, err := b.cluster.Requests()
		if err != nil {
			return err
		}
		fmt.Fprintf(to, "\t%d\t%.1f", len(after)-len(before), took.Seconds())
	}
	_, err := fmt.Fprintln(to)
	return err
}

// command runs a command in dir.
func (b *bench) command(ctx context.Context, dir string, words []string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.cluster.Kubeconfig, "HOME="+b.dir, "XDG_CACHE_HOME="+b.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, out[max(0, len(out)-2000):])
	}
	return nil
}

// configMaps returns the ConfigMaps in a namespace, as YAML.
func (b *bench) configMaps(namespace string, changed bool) string {
	var text strings.Builder
	for i := range b.objects {
		round := 0
		if changed && i == b.objects/2 {
			round = 1
		}
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: many-%05d, namespace: %s}\ndata: {round: \"%d\", text: \"a line of configuration, as there are many\"}\n", i, namespace, round)
	}
	return text.String()
}
