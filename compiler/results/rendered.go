package results

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/fleetc/fleetc/compiler/base/cache"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// This file keeps on disk what charts render to: of a release, a list of its
// objects, and each content once, by its digest. Contents are in CBOR, as
// Kubernetes encodes objects in it, which gives back the same values. With a
// registry beside it, what is not on disk is fetched from there, and what is
// rendered is sent there: on its way, all is on disk.
//
// A release with something random in it is not kept, nor one of a chart that asks
// for the time, nor one with a Secret that can be read, unless the release says that others may read it.

// A keptObject is an object of a release as it is kept.
type keptObject struct {
	Content  []byte `json:"content"` // its digest
	Template string `json:"template"`
	CRD      bool   `json:"crd,omitempty"`
	Aside    bool   `json:"aside,omitempty"`
}

// contents are what objects have in them, as this run has read or kept it.
type contents struct {
	mu    sync.Mutex
	met   map[fleet.Sum]bool                        // read before
	known map[fleet.Sum]*unstructured.Unstructured  // read twice: it will be again
	parts map[*unstructured.Unstructured]cache.Part // those that clusters share, which are kept already
}

// Rendered returns the stored result of a release.
func (r *Store) Rendered(key string) (render.Result, bool) {
	data, ok := r.Cache.Get(r.KeyOf("release", key))
	if !ok {
		return render.Result{}, false
	}
	var objs []keptObject
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

// content returns the content of a digest, nil when it is not there, and whether
// the same one is returned again.
func (r *Store) content(digest []byte) (content *unstructured.Unstructured, shared bool) {
	if len(digest) != sha256.Size {
		return nil, false
	}
	sum := fleet.Sum(digest)
	c := &r.contents
	c.mu.Lock()
	content, again := c.known[sum], c.met[sum]
	c.met[sum] = true
	c.mu.Unlock()
	if content != nil {
		return content, true
	}
	data, ok := r.keptContent(sum)
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
	if first := c.known[sum]; first != nil {
		return first, true
	}
	c.known[sum] = content
	return content, true
}

// keptContent returns the content of a digest as it is kept.
func (r *Store) keptContent(sum fleet.Sum) ([]byte, bool) {
	data, ok := r.Cache.Get(r.KeyOf("content", sum.String()))
	return data, ok && sha256.Sum256(data) == sum
}

// Record is the result of a release as it is stored.
type Record struct {
	record []byte       // the list of its objects
	parts  []cache.Part // their contents
}

// KeepRendered stores the result of a release and returns what it stored.
func (r *Store) KeepRendered(key string, release *fleet.Release, result render.Result) (k Record, ok bool) {
	if r.Cache.Dir == "" || r.Cache.ReadOnly || !Cacheable(release, result) {
		return Record{}, false
	}
	var objs []keptObject
	for _, o := range slices.Concat(result.Objects, result.Hooks) {
		part, ok := r.keepContent(o)
		if !ok {
			return Record{}, false
		}
		k.parts = append(k.parts, part)
		objs = append(objs, keptObject{Content: part.Digest[:], Template: o.Template, CRD: o.CRD, Aside: o.Unapplied})
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
		r.shared.Put(r.KeyOf("release", key), k.record, k.parts, r.keptContent)
	}
}

// FetchRendered copies the result of a release from the shared cache to the disk, unless it
// is there, and reports whether it did.
func (r *Store) FetchRendered(ctx context.Context, key string) bool {
	name := r.KeyOf("release", key)
	if r.shared == nil || r.Cache.Dir == "" || r.Cache.ReadOnly || r.Cache.Has(name) {
		return false
	}
	has := func(sum fleet.Sum) bool { return r.Cache.Has(r.KeyOf("content", sum.String())) }
	take := func(sum fleet.Sum, data []byte) bool {
		if !isContent(data) {
			return false
		}
		r.Cache.Put(r.KeyOf("content", sum.String()), data)
		return true
	}
	record, ok := r.shared.Get(ctx, name, has, take)
	var objs []keptObject
	if !ok || direct.Unmarshal(record, &objs) != nil {
		return false
	}
	for _, o := range objs {
		if len(o.Content) != sha256.Size || !has(fleet.Sum(o.Content)) {
			return false
		}
	}
	r.Cache.Put(name, record)
	return true
}

// isContent reports whether data is an object, as what is rendered is one.
func isContent(data []byte) bool {
	var o unstructured.Unstructured
	if direct.Unmarshal(data, &o.Object) != nil {
		return false
	}
	_, named := o.Object["metadata"].(map[string]any)
	return named && o.GetAPIVersion() != "" && o.GetKind() != ""
}

// Cacheable reports whether the result of a release may be stored: it is deterministic,
// and has no readable Secret that the release does not allow.
func Cacheable(release *fleet.Release, result render.Result) bool {
	if len(result.Nondeterministic) > 0 || result.UsesClock {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(result.Objects, result.Hooks), func(o fleet.Object) bool {
		return len(fleet.Plaintext(o.Unstructured)) > 0 &&
			!slices.ContainsFunc(release.Plaintext, func(w fleet.Waiver) bool { return w.Path == "Secret/"+o.GetName() })
	})
}

// keepContent keeps the content of an object.
func (r *Store) keepContent(o fleet.Object) (part cache.Part, ok bool) {
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
	part = cache.Part{Digest: sha256.Sum256(data), Size: int64(len(data))}
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
