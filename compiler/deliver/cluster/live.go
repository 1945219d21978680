// Package cluster connects to a cluster with a context of a kubeconfig. It reads, applies
// and deletes objects, holds the lease that keeps two applies apart, and checks the
// rights of the user. It makes no decisions; those are in compiler/deliver/apply.
//
// It retries idempotent requests while the API server is unreachable, limits the size
// of responses, and puts no credentials into errors. Like kubectl, it runs credential
// plugins, the programs that a kubeconfig names to get credentials: they are the
// user's own.
//
// A [HelmRun] installs, upgrades, tests and uninstalls a release with Helm's library, so that
// the helm program can work with it. It reads no settings of helm and discards Helm's log.
package cluster

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/fleetc/fleetc/compiler/base/par"
)

// Manager is fleetc's field manager.
const Manager = "fleetc"

// A Cluster is a connection to a live cluster. It is safe for concurrent use.
type Cluster struct {
	Server string // URL of the API server
	UID    string // of the namespace kube-system, which identifies the cluster

	hide atomic.Pointer[func(string) string]

	config       *rest.Config
	transport    http.RoundTripper
	plugin       *plugin // credential plugin; nil when the kubeconfig has the credentials
	retryTimeout time.Duration
	dynamic      dynamic.Interface
	metadata     metadata.Interface
	discovery    discovery.DiscoveryInterfaceWithContext
	reviews      authorization.AuthorizationV1Interface
	leases       coordination.CoordinationV1Interface
	pods         core.PodsGetter

	delays  delayReports
	trouble atomic.Pointer[string]          // why the last request failed, if a later one may succeed; else nil
	guard   func(ctx context.Context) error // called before each try of a write; nil without a lease

	mu           sync.Mutex
	resources    map[schema.GroupVersionKind]Resource // nil until discovery
	unreadGroups map[schema.GroupVersion]error        // groups whose discovery failed
	stored       map[schema.GroupVersionKind]bool     // objects of the kind can be listed and deleted
	documents    map[string]string                    // URLs of OpenAPI documents; nil until they are read
}

const (
	requestTimeout = 30 * time.Second
	connectTimeout = 10 * time.Second
	connectTries   = 5
	maxResponse    = 128 << 20
)

// Connect connects to a cluster and reads its identity. It returns a fault when the
// context does not exist, or when the API server is unreachable, is not trusted, or
// rejects the user. It retries only a response that was incomplete, and waits for a credential plugin no longer
// than its limit.
func Connect(ctx context.Context, a Address) (*Cluster, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Server: config.Host, config: config, retryTimeout: cmp.Or(a.RetryTimeout, 2*time.Minute)}
	c.plugin = a.limitPlugin(config.ExecProvider)
	config.Wrap(onResponse(c.seeTrouble))
	var client *http.Client
	par.UseStderr(func() { client, err = rest.HTTPClientFor(config) }) // credential plugins inherit it
	if err != nil {
		return nil, c.fault(err)
	}
	c.transport = client.Transport
	timeout := connectTimeout
	if c.plugin != nil {
		client.Transport = cancelTransport{client.Transport}
		timeout += c.plugin.limit
	}
	if err := c.clients(config, client); err != nil {
		return nil, c.fault(err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The first request may wait for a plugin, so it needs a longer timeout.
	first, err := dynamic.NewForConfigAndClient(config, &http.Client{Transport: client.Transport})
	if err != nil {
		return nil, c.fault(err)
	}
	var ns *unstructured.Unstructured
	for range connectTries {
		if ns, err = first.Resource(namespaces).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{}); err == nil || !isTruncated(err) {
			break
		}
	}
	if err != nil {
		return nil, c.fault(err)
	}
	c.UID = string(ns.GetUID())
	return c, nil
}

// Close closes idle connections. The Cluster remains usable.
func (c *Cluster) Close() { utilnet.CloseIdleConnectionsFor(c.transport) }

// Hide sets the function that removes secrets from all texts of the cluster.
func (c *Cluster) Hide(f func(string) string) { c.hide.Store(&f) }

// Hidden returns a text of the cluster without secrets.
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

// KubernetesVersion returns the version of the API server: 1.36.2.
func (c *Cluster) KubernetesVersion(ctx context.Context) (string, error) {
	v, err := result(ctx, c.retry, c.discovery.ServerVersionWithContext)
	if err != nil {
		return "", err
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(v.GitVersion, "v"), "+")
	version, _, _ = strings.Cut(version, "-")
	return version, nil
}
