package lsp

import (
	"context"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// snapshot is a fleet as the last check found it. Nothing modifies the fleet, so that requests
// read it while the next check runs. It has no CUE values, which are not safe for concurrent
// use: a request that evaluates CUE loads the cluster again, with the edits.
type snapshot struct {
	fleet *compiler.Fleet
	edits load.Edits

	// clusters are sorted by ID. A cluster with faults has the state of its last check
	// without faults, or that with faults if there is none, so that requests can be answered;
	// it is not in fleet.
	clusters []*fleet.Cluster

	valid []*fleet.Cluster // those of clusters that had no faults

	// Evaluations and renderings of clusters for later requests, by ID.
	lock       lock // held while a request uses the fields below
	explainers map[string]*query.Explainer
	rendered   map[string]*query.RenderedCluster
}

// snapshot returns the last state of the fleet at a root. It waits only for the first check.
// The result is nil when the fleet was never checked, or when the directory is not a fleet.
func (s *server) snapshot(ctx context.Context, root string) (*snapshot, error) {
	s.mu.Lock()
	c := s.checkers[root]
	s.mu.Unlock()
	if c == nil {
		return nil, nil //nolint:nilnil // the result of a request is null
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case <-c.checked:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.last, nil
}

// keep makes the fleet of a check the state that requests see. A nil fleet does not change
// it.
func (c *checker) keep(f *compiler.Fleet, edits load.Edits) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if f != nil {
		next := &snapshot{
			fleet: f, edits: edits, valid: f.Clusters, lock: newLock(), explainers: map[string]*query.Explainer{}, rendered: map[string]*query.RenderedCluster{},
		}
		if c.last != nil {
			next.valid = withMissing(c.root, f.Clusters, c.last.valid)
		}
		next.clusters = withMissing(c.root, next.valid, c.session.Evaluated())
		c.last = next
		c.keepTypes(f)
	}
	select {
	case <-c.checked:
	default:
		close(c.checked)
	}
}

// withMissing adds to the clusters those of before that are missing from them and are still
// in the fleet.
func withMissing(root string, clusters, before []*fleet.Cluster) []*fleet.Cluster {
	byID := map[string]bool{}
	for _, c := range clusters {
		byID[c.ID] = true
	}
	missing := slices.DeleteFunc(slices.Clone(before), func(c *fleet.Cluster) bool { return byID[c.ID] })
	if len(missing) == 0 {
		return clusters
	}
	ids, err := load.ClusterIDs(root)
	if err != nil {
		return clusters
	}
	missing = slices.DeleteFunc(missing, func(c *fleet.Cluster) bool { return !slices.Contains(ids, c.ID) })
	return slices.SortedFunc(slices.Values(slices.Concat(clusters, missing)), func(a, b *fleet.Cluster) int {
		return strings.Compare(a.ID, b.ID)
	})
}
