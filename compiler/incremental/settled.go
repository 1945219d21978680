package incremental

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/cache"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/memo"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/results"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// This file keeps on disk, of the clusters with which a task was done, what they
// were made of and what came out, so that the task need not be done again with
// those that are made of the same.
//
// There are two steps, since what a cluster's releases are read from is known
// only when its layers are evaluated: the files of its layers lead to its sources,
// and the files of all together lead to the outcome.

// A Task is what is done with every cluster of a fleet by itself.
type Task struct {
	Name   string // of the task and of all that its outcome follows from beside the fleet, in any form
	Charts bool   // whether the charts must be there, each with the digest that is pinned
	Noted  bool   // whether it is what [Compiler.WhyCached] tells of

	// Holds reports whether the outcome of a cluster still is: an export is there
	// as it was written. It is called once for each, by several goroutines. Nil for a
	// task with nothing but its outcome.
	Holds   func(cluster, outcome string) bool
	AtATime int // how many calls of Holds; 0 for as many as clusters are compiled
}

// UpToDate records which clusters need no work: their inputs have the same digests as
// when the task was last done with them.
type UpToDate struct {
	Outcomes map[string]string // of those that are, by their IDs; they are not in the fleet

	compiler *compiler.Compiler
	task     Task
	results  *results.Store
	layered  *layered
	changed  func(file string) bool // since before anything was read
	settling memo.Map[string, bool] // which files have, as of when the first cluster was settled that has them
	there    memo.Map[fleet.ChartRef, bool]
	layers   map[string]string // the keys of the layers, by the cluster's ID
	fleet    *compiler.Fleet   // of what is not settled
	upToDate []*fleet.Cluster  // that are settled, as far as others are checked against them
}

// A sources is what the releases of a cluster are read from, as it is kept.
type sources struct {
	CRDs     []string        `json:"crds,omitempty"`
	Releases []releaseSource `json:"releases"`

	// What others are checked against.
	Environment string                  `json:"environment,omitempty"`
	Labels      map[string]string       `json:"labels,omitempty"`
	Selectors   []fleet.ClusterSelector `json:"selectors,omitempty"`
	Defaults    fleet.DefaultUses       `json:"defaults,omitzero"`
	Checks      []fleet.RuleCheck       `json:"checks,omitempty"`
	Context     string                  `json:"context,omitempty"`
	UID         string                  `json:"uid,omitempty"`
	ContextPos  diag.Pos                `json:"contextPos"`
	Pos         diag.Pos                `json:"pos"`
}

type releaseSource struct {
	Name      string         `json:"name"`
	Chart     fleet.ChartRef `json:"chart"`
	Jsonnet   string         `json:"jsonnet,omitempty"`
	Kustomize string         `json:"kustomize,omitempty"`
	Manifests string         `json:"manifests,omitempty"`
}

// A taskOutcome is what a task came to, as it is kept.
type storedOutcome struct {
	Text   string           `json:"text"`
	Charts []fleet.ChartRef `json:"charts,omitempty"` // that had to be there
	Date   string           `json:"date,omitempty"`   // with which the ends of waivers were compared
	Until  string           `json:"until,omitempty"`  // the last day on which none of them has ended; empty when none does
}

// Load is [compiler.Compiler.Load] of the clusters that are not up to date: the fleet has
// only those. The caller closes the record when there is no error.
func Load(ctx context.Context, c *compiler.Compiler, task Task, patterns ...string) (f *compiler.Fleet, s *UpToDate, err error) {
	s = &UpToDate{
		compiler: c, task: task, results: c.Results(), changed: cache.Since(),
		Outcomes: map[string]string{}, layers: map[string]string{}, layered: &layered{},
	}
	defer func() {
		if err != nil {
			s.Close()
			f, s = nil, nil
		}
	}()
	if s.results.Cache.Dir == "" {
		f, err = c.Load(ctx, patterns...)
		return f, s, err
	}
	loaded, err := c.ReadLayers(patterns)
	if loaded == nil {
		return nil, s, err
	}
	// What cannot be read here belongs to clusters that are not settled, and is told
	// when they are compiled.
	if s.layered, _ = layeredOf(c, loaded); s.layered.reader != nil {
		s.find(ctx)
		loaded.Clusters = slices.DeleteFunc(loaded.Clusters, func(in load.Cluster) bool {
			_, is := s.Outcomes[in.ID]
			return is
		})
	}
	e := c.Unify(ctx, loaded, err)
	c.CheckTogether(ctx, loaded, &e, s.upToDate)
	s.fleet, err = c.LoadEvaluated(ctx, e)
	return s.fleet, s, err
}

// Close lets go of what finding out took. Nothing is noted as settled after it.
func (s *UpToDate) Close() { s.layered.close() }

// find finds the clusters that are settled.
func (s *UpToDate) find(ctx context.Context) {
	var clusters []*fleet.Cluster
	var outcomes []storedOutcome
	for _, in := range s.layered.fleet.Clusters {
		if s.layered.inputs[in.ID] != nil {
			s.layers[in.ID] = s.keyOf("layers", in.ID, s.layered.all(in.ID))
			if cluster, was, ok := s.outcome(ctx, in.ID); ok {
				clusters, outcomes = append(clusters, cluster), append(outcomes, was)
			}
		}
	}
	held := ordered.Map(ctx, cmp.Or(s.task.AtATime, s.compiler.Parallel()), len(clusters), func(_ context.Context, i int) (bool, error) {
		return s.task.Holds == nil || s.task.Holds(clusters[i].ID, outcomes[i].Text), nil
	})
	i := 0
	for is, err := range held {
		if is && err == nil {
			s.Outcomes[clusters[i].ID] = outcomes[i].Text
			s.upToDate = append(s.upToDate, clusters[i])
		}
		i++
	}
}

// outcome returns what the task came to with a cluster that was made of what it is
// made of now, and the cluster as far as it is kept.
func (s *UpToDate) outcome(ctx context.Context, id string) (c *fleet.Cluster, was storedOutcome, ok bool) {
	data, ok := s.results.Cache.Get(s.layers[id])
	if !ok {
		return nil, was, false
	}
	var from sources
	if err := json.Unmarshal(data, &from); err != nil {
		return nil, was, false
	}
	c = from.cluster(id)
	all, err := s.allInputs(ctx, c)
	if err != nil {
		return nil, was, false
	}
	if data, ok = s.results.Cache.Get(s.keyOf("outcome", id, all)); !ok {
		return nil, was, false
	}
	if err := json.Unmarshal(data, &was); err != nil || !was.holdsOn(s.compiler.Date) {
		return nil, was, false
	}
	return c, was, !slices.ContainsFunc(was.Charts, func(ref fleet.ChartRef) bool { return !s.has(ctx, ref) })
}

// has reports whether a chart is there.
func (s *UpToDate) has(ctx context.Context, ref fleet.ChartRef) bool {
	return s.there.Get(ref, func() bool { return s.layered.reader.charts.Has(ctx, ref) })
}

// holdsOn reports whether no waiver has ended on a day that had not when this was
// written.
func (o storedOutcome) holdsOn(date string) bool {
	return date == "" || o.Date != "" && (o.Until == "" || date <= o.Until)
}

// Record stores the outcome of the task for a cluster, so that the cluster is up to date
// next time. It stores nothing when an input changed since it was read. Call it when the
// whole fleet is compiled and nothing more is read.
func (s *UpToDate) Record(ctx context.Context, c *fleet.Cluster, text string) {
	key := s.layers[c.ID]
	if key == "" {
		return
	}
	if _, timed := s.fleet.UsesClock.Load(c.ID); timed {
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
	is := storedOutcome{Text: text, Date: s.compiler.Date, Until: firstEnd(c, s.compiler.Date)}
	if s.task.Charts {
		is.Charts = compiler.SortedRefs(s.fleet.ChartUsers(ctx, &fleet.Fleet{Clusters: []*fleet.Cluster{c}}))
	}
	data, err := json.Marshal(is)
	if err != nil {
		return
	}
	s.results.Cache.Put(key, from)
	s.results.Cache.Put(s.keyOf("outcome", c.ID, all), data)
	if s.task.Noted {
		s.note(c, all)
	}
}

// allInputs returns what a cluster is made of, when its sources are these.
func (s *UpToDate) allInputs(ctx context.Context, c *fleet.Cluster) (Inputs, error) {
	all := s.layered.all(c.ID)
	return all, s.layered.reader.sources(ctx, c, all)
}

// keyOf returns the key of a result that follows from files.
func (s *UpToDate) keyOf(kind, id string, from Inputs) string {
	w := cache.NewKeyWriter()
	for _, text := range []string{s.layered.fleet.Module, id, s.compiler.Kubernetes, s.task.Name} {
		w.Text(text)
	}
	for _, name := range from.names() {
		w.Text(name)
		w.Text(from[name])
	}
	return s.results.KeyOf(kind, hex.EncodeToString(w.Sum(nil)))
}

func sourcesOf(c *fleet.Cluster) sources {
	out := sources{
		CRDs: c.CRDs, Environment: c.Environment, Labels: c.Labels, Selectors: c.Selectors, Defaults: c.Defaults, Checks: c.Checks, Context: c.KubeContext, UID: c.UID, Pos: c.Pos, ContextPos: c.ContextPos,
	}
	for _, r := range c.Releases {
		out.Releases = append(out.Releases, releaseSource{Name: r.Name, Chart: r.Chart, Jsonnet: r.Jsonnet, Kustomize: r.Kustomize, Manifests: r.Manifests})
	}
	return out
}

// cluster returns a cluster that has the sources and nothing else.
func (s sources) cluster(id string) *fleet.Cluster {
	c := &fleet.Cluster{
		ID: id, CRDs: s.CRDs, Environment: s.Environment, Labels: s.Labels, Selectors: s.Selectors, Defaults: s.Defaults, Checks: s.Checks, KubeContext: s.Context, UID: s.UID, Pos: s.Pos, ContextPos: s.ContextPos,
	}
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
