package compiler

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/load"
	"github.com/fleetc/fleetc/compiler/memo"
	"github.com/fleetc/fleetc/compiler/ordered"
)

// This file keeps on disk, of the clusters that were exported, what they were
// made of and what came out, so that the next export need not compile those of
// which both are as they were.
//
// There are two steps, since what a cluster's releases are read from is known
// only when its layers are evaluated: the files of its layers lead to its sources,
// and the files of all together lead to what was written.

// An Export says what an export writes of a cluster, beside what is in the fleet.
type Export struct {
	Layout fleet.Layout
	Place  string // what else the export was checked against, in any form
	Tool   string // version of fleetc that is written

	// Holds returns the digest of what the place of a cluster has, empty when that
	// is nothing, or not whole. Several goroutines call it at once.
	Holds func(cluster string) string
}

// A Settled is what is known of clusters that may be settled: those which have
// at their place already what an export would write.
type Settled struct {
	Clusters []string // IDs of those that are, sorted; they are not compiled

	compiler *Compiler
	export   Export
	results  *results
	layered  *layered
	changed  func(file string) bool // since before anything was read
	settling memo.Map[string, bool] // which files have, as of when the first cluster was settled that has them
	layers   map[string]string      // the keys of the layers, by the cluster's ID
	fleet    *Fleet                 // of what is not settled
}

// A sources is what the releases of a cluster are read from, as it is kept.
type sources struct {
	CRDs     []string        `json:"crds,omitempty"`
	Releases []releaseSource `json:"releases"`
}

type releaseSource struct {
	Name      string         `json:"name"`
	Chart     fleet.ChartRef `json:"chart"`
	Jsonnet   string         `json:"jsonnet,omitempty"`
	Kustomize string         `json:"kustomize,omitempty"`
	Manifests string         `json:"manifests,omitempty"`
}

// An lastExport is what an export wrote of a cluster, as it is kept.
type lastExport struct {
	Digest string `json:"digest"`
	Date   string `json:"date,omitempty"`  // with which the ends of waivers were compared
	Until  string `json:"until,omitempty"` // the last day on which none of them has ended; empty when none does
}

// LoadUnsettled is [Compiler.Load] of the clusters that are not settled: the fleet
// has those alone. The caller closes what is beside it.
func (c *Compiler) LoadUnsettled(ctx context.Context, x Export, patterns ...string) (*Fleet, *Settled, error) {
	s := &Settled{compiler: c, export: x, results: c.results(), changed: cache.Since(), layers: map[string]string{}, layered: &layered{}}
	if s.results.cache.Dir == "" {
		f, err := c.Load(ctx, patterns...)
		return f, s, err
	}
	l, err := c.readLayers(patterns)
	s.layered = l
	if l.fleet == nil {
		return nil, s, err
	}
	s.find(ctx)
	l.fleet.Clusters = slices.DeleteFunc(l.fleet.Clusters, func(in load.Cluster) bool { return slices.Contains(s.Clusters, in.ID) })
	s.fleet, err = c.load(ctx, c.unify(ctx, l.fleet, err))
	return s.fleet, s, err
}

// Close lets go of what finding out took. Nothing is noted as settled after it.
func (s *Settled) Close() { s.layered.close() }

// find finds the clusters that are settled.
func (s *Settled) find(ctx context.Context) {
	var ids, digests []string
	for _, in := range s.layered.fleet.Clusters {
		if inputs := s.layered.inputs[in.ID]; inputs != nil {
			s.layers[in.ID] = s.keyOf("layers", in.ID, inputs)
			if w, ok := s.lastExport(ctx, in.ID); ok {
				ids, digests = append(ids, in.ID), append(digests, w.Digest)
			}
		}
	}
	held := ordered.Map(ctx, s.compiler.jobs(), len(ids), func(_ context.Context, i int) (bool, error) { return s.export.Holds(ids[i]) == digests[i], nil })
	i := 0
	for is, err := range held {
		if is && err == nil {
			s.Clusters = append(s.Clusters, ids[i])
		}
		i++
	}
}

// lastExport returns what was written of a cluster that was made of what it is made
// of now.
func (s *Settled) lastExport(ctx context.Context, id string) (w lastExport, ok bool) {
	data, ok := s.results.cache.Get(s.layers[id])
	if !ok {
		return w, false
	}
	var from sources
	if err := json.Unmarshal(data, &from); err != nil {
		return w, false
	}
	all, err := s.allInputs(ctx, from.cluster(id))
	if err != nil {
		return w, false
	}
	if data, ok = s.results.cache.Get(s.keyOf("export", id, all)); !ok {
		return w, false
	}
	err = json.Unmarshal(data, &w)
	return w, err == nil && w.holdsOn(s.compiler.Date)
}

// holdsOn reports whether no waiver has ended on a day that had not when this was
// written.
func (w lastExport) holdsOn(date string) bool {
	return date == "" || w.Date != "" && (w.Until == "" || date <= w.Until)
}

// Settle notes what an export has written of a cluster, so that the next one finds
// it settled. A file that was changed while the export went on is in the way of
// that: it is not known which of its contents was read. It is called when the
// whole fleet is compiled, and nothing more is read.
func (s *Settled) Settle(ctx context.Context, c *fleet.Cluster, digest string) {
	key := s.layers[c.ID]
	if key == "" {
		return
	}
	if _, timed := s.fleet.timed.Load(c.ID); timed {
		return // tomorrow it may be another
	}
	all, err := s.allInputs(ctx, c)
	if err != nil {
		return
	}
	for name := range all {
		if s.settling.Get(name, func() bool { return s.changed(s.layered.reader.path(name)) }) {
			return
		}
	}
	from, err := json.Marshal(sourcesOf(c))
	if err != nil {
		return
	}
	w, err := json.Marshal(lastExport{Digest: digest, Date: s.compiler.Date, Until: firstEnd(c, s.compiler.Date)})
	if err != nil {
		return
	}
	s.results.cache.Put(key, from)
	s.results.cache.Put(s.keyOf("export", c.ID, all), w)
	s.note(c, all)
}

// allInputs returns what a cluster is made of, when its sources are these.
func (s *Settled) allInputs(ctx context.Context, c *fleet.Cluster) (Inputs, error) {
	all := Inputs{}
	for name, digest := range s.layered.inputs[c.ID] {
		all[name] = digest
	}
	return all, s.layered.reader.sources(ctx, c, all)
}

// keyOf returns the key of a result that follows from files.
func (s *Settled) keyOf(kind, id string, from Inputs) string {
	w := newKeyWriter()
	for _, text := range []string{s.layered.fleet.Module, id, s.compiler.Kubernetes, string(s.export.Layout), s.export.Place, s.export.Tool} {
		w.text(text)
	}
	for _, name := range from.names() {
		w.text(name)
		w.text(from[name])
	}
	return s.results.keyOf(kind, hex.EncodeToString(w.Sum(nil)))
}

func sourcesOf(c *fleet.Cluster) sources {
	out := sources{CRDs: c.CRDs}
	for _, r := range c.Releases {
		out.Releases = append(out.Releases, releaseSource{Name: r.Name, Chart: r.Chart, Jsonnet: r.Jsonnet, Kustomize: r.Kustomize, Manifests: r.Manifests})
	}
	return out
}

// cluster returns a cluster that has the sources and nothing else.
func (s sources) cluster(id string) *fleet.Cluster {
	c := &fleet.Cluster{ID: id, CRDs: s.CRDs}
	for _, r := range s.Releases {
		c.Releases = append(c.Releases, &fleet.Release{Name: r.Name, Chart: r.Chart, Jsonnet: r.Jsonnet, Kustomize: r.Kustomize, Manifests: r.Manifests})
	}
	return c
}

// firstEnd returns the first day on which a waiver of the cluster's policies ends,
// of those that have not ended on the given one.
func firstEnd(c *fleet.Cluster, date string) string {
	first := ""
	for _, p := range c.Policies {
		for _, w := range p.Waivers {
			if w.Until != "" && w.Until >= date && (first == "" || w.Until < first) {
				first = w.Until
			}
		}
	}
	return first
}
