package cache

import (
	"crypto/sha256"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// This file stores rendered releases of charts in the cache: a list of objects for each
// release, and each distinct content once by its digest. Contents are encoded as CBOR, like
// in Kubernetes, which preserves the types of values.
//
// Nondeterministic releases are not stored, nor are those of charts that read the clock. A
// release with a Secret in plain text is only stored if the release allows plain text.

// storedObject is an object in the stored list of a release.
type storedObject struct {
	Content  []byte `json:"content"` // digest of the content
	Template string `json:"template"`
	CRD      bool   `json:"crd,omitempty"`
	Aside    bool   `json:"aside,omitempty"`
	Random   bool   `json:"random,omitempty"` // a nondeterministic hook
}

// contents memoizes the contents of objects that this run reads or stores.
type contents struct {
	mu     sync.Mutex
	read   map[fleet.Sum]bool                       // read at least once
	shared map[fleet.Sum]*unstructured.Unstructured // read at least twice, to be shared
	stored map[*unstructured.Unstructured]fleet.Sum // digests of stored contents that clusters share
}

// Rendered returns the stored result of a release.
func (r *Store) Rendered(key string) (render.Result, bool) {
	data, ok := r.Cache.Get(r.KeyOf("release", key))
	if !ok {
		return render.Result{}, false
	}
	var objs []storedObject
	if err := direct.Unmarshal(data, &objs); err != nil {
		return render.Result{}, false
	}
	var out render.Result
	for _, k := range objs {
		content, shared := r.content(k.Content)
		if content == nil {
			return render.Result{}, false
		}
		o := fleet.Object{Unstructured: content, Shared: shared, CRD: k.CRD, Unapplied: k.Aside, Template: k.Template, Nondeterministic: k.Random}
		if k.Aside {
			out.Hooks = append(out.Hooks, o)
		} else {
			out.Objects = append(out.Objects, o)
		}
	}
	return out, true
}

// content returns the content with a digest, nil if it is not stored, and whether the same
// pointer is returned for other objects.
func (r *Store) content(digest []byte) (content *unstructured.Unstructured, shared bool) {
	if len(digest) != sha256.Size {
		return nil, false
	}
	sum := fleet.Sum(digest)
	c := &r.contents
	c.mu.Lock()
	content, again := c.shared[sum], c.read[sum]
	c.read[sum] = true
	c.mu.Unlock()
	if content != nil {
		return content, true
	}
	data, ok := r.Cache.Get(r.KeyOf("content", sum.String()))
	if !ok || sha256.Sum256(data) != sum {
		return nil, false
	}
	content = &unstructured.Unstructured{}
	if err := direct.Unmarshal(data, &content.Object); err != nil {
		return nil, false
	}
	if !again {
		return content, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.shared[sum]; first != nil {
		return first, true
	}
	c.shared[sum] = content
	return content, true
}

// StoreRendered stores the result of a release, and reports whether it may be stored.
func (r *Store) StoreRendered(key string, release *fleet.Release, result render.Result) bool {
	if r.Cache.Dir == "" || r.Cache.ReadOnly || !Cacheable(release, result) {
		return false
	}
	var objs []storedObject
	for _, o := range slices.Concat(result.Objects, result.Hooks) {
		sum, ok := r.storeContent(o)
		if !ok {
			return false
		}
		objs = append(objs, storedObject{Content: sum[:], Template: o.Template, CRD: o.CRD, Aside: o.Unapplied, Random: o.Nondeterministic})
	}
	record, err := direct.Marshal(objs)
	if err != nil {
		return false
	}
	r.Cache.Put(r.KeyOf("release", key), record)
	return true
}

// Cacheable reports whether the result of a release may be stored: it is deterministic,
// and has no Secret in plain text that the release does not allow.
func Cacheable(release *fleet.Release, result render.Result) bool {
	if len(result.Nondeterministic) > 0 || result.UsesClock {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(result.Objects, result.Hooks), func(o fleet.Object) bool {
		return len(fleet.Plaintext(o.Unstructured)) > 0 &&
			!slices.ContainsFunc(release.Plaintext, func(w fleet.Waiver) bool { return w.Path == "Secret/"+o.GetName() })
	})
}

// storeContent stores the content of an object and returns its digest.
func (r *Store) storeContent(o fleet.Object) (sum fleet.Sum, ok bool) {
	c := &r.contents
	if o.Shared {
		c.mu.Lock()
		sum, ok = c.stored[o.Unstructured]
		c.mu.Unlock()
		if ok {
			return sum, true
		}
	}
	data, err := direct.Marshal(o.Object)
	if err != nil {
		return sum, false
	}
	sum = sha256.Sum256(data)
	if key := r.KeyOf("content", sum.String()); !r.Cache.Has(key) {
		r.Cache.Put(key, data)
	}
	if o.Shared {
		c.mu.Lock()
		c.stored[o.Unstructured] = sum
		c.mu.Unlock()
	}
	return sum, true
}
