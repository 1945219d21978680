package compiler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/ordered"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// checkContexts returns the faults of clusters that do not say how to reach
// them, or say the same.
func checkContexts(clusters []*fleet.Cluster) error {
	var faults diag.List
	for _, c := range clusters {
		if c.KubeContext == "" {
			faults.Add(&diag.Diag{
				At: []diag.Pos{c.Pos}, Clusters: []string{c.ID}, Path: "cluster.context", Msg: "the cluster has no context of a kubeconfig",
				Hint: `set it: cluster: context: "..."`,
			})
		}
	}
	faults.Add(sameContexts(clusters))
	return faults.Err()
}

// A server is the connection to a cluster, or why there is none.
type server struct {
	live  *cluster.Cluster
	err   error
	looks bool // whether nothing is applied, and what may not be read is let be
}

// servers wait for the connections to clusters, by their IDs.
type servers map[string]func() server

// of waits for the connection to a cluster, which is the zero value when there is
// none to wait for.
func (s servers) of(id string) server {
	if wait := s[id]; wait != nil {
		return wait()
	}
	return server{}
}

// connect begins to connect to all clusters. Connections that are not there when ctx
// ends have its error.
func (f *Fleet) connect(ctx context.Context, a cluster.Access) servers {
	const atATime = 16 // connecting is waiting
	turns := make(chan struct{}, atATime)
	out := servers{}
	for _, c := range f.Clusters {
		connected := make(chan server, 1)
		go func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			connected <- connectTo(ctx, c, a)
		}()
		out[c.ID] = sync.OnceValue(func() server { return <-connected })
	}
	return out
}

// connectAll connects to all clusters, and returns when that is done.
func (f *Fleet) connectAll(ctx context.Context, a cluster.Access) servers {
	connecting := f.connect(ctx, a)
	same := f.sameClusters(connecting)
	out := servers{}
	for id, wait := range connecting {
		s := wait()
		s.err = cmp.Or(same[id], s.err)
		out[id] = func() server { return s }
	}
	return out
}

// connectTo connects to a cluster. It is a fault when the layers say that the cluster has
// another UID.
func connectTo(ctx context.Context, c *fleet.Cluster, a cluster.Access) server {
	l, err := ordered.Recover(func() (*cluster.Cluster, error) {
		return cluster.Connect(ctx, cluster.Address{Access: a, Context: c.KubeContext})
	})
	if err != nil {
		return server{err: at(c, err)}
	}
	if c.UID == "" || c.UID == l.UID {
		return server{live: l}
	}
	return server{live: l, err: &diag.Diag{
		At: []diag.Pos{c.Pos}, Path: "cluster.uid",
		Msg:  fmt.Sprintf("%s is another cluster: the UID of its namespace kube-system is %s", l.Server, diag.Visible(l.UID, diag.MaxText)),
		Hint: "see cluster.context",
	}}
}

// sameClusters waits for all connections, and returns the faults of clusters whose
// contexts lead to the same cluster, by their IDs. It is not known which of them it is.
func (f *Fleet) sameClusters(s servers) map[string]error {
	faults, first := map[string]error{}, map[string]*fleet.Cluster{}
	for _, c := range f.Clusters {
		l := s.of(c.ID).live
		if l == nil {
			continue
		}
		other := first[l.UID]
		if other == nil {
			first[l.UID] = c
			continue
		}
		err := &diag.Diag{
			At: []diag.Pos{c.Pos, other.Pos}, Path: "cluster.context",
			Msg: fmt.Sprintf("the contexts %q of %s and %q of %s lead to the same cluster", other.KubeContext, other.ID, c.KubeContext, c.ID),
		}
		faults[c.ID] = err
		faults[other.ID] = cmp.Or(faults[other.ID], error(err))
	}
	return faults
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
