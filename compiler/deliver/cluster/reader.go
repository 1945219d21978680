package cluster

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/par"
)

// A Reader reads objects in bulk: the first read of an object fetches all known
// objects of its kind and namespace, with one list where that pays. It fetches
// every object at most once, so that all reads show one state of the cluster. It is
// safe for concurrent use.
type Reader struct {
	cluster *Cluster
	names   map[group]map[string]bool
	lists   par.ResultMemo[group, map[string]*unstructured.Unstructured]
}

// A group is the kind and namespace of one list request.
type group struct {
	schema.GroupVersionKind
	namespace string
}

// NewReader returns a reader of the objects. Their kinds need not be served.
func (c *Cluster) NewReader(refs []Ref) *Reader {
	return &Reader{cluster: c, names: namesByGroup(refs)}
}

func groupOf(ref Ref) group { return group{ref.GroupVersionKind, ref.Namespace} }

// namesByGroup returns the names of objects by their kind and namespace.
func namesByGroup(refs []Ref) map[group]map[string]bool {
	groups := map[group]map[string]bool{}
	for _, ref := range refs {
		if groups[groupOf(ref)] == nil {
			groups[groupOf(ref)] = map[string]bool{}
		}
		groups[groupOf(ref)][ref.Name] = true
	}
	return groups
}

// Object returns an object, nil when the object or its kind does not exist. Callers
// must not modify it. Objects that the reader does not know are read individually,
// and so are all objects of a group whose list fails, which gives each its own
// error.
func (r *Reader) Object(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	names := r.names[groupOf(ref)]
	if !names[ref.Name] {
		return r.cluster.Object(ctx, ref)
	}
	found, err := r.lists.Get(groupOf(ref), func() (map[string]*unstructured.Unstructured, error) {
		if _, served, err := r.cluster.Resource(ctx, ref.GroupVersionKind); err != nil || !served {
			return nil, err
		}
		return r.cluster.Objects(ctx, ref.GroupVersionKind, ref.Namespace, slices.Sorted(maps.Keys(names)))
	})
	if ReasonOf(err) != "" {
		return r.cluster.Object(ctx, ref)
	}
	return found[ref.Name], err
}
