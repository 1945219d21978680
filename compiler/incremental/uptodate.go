package incremental

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// This file stores the outcome of a task for each cluster in the cache, so that later runs
// skip the clusters whose inputs are unchanged.
//
// A look-up has two steps, because the sources of releases are known only after
// evaluation: the files of the layers give the key of the stored sources, and the files of
// layers and sources give the key of the outcome.

// Task is work on each cluster of a fleet, such as an export.
type Task struct {
	Name       string // part of the cache key: has all inputs of the outcome outside of the fleet
	Charts     bool   // whether the charts must be available with their pinned digests
	TakesNotes bool   // whether inputs are recorded for [WhyCached]
	Values     bool   // whether the outcome depends on values of secrets, some of which no file has

	// Holds reports whether the outcome of a cluster still holds, for example whether the
	// exported files are unmodified. Several goroutines call it, once for each cluster.
	// Nil if there is nothing to compare.
	Holds       func(cluster, outcome string) bool
	Parallelism int // calls of Holds at a time; 0 for the compiler's parallelism
}

// UpToDate records which clusters need no work: their inputs have the same digests as
// when the task was last done with them.
type UpToDate struct {
	Outcomes map[string]string // stored outcomes of clusters that are up to date, by cluster ID

	compiler     *compiler.Compiler
	task         Task
	results      *cache.Store
	layers       *layerInputs
	changedSince func(file string) bool // whether a file changed since the run began
	changed      par.Memo[string, bool] // results of changedSince
	hasChart     par.Memo[fleet.ChartRef, bool]
	layerKeys    map[string]string            // cache keys of the layers, by cluster ID
	rules        map[string][]fleet.RuleCheck // of the clusters that are up to date, by ID
	fleet        *compiler.Fleet              // the clusters that are not up to date
	clusters     []*fleet.Cluster             // the clusters that are up to date, with the stored fields only
}

// storedOutcome is the stored outcome of a task for a cluster.
type storedOutcome struct {
	Text   string            `json:"text"`
	Rules  []fleet.RuleCheck `json:"rules,omitempty"`  // of [compiler.Fleet.CheckRules]
	Charts []fleet.ChartRef  `json:"charts,omitempty"` // charts that must be available
	Date   string            `json:"date,omitempty"`   // the date of the run; waivers that end before it have ended
	Until  string            `json:"until,omitempty"`  // the day on which the next waiver ends; empty when no waiver ends
}

// Load is [compiler.Compiler.Load] for the clusters that are not up to date: the fleet has
// only these. The caller must close the UpToDate unless Load fails. Beside an error, the fleet
// has the clusters that can be evaluated; it is nil if there are none.
func Load(ctx context.Context, c *compiler.Compiler, task Task, patterns ...string) (f *compiler.Fleet, s *UpToDate, err error) {
	s = &UpToDate{
		compiler: c, task: task, results: c.Results(), changedSince: cache.Since(),
		Outcomes: map[string]string{}, layerKeys: map[string]string{}, rules: map[string][]fleet.RuleCheck{}, layers: &layerInputs{},
	}
	defer func() {
		if err != nil {
			s.Close()
			s = nil
		}
	}()
	if s.results.Cache.Dir == "" {
		s.fleet, err = c.Load(ctx, patterns...)
		return s.fleet, s, err
	}
	loaded, err := c.ReadLayers(patterns)
	if loaded == nil {
		return nil, s, err
	}
	// Clusters with unreadable files are not up to date. Compiling them reports the error.
	if s.layers, _ = readLayerInputs(c, loaded); s.layers.reader != nil {
		s.find(ctx)
		loaded.Clusters = slices.DeleteFunc(loaded.Clusters, func(in load.Cluster) bool {
			_, ok := s.Outcomes[in.ID]
			return ok
		})
	}
	e := c.Unify(ctx, loaded, err)
	c.CheckTogether(ctx, loaded, &e, s.clusters)
	if s.fleet, err = c.LoadEvaluated(ctx, e); s.fleet != nil {
		for id, rules := range s.rules {
			s.fleet.Rules.Store(id, rules)
		}
	}
	return s.fleet, s, err
}

// Clusters returns all clusters of the run. Those that are up to date have only the fields
// that are stored.
func (s *UpToDate) Clusters() []*fleet.Cluster { return slices.Concat(s.fleet.Clusters, s.clusters) }

// Close frees the memory of evaluators. Do not call Record after it.
func (s *UpToDate) Close() { s.layers.close() }

// find finds the clusters that are up to date.
func (s *UpToDate) find(ctx context.Context) {
	var clusters []*fleet.Cluster
	var outcomes []storedOutcome
	for _, in := range s.layers.fleet.Clusters {
		if s.layers.inputs[in.ID] != nil {
			s.layerKeys[in.ID] = s.keyOf("layers", in.ID, s.layers.all(in.ID))
			if cluster, outcome, ok := s.outcome(ctx, in.ID); ok {
				clusters, outcomes = append(clusters, cluster), append(outcomes, outcome)
			}
		}
	}
	held := par.Map(ctx, cmp.Or(s.task.Parallelism, s.compiler.Parallel()), len(clusters), func(_ context.Context, i int) (bool, error) {
		return s.task.Holds == nil || s.task.Holds(clusters[i].ID, outcomes[i].Text), nil
	})
	i := 0
	for holds, err := range held {
		if holds && err == nil {
			s.Outcomes[clusters[i].ID], s.rules[clusters[i].ID] = outcomes[i].Text, outcomes[i].Rules
			s.clusters = append(s.clusters, clusters[i])
		}
		i++
	}
}

// outcome returns the stored outcome for the current inputs of a cluster, and the cluster
// with the fields that are stored.
func (s *UpToDate) outcome(ctx context.Context, id string) (c *fleet.Cluster, outcome storedOutcome, ok bool) {
	if !s.results.Cache.GetJSON(s.layerKeys[id], &c) || c == nil {
		return nil, outcome, false
	}
	all, err := s.allInputs(ctx, c)
	if err != nil || !s.results.Cache.GetJSON(s.keyOf("outcome", id, all), &outcome) || !outcome.holdsOn(s.compiler.Date) {
		return nil, outcome, false
	}
	isMissing := func(ref fleet.ChartRef) bool {
		return !s.hasChart.Get(ref, func() bool { return s.layers.reader.charts.Has(ctx, ref) })
	}
	return c, outcome, !slices.ContainsFunc(outcome.Charts, isMissing)
}

// holdsOn reports whether the outcome holds on a date: no waiver has ended since it was
// stored.
func (o storedOutcome) holdsOn(date string) bool {
	return date == "" || o.Date != "" && (o.Until == "" || date <= o.Until)
}

// Record stores the outcome of the task for a cluster, so that the cluster is up to date in
// the next run. It stores nothing if an input may have changed since the run began. Call it
// after the last cluster is compiled.
func (s *UpToDate) Record(ctx context.Context, c *fleet.Cluster, text string) {
	key := s.layerKeys[c.ID]
	if key == "" {
		return
	}
	if _, usesClock := s.fleet.UsesClock.Load(c.ID); usesClock {
		return
	}
	if s.task.Values && slices.ContainsFunc(c.Secrets, func(s fleet.Secret) bool { return s.Digest == "" }) {
		return
	}
	all, err := s.allInputs(ctx, c)
	if err != nil {
		return
	}
	for name := range all {
		if s.changed.Get(name, func() bool { return s.changedSince(s.layers.reader.path(name)) }) {
			return
		}
	}
	rules, _ := s.fleet.Rules.Load(c.ID)
	outcome := storedOutcome{Text: text, Date: s.compiler.Date, Until: firstEnd(c, s.compiler.Date)}
	outcome.Rules, _ = rules.([]fleet.RuleCheck) // none if the task does not render
	if s.task.Charts {
		outcome.Charts = fleet.SortedRefs(s.fleet.ChartUsers(ctx, &fleet.Fleet{Clusters: []*fleet.Cluster{c}}))
	}
	s.results.Cache.PutJSON(key, stored(c))
	s.results.Cache.PutJSON(s.keyOf("outcome", c.ID, all), outcome)
	if s.task.TakesNotes {
		s.note(c, all)
	}
}

// allInputs returns the inputs of a cluster: its layers and the sources of its releases.
func (s *UpToDate) allInputs(ctx context.Context, c *fleet.Cluster) (Inputs, error) {
	all := s.layers.all(c.ID)
	return all, s.layers.reader.addSources(ctx, c, all)
}

// keyOf returns the cache key of a result of a cluster that depends on the inputs.
func (s *UpToDate) keyOf(kind, id string, inputs Inputs) string {
	w := cache.NewKeyWriter()
	for _, text := range []string{s.layers.fleet.Module, id, s.compiler.Kubernetes, s.task.Name} {
		w.Text(text)
	}
	for _, name := range inputs.names() {
		w.Text(name)
		w.Text(inputs[name])
	}
	return s.results.KeyOf(kind, hex.EncodeToString(w.Sum(nil)))
}

// stored returns a cluster with the fields that are stored: the sources of its releases, and
// the fields for checks of clusters against each other.
func stored(c *fleet.Cluster) *fleet.Cluster {
	out := &fleet.Cluster{
		ID: c.ID, CRDs: c.CRDs, Environment: c.Environment, Labels: c.Labels, Selectors: c.Selectors, Defaults: c.Defaults, Checks: c.Checks, Rollout: c.Rollout,
		Name: c.Name, GitOps: c.GitOps, KubeContext: c.KubeContext, UID: c.UID, Pos: c.Pos, ContextPos: c.ContextPos,
	}
	files := map[string]bool{}
	for _, s := range c.Secrets {
		if s.SOPS != "" && !files[s.SOPS] {
			files[s.SOPS] = true
			out.Secrets = append(out.Secrets, fleet.Secret{SecretSource: fleet.SecretSource{SOPS: s.SOPS}})
		}
	}
	for _, r := range c.Releases {
		out.Releases = append(out.Releases, &fleet.Release{Name: r.Name, Chart: r.Chart, Jsonnet: r.Jsonnet, Kustomize: r.Kustomize, Manifests: r.Manifests})
	}
	return out
}

// firstEnd returns the first day, from the given date on, on which a waiver of the
// cluster's policies ends.
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
