package incremental

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// Session checks one fleet repeatedly, with unsaved texts of its files. After a change of a
// text, it reads and evaluates only the clusters that depend on it. It is not safe for
// concurrent use.
type Session struct {
	// Preview receives the faults of a sample of clusters if a change concerns many. Check
	// calls it before it evaluates the others. It may be nil.
	Preview func(faults error)

	compiler   *compiler.Compiler
	last       *compiler.Fleet // nil before the first check
	sameCharts bool            // whether the files of charts are as they were for last

	loaded   *load.Fleet                 // without instances; nil before the first check, and after a change on disk
	edits    load.Edits                  // those of loaded
	digests  map[string]string           // of the inputs of clusters of loaded, by ID; none if a file cannot be read
	clusters map[string]evaluatedCluster // by ID
	faults   diag.List                   // those of the last check
}

// evaluatedCluster is the evaluation of a cluster from inputs with a digest.
type evaluatedCluster struct {
	inputs  string
	cluster *fleet.Cluster
	err     error
}

// NewSession returns a session for the fleet of a compiler.
func NewSession(c *compiler.Compiler) *Session { return &Session{compiler: c} }

// Changed makes the next check read all files of the fleet again. Call it after files have
// changed on disk. Clusters and charts with the same files are not evaluated again.
func (s *Session) Changed() {
	s.loaded, s.sameCharts = nil, false
	maps.DeleteFunc(s.clusters, func(_ string, e evaluatedCluster) bool {
		return e.cluster != nil && slices.ContainsFunc(e.cluster.Secrets, func(s fleet.Secret) bool { return s.SOPS != "" })
	})
}

// Check returns the fleet with the edits applied, and the faults that fleetc vet reports for
// it. The fleet is nil when the directory is not a fleet.
func (s *Session) Check(ctx context.Context, edits load.Edits) (*compiler.Fleet, error) {
	c := *s.compiler
	c.Edits, c.ReuseFrom, c.SameCharts = edits, s.last, s.sameCharts
	changed := changedEdits(s.edits, edits)
	loaded, err := s.load(&c)
	if loaded == nil {
		return nil, err
	}
	var mu sync.Mutex
	next := map[string]evaluatedCluster{}
	c.Memo = func(in load.Cluster, evaluate func() (*fleet.Cluster, error)) (*fleet.Cluster, error) {
		mu.Lock()
		e, previewed := next[in.ID]
		mu.Unlock()
		if previewed {
			return e.cluster, e.err
		}
		if e = s.clusters[in.ID]; !s.evaluated(in.ID) {
			e = evaluatedCluster{inputs: s.digests[in.ID]}
			e.cluster, e.err = evaluate()
		}
		if ctx.Err() == nil {
			mu.Lock()
			defer mu.Unlock()
			next[in.ID] = e
		}
		return e.cluster, e.err
	}
	if err == nil {
		s.preview(ctx, &c, loaded, changed)
	}
	evaluation := c.Unify(ctx, loaded, err)
	if ctx.Err() != nil {
		maps.Copy(s.clusters, next)
		return nil, ctx.Err()
	}
	s.clusters = next
	c.CheckTogether(ctx, loaded, &evaluation, nil)
	f, err := c.LoadEvaluated(ctx, evaluation)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f != nil {
		s.last, s.sameCharts = f, true
	}
	if err == nil {
		err = f.CheckWritten(ctx)
	}
	if ctx.Err() == nil {
		s.faults = diag.All(err)
	}
	return f, cmp.Or(ctx.Err(), err)
}

// Try is Check for edits that the user may not accept. If they have faults, the session stays as
// it was, and reads all files again.
func (s *Session) Try(ctx context.Context, edits load.Edits) (*compiler.Fleet, error) {
	trial := *s
	trial.Preview = nil
	f, err := trial.Check(ctx, edits)
	if err != nil {
		s.Changed()
		return f, err
	}
	trial.Preview = s.Preview
	*s = trial
	return f, nil
}

// Evaluated returns the clusters of the last check that could be evaluated, those with faults
// included, sorted by ID.
func (s *Session) Evaluated() []*fleet.Cluster {
	var out []*fleet.Cluster
	for _, id := range slices.Sorted(maps.Keys(s.clusters)) {
		if c := s.clusters[id].cluster; c != nil {
			out = append(out, c)
		}
	}
	return out
}

// evaluated reports whether the evaluation of a cluster is up to date.
func (s *Session) evaluated(id string) bool {
	return s.digests[id] != "" && s.clusters[id].inputs == s.digests[id]
}

// load reads the layers of clusters whose files have changed since the last check, and of
// those that were not evaluated. Other clusters have no instance.
func (s *Session) load(c *compiler.Compiler) (loaded *load.Fleet, err error) {
	ok := false
	if s.loaded != nil {
		loaded, ok, err = s.loaded.Reload(c.Edits, changedEdits(s.edits, c.Edits), func(id string) bool { return !s.evaluated(id) })
	}
	if !ok && err == nil {
		loaded, err = c.ReadLayers(nil)
	}
	if s.loaded = nil; loaded == nil {
		return nil, err
	}
	digests := inputDigests(c, loaded)
	for _, in := range loaded.Clusters {
		if in.Instance == nil {
			digests[in.ID] = s.digests[in.ID]
		}
	}
	s.loaded, s.edits, s.digests = loaded.WithoutInstances(), maps.Clone(c.Edits), digests
	return loaded, err
}

// changedEdits returns the names of files whose text has changed.
func changedEdits(before, after load.Edits) []string {
	all := load.Edits{}
	maps.Copy(all, before)
	maps.Copy(all, after)
	return slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(name string) bool {
		old, wasEdited := before[name]
		text, isEdited := after[name]
		return wasEdited == isEdited && bytes.Equal(old, text)
	})
}

// inputDigests returns the digest of the inputs of the evaluation of each cluster that has an
// instance. It has none for clusters whose files cannot be read.
func inputDigests(c *compiler.Compiler, loaded *load.Fleet) map[string]string {
	read := *loaded
	read.Clusters = slices.DeleteFunc(slices.Clone(loaded.Clusters), func(in load.Cluster) bool { return in.Instance == nil })
	l, _ := readLayerInputs(c, &read) // compiling reports the error
	defer l.close()
	out := map[string]string{}
	for _, in := range read.Clusters {
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
