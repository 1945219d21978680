package cache

import (
	"context"
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
// in Kubernetes, which preserves the types of values. With a shared cache, releases are
// fetched to the disk and sent from there.
//
// Nondeterministic releases are not stored, nor are those of charts that read the clock. A
// release with a Secret in plain text is only stored if the release allows plain text.

// storedObject is an object in the stored list of a release.
type storedObject struct {
	Content  []byte `json:"content"` // digest of the content
	Template string `json:"template"`
	CRD      bool   `json:"crd,omitempty"`
	Aside    bool   `json:"aside,omitempty"`
}

// contents memoizes the contents of objects that this run reads or stores.
type contents struct {
	mu     sync.Mutex
	read   map[fleet.Sum]bool                       // read at least once
	shared map[fleet.Sum]*unstructured.Unstructured // read at least twice, to be shared
	parts  map[*unstructured.Unstructured]Part      // stored contents that clusters share
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
		o := fleet.Object{Unstructured: content, Shared: shared, CRD: k.CRD, Unapplied: k.Aside, Template: k.Template}
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
	data, ok := r.encodedContent(sum)
	if !ok {
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

// encodedContent returns the stored encoding of the content with a digest.
func (r *Store) encodedContent(sum fleet.Sum) ([]byte, bool) {
	data, ok := r.Cache.Get(r.KeyOf("content", sum.String()))
	return data, ok && sha256.Sum256(data) == sum
}

// Record is the result of a release as it is stored.
type Record struct {
	record []byte // the list of its objects
	parts  []Part // their contents
}

// StoreRendered stores the result of a release and returns the stored record.
func (r *Store) StoreRendered(key string, release *fleet.Release, result render.Result) (k Record, ok bool) {
	if r.Cache.Dir == "" || r.Cache.ReadOnly || !Cacheable(release, result) {
		return Record{}, false
	}
	var objs []storedObject
	for _, o := range slices.Concat(result.Objects, result.Hooks) {
		part, ok := r.storeContent(o)
		if !ok {
			return Record{}, false
		}
		k.parts = append(k.parts, part)
		objs = append(objs, storedObject{Content: part.Digest[:], Template: o.Template, CRD: o.CRD, Aside: o.Unapplied})
	}
	var err error
	if k.record, err = direct.Marshal(objs); err != nil {
		return Record{}, false
	}
	r.Cache.Put(r.KeyOf("release", key), k.record)
	return k, true
}

// SendRendered sends the result of a release to the shared cache, if there is one.
func (r *Store) SendRendered(key string, k Record) {
	if r.shared != nil {
		r.shared.Put(r.KeyOf("release", key), k.record, k.parts, r.encodedContent)
	}
}

// FetchRendered copies the result of a release from the shared cache to the disk, unless the
// disk has it, and reports whether it did.
func (r *Store) FetchRendered(ctx context.Context, key string) bool {
	name := r.KeyOf("release", key)
	if r.shared == nil || r.Cache.Dir == "" || r.Cache.ReadOnly || r.Cache.Has(name) {
		return false
	}
	isStored := func(sum fleet.Sum) bool { return r.Cache.Has(r.KeyOf("content", sum.String())) }
	take := func(sum fleet.Sum, data []byte) bool {
		if !isContent(data) {
			return false
		}
		r.Cache.Put(r.KeyOf("content", sum.String()), data)
		return true
	}
	record, ok := r.shared.Get(ctx, name, isStored, take)
	var objs []storedObject
	if !ok || direct.Unmarshal(record, &objs) != nil {
		return false
	}
	for _, o := range objs {
		if len(o.Content) != sha256.Size || !isStored(fleet.Sum(o.Content)) {
			return false
		}
	}
	r.Cache.Put(name, record)
	return true
}

// isContent reports whether data is an encoded object with kind and metadata.
func isContent(data []byte) bool {
	var o unstructured.Unstructured
	if direct.Unmarshal(data, &o.Object) != nil {
		return false
	}
	_, named := o.Object["metadata"].(map[string]any)
	return named && o.GetAPIVersion() != "" && o.GetKind() != ""
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

// storeContent stores the content of an object.
func (r *Store) storeContent(o fleet.Object) (part Part, ok bool) {
	c := &r.contents
	if o.Shared {
		c.mu.Lock()
		part, ok = c.parts[o.Unstructured]
		c.mu.Unlock()
		if ok {
			return part, true
		}
	}
	data, err := direct.Marshal(o.Object)
	if err != nil {
		return part, false
	}
	part = Part{Digest: sha256.Sum256(data), Size: int64(len(data))}
	if key := r.KeyOf("content", part.Digest.String()); !r.Cache.Has(key) {
		r.Cache.Put(key, data)
	}
	if o.Shared {
		c.mu.Lock()
		c.parts[o.Unstructured] = part
		c.mu.Unlock()
	}
	return part, true
}
