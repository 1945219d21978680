package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listFrom is the number of objects of a kind and namespace from which a list
// request pays. listFactor limits how many other objects such a list may have.
const (
	listFrom   = 2
	listFactor = 4
	listPage   = 500
)

// Objects reads objects of one kind and namespace, and returns the existing ones by
// name. It lists where that takes fewer requests; it does not read a list to its
// end that has too many other objects.
func (c *Cluster) Objects(ctx context.Context, gvk schema.GroupVersionKind, namespace string, names []string) (map[string]*unstructured.Unstructured, error) {
	found, complete := map[string]*unstructured.Unstructured{}, false
	if len(names) >= listFrom {
		isWanted := make(map[string]bool, len(names))
		for _, name := range names {
			isWanted[name] = true
		}
		last, err := c.pages(ctx, gvk, namespace, metav1.ListOptions{}, listFactor*len(names), func(o *unstructured.Unstructured) {
			if isWanted[o.GetName()] {
				found[o.GetName()] = o
			}
		})
		if err != nil && ReasonOf(err) == "" && !errors.Is(err, errTooLong) {
			return nil, err
		}
		complete = err == nil && last.Continue == ""
	}
	if complete {
		return found, nil
	}
	return found, c.readEach(ctx, group{gvk, namespace}, slices.Values(names), found)
}

// readEach reads the objects of a group that are not in found one by one, and adds them.
func (c *Cluster) readEach(ctx context.Context, g group, names iter.Seq[string], found map[string]*unstructured.Unstructured) error {
	for name := range names {
		if found[name] != nil {
			continue
		}
		o, err := c.Object(ctx, Ref{g.GroupVersionKind, g.namespace, name})
		if err != nil {
			return err
		}
		if o != nil {
			found[name] = o
		}
	}
	return nil
}

// LabelledObjects is [Cluster.Objects] for objects that usually have a label: it lists
// only those with the label, and reads the others as Objects does. So the number of
// requests does not depend on the other objects of the namespace. The result may have others
// with the label.
func (c *Cluster) LabelledObjects(ctx context.Context, gvk schema.GroupVersionKind, namespace, label string, names []string) (map[string]*unstructured.Unstructured, error) {
	if len(names) < listFrom {
		return c.Objects(ctx, gvk, namespace, names)
	}
	found := map[string]*unstructured.Unstructured{}
	_, err := c.pages(ctx, gvk, namespace, metav1.ListOptions{LabelSelector: label}, math.MaxInt, func(o *unstructured.Unstructured) { found[o.GetName()] = o })
	if err != nil && ReasonOf(err) == "" {
		return nil, err
	}
	rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return found[name] != nil })
	if len(rest) == 0 {
		return found, nil
	}
	others, err := c.Objects(ctx, gvk, namespace, rest)
	maps.Copy(found, others)
	return found, err
}

// pages calls f for up to limit objects of a kind and namespace that options select. It returns
// the metadata of the last page, which has a Continue if there are more objects.
func (c *Cluster) pages(ctx context.Context, gvk schema.GroupVersionKind, namespace string, options metav1.ListOptions, limit int, f func(*unstructured.Unstructured)) (last metav1.ListMeta, err error) {
	client, err := c.client(ctx, Ref{GroupVersionKind: gvk, Namespace: namespace})
	if err != nil {
		return last, err
	}
	for {
		options.Limit = int64(min(limit, listPage))
		page, err := result(ctx, c.retry, func(ctx context.Context) (*unstructured.UnstructuredList, error) { return client.List(ctx, options) })
		if err != nil {
			return last, err
		}
		for i := range page.Items {
			f(&unstructured.Unstructured{Object: page.Items[i].Object})
		}
		limit -= len(page.Items)
		if options.Continue = page.GetContinue(); options.Continue == "" || limit <= 0 {
			return metav1.ListMeta{ResourceVersion: page.GetResourceVersion(), Continue: options.Continue}, nil
		}
	}
}

// OpenAPI returns the OpenAPI document of an API version as JSON, nil when the
// cluster has none.
func (c *Cluster) OpenAPI(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	paths, err := c.openAPIPaths(ctx)
	if err != nil || paths[path] == "" {
		return nil, err
	}
	document, err := result(ctx, c.retry, func(ctx context.Context) ([]byte, error) {
		text, err := c.discovery.RESTClient().Get().RequestURI(paths[path]).SetHeader("Accept", "application/json").Do(ctx).Raw()
		return text, cmp.Or(err, truncation(text))
	})
	if ReasonOf(err) != "" {
		return nil, nil
	}
	return document, err
}

// openAPIPaths returns the cached URLs of the OpenAPI documents.
func (c *Cluster) openAPIPaths(ctx context.Context) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.documents != nil {
		return c.documents, nil
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	text, err := result(ctx, c.retry, func(ctx context.Context) ([]byte, error) {
		text, err := c.discovery.RESTClient().Get().AbsPath("/openapi/v3").Do(ctx).Raw()
		return text, cmp.Or(err, truncation(text))
	})
	if err != nil && ReasonOf(err) == "" {
		return nil, err
	}
	_ = json.Unmarshal(text, &index) // an invalid index names no documents
	prefix := strings.TrimSuffix(c.discovery.RESTClient().Get().AbsPath("/").URL().Path, "/")
	documents := map[string]string{}
	for path, p := range index.Paths {
		u, err := url.Parse(p.ServerRelativeURL)
		if err != nil || u.IsAbs() || u.Host != "" {
			continue // read documents only from the API server
		}
		if prefix != "" && !strings.HasPrefix(u.Path, prefix+"/") {
			u.Path = prefix + u.Path
		}
		documents[path] = u.RequestURI()
	}
	c.documents = documents
	return documents, nil
}

// truncation returns the error about a JSON text that ends too early.
func truncation(text []byte) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &struct{}{})); ok && isTruncated(syntax) {
		return syntax
	}
	return nil
}

// Metadata lists the metadata of a resource's objects with a label in a namespace.
func (c *Cluster) Metadata(ctx context.Context, gvr schema.GroupVersionResource, namespace, label string) ([]metav1.PartialObjectMetadata, error) {
	var all []metav1.PartialObjectMetadata
	for more := ""; ; {
		page, err := result(ctx, c.retry, func(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
			return c.metadata.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: label, Limit: listPage, Continue: more})
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if more = page.GetContinue(); more == "" {
			return all, nil
		}
	}
}
