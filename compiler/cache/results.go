package cache

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// Store has the results of earlier runs of the same build.
type Store struct {
	Cache    Cache
	Build    string
	contents contents
}

// New returns the results of a build in a directory; there are none when either is empty.
func New(build, dir string, readOnly bool) *Store {
	r := &Store{Build: build}
	r.contents.read, r.contents.shared = map[fleet.Sum]bool{}, map[fleet.Sum]*unstructured.Unstructured{}
	r.contents.stored = map[*unstructured.Unstructured]fleet.Sum{}
	if build != "" && dir != "" {
		r.Cache.Dir, r.Cache.ReadOnly = dir, readOnly
	}
	return r
}

// KeyOf returns the key of a result of this build.
func (r *Store) KeyOf(kind, of string) string { return kind + "\x00" + r.Build + "\x00" + of }

// Types returns the types of the values of a chart. They depend on its files only.
func (r *Store) Types(ch *fleet.Chart) (*values.Type, error) {
	if data, ok := r.Cache.Get(r.keyOfTypes(ch)); ok {
		if t, err := values.Decode(data, ch); err == nil {
			return t, nil
		}
	}
	t, err := values.Derive(ch)
	if err != nil {
		return nil, err
	}
	r.StoreTypes(ch, t)
	return t, nil
}

func (r *Store) keyOfTypes(ch *fleet.Chart) string {
	return r.KeyOf("types of values", ch.Digest+"\x00"+string(ch.Ref.Schemas))
}

// StoreTypes stores the types of the values of a chart.
func (r *Store) StoreTypes(ch *fleet.Chart, t *values.Type) {
	if r.Cache.Dir == "" {
		return
	}
	if data, err := t.Encode(); err == nil {
		r.Cache.Put(r.keyOfTypes(ch), data)
	}
}

// APIs returns the API versions of the CRDs in the crds directories of a chart. It calls f
// when they are not stored.
func (r *Store) APIs(chart string, f func() []string) []string {
	key := r.KeyOf("APIs of crds directories", chart)
	var out []string
	if !r.Cache.GetJSON(key, &out) {
		out = f()
		r.Cache.PutJSON(key, out)
	}
	return out
}

// HasValidCRD reports whether an earlier run found a CRD to be valid.
func (r *Store) HasValidCRD(key string) bool {
	_, ok := r.Cache.Get(r.KeyOf("sound CRD", key))
	return ok
}

// AddValidCRD stores that a CRD is valid.
func (r *Store) AddValidCRD(key string) {
	r.Cache.Put(r.KeyOf("sound CRD", key), nil)
}
