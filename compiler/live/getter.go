package live

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// A Getter is the cluster for a library that makes its own clients, Helm's: it
// is what k8s.io/cli-runtime calls a RESTClientGetter. Nothing is read from the
// user's directories.
type Getter struct {
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
}

// Getter returns the cluster for a library. Every request of it asks first
// whether it may be sent, and is not when that is an error. The fields that it
// writes are the manager's.
func (c *Cluster) Getter(manager string, may func(writes bool) error) (*Getter, error) {
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return guarded{next, manager, may} })
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect a library to %s: %w", c.Server, err)
	}
	return &Getter{config, memory.NewMemCacheClient(d)}, nil
}

// ToRESTConfig returns how to reach the cluster.
func (g *Getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns what knows the kinds that the cluster serves.
func (g *Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

// ToRESTMapper returns what knows how the kinds are served.
func (g *Getter) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewDeferredDiscoveryRESTMapper(g.discovery), nil
}

// ToRawKubeConfigLoader returns a kubeconfig without anything in it.
func (g *Getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*api.NewConfig(), &clientcmd.ConfigOverrides{})
}

// guarded sends the requests of a library that may be sent.
type guarded struct {
	next    http.RoundTripper
	manager string
	may     func(writes bool) error
}

// RoundTrip implements [http.RoundTripper].
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.may(r.Method != http.MethodGet && r.Method != http.MethodHead); err != nil {
		return nil, err
	}
	if query := r.URL.Query(); query.Has("fieldManager") {
		r = r.Clone(r.Context())
		query.Set("fieldManager", g.manager)
		r.URL.RawQuery = query.Encode()
	}
	return g.next.RoundTrip(r)
}
