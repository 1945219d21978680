// Package live is the door to a cluster as it runs: it connects with a context
// of a kubeconfig, reads and applies objects, deletes them, holds the lease
// that keeps two applies apart, and asks what the user may do. It compares
// nothing and decides nothing; that is compiler/apply.
//
// Requests that can be repeated without harm are repeated while the API server
// is away. Answers are bounded. No error has a credential in it. Credential
// plugins, programs that a kubeconfig names to get credentials, are run, as kubectl
// does: they are the user's own.
package live

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/fleetc/fleetc/compiler/stderr"
)

// Manager is the name under which fleetc owns fields of objects.
const Manager = "fleetc"

// A Cluster is one that runs. Its methods may be called at the same time.
type Cluster struct {
	Server string // URL of the API server
	UID    string // of the namespace kube-system, which is that of the cluster

	hide atomic.Pointer[func(string) string]

	config    *rest.Config
	plugin    *plugin // nil when the kubeconfig has the credentials
	patience  time.Duration
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterfaceWithContext
	reviews   authorization.AuthorizationV1Interface
	leases    coordination.CoordinationV1Interface
	pods      core.PodsGetter

	delays delays
	guard  func(ctx context.Context) error // asked before each try of a write; nil when no lease is held

	mu        sync.Mutex
	resources map[schema.GroupVersionKind]Resource // nil until they are read
	unread    map[schema.GroupVersion]error        // of groups that did not say what they serve
	stored    map[schema.GroupVersionKind]bool     // whether objects of the kind can be listed and deleted
	documents map[string]string                    // URLs of OpenAPI documents; nil until they are read
}

const (
	requestTimeout = 30 * time.Second
	connectTimeout = 10 * time.Second
	maxAnswer      = 128 << 20
	qps, burst     = 100, 200
)

// Connect connects to a cluster and learns who it is. It returns a fault when
// there is no such context, or the API server is not reached, not trusted or
// does not let the user in. It does not wait for one that is away, and for a
// credential plugin not longer than its limit.
func Connect(ctx context.Context, a Address) (*Cluster, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Server: config.Host, config: config, patience: cmp.Or(a.Patience, 2*time.Minute)}
	c.plugin = a.bound(config.ExecProvider)
	var client *http.Client
	stderr.Use(func() { client, err = rest.HTTPClientFor(config) }) // credential plugins get it
	if err != nil {
		return nil, c.fault(err)
	}
	timeout := connectTimeout
	if c.plugin != nil {
		client.Transport = prompt{client.Transport}
		timeout += c.plugin.limit
	}
	if err := c.clients(config, client); err != nil {
		return nil, c.fault(err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The first request may have to wait for a plugin, longer than others.
	first, err := dynamic.NewForConfigAndClient(config, &http.Client{Transport: client.Transport})
	if err != nil {
		return nil, c.fault(err)
	}
	ns, err := first.Resource(namespaces).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, c.fault(err)
	}
	c.UID = string(ns.GetUID())
	return c, nil
}

// Hide has f take what nobody is to see, such as what Secrets hold, out of all that
// the cluster says from now on.
func (c *Cluster) Hide(f func(string) string) { c.hide.Store(&f) }

// Hidden returns a text of the cluster's without what is to be hidden.
func (c *Cluster) Hidden(text string) string {
	if hide := c.hide.Load(); hide != nil {
		return (*hide)(text)
	}
	return text
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func (c *Cluster) clients(config *rest.Config, client *http.Client) error {
	var err error
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	if c.metadata, err = metadata.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	d, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return err
	}
	c.discovery = d
	if c.reviews, err = authorization.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	if c.leases, err = coordination.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	c.pods, err = core.NewForConfigAndClient(config, client)
	return err
}
