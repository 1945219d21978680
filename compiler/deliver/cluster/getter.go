package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Getter gives Helm, a library with its own clients, access to the cluster. It
// implements RESTClientGetter of k8s.io/cli-runtime. It reads nothing from the
// user's directories.
type Getter struct {
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
}

// Getter returns access to the cluster for a library. Each request calls may first,
// and is not sent if that returns an error. Requests are retried like those of the cluster,
// except watches, and creations and deletions that may have succeeded. manager is the field
// manager of its writes.
func (c *Cluster) Getter(manager string, may func(writes bool) error) (*Getter, error) {
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return guardTransport{c, next, manager, may} })
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect a library to %s: %w", c.Server, err)
	}
	return &Getter{config, memory.NewMemCacheClient(d)}, nil
}

// ToRESTConfig returns the client configuration.
func (g *Getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns the discovery client.
func (g *Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

// ToRESTMapper returns the mapper from kinds to resources.
func (g *Getter) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewDeferredDiscoveryRESTMapper(g.discovery), nil
}

// ToRawKubeConfigLoader returns an empty kubeconfig.
func (g *Getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*api.NewConfig(), &clientcmd.ConfigOverrides{})
}

// guardTransport sends the requests that allow permits.
type guardTransport struct {
	cluster *Cluster
	next    http.RoundTripper
	manager string
	allow   func(writes bool) error
}

// RoundTrip implements [http.RoundTripper].
func (g guardTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if r.Method == http.MethodGet && query.Has("watch") || r.Body != nil && r.GetBody == nil {
		if err := g.allow(r.Method != http.MethodGet); err != nil {
			return nil, err
		}
		return g.next.RoundTrip(r)
	}
	if query.Has("fieldManager") {
		r = r.Clone(r.Context())
		query.Set("fieldManager", g.manager)
		r.URL.RawQuery = query.Encode()
	}
	return g.send(r)
}

// send sends a request until its response is complete. A creation or a deletion is sent again
// only if the API server has not processed it: the second one would find the object of the
// first, or delete another one of the same name.
func (g guardTransport) send(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() // each try has a copy
	}
	var out *http.Response
	var refused error
	writes := r.Method != http.MethodGet && r.Method != http.MethodHead
	allowed := func(context.Context) error {
		refused = g.allow(writes)
		return refused
	}
	again := func(err error) bool {
		isOnce := r.Method == http.MethodPost || r.Method == http.MethodDelete
		return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err) || !isOnce && isRetriable(err)
	}
	err := g.cluster.retryIf(r.Context(), allowed, func(ctx context.Context) (err error) {
		out, err = g.try(r.WithContext(ctx))
		if err == nil && writes && out.StatusCode >= http.StatusBadRequest && out.Header.Get("Retry-After") == "" { // the library retries the others
			return statusOf(out)
		}
		return err
	}, again)
	switch {
	case refused != nil:
		return nil, refused
	case out != nil && r.Context().Err() == nil:
		return out, nil
	case err != nil:
		return nil, errors.New(diag.Brief(err)) // the library would retry errors of the network
	}
	return out, nil
}

// try sends a request once and reads the response.
func (g guardTransport) try(r *http.Request) (*http.Response, error) {
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIncomplete, err)
	}
	if resp.StatusCode == http.StatusOK {
		if err := truncation(body); err != nil {
			return nil, err
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// statusOf returns the error of a response that [guardTransport.try] has read.
func statusOf(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Code != 0 {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return apierrors.NewGenericServerResponse(resp.StatusCode, resp.Request.Method, schema.GroupResource{}, "", string(body), 0, true)
}
