package compiler

import (
	"crypto/sha256"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/render"
)

// This file keeps on disk what charts render to: of a release, a list of its
// objects, and each content once, by its digest. Contents are in CBOR, as
// Kubernetes encodes objects in it, which gives back the same values.
//
// A release with something random in it is not kept, nor is one with a Secret
// that can be read, unless the release says that others may read it.

// A keptObject is an object of a release as it is kept.
type keptObject struct {
	Content  []byte `json:"content"` // its digest
	Template string `json:"template"`
	CRD      bool   `json:"crd,omitempty"`
	Aside    bool   `json:"aside,omitempty"`
}

// contents are what objects have in them, as this run has read or kept it.
type contents struct {
	mu      sync.Mutex
	met     map[fleet.Sum]bool                       // read before
	known   map[fleet.Sum]*unstructured.Unstructured // read twice: it will be again
	digests map[*unstructured.Unstructured]fleet.Sum // of those that clusters share, which are kept already
}

// rendered returns what a release rendered to in an earlier run.
func (r *results) rendered(key string) (render.Result, bool) {
	data, ok := r.cache.Get(r.keyOf("release", key))
	if !ok {
		return render.Result{}, false
	}
	var kept []keptObject
	if err := direct.Unmarshal(data, &kept); err != nil {
		return render.Result{}, false
	}
	var out render.Result
	for _, k := range kept {
		content, shared := r.content(k.Content)
		if content == nil {
			return render.Result{}, false
		}
		o := fleet.Object{Unstructured: content, Shared: shared, CRD: k.CRD, Aside: k.Aside, Template: k.Template}
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
func (r *results) content(digest []byte) (content *unstructured.Unstructured, shared bool) {
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
	data, ok := r.cache.Get(r.keyOf("content", sum.String()))
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
	if first := c.known[sum]; first != nil {
		return first, true
	}
	c.known[sum] = content
	return content, true
}

// keepRendered keeps what a release rendered to.
func (r *results) keepRendered(key string, release *fleet.Release, result render.Result) {
	if r.cache.Dir == "" || r.readOnly || !keepable(release, result) {
		return
	}
	var kept []keptObject
	for _, o := range slices.Concat(result.Objects, result.Hooks) {
		sum, ok := r.keepContent(o)
		if !ok {
			return
		}
		kept = append(kept, keptObject{Content: sum[:], Template: o.Template, CRD: o.CRD, Aside: o.Aside})
	}
	if data, err := direct.Marshal(kept); err == nil {
		r.cache.Put(r.keyOf("release", key), data)
	}
}

// keepable reports whether what a release rendered to may be kept.
func keepable(release *fleet.Release, result render.Result) bool {
	if len(result.Volatile) > 0 {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(result.Objects, result.Hooks), func(o fleet.Object) bool {
		return len(fleet.Plaintext(o.Unstructured)) > 0 &&
			!slices.ContainsFunc(release.Plaintext, func(w fleet.Waiver) bool { return w.Path == "Secret/"+o.GetName() })
	})
}

// keepContent keeps the content of an object, and returns its digest.
func (r *results) keepContent(o fleet.Object) (sum fleet.Sum, ok bool) {
	c := &r.contents
	if o.Shared {
		c.mu.Lock()
		sum, ok = c.digests[o.Unstructured]
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
	if key := r.keyOf("content", sum.String()); !r.cache.Has(key) {
		r.cache.Put(key, data)
	}
	if o.Shared {
		c.mu.Lock()
		c.digests[o.Unstructured] = sum
		c.mu.Unlock()
	}
	return sum, true
}
