package deliver

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
	"github.com/fleetc/fleetc/compiler/stage/unify"
)

// CheckContexts returns the faults of clusters without a kubeconfig context, and of
// clusters with the same one. compile is the error of evaluating the clusters: its faults
// explain why a context is missing.
func CheckContexts(clusters []*fleet.Cluster, compile error) error {
	var faults diag.List
	for _, c := range clusters {
		if c.KubeContext == "" {
			faults.Add(cmp.Or(fleet.FaultsOf(c.ID, compile), error(noContext(c))))
		}
	}
	faults.Add(unify.SameContexts(clusters))
	return faults.Err()
}

// noContext returns the fault of a cluster without a kubeconfig context.
func noContext(c *fleet.Cluster) *diag.Diag {
	return &diag.Diag{
		Code: diag.CodeKubeconfig,
		At:   []diag.Pos{c.Pos}, Clusters: []string{c.ID}, Path: "cluster.context", Msg: "the cluster has no kubeconfig context",
		Hint: `set it: cluster: context: "..."`,
	}
}

// Server is the connection to a cluster, or the reason why there is none.
type Server struct {
	Live     *cluster.Cluster
	Err      error
	ReadOnly bool // whether nothing is applied, so that objects that must not be read are ignored
}

// Servers are connections to clusters by ID. A call waits for its connection.
type Servers map[string]func() Server

// Of waits for the connection to a cluster. It returns the zero value if the cluster is not
// in s.
func (s Servers) Of(id string) Server {
	if wait := s[id]; wait != nil {
		return wait()
	}
	return Server{}
}

// connectClusters starts to connect to all clusters. If ctx ends first, connections have its
// error. readOnly is for commands that never write.
func connectClusters(ctx context.Context, clusters []*fleet.Cluster, a cluster.Access, readOnly bool) Servers {
	slots := make(chan struct{}, readAtATime)
	out := Servers{}
	for _, c := range clusters {
		connected := make(chan Server, 1)
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			s := connectTo(ctx, c, a)
			s.ReadOnly = readOnly
			connected <- s
		}()
		out[c.ID] = sync.OnceValue(func() Server { return <-connected })
	}
	return out
}

// ConnectAll connects to all clusters and waits for the connections. readOnly is for commands
// that never write.
func ConnectAll(ctx context.Context, clusters []*fleet.Cluster, a cluster.Access, readOnly bool) Servers {
	connecting := connectClusters(ctx, clusters, a, readOnly)
	same := sameClusters(clusters, connecting)
	out := Servers{}
	for id, wait := range connecting {
		s := wait()
		s.Err = cmp.Or(same[id], s.Err)
		out[id] = func() Server { return s }
	}
	return out
}

// connectTo connects to a cluster. It fails if the cluster does not have the UID in the
// layers.
func connectTo(ctx context.Context, c *fleet.Cluster, a cluster.Access) Server {
	l, err := par.Recover(func() (*cluster.Cluster, error) {
		return cluster.Connect(ctx, cluster.Address{Access: a, Context: c.KubeContext})
	})
	if err != nil {
		return Server{Err: at(c, err)}
	}
	if a.OnDelay != nil {
		l.OnDelay(func(reason string) { a.OnDelay(c.ID, reason) })
	}
	if c.UID == "" || c.UID == l.UID {
		return Server{Live: l}
	}
	return Server{Live: l, Err: &diag.Diag{
		Code: diag.CodeOtherCluster,
		At:   []diag.Pos{c.Pos}, Path: "cluster.uid",
		Msg:  fmt.Sprintf("%s is another cluster: the UID of its namespace kube-system is %s", l.Server, diag.Visible(l.UID, diag.MaxText)),
		Hint: "see cluster.context; if this cluster replaces the other one, set cluster.uid to this UID",
	}}
}

// sameClusters waits for all connections and returns a fault for each cluster whose context
// leads to the same cluster as another context, by ID.
func sameClusters(clusters []*fleet.Cluster, s Servers) map[string]error {
	faults, first := map[string]error{}, map[string]*fleet.Cluster{}
	for _, c := range clusters {
		l := s.Of(c.ID).Live
		if l == nil {
			continue
		}
		other := first[l.UID]
		if other == nil {
			first[l.UID] = c
			continue
		}
		err := &diag.Diag{
			Code: diag.CodeSameCluster,
			At:   []diag.Pos{c.Pos, other.Pos}, Path: "cluster.context",
			Msg:  fmt.Sprintf("the contexts %q of %s and %q of %s lead to the same cluster", other.KubeContext, other.ID, c.KubeContext, c.ID),
			Hint: "correct one of the contexts in the kubeconfig, or remove one of the clusters",
		}
		faults[c.ID] = err
		faults[other.ID] = cmp.Or(faults[other.ID], error(err))
	}
	return faults
}

// at returns the faults of err with the position of the cluster.
func at(c *fleet.Cluster, err error) error {
	return diag.Changed(err, func(d *diag.Diag) {
		d.At, d.Path = append(slices.Clone(d.At), c.Pos), cmp.Or(d.Path, "cluster.context")
	})
}

// DryRuns plans to apply the bundles of some clusters of the fleet, and yields the plans in
// their order. It only reads and makes dry runs, see [Plans].
func DryRuns(ctx context.Context, f *compiler.Fleet, clusters []*fleet.Cluster, a cluster.Access, allowExec bool) iter.Seq2[*ClusterPlan, error] {
	return func(yield func(*ClusterPlan, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := connectClusters(ctx, clusters, a, true)
		s.Keep(f)
		plans(ctx, f, clusters, s, apply.Target{Fleet: f.Module, Options: apply.Options{Actions: apply.ActionOptions{AllowExec: allowExec}}}, nil, nil)(yield)
	}
}
