package cluster

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	pluginLimit = 30 * time.Second // for a credential plugin without a terminal
	loginLimit  = 5 * time.Minute  // for a plugin that may ask for a login
)

// Exit statuses of [Access.PluginRunner], as in timeout(1) and shells.
const (
	pluginTimeout = 124 // the plugin took longer than its limit
	pluginMissing = 127 // the program does not exist
)

// A plugin is the credential plugin of a context:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
type plugin struct {
	command     string // as in the kubeconfig
	installHint string // from the kubeconfig
	limit       time.Duration
}

// limitPlugin makes the access's runner run the credential plugin, which client-go
// neither limits nor ends. It returns the plugin, nil when there is none.
func (a Access) limitPlugin(c *clientcmdapi.ExecConfig) *plugin {
	if c == nil {
		return nil
	}
	if a.BeforePlugin != nil {
		a.BeforePlugin()
	}
	p := &plugin{command: c.Command, installHint: c.InstallHint, limit: pluginLimit}
	if c.InteractiveMode != clientcmdapi.NeverExecInteractiveMode && term.IsTerminal(int(os.Stdin.Fd())) {
		p.limit = loginLimit
	}
	if len(a.PluginRunner) > 0 {
		words := slices.Concat(a.PluginRunner, []string{p.limit.String(), c.Command}, c.Args)
		c.Command, c.Args = words[0], words[1:]
	}
	return p
}

// cancelTransport returns from a request when its context ends, even while
// client-go waits for a credential plugin.
type cancelTransport struct{ next http.RoundTripper }

// WrappedRoundTripper returns the next transport, so that Kubernetes' code can close it.
func (p cancelTransport) WrappedRoundTripper() http.RoundTripper { return p.next }

// RoundTrip implements [http.RoundTripper].
func (p cancelTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	type result struct {
		resp *http.Response
		err  error
	}
	done := make(chan result, 1)
	go func() {
		resp, err := p.next.RoundTrip(r.Clone(r.Context()))
		done <- result{resp, err}
	}()
	select {
	case got := <-done:
		return got.resp, got.err
	case <-r.Context().Done():
		go func() {
			if got := <-done; got.resp != nil {
				_ = got.resp.Body.Close()
			}
		}()
		return nil, r.Context().Err()
	}
}

var exitCode = regexp.MustCompile(`failed with exit code (\d+)`)

// fault returns the fault of the plugin, nil when err has another cause.
func (p *plugin) fault(err error, clean func(string) string) *diag.Diag {
	_, why, ok := strings.Cut(withoutRequest(err).Error(), "getting credentials: ")
	if p == nil || !ok {
		return nil
	}
	name := "the credential plugin " + quote(p.command) + " of the kubeconfig"
	d := &diag.Diag{Code: diag.CodeKubeconfig, Msg: name + " returned no credentials: " + clean(why), Hint: "run it by hand", Cause: err}
	var status int
	if code := exitCode.FindStringSubmatch(why); code != nil {
		status, _ = strconv.Atoi(code[1]) // the expression allows digits only
	}
	switch {
	case status == pluginMissing, strings.Contains(why, "executable "+p.command+" not found"):
		d.Msg, d.Hint = name+" is not installed", "install it, and check that it is in PATH"
		if hint := strings.Join(strings.Fields(p.installHint), " "); hint != "" {
			d.Hint = visible(hint)
		}
	case status == pluginTimeout:
		d.Msg = fmt.Sprintf("%s did not answer within %s", name, p.limit)
	case status != 0:
		d.Msg, d.Hint = fmt.Sprintf("%s failed with exit status %d", name, status), "see what it printed, or log in again"
	}
	return d
}
