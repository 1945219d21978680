// Package deliver brings bundles out of the compiler: it exports them, and plans and
// runs applies, rollbacks and destroys on clusters.
package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// ApplyOptions say how clusters are applied to. The zero value is ready for
// use.
type ApplyOptions struct {
	apply.Options
	cluster.Access
}

// A Planned is a cluster with what applying its bundle means.
type Planned struct {
	Cluster *fleet.Cluster
	Plan    *apply.Plan   // nil when there is Err
	Changes []diff.Change // of the plan, for people; values of Secrets are not in them
	Err     error         // why the cluster cannot be planned: it is down, or another one
	Reached bool          // whether the cluster answers

	target apply.Target
}

// Plans compiles the clusters, asks each what applying its bundle means, and
// yields that in the order of their IDs. Nothing is written. An error that is
// yielded is about the fleet, and nothing should be applied then; what is wrong
// with a cluster that runs is in [Planned.Err], which is complete when the sequence
// ends: that two clusters are the same is known then. Secrets are compared by hashes
// with the key, see [diff.Objects].
func Plans(ctx context.Context, f *compiler.Fleet, o ApplyOptions, key []byte) iter.Seq2[*Planned, error] {
	if err := cmp.Or(CheckContexts(f.Clusters), checkApproved(f.Clusters, o.Actions.Approved)); err != nil {
		return func(yield func(*Planned, error) bool) { yield(nil, err) }
	}
	return func(yield func(*Planned, error) bool) {
		var origin apply.Origin
		var err error
		if origin.Commit, origin.Dirty, err = commitOf(ctx, f.Dir); err != nil {
			yield(nil, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := connect(ctx, f, o.Access)
		s.Keep(f)
		o.Actions.Dir = f.Dir
		planned := plans(ctx, f, s, apply.Target{Fleet: f.Module, Origin: origin, Options: o.Options}, key)
		all := map[string]*Planned{}
		for p, err := range planned {
			if p != nil {
				all[p.Cluster.ID] = p
			}
			if !yield(p, err) {
				return
			}
		}
		for id, err := range sameClusters(f, s) {
			if p := all[id]; p != nil {
				p.Plan, p.Changes, p.Err = nil, nil, diag.In(id, err)
			}
		}
	}
}

// plans plans clusters for the target as soon as they are connected to, so that one
// that does not answer delays no other.
func plans(ctx context.Context, f *compiler.Fleet, all Servers, t apply.Target, key []byte) iter.Seq2[*Planned, error] {
	turns := make(chan struct{}, f.Parallel)
	return ordered.Map(ctx, len(f.Clusters), len(f.Clusters), func(ctx context.Context, i int) (*Planned, error) {
		c := f.Clusters[i]
		s := all.Of(c.ID)
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		t := t
		t.Live = s.Live
		return plan(ctx, f, c, s, t, key)
	})
}

// plan compiles a cluster and plans what that means for the target.
func plan(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster, s Server, t apply.Target, key []byte) (*Planned, error) {
	p := &Planned{Cluster: c, Reached: s.Live != nil}
	if s.Err != nil {
		p.Err = diag.In(c.ID, s.Err)
		return p, ctx.Err()
	}
	var err error
	t.Bundle, err = f.Compile(ctx, c)
	if _, ok := errors.AsType[*UnreadableError](err); ok {
		p.Err = diag.In(c.ID, err)
		return p, ctx.Err()
	}
	if err != nil {
		return nil, diag.In(c.ID, err)
	}
	t.Charts = ChartsByHelm(f, c)
	p.plan(ctx, t, key)
	return p, ctx.Err()
}

// plan plans what the bundle of the target means.
func (p *Planned) plan(ctx context.Context, t apply.Target, key []byte) {
	p.target = t
	var err error
	if p.Plan, err = t.Plan(ctx); err != nil {
		p.Err = diag.In(p.Cluster.ID, err)
		return
	}
	p.Changes = changes(p.Plan, key)
}

// ChartsByHelm returns the charts of the releases that Helm delivers, by release.
func ChartsByHelm(f *compiler.Fleet, c *fleet.Cluster) map[string]*fleet.Chart {
	charts := map[string]*fleet.Chart{}
	for _, r := range c.Releases {
		if r.Delivery == fleet.ByHelm {
			charts[r.Name] = f.Charts[r.Chart].Chart
		}
	}
	return charts
}

// Faults returns what stands against applying to the cluster.
func (p *Planned) Faults() error {
	if p.Err != nil {
		return p.Err
	}
	return diag.In(p.Cluster.ID, p.Plan.Faults())
}

// CheckActions returns the faults of actions of the plan that cannot be done
// here: commands that are not allowed, environment variables that are not set,
// questions that nobody answers. A plan can be made all the same.
func (p *Planned) CheckActions() error {
	return diag.In(p.Cluster.ID, p.target.CheckActions(p.Plan))
}

// Run does what plans say, for so many clusters at a time, and yields the results
// in their order. What happens meanwhile is told, by one call at a time; the last
// event of a cluster is its end. When exact, a cluster that is no longer as it
// was planned is a fault. A fault of a cluster does not stop the others.
func Run(ctx context.Context, plans []*Planned, parallel int, exact bool, tell func(apply.Event)) iter.Seq2[apply.Result, error] {
	var mu sync.Mutex
	inTurn := func(e apply.Event) {
		mu.Lock()
		defer mu.Unlock()
		tell(e)
	}
	// Clusters begin in their order, and one that takes long delays no result.
	turns := make(chan struct{}, parallel)
	begun := make([]chan struct{}, len(plans)+1)
	for i := range begun {
		begun[i] = make(chan struct{})
	}
	close(begun[0])
	return ordered.Map(ctx, len(plans), len(plans), func(ctx context.Context, i int) (apply.Result, error) {
		if err := inOrder(ctx, begun[i], begun[i+1], turns); err != nil {
			return apply.Result{}, err
		}
		defer func() { <-turns }()
		t, id := plans[i].target, plans[i].Cluster.ID
		t.Exact = exact
		defer inTurn(apply.Event{Cluster: id, What: "end"})
		r, err := t.Run(ctx, plans[i].Plan, inTurn)
		return r, diag.In(id, err)
	})
}

// inOrder takes a turn as soon as the one before has begun, and lets the next begin.
func inOrder(ctx context.Context, before <-chan struct{}, next chan<- struct{}, turns chan<- struct{}) error {
	select {
	case <-before:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case turns <- struct{}{}:
		close(next)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ManualActions returns what the actions of clusters are called that a person
// must approve, sorted.
func ManualActions(clusters []*fleet.Cluster) []string {
	var ids []string
	for _, c := range clusters {
		for _, a := range c.AllActions() {
			if a.Manual != "" {
				ids = append(ids, a.ID())
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// checkApproved returns the faults of names of actions that no cluster has.
func checkApproved(clusters []*fleet.Cluster, names []string) error {
	manual := ManualActions(clusters)
	var faults diag.List
	for _, name := range names {
		if !slices.Contains(manual, name) {
			faults.Add(&diag.Diag{Msg: fmt.Sprintf("no manual action is called %q", diag.Visible(name, diag.MaxText)), Hint: diag.OneOf(name, manual)})
		}
	}
	return faults.Err()
}

// changes returns what a plan changes, as people read it.
func changes(p *apply.Plan, key []byte) []diff.Change {
	var before, after []fleet.Object
	add := func(to *[]fleet.Object, o fleet.Object) {
		if o.Unstructured != nil {
			*to = append(*to, o)
		}
	}
	items := slices.Clone(p.Items)
	for _, it := range p.Items {
		if it.Action != apply.Unchanged { // one that is not upgraded leaves them as they are
			items = append(items, it.Parts...)
		}
	}
	for _, it := range items {
		r := &fleet.Release{Name: it.Release}
		if it.IsHelm() {
			continue // its parts are what changes
		}
		switch it.Action {
		case apply.Create, apply.Change, apply.Replace, apply.Conflict, apply.Prune:
			was, is := it.DisplayStates()
			add(&before, fleet.Object{Unstructured: was, Release: r})
			add(&after, fleet.Object{Unstructured: is, Release: r})
		}
	}
	return diff.Objects(before, after, key)
}

// selectorQuotes matches the quotes in the path of a list element as an API
// server writes it: containers[name="app"].
var selectorQuotes = regexp.MustCompile(`="([^"\]]*)"`)

// Contested returns the change of a field that is in conflict, and whether it
// is known: how it is, and how it would be.
func (p *Planned) Contested(id string, field cluster.Field) (diff.FieldChange, bool) {
	path := selectorQuotes.ReplaceAllString(strings.TrimPrefix(field.Path, "."), "=$1")
	for _, c := range p.Changes {
		if c.ID != id {
			continue
		}
		for _, f := range c.Fields {
			if f.Path == path {
				return f, true
			}
		}
	}
	return diff.FieldChange{}, false
}
