package cluster

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Reader reads objects in bulk: the first read of an object fetches all known
// objects of its kind and namespace, with one list where that pays. It fetches
// every object at most once, so that all reads show one state of the cluster. It is
// safe for concurrent use.
type Reader struct {
	cluster *Cluster

	mu     sync.Mutex
	groups map[group]*readGroup
}

// A group is the kind and namespace of one list request.
type group struct {
	schema.GroupVersionKind
	namespace string
}

type readGroup struct {
	names []string
	once  sync.Once
	found map[string]*unstructured.Unstructured
	err   error
}

// NewReader returns a reader of the objects. Their kinds need not be served.
func (c *Cluster) NewReader(refs []Ref) *Reader {
	r := &Reader{cluster: c, groups: map[group]*readGroup{}}
	for _, ref := range refs {
		g := r.groups[groupOf(ref)]
		if g == nil {
			g = &readGroup{}
			r.groups[groupOf(ref)] = g
		}
		g.names = append(g.names, ref.Name)
	}
	for _, g := range r.groups {
		slices.Sort(g.names)
		g.names = slices.Compact(g.names)
	}
	return r
}

func groupOf(ref Ref) group { return group{ref.GroupVersionKind, ref.Namespace} }

// Object returns an object, nil when the object or its kind does not exist. Callers
// must not modify it. Objects that the reader does not know are read individually,
// and so are all objects of a group whose list fails, which gives each its own
// error.
func (r *Reader) Object(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	r.mu.Lock()
	g := r.groups[groupOf(ref)]
	r.mu.Unlock()
	if g == nil {
		return r.cluster.Object(ctx, ref)
	}
	if _, known := slices.BinarySearch(g.names, ref.Name); !known {
		return r.cluster.Object(ctx, ref)
	}
	g.once.Do(func() {
		if _, served, err := r.cluster.Resource(ctx, ref.GroupVersionKind); err != nil || !served {
			g.err = err
			return
		}
		g.found, g.err = r.cluster.Objects(ctx, ref.GroupVersionKind, ref.Namespace, g.names)
	})
	switch {
	case g.err == nil:
		return g.found[ref.Name], nil
	case ReasonOf(g.err) != "":
		return r.cluster.Object(ctx, ref)
	}
	return nil, g.err
}
