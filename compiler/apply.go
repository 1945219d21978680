package compiler

import (
	"cmp"
	"context"
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
	if err := checkContexts(f.Clusters); err != nil {
		return func(yield func(*Planned, error) bool) { yield(nil, err) }
	}
	var seen identities
	connections := &connections{fleet: f, options: o, live: map[string]*live.Cluster{}}
	f.Last = connections.last(ctx)
	return ordered(ctx, f.jobs, len(f.Clusters), func(ctx context.Context, i int) (*Planned, error) {
		c := f.Clusters[i]
		p := &Planned{Cluster: c}
		server, err := connections.connect(ctx, c)
		p.Reached = err == nil
		if err == nil {
			err = seen.add(c, server)
		}
		if err != nil {
			p.Err = diag.In(c.ID, err)
			return p, ctx.Err()
		}
		b, err := f.compile(ctx, c)
		if err != nil {
			return nil, diag.In(c.ID, err)
		}
		p.target = apply.Target{Fleet: f.Module, Bundle: b, Live: server, Options: o.Options}
		if p.Plan, err = p.target.Plan(ctx); err != nil {
			p.Err = diag.In(c.ID, err)
			return p, ctx.Err()
		}
		p.Changes = changes(p.Plan, key)
		return p, nil
	})
}

// Faults returns what stands against applying to the cluster.
func (p *Planned) Faults() error {
	if p.Err != nil {
		return p.Err
	}
	return diag.In(p.Cluster.ID, p.Plan.Faults())
}

// Run does what plans say, for some clusters at a time, and yields the results
// in their order. What happens meanwhile is told, by one call at a time. When
// exact, a cluster that is no longer as it was planned is a fault. A fault of a
// cluster does not stop the others.
func Run(ctx context.Context, plans []*Planned, jobs int, exact bool, tell func(apply.Event)) iter.Seq2[apply.Result, error] {
	const atATime = 8 // applying is waiting
	var mu sync.Mutex
	inTurn := func(e apply.Event) {
		mu.Lock()
		defer mu.Unlock()
		tell(e)
	}
	return ordered(ctx, cmp.Or(jobs, atATime), len(plans), func(ctx context.Context, i int) (apply.Result, error) {
		t := plans[i].target
		t.Exact = exact
		r, err := t.Run(ctx, plans[i].Plan, inTurn)
		return r, diag.In(plans[i].Cluster.ID, err)
	})
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

// identities are the clusters that were connected to, by what they say they
// are.
type identities struct {
	mu   sync.Mutex
	seen map[string]*fleet.Cluster
}

// add returns a fault when two clusters of the fleet are one.
func (s *identities) add(c *fleet.Cluster, l *live.Cluster) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]*fleet.Cluster{}
	}
	if other := s.seen[l.UID]; other != nil {
		return &diag.Diag{
			At: []diag.Pos{c.Pos, other.Pos}, Path: "cluster.context",
			Msg: fmt.Sprintf("contexts %q and %q lead to the same cluster, which is %s", c.KubeContext, other.KubeContext, other.ID),
		}
	}
	s.seen[l.UID] = c
	return nil
}

// connections are those to the clusters of a fleet.
type connections struct {
	fleet   *Fleet
	options ApplyOptions
	mu      sync.Mutex
	live    map[string]*live.Cluster // by ID of the cluster
}

func (s *connections) connect(ctx context.Context, c *fleet.Cluster) (*live.Cluster, error) {
	l, err := live.Connect(ctx, live.Address{Kubeconfig: s.options.Kubeconfig, Context: c.KubeContext, Agent: s.options.Agent})
	if err != nil {
		return nil, at(c, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[c.ID] = l
	return l, nil
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

// last returns what gives the objects with fields that keep their values, as
// the clusters have them.
func (s *connections) last(ctx context.Context) func(id string) ([]fleet.Object, error) {
	return func(id string) ([]fleet.Object, error) {
		s.mu.Lock()
		l := s.live[id]
		s.mu.Unlock()
		i := slices.IndexFunc(s.fleet.Clusters, func(c *fleet.Cluster) bool { return c.ID == id })
		if l == nil || i < 0 {
			return nil, nil
		}
		names := map[string]bool{} // Kind/name
		for _, r := range s.fleet.Clusters[i].Releases {
			for _, d := range r.Random {
				names[d.Object] = names[d.Object] || d.Action == fleet.KeepRandom
			}
		}
		return apply.LastObjects(ctx, l, func(kind, name string) bool { return names[kind+"/"+name] })
	}
}

// changes returns what a plan changes, as people read it.
func changes(p *apply.Plan, key []byte) []diff.Change {
	var before, after []fleet.Object
	add := func(to *[]fleet.Object, o fleet.Object) {
		if o.Unstructured != nil {
			*to = append(*to, o)
		}
	}
	for _, it := range p.Items {
		r := &fleet.Release{Name: it.Release}
		switch it.Action {
		case apply.Create, apply.Change, apply.Conflict, apply.Prune:
			add(&before, fleet.Object{Unstructured: apply.Content(it.Before), Release: r})
			add(&after, fleet.Object{Unstructured: apply.Content(it.After), Release: r})
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
