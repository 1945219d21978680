package compiler

import (
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/values"
)

// results are what earlier runs of the same build have left on disk.
type results struct {
	cache cache.Cache
	build string
}

// results returns those of the compiler's cache; of a build that is not known,
// there are none.
func (c *Compiler) results() *results {
	dir := c.Cache
	if dir == "" {
		if user, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(user, "fleetc")
		}
	}
	r := &results{build: c.Build}
	if dir != "" && c.Build != "" {
		r.cache.Dir = filepath.Join(dir, "results")
	}
	return r
}

// types returns the types of the values of a chart, which follow from its files
// alone.
func (r *results) types(ch *fleet.Chart) (*values.Type, error) {
	key := "types of values\x00" + r.build + "\x00" + ch.Digest
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
