package live

import (
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fleetc/fleetc/compiler/diag"
)

// An Access says how clusters are reached, and as whom.
type Access struct {
	Kubeconfig string // a file; those of KUBECONFIG, or the user's own, when empty
	Agent      string // the program that asks, as the audit log shows it
	As         As     // whom to impersonate

	// PluginRunner is a command that runs a credential plugin, and ends it in time. It
	// is given the limit (30s), the plugin, and its arguments, and returns the exit
	// status of the plugin, [PluginTimeout] or [PluginMissing]. Without it, plugins
	// are run as they are, and nothing ends one that hangs.
	PluginRunner []string
}

// An As is the user to impersonate; none without a User.
type As struct {
	User, UID string
	Groups    []string
}

// An Address says how to reach a cluster.
type Address struct {
	Access
	Context  string        // of the kubeconfig
	Patience time.Duration // how long an API server that is away is waited for; 0 for two minutes
}

// config reads the kubeconfig.
func (a Address) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	rules.Warner = func(error) {}
	raw, err := rules.Load()
	if err != nil {
		return nil, &diag.Diag{Msg: "the kubeconfig cannot be read: " + visible(err.Error()), Cause: err}
	}
	if raw.Contexts[a.Context] == nil {
		var names []string
		for name := range raw.Contexts {
			names = append(names, name)
		}
		d := &diag.Diag{Msg: "the kubeconfig has no context " + quote(a.Context), Hint: diag.OneOf(a.Context, names)}
		if len(names) == 0 {
			d.Msg, d.Hint = "there is no kubeconfig with a context "+quote(a.Context), "set KUBECONFIG, or name the file with --kubeconfig"
		}
		return nil, d
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, a.Context, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, &diag.Diag{Msg: "context " + quote(a.Context) + " of the kubeconfig: " + visible(err.Error()), Cause: err}
	}
	if u, err := url.Parse(config.Host); err == nil && u.User != nil {
		return nil, &diag.Diag{Msg: "context " + quote(a.Context) + " of the kubeconfig: the URL of the server has credentials in it", Hint: "move them to its user"}
	}
	if a.As.User != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: a.As.User, UID: a.As.UID, Groups: a.As.Groups}
	}
	config.UserAgent = a.Agent
	limiter := newFairLimiter()
	config.RateLimiter = limiter
	config.Wrap(limiter.watch)
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	return config, nil
}
