package compiler

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

	"github.com/fleetc/fleetc/compiler/apply"
	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/diff"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/live"
	"github.com/fleetc/fleetc/compiler/ordered"
)

// ApplyOptions say how clusters are applied to. The zero value is ready for
// use.
type ApplyOptions struct {
	apply.Options
	Kubeconfig string // a file; those of KUBECONFIG, or the user's own, when empty
	Agent      string // what the audit logs of the clusters call the program
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
// with a cluster that runs is in [Planned.Err]. Secrets are compared by hashes
// with the key, see [diff.Objects].
func (f *Fleet) Plans(ctx context.Context, o ApplyOptions, key []byte) iter.Seq2[*Planned, error] {
	if err := cmp.Or(checkContexts(f.Clusters), checkApproved(f.Clusters, o.Actions.Approved)); err != nil {
		return func(yield func(*Planned, error) bool) { yield(nil, err) }
	}
	return func(yield func(*Planned, error) bool) {
		var origin apply.Origin
		var err error
		if origin.Commit, origin.Dirty, err = commitOf(ctx, f.Dir); err != nil {
			yield(nil, err)
			return
		}
		servers := f.connect(ctx, o)
		f.servers = servers
		o.Actions.Dir = f.Dir
		planned := ordered.Map(ctx, f.jobs, len(f.Clusters), func(ctx context.Context, i int) (*Planned, error) {
			t := apply.Target{Fleet: f.Module, Live: servers[f.Clusters[i].ID].live, Origin: origin, Options: o.Options}
			return f.plan(ctx, f.Clusters[i], servers[f.Clusters[i].ID], t, key)
		})
		for p, err := range planned {
			if !yield(p, err) {
				return
			}
		}
	}
}

// plan compiles a cluster and plans what that means for the target.
func (f *Fleet) plan(ctx context.Context, c *fleet.Cluster, s server, t apply.Target, key []byte) (*Planned, error) {
	p := &Planned{Cluster: c, Reached: s.live != nil}
	if s.err != nil {
		p.Err = diag.In(c.ID, s.err)
		return p, ctx.Err()
	}
	var err error
	t.Bundle, err = f.compile(ctx, c)
	if _, ok := errors.AsType[*unread](err); ok {
		p.Err = diag.In(c.ID, err)
		return p, ctx.Err()
	}
	if err != nil {
		return nil, diag.In(c.ID, err)
	}
	t.Charts = f.chartsByHelm(c)
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

// chartsByHelm returns the charts of the releases that Helm delivers.
func (f *Fleet) chartsByHelm(c *fleet.Cluster) map[string]*fleet.Chart {
	charts := map[string]*fleet.Chart{}
	for _, r := range c.Releases {
		if r.Delivery == fleet.ByHelm {
			charts[r.Name] = f.charts[r.Chart].Chart
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

// checkContexts returns the faults of clusters that do not say how to reach
// them, or say the same.
func checkContexts(clusters []*fleet.Cluster) error {
	var faults diag.List
	first := map[string]*fleet.Cluster{}
	for _, c := range clusters {
		switch other := first[c.KubeContext]; {
		case c.KubeContext == "":
			faults.Add(&diag.Diag{
				At: []diag.Pos{c.Pos}, Clusters: []string{c.ID}, Path: "cluster.context", Msg: "the cluster has no context of a kubeconfig",
				Hint: `set it: cluster: context: "..."`,
			})
		case other != nil:
			faults.Add(&diag.Diag{
				At: []diag.Pos{c.Pos, other.Pos}, Clusters: []string{other.ID, c.ID}, Path: "cluster.context",
				Msg: fmt.Sprintf("clusters %s and %s both have the context %q", other.ID, c.ID, c.KubeContext),
			})
		default:
			first[c.KubeContext] = c
		}
	}
	return faults.Err()
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

// A server is the connection to a cluster, or why there is none.
type server struct {
	live  *live.Cluster
	err   error
	looks bool // whether nothing is applied, and what may not be read is let be
}

// connect connects to all clusters. One that is not the one that its layers
// say, and two that are the same, are at fault.
func (f *Fleet) connect(ctx context.Context, o ApplyOptions) map[string]server {
	const atATime = 16 // connecting is waiting
	connected := ordered.Map(ctx, atATime, len(f.Clusters), func(ctx context.Context, i int) (*live.Cluster, error) {
		return live.Connect(ctx, live.Address{Kubeconfig: o.Kubeconfig, Context: f.Clusters[i].KubeContext, Agent: o.Agent})
	})
	servers, first, i := map[string]server{}, map[string]*fleet.Cluster{}, 0
	for l, err := range connected {
		c := f.Clusters[i]
		i++
		if err != nil {
			servers[c.ID] = server{err: at(c, err)}
			continue
		}
		s := server{live: l}
		if c.UID != "" && c.UID != l.UID {
			s.err = &diag.Diag{
				At: []diag.Pos{c.Pos}, Path: "cluster.uid",
				Msg:  fmt.Sprintf("%s is another cluster: the UID of its namespace kube-system is %s", l.Server, diag.Visible(l.UID, diag.MaxText)),
				Hint: "see cluster.context",
			}
		}
		if other := first[l.UID]; other != nil {
			// Nobody knows which of the two it is.
			s.err = &diag.Diag{
				At: []diag.Pos{c.Pos, other.Pos}, Path: "cluster.context",
				Msg: fmt.Sprintf("the contexts %q of %s and %q of %s lead to the same cluster", other.KubeContext, other.ID, c.KubeContext, c.ID),
			}
			servers[other.ID] = server{live: l, err: s.err}
		} else {
			first[l.UID] = c
		}
		servers[c.ID] = s
	}
	return servers
}

// at returns the faults of err at the place where the cluster is set.
func at(c *fleet.Cluster, err error) error {
	var out diag.List
	for _, d := range diag.All(err) {
		e := *d
		e.At, e.Path = append(slices.Clone(d.At), c.Pos), cmp.Or(d.Path, "cluster.context")
		out = append(out, &e)
	}
	return out.Err()
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
			was, is := it.Shown()
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
func (p *Planned) Contested(id string, field live.Field) (diff.FieldChange, bool) {
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
