package incremental

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/cache"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// Session checks one fleet again and again, with unsaved texts of its files. It keeps the
// last evaluation of each cluster in memory, and the charts with their types. It is not
// safe for concurrent use.
type Session struct {
	compiler *compiler.Compiler
	last     *compiler.Fleet             // nil before the first check, and after a change on disk
	clusters map[string]evaluatedCluster // by cluster ID
}

// evaluatedCluster is the evaluation of a cluster from inputs with a digest.
type evaluatedCluster struct {
	inputs  string
	cluster *fleet.Cluster
	err     error
}

// NewSession returns a session for the fleet of a compiler.
func NewSession(c *compiler.Compiler) *Session {
	return &Session{compiler: c, clusters: map[string]evaluatedCluster{}}
}

// Forget drops what the session keeps. Call it after files of the fleet have changed on
// disk: the session does not compare files other than those of CUE.
func (s *Session) Forget() { s.last, s.clusters = nil, map[string]evaluatedCluster{} }

// Check returns the fleet with the edits applied, and the faults that fleetc vet reports for
// it. The fleet is nil when the directory is not a fleet.
func (s *Session) Check(ctx context.Context, edits load.Edits) (*compiler.Fleet, error) {
	c := *s.compiler
	c.Edits, c.ReuseFrom, c.SameCharts = edits, s.last, s.last != nil
	loaded, err := c.ReadLayers(nil)
	if loaded == nil {
		return nil, err
	}
	digests := inputDigests(&c, loaded)
	var mu sync.Mutex
	next := map[string]evaluatedCluster{}
	c.Memo = func(in load.Cluster, evaluate func() (*fleet.Cluster, error)) (*fleet.Cluster, error) {
		inputs := digests[in.ID]
		e, ok := s.clusters[in.ID]
		if !ok || inputs == "" || e.inputs != inputs {
			e = evaluatedCluster{inputs: inputs}
			e.cluster, e.err = evaluate()
		}
		if ctx.Err() == nil && inputs != "" {
			mu.Lock()
			defer mu.Unlock()
			next[in.ID] = e
		}
		return e.cluster, e.err
	}
	evaluation := c.Unify(ctx, loaded, err)
	if ctx.Err() != nil {
		for id, e := range next {
			s.clusters[id] = e
		}
		return nil, ctx.Err()
	}
	s.clusters = next
	c.CheckTogether(ctx, loaded, &evaluation, nil)
	f, err := c.LoadEvaluated(ctx, evaluation)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f != nil {
		s.last = f
	}
	if err == nil {
		err = f.CheckWritten(ctx)
	}
	return f, cmp.Or(ctx.Err(), err)
}

// inputDigests returns the digest of the inputs of the evaluation of each cluster. It has
// none for clusters whose files cannot be read.
func inputDigests(c *compiler.Compiler, loaded *load.Fleet) map[string]string {
	l, _ := readLayerInputs(c, loaded) // compiling reports the error
	defer l.close()
	out := map[string]string{}
	for _, in := range loaded.Clusters {
		if l.inputs[in.ID] == nil {
			continue
		}
		w := cache.NewKeyWriter()
		w.Text(fmt.Sprint(in.Layers))
		for _, id := range loaded.IDs { // secrets may refer to other clusters
			w.Text(id)
		}
		all := l.all(in.ID)
		for _, name := range all.names() {
			w.Text(name)
			w.Text(all[name])
		}
		out[in.ID] = hex.EncodeToString(w.Sum(nil))
	}
	return out
}
