package cluster

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An Access says how to reach clusters, and as which user.
type Access struct {
	Kubeconfig  string        // path; empty for KUBECONFIG or the user's own file
	Agent       string        // user agent, which the audit log shows
	Impersonate Impersonation // user to impersonate

	// PluginRunner is a command that runs a credential plugin and enforces its
	// limit. Its arguments are the limit (30s), the plugin and the plugin's
	// arguments; it returns the plugin's exit status, [pluginTimeout] or
	// [pluginMissing]. Without it, client-go runs plugins directly, and nothing
	// ends one that hangs.
	PluginRunner []string

	// BeforePlugin is called before a connection that runs a credential plugin, which may
	// use the terminal. It may be nil, and is called by several goroutines.
	BeforePlugin func()

	// OnDelay is called with the ID of a cluster and the reason when a request takes some
	// seconds, see [Cluster.OnDelay]. It may be nil, and is called by several goroutines.
	OnDelay func(id, reason string)
}

// An Impersonation is the user to impersonate; none when User is empty.
type Impersonation struct {
	User, UID string
	Groups    []string
}

// An Address says how to reach one cluster.
type Address struct {
	Access
	Context      string        // of the kubeconfig
	InCluster    bool          // connect as the service account of the Pod, without a kubeconfig
	RetryTimeout time.Duration // how long to retry while the API server is unreachable; 0 for two minutes
}

// config returns the client configuration.
func (a Address) config() (*rest.Config, error) {
	read := a.kubeconfig
	if a.InCluster {
		read = inCluster
	}
	config, err := read()
	if err != nil {
		return nil, err
	}
	if a.Impersonate.User != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: a.Impersonate.User, UID: a.Impersonate.UID, Groups: a.Impersonate.Groups}
	}
	config.UserAgent = a.Agent
	config.QPS = -1 // no limit: an overloaded API server answers 429, and the client waits as long as it says
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(onResponse(limitBody))
	return config, nil
}

// inCluster returns the client configuration of a Pod.
func inCluster() (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeKubeconfig, Msg: "this is not a Pod with a service account: " + visible(err.Error()), Hint: "name a context of the kubeconfig with --context", Cause: err}
	}
	return config, nil
}

// ErrNoContext is the cause of an error of [Connect] if the kubeconfig does not have the
// context, so that nothing is known of the cluster.
var ErrNoContext = errors.New("the kubeconfig does not have the context")

// kubeconfig returns the client configuration of the context.
func (a Address) kubeconfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	rules.Warner = func(error) {}
	raw, err := rules.Load()
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeKubeconfig, Msg: "the kubeconfig cannot be read: " + visible(err.Error()), Hint: "correct the file, or name another one with --kubeconfig", Cause: err}
	}
	if raw.Contexts[a.Context] == nil {
		names := slices.Sorted(maps.Keys(raw.Contexts))
		d := &diag.Diag{Code: diag.CodeKubeconfig, Msg: "the kubeconfig has no context " + quote(a.Context), Hint: diag.OneOf(a.Context, names), Cause: ErrNoContext}
		if len(names) == 0 {
			d.Msg, d.Hint = "there is no kubeconfig with a context "+quote(a.Context), "set KUBECONFIG, or name the file with --kubeconfig"
		}
		return nil, d
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, a.Context, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeKubeconfig, Msg: "context " + quote(a.Context) + " of the kubeconfig: " + visible(err.Error()), Hint: "correct the context in the kubeconfig", Cause: err}
	}
	if u, err := url.Parse(config.Host); err == nil && u.User != nil {
		return nil, &diag.Diag{Code: diag.CodeURLCredentials, Msg: "context " + quote(a.Context) + " of the kubeconfig: the URL of the server has credentials in it", Hint: "move them to its user"}
	}
	return config, nil
}

// A responseTransport calls seen with each response or error of the next transport. seen may
// change the response.
type responseTransport struct {
	next http.RoundTripper
	seen func(*http.Response, error)
}

// onResponse returns a wrapper of transports, for Config.Wrap of client-go, that calls seen.
func onResponse(seen func(*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return responseTransport{next, seen} }
}

// WrappedRoundTripper returns the next transport, so that Kubernetes' code can close it.
func (t responseTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements [http.RoundTripper].
func (t responseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	t.seen(resp, err)
	return resp, err
}

// limitBody lets at most maxResponse bytes of a response be read.
func limitBody(resp *http.Response, err error) {
	if err == nil && resp.Body != nil {
		resp.Body = &limitedBody{resp.Body, maxResponse}
	}
}

var errTooLong = errors.New("the response is too large")

type limitedBody struct {
	io.ReadCloser
	remaining int
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.remaining <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.remaining)])
	b.remaining -= n
	return n, err
}

// A Right is the permission for a verb on a resource.
type Right struct {
	Verb      string // API verb: get, patch
	Group     string
	Resource  string // with its subresource: pods, pods/log
	Namespace string // empty for all namespaces
}

// MayHave returns a function that reports whether the user may have the right to the verb on
// a resource in a namespace. Only its result false is certain: rules can be incomplete.
func (c *Cluster) MayHave(ctx context.Context, verb, namespace string) (func(group, resource string) bool, error) {
	review := &authorization.SelfSubjectRulesReview{Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := result(ctx, c.retry, func(ctx context.Context) (*authorization.SelfSubjectRulesReview, error) {
		return c.reviews.SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	})
	if err != nil {
		return nil, err
	}
	rules := answer.Status
	return func(group, resource string) bool {
		return rules.Incomplete || slices.ContainsFunc(rules.ResourceRules, func(r authorization.ResourceRule) bool {
			return len(r.ResourceNames) == 0 && matches(r.Verbs, verb) && matches(r.APIGroups, group) && matches(r.Resources, resource)
		})
	}, nil
}

func matches(rule []string, one string) bool {
	return slices.Contains(rule, one) || slices.Contains(rule, "*")
}

// May reports whether the user has a right. The zero Right stands for all rights.
func (c *Cluster) May(ctx context.Context, r Right) (bool, error) {
	a := &authorization.ResourceAttributes{Verb: r.Verb, Group: r.Group, Namespace: r.Namespace}
	a.Resource, a.Subresource, _ = strings.Cut(r.Resource, "/")
	if r == (Right{}) {
		a.Verb, a.Group, a.Resource = "*", "*", "*"
	}
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: a}}
	answer, err := result(ctx, c.retry, func(ctx context.Context) (*authorization.SelfSubjectAccessReview, error) {
		return c.reviews.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	})
	return err == nil && answer.Status.Allowed, err
}
