package lsp

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
)

// maxExplained is the number of cached evaluations.
const maxExplained = 4

// maxRendered is the number of cached renderings, and of the clusters that a hover renders to find
// out whether a value is secret.
const maxRendered = 16

// lock is a mutex that a context can stop waiting for. It has an element while it is held.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// acquire waits until the lock is free. The error is that of the context.
func (l lock) acquire(ctx context.Context) (release func(), err error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case l <- struct{}{}:
		return func() { <-l }, nil
	}
}

// explain explains a field of a cluster as the snapshot has it. It evaluates the cluster
// again, in a CUE context that the running check does not use.
func (c *checker) explain(ctx context.Context, s *snapshot, cluster string, field []string) (*fleet.Explanation, error) {
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	x := s.explainers[cluster]
	if x == nil {
		compiler := *c.s.Compiler(c.root)
		compiler.Edits, compiler.ReuseFrom = s.edits, s.fleet
		if x, err = query.Explain(ctx, &compiler, cluster); err != nil {
			return nil, err
		}
		if len(s.explainers) >= maxExplained {
			clear(s.explainers)
		}
		s.explainers[cluster] = x
	}
	return x.Field(ctx, fleet.FieldText(field))
}

// uses returns the object fields of a cluster that depend on a value of a release. It records
// whether the value is secret: a Secret contains it or changes with it. The result is empty
// for a cluster that cannot be rendered.
func (c *checker) uses(ctx context.Context, s *snapshot, cluster string, field []string, value any) ([]query.ValueUse, error) {
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	r, err := s.render(ctx, cluster)
	if r == nil || err != nil {
		return nil, err
	}
	uses, err := r.Uses(ctx, field[1], field[valuesDepth:], value)
	if err != nil {
		return nil, ctx.Err()
	}
	if name := fleet.FieldText(field); r.IsSecret(value) || slices.ContainsFunc(uses, func(u query.ValueUse) bool { return u.Secret }) {
		c.secrets.Store(name, true)
	} else if len(uses) > 0 {
		c.secrets.LoadOrStore(name, false)
	}
	return uses, nil
}

// mayBeSecret reports whether a Secret of one of the clusters may contain the value of a field that
// only CUE knows, or contained it in an earlier rendering. If not all of them can be rendered, it is
// also true for hidden fields and definitions, unless an earlier rendering of all had the same value
// and no Secret contained it.
func (c *checker) mayBeSecret(ctx context.Context, s *snapshot, clusters, field []string, e *fleet.Explanation) (bool, error) {
	release, err := s.lock.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	value := any(append(diag.Each(e.Leaves, func(l fleet.Leaf) any { return l.Value }), e.Value))
	name := fleet.FieldText(field)
	shown := sha256.Sum256([]byte(name + ": " + jsonText(value))) // a later value may be secret
	if known, _ := c.secrets.Load(name); known == true {
		return true, nil
	}
	others := slices.Collect(maps.Values(s.rendered))
	isSecret := slices.ContainsFunc(others, func(r *query.RenderedCluster) bool { return r.MayBeSecret(value) })
	isComplete := len(clusters) <= maxRendered
	for _, cluster := range clusters[:min(len(clusters), maxRendered)] {
		if isSecret {
			break
		}
		r, err := s.render(ctx, cluster)
		if err != nil {
			return false, err
		}
		isComplete = isComplete && r != nil
		isSecret = r != nil && r.MayBeSecret(value)
	}
	switch _, known := c.secrets.Load(shown); {
	case isSecret:
		c.secrets.Store(name, true)
	case isComplete:
		c.secrets.Store(shown, false)
	default:
		return !known && slices.ContainsFunc(field, func(key string) bool { return strings.HasPrefix(key, "_") || strings.HasPrefix(key, "#") }), nil
	}
	return isSecret, nil
}

// render returns a rendered cluster, from a cache; nil for a cluster that cannot be rendered.
// The caller must hold the lock.
func (s *snapshot) render(ctx context.Context, cluster string) (*query.RenderedCluster, error) {
	if r := s.rendered[cluster]; r != nil {
		return r, nil
	}
	i := slices.IndexFunc(s.fleet.Clusters, func(c *fleet.Cluster) bool { return c.ID == cluster })
	if i < 0 || !s.fleet.CanRender(s.fleet.Clusters[i]) {
		return nil, nil //nolint:nilnil // a cluster with faults
	}
	r, err := query.RenderForUses(ctx, s.fleet, s.fleet.Clusters[i])
	if err != nil {
		return nil, ctx.Err()
	}
	if len(s.rendered) >= maxRendered {
		clear(s.rendered)
	}
	s.rendered[cluster] = r
	return r, nil
}

// isSecret reports whether a value of a release was secret in a rendering. Before the first
// rendering, and without uses, the names of the keys around it and inside of it decide.
func (c *checker) isSecret(field []string, groups []*valueGroup) bool {
	if known, ok := c.secrets.Load(fleet.FieldText(field)); ok {
		return known == true
	}
	return slices.ContainsFunc(field[valuesDepth:], fleet.NamesSecret) ||
		slices.ContainsFunc(groups, func(g *valueGroup) bool { return hasSecretKey(g.value) })
}

// hasSecretKey reports whether a key of a map in a value names a secret.
func hasSecretKey(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if fleet.NamesSecret(key) || hasSecretKey(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasSecretKey)
	}
	return false
}
