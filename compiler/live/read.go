package live

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listFrom is how many objects of a kind and a namespace are worth one request
// for a list. listFactor bounds what is read of others with them.
const (
	listFrom   = 2
	listFactor = 4
)

// Objects reads objects of one kind and one namespace, and returns those that
// are there by their names. It asks for a list where that takes fewer requests
// and is answered; the list is not read to its end when it is long.
func (c *Cluster) Objects(ctx context.Context, gvk schema.GroupVersionKind, namespace string, names []string) (map[string]*unstructured.Unstructured, error) {
	found, listed := map[string]*unstructured.Unstructured{}, false
	if len(names) >= listFrom {
		page, whole, err := c.page(ctx, gvk, namespace, int64(listFactor*len(names)))
		if err != nil && ReasonOf(err) == "" {
			return nil, err
		}
		for i := range page {
			if name := page[i].GetName(); slices.Contains(names, name) {
				found[name] = &unstructured.Unstructured{Object: page[i].Object}
			}
		}
		listed = whole
	}
	for _, name := range names {
		if listed || found[name] != nil {
			continue
		}
		o, err := c.Object(ctx, Ref{gvk, namespace, name})
		if err != nil {
			return nil, err
		}
		if o != nil {
			found[name] = o
		}
	}
	return found, nil
}

// page reads the first so many objects of a kind, and reports whether these are
// all.
func (c *Cluster) page(ctx context.Context, gvk schema.GroupVersionKind, namespace string, limit int64) (items []unstructured.Unstructured, whole bool, err error) {
	client, err := c.client(ctx, Ref{GroupVersionKind: gvk, Namespace: namespace})
	if err != nil {
		return nil, false, err
	}
	var page *unstructured.UnstructuredList
	err = c.do(ctx, func(ctx context.Context) error {
		var err error
		page, err = client.List(ctx, metav1.ListOptions{Limit: limit})
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return page.Items, page.GetContinue() == "", nil
}

// OpenAPI returns the OpenAPI document with the schemas of an API version, as
// JSON; nil when the cluster has none.
func (c *Cluster) OpenAPI(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	paths, err := c.openAPIPaths(ctx)
	if err != nil || paths[path] == "" {
		return nil, err
	}
	var document []byte
	err = c.do(ctx, func(ctx context.Context) error {
		var err error
		document, err = c.discovery.RESTClient().Get().RequestURI(paths[path]).SetHeader("Accept", "application/json").Do(ctx).Raw()
		return err
	})
	if ReasonOf(err) != "" {
		return nil, nil
	}
	return document, err
}

// openAPIPaths returns the URLs of the OpenAPI documents, which are read once.
func (c *Cluster) openAPIPaths(ctx context.Context) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.documents != nil {
		return c.documents, nil
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	err := c.do(ctx, func(ctx context.Context) error {
		text, err := c.discovery.RESTClient().Get().AbsPath("/openapi/v3").Do(ctx).Raw()
		if err != nil {
			return err
		}
		_ = json.Unmarshal(text, &index) // what is no index names no documents
		return nil
	})
	if err != nil && ReasonOf(err) == "" {
		return nil, err
	}
	prefix := strings.TrimSuffix(c.discovery.RESTClient().Get().AbsPath("/").URL().Path, "/")
	documents := map[string]string{}
	for path, p := range index.Paths {
		u, err := url.Parse(p.ServerRelativeURL)
		if err != nil || u.IsAbs() || u.Host != "" {
			continue // documents are read from the API server alone
		}
		if prefix != "" && !strings.HasPrefix(u.Path, prefix+"/") {
			u.Path = prefix + u.Path
		}
		documents[path] = u.RequestURI()
	}
	c.documents = documents
	return documents, nil
}
