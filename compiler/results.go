package compiler

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/cache"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// results are what earlier runs of the same build have left on disk, and what
// other machines have left in a registry.
type results struct {
	cache    cache.Cache
	shared   SharedCache // nil for none
	build    string
	contents contents
}

// SharedCache stores results where other machines read them, as a registry does.
type SharedCache interface {
	// Get returns the record of a key. It calls take for the parts of the result that
	// has does not report, and fails when take refuses one.
	Get(ctx context.Context, key string, has func(fleet.Sum) bool, take func(fleet.Sum, []byte) bool) (record []byte, ok bool)
	// Put stores the record of a key and its parts in the background; part returns them.
	Put(key string, record []byte, parts []cache.Part, part func(fleet.Sum) ([]byte, bool))
}

// results returns those of the compiler's cache; of a build that is not known,
// there are none, and none when they are not wanted.
func (c *Compiler) results() *results {
	r := &results{build: c.Build}
	r.contents.met, r.contents.known = map[fleet.Sum]bool{}, map[fleet.Sum]*unstructured.Unstructured{}
	r.contents.parts = map[*unstructured.Unstructured]cache.Part{}
	if c.Build != "" && !c.NoCache {
		r.cache.Dir, r.cache.ReadOnly, r.shared = c.resultsDir(), c.keepNothing, c.Shared
	}
	return r
}

// keyOf returns the key of a result of this build.
func (r *results) keyOf(kind, of string) string { return kind + "\x00" + r.build + "\x00" + of }

// types returns the types of the values of a chart, which follow from its files
// alone.
func (r *results) types(ch *fleet.Chart) (*values.Type, error) {
	if data, ok := r.cache.Get(r.keyOfTypes(ch)); ok {
		if t, err := values.Decode(data, ch); err == nil {
			return t, nil
		}
	}
	t, err := values.Derive(ch)
	if err != nil {
		return nil, err
	}
	r.keepTypes(ch, t)
	return t, nil
}

func (r *results) keyOfTypes(ch *fleet.Chart) string { return r.keyOf("types of values", typesOf(ch)) }

// typesOf names what the types of the values of a chart follow from.
func typesOf(ch *fleet.Chart) string { return ch.Digest + "\x00" + string(ch.Ref.Schemas) }

// keepTypes keeps the types of the values of a chart for other runs.
func (r *results) keepTypes(ch *fleet.Chart, t *values.Type) {
	if r.cache.Dir == "" {
		return
	}
	if data, err := t.Encode(); err == nil {
		r.cache.Put(r.keyOfTypes(ch), data)
	}
}

// apis returns the API versions that the crds directories of a chart bring, from f
// when no earlier run has found them.
func (r *results) apis(chart string, f func() []string) []string {
	key := r.keyOf("APIs of crds directories", chart)
	var out []string
	if data, ok := r.cache.Get(key); ok && json.Unmarshal(data, &out) == nil {
		return out
	}
	out = f()
	if data, err := json.Marshal(out); err == nil {
		r.cache.Put(key, data)
	}
	return out
}

// HasValidCRD reports whether an earlier run found a CRD to be valid.
func (r *results) HasValidCRD(key string) bool {
	_, ok := r.cache.Get(r.keyOf("sound CRD", key))
	return ok
}

// AddValidCRD stores that a CRD is valid.
func (r *results) AddValidCRD(key string) {
	r.cache.Put(r.keyOf("sound CRD", key), nil)
}

// resultsDir returns where results are; empty when the user has no cache folder.
func (c *Compiler) resultsDir() string {
	dir := c.Cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(user, "fleetc")
	}
	return filepath.Join(dir, "results")
}

// CleanCache removes the results of earlier runs, of all builds.
func (c *Compiler) CleanCache() error {
	dir := c.resultsDir()
	if dir == "" {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clean the cache: %w", err)
	}
	return nil
}
