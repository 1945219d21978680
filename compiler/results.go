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

// Results are the stored results of earlier runs of the same build, on disk and in a
// shared cache.
type Results struct {
	Cache    cache.Cache
	shared   SharedCache // nil for none
	Build    string
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

// Results returns the stored results. There are none without a build, and none with
// NoCache.
func (c *Compiler) Results() *Results {
	r := &Results{Build: c.Build}
	r.contents.met, r.contents.known = map[fleet.Sum]bool{}, map[fleet.Sum]*unstructured.Unstructured{}
	r.contents.parts = map[*unstructured.Unstructured]cache.Part{}
	if c.Build != "" && !c.NoCache {
		r.Cache.Dir, r.Cache.ReadOnly, r.shared = c.resultsDir(), c.KeepNothing, c.Shared
	}
	return r
}

// KeyOf returns the key of a result of this build.
func (r *Results) KeyOf(kind, of string) string { return kind + "\x00" + r.Build + "\x00" + of }

// Types returns the types of the values of a chart. They depend on its files only.
func (r *Results) Types(ch *fleet.Chart) (*values.Type, error) {
	if data, ok := r.Cache.Get(r.keyOfTypes(ch)); ok {
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

func (r *Results) keyOfTypes(ch *fleet.Chart) string { return r.KeyOf("types of values", typesOf(ch)) }

// typesOf names what the types of the values of a chart follow from.
func typesOf(ch *fleet.Chart) string { return ch.Digest + "\x00" + string(ch.Ref.Schemas) }

// keepTypes keeps the types of the values of a chart for other runs.
func (r *Results) keepTypes(ch *fleet.Chart, t *values.Type) {
	if r.Cache.Dir == "" {
		return
	}
	if data, err := t.Encode(); err == nil {
		r.Cache.Put(r.keyOfTypes(ch), data)
	}
}

// apis returns the API versions that the crds directories of a chart bring, from f
// when no earlier run has found them.
func (r *Results) apis(chart string, f func() []string) []string {
	key := r.KeyOf("APIs of crds directories", chart)
	var out []string
	if data, ok := r.Cache.Get(key); ok && json.Unmarshal(data, &out) == nil {
		return out
	}
	out = f()
	if data, err := json.Marshal(out); err == nil {
		r.Cache.Put(key, data)
	}
	return out
}

// HasValidCRD reports whether an earlier run found a CRD to be valid.
func (r *Results) HasValidCRD(key string) bool {
	_, ok := r.Cache.Get(r.KeyOf("sound CRD", key))
	return ok
}

// AddValidCRD stores that a CRD is valid.
func (r *Results) AddValidCRD(key string) {
	r.Cache.Put(r.KeyOf("sound CRD", key), nil)
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
