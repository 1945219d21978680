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
	return func(yield func(*Planned, error) bool) {
		servers := f.connect(ctx, o)
		f.Last = f.lastLive(ctx, servers)
		planned := ordered(ctx, f.jobs, len(f.Clusters), func(ctx context.Context, i int) (*Planned, error) {
			return f.plan(ctx, f.Clusters[i], servers[f.Clusters[i].ID], o, key)
		})
		for p, err := range planned {
			if !yield(p, err) {
				return
			}
		}
	}
}

// plan compiles a cluster and plans what that means.
func (f *Fleet) plan(ctx context.Context, c *fleet.Cluster, s server, o ApplyOptions, key []byte) (*Planned, error) {
	p := &Planned{Cluster: c, Reached: s.live != nil}
	if s.err != nil {
		p.Err = diag.In(c.ID, s.err)
		return p, ctx.Err()
	}
	b, err := f.compile(ctx, c)
	if err != nil {
		return nil, diag.In(c.ID, err)
	}
	p.target = apply.Target{Fleet: f.Module, Bundle: b, Live: s.live, Options: o.Options}
	if p.Plan, err = p.target.Plan(ctx); err != nil {
		p.Err = diag.In(c.ID, err)
		return p, ctx.Err()
	}
	p.Changes = changes(p.Plan, key)
	return p, nil
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

// A server is the connection to a cluster, or why there is none.
type server struct {
	live *live.Cluster
	err  error
}

// connect connects to all clusters. One that is not the one that its layers
// say, and two that are the same, are at fault.
func (f *Fleet) connect(ctx context.Context, o ApplyOptions) map[string]server {
	const atATime = 16 // connecting is waiting
	connected := ordered(ctx, atATime, len(f.Clusters), func(ctx context.Context, i int) (*live.Cluster, error) {
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
			servers[other.ID] = server{l, s.err}
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

// lastLive returns what gives the objects with fields that keep their values,
// as the clusters have them.
func (f *Fleet) lastLive(ctx context.Context, servers map[string]server) func(id string) ([]fleet.Object, error) {
	return func(id string) ([]fleet.Object, error) {
		i := slices.IndexFunc(f.Clusters, func(c *fleet.Cluster) bool { return c.ID == id })
		names := map[string]bool{} // Kind/name
		for _, r := range f.Clusters[i].Releases {
			for _, d := range r.Random {
				names[d.Object] = names[d.Object] || d.Action == fleet.KeepRandom
			}
		}
		return apply.LastObjects(ctx, servers[id].live, func(kind, name string) bool { return names[kind+"/"+name] })
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
