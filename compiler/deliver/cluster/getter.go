package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
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
// and is not sent if that returns an error. Requests that change nothing are retried like
// those of the cluster, which excludes watches. manager is the field manager of its writes.
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
	if r.Method == http.MethodGet && !query.Has("watch") {
		return g.get(r)
	}
	if err := g.allow(r.Method != http.MethodGet && r.Method != http.MethodHead); err != nil {
		return nil, err
	}
	if query.Has("fieldManager") {
		r = r.Clone(r.Context())
		query.Set("fieldManager", g.manager)
		r.URL.RawQuery = query.Encode()
	}
	return g.next.RoundTrip(r)
}

// get sends a request that changes nothing until its response is complete.
func (g guardTransport) get(r *http.Request) (*http.Response, error) {
	var out *http.Response
	var refused error
	allowed := func(context.Context) error {
		refused = g.allow(false)
		return refused
	}
	err := g.cluster.retryIf(r.Context(), allowed, func(ctx context.Context) error {
		resp, err := g.next.RoundTrip(r.WithContext(ctx))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return fmt.Errorf("%w: %w", errIncomplete, err)
		}
		if resp.StatusCode == http.StatusOK {
			if err := truncation(body); err != nil {
				return err
			}
		}
		resp.Body, out = io.NopCloser(bytes.NewReader(body)), resp
		return nil
	}, isRetriable)
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, errors.New(diag.Brief(err)) // the library would retry errors of the network
	}
	return out, nil
}
