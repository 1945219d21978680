package compiler

import (
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/oci"
	"github.com/fleetc/fleetc/compiler/values"
)

// results are what earlier runs of the same build have left on disk, and what
// other machines have left in a registry.
type results struct {
	cache    cache.Cache
	shared   *oci.Cache // nil for none
	build    string
	contents contents
}

// results returns those of the compiler's cache; of a build that is not known,
// there are none, and none when they are not wanted.
func (c *Compiler) results() *results {
	dir := c.Cache
	if dir == "" {
		if user, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(user, "fleetc")
		}
	}
	r := &results{build: c.Build}
	r.contents.met, r.contents.known = map[fleet.Sum]bool{}, map[fleet.Sum]*unstructured.Unstructured{}
	r.contents.parts = map[*unstructured.Unstructured]oci.Part{}
	if dir != "" && c.Build != "" && !c.NoCache {
		r.cache.Dir, r.shared = filepath.Join(dir, "results"), c.Shared
	}
	return r
}

// keyOf returns the key of a result of this build.
func (r *results) keyOf(kind, of string) string { return kind + "\x00" + r.build + "\x00" + of }

// types returns the types of the values of a chart, which follow from its files
// alone.
func (r *results) types(ch *fleet.Chart) (*values.Type, error) {
	key := r.keyOf("types of values", ch.Digest)
	if data, ok := r.cache.Get(key); ok {
		if t, err := values.Decode(data); err == nil {
			return t, nil
		}
	}
	t, err := values.Derive(ch)
	if err != nil {
		return nil, err
	}
	if data, err := t.Encode(); err == nil {
		r.cache.Put(key, data)
	}
	return t, nil
}
