package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// A report has all results of a run.
type report struct {
	Machine  string            `json:"machine"`
	Versions map[string]string `json:"versions"`
	Missing  map[string]string `json:"missing"` // peers that did not run, with the reason
	Results  []result          `json:"results"`
	Growth   []growth          `json:"growth"`
}

// growth is the change of time and memory per cluster with the size of the
// fleet: 1 means linear time, and memory that doubles with the fleet.
type growth struct {
	What   string  `json:"what"`
	From   int     `json:"from"`
	To     int     `json:"to"`
	Wall   float64 `json:"wallPerCluster"` // at To, relative to From
	CPU    float64 `json:"cpuPerCluster"`
	Memory float64 `json:"peak"` // total, at To relative to From
}

// of returns the result for a size of the fleet.
func (r *report) of(what string, n int) (result, bool) {
	i := slices.IndexFunc(r.Results, func(x result) bool { return x.What == what && x.Clusters == n && x.Fault == "" })
	if i < 0 {
		return result{}, false
	}
	return r.Results[i], true
}

// grow computes the growth of everything that ran at both ends: the largest
// fleet, and that of ten clusters or, without it, the smallest.
func (r *report) grow(sizes []int) {
	to, from := slices.Max(sizes), slices.Min(sizes)
	if to > 10 && slices.Contains(sizes, 10) {
		from = 10
	}
	if from == to {
		return
	}
	for _, last := range r.Results {
		first, ok := r.of(last.What, from)
		if !ok || last.Clusters != to || last.Fault != "" {
			continue
		}
		scale := float64(from) / float64(to)
		r.Growth = append(r.Growth, growth{
			last.What, from, to, ratio(last.Wall, first.Wall) * scale, ratio(last.CPU, first.CPU) * scale, ratio(last.Peak, first.Peak),
		})
	}
}

// ratio returns a/b, or 0 for b = 0, since JSON has no infinity.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// write prints the report.
func (r *report) write(out io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	fmt.Fprintln(out, r.Machine)
	for _, key := range sorted(r.Versions) {
		fmt.Fprintf(out, "%s: %s\n", key, r.Versions[key])
	}
	for _, key := range sorted(r.Missing) {
		fmt.Fprintf(out, "%s: not run: %s\n", key, r.Missing[key])
	}
	n := 0
	for _, x := range r.Results {
		if x.Clusters != n {
			n = x.Clusters
			fmt.Fprintf(out, "\n%-44s%10s%10s%10s%16s%15s\n", fmt.Sprintf("F(%d)", n), "wall s", "CPU s", "peak MB", "wall, of first", "CPU, of first")
		}
		if x.Fault != "" {
			fmt.Fprintf(out, "%-44s    failed: %s\n", x.What, x.Fault)
			continue
		}
		base, ok := r.of(cold, n)
		if !ok {
			base, _ = r.of(oneShard, n)
		}
		fmt.Fprintf(out, "%-44s%10.2f%10.2f%10.0f%16.2f%15.2f\n", x.What, x.Wall, x.CPU, x.Peak, ratio(x.Wall, base.Wall), ratio(x.CPU, base.CPU))
	}
	for i, g := range r.Growth {
		if i == 0 {
			fmt.Fprintf(out, "\n%-44s%16s%16s%16s\n", fmt.Sprintf("F(%d) against F(%d)", g.To, g.From), "wall a cluster", "CPU a cluster", "peak MB of all")
		}
		fmt.Fprintf(out, "%-44s%16.2f%16.2f%16.2f\n", g.What, g.Wall, g.CPU, g.Memory)
	}
	return nil
}
