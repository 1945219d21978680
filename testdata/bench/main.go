// Command bench measures fleetc, and other tools, on the same fleet: as whole
// processes, one after the other, in one run.
//
//	go run ./testdata/bench [-n 1,10,50] [-peers xargs,helmfile] [-o json] [-dir DIR] [-fleetc FILE]
//	go run ./testdata/bench -shards 1,2,4,8 [-n 50]
//
// The fleet F(N) has N clusters in three environments and four regions, each
// with the same twelve releases. Their charts are those of testdata/charts and
// larger ones that are generated, always the same bytes: one cluster renders to
// about 480 objects and 12 MB. Seven releases differ from cluster to cluster.
//
// Other tools render the same charts with the same values, which they read from
// files or as they otherwise do. Those that are not on the PATH are named.
// -peers all runs every one, -peers none none.
//
// Wall seconds are those of the clock, CPU seconds are user and system time of
// the process and all that it started, and the peak is the largest sum of
// resident memory of those, of samples 5 ms apart in /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

func main() {
	var o options
	sizes := flag.String("n", "1,10,50", "how many clusters, one fleet for each")
	names := flag.String("peers", "xargs,helmfile", "which other tools: all, none, or of "+strings.Join(peerNames(), ","))
	shards := flag.String("shards", "", "measure only exports in so many shards, as in 1,2,4,8")
	flag.StringVar(&o.format, "o", "text", "text or json")
	flag.StringVar(&o.dir, "dir", "", "directory for the fleets, which stay there (default: a temporary one)")
	flag.StringVar(&o.fleetc, "fleetc", "", "program to measure (default: that of this checkout)")
	flag.StringVar(&o.charts, "charts", "testdata/charts", "directory of the charts that are enlarged")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.shards, err = parseShards(*shards); err == nil {
		err = o.parse(*sizes, *names)
	}
	if err == nil {
		err = o.run(ctx, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command-line options.
type options struct {
	sizes                       []int
	peers                       []peer
	shards                      []int // numbers of shards to measure instead of other runs
	format, dir, fleetc, charts string
}

// parse parses the lists of sizes and peers.
func (o *options) parse(sizes, names string) error {
	if o.format != "text" && o.format != "json" {
		return fmt.Errorf("-o %s: want text or json", o.format)
	}
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("-n %s: want numbers from 1 on, as in 1,10,50", sizes)
		}
		o.sizes = append(o.sizes, n)
	}
	if names == "none" {
		return nil
	}
	if names == "all" {
		o.peers = peers
		return nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.Index(peerNames(), name)
		if i < 0 {
			return fmt.Errorf("-peers %s: want all, none, or some of %s", names, strings.Join(peerNames(), ","))
		}
		o.peers = append(o.peers, peers[i])
	}
	return nil
}

func peerNames() []string {
	var list []string
	for _, p := range peers {
		list = append(list, p.name)
	}
	return list
}

// run measures everything and prints the report. Failures of peers are in the
// report; a failure of fleetc ends the run.
func (o *options) run(ctx context.Context, out, progress io.Writer) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "fleetc-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	// Commands run in the directories of the fleets.
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	if o.fleetc == "" {
		o.fleetc, err = build(ctx, o.dir)
	} else {
		o.fleetc, err = filepath.Abs(o.fleetc)
	}
	if err != nil {
		return err
	}
	r := &report{
		Machine:  fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()),
		Versions: map[string]string{"fleetc": printed(ctx, []string{o.fleetc, "version"})}, Missing: map[string]string{},
	}
	runnable := slices.DeleteFunc(slices.Clone(o.peers), func(p peer) bool {
		missing := p.missing()
		if len(missing) > 0 {
			r.Missing[p.name] = strings.Join(missing, ", ") + " not on the PATH"
			return true
		}
		r.Versions[p.tools[0]] = printed(ctx, p.version)
		return false
	})
	for _, n := range o.sizes {
		measure := func() error { return o.measure(ctx, n, runnable, r, progress) }
		if len(o.shards) > 0 {
			measure = func() error { return o.measureShards(ctx, n, r, progress) }
		}
		if err := measure(); err != nil {
			return err
		}
	}
	r.grow(o.sizes)
	return r.write(out, o.format)
}

// measure runs fleetc and the peers on F(n).
func (o *options) measure(ctx context.Context, n int, peers []peer, r *report, progress io.Writer) error {
	dir := filepath.Join(o.dir, fmt.Sprintf("F%d", n))
	// Remove the results of an earlier run.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	w, err := generate(dir, o.charts, n)
	if err != nil {
		return err
	}
	each := func(x result) {
		fmt.Fprintf(progress, "F(%d) %s: %.2f s %s\n", n, x.What, x.Wall, x.Fault)
		r.Results = append(r.Results, x)
	}
	if err := w.fleetc(ctx, o.fleetc, each); err != nil {
		return err
	}
	for _, p := range peers {
		x, err := p.run(ctx, w)
		if err != nil {
			return err
		}
		each(x)
	}
	return nil
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
