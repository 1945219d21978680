package cluster

import (
	"context"
	"errors"
	"net/http"
	"os"
	"reflect"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestPluginFault(t *testing.T) {
	for _, test := range []struct {
		err, message, hint string
	}{
		{
			"getting credentials: exec: executable fleetc failed with exit code 124",
			`the credential plugin "aws" of the kubeconfig did not answer within 30s`, "run it by hand",
		},
		{
			"getting credentials: exec: executable fleetc failed with exit code 127",
			`the credential plugin "aws" of the kubeconfig is not installed`, "brew install awscli",
		},
		{
			"getting credentials: exec: executable aws not found\n\nIt looks like you are trying to use a plugin",
			`the credential plugin "aws" of the kubeconfig is not installed`, "brew install awscli",
		},
		{
			"getting credentials: exec: executable fleetc failed with exit code 255",
			`the credential plugin "aws" of the kubeconfig failed with exit status 255`, "see what it printed, or log in again",
		},
		{
			"getting credentials: decoding stdout: \x1b[31mno JSON",
			`the credential plugin "aws" of the kubeconfig returned no credentials: decoding stdout: �[31mno JSON`, "run it by hand",
		},
		{"dial tcp: connection refused", "", ""},
	} {
		c := &Cluster{plugin: &plugin{command: "aws", installHint: "brew\n  install awscli", limit: pluginLimit}}
		d := c.plugin.fault(errors.New(test.err), c.visible)
		switch {
		case test.message == "" && d != nil:
			t.Errorf("%q is taken for a fault of the plugin: %v", test.err, d)
		case test.message != "" && (d == nil || d.Msg != test.message || d.Hint != test.hint):
			t.Errorf("%q: got %+v", test.err, d)
		}
	}
	if d := (*plugin)(nil).fault(errors.New("getting credentials: no"), nil); d != nil {
		t.Errorf("got %v without a plugin", d)
	}
}

func TestLimitPlugin(t *testing.T) {
	exec := func() *clientcmdapi.ExecConfig {
		return &clientcmdapi.ExecConfig{Command: "aws", Args: []string{"eks", "get-token"}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
	}
	c := exec()
	told := 0
	access := Access{PluginRunner: []string{"/bin/fleetc", "credential-plugin"}, BeforePlugin: func() { told++ }}
	p := access.limitPlugin(c)
	if access.limitPlugin(nil); told != 1 {
		t.Errorf("BeforePlugin was called %d times", told)
	}
	if want := []string{"credential-plugin", "30s", "aws", "eks", "get-token"}; c.Command != "/bin/fleetc" || !slices.Equal(c.Args, want) {
		t.Errorf("the plugin is run by %s %q", c.Command, c.Args)
	}
	if p.command != "aws" || p.limit != pluginLimit {
		t.Errorf("got %+v", p)
	}
	c = exec()
	if (Access{}).limitPlugin(c); !reflect.DeepEqual(c, exec()) {
		t.Errorf("without a runner, the plugin is run by %s %q", c.Command, c.Args)
	}
	if p := (Access{}).limitPlugin(nil); p != nil {
		t.Errorf("got %+v of a kubeconfig with no plugin", p)
	}
}

type hanging struct{ goOn chan struct{} }

// RoundTrip implements [http.RoundTripper].
func (h hanging) RoundTrip(*http.Request) (*http.Response, error) {
	<-h.goOn
	return nil, errors.New("the end")
}

// A request ends with its context while client-go waits for a plugin.
func TestCancelTransport(t *testing.T) {
	h := hanging{make(chan struct{})}
	defer close(h.goOn)
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://one.example.com", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	resp, err := cancelTransport{h}.RoundTrip(request)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestImpersonate(t *testing.T) {
	file := t.TempDir() + "/kubeconfig"
	text := `apiVersion: v1
kind: Config
clusters: [{name: one, cluster: {server: "https://one.example.com"}}]
users: [{name: me, user: {token: t, as: ops, as-groups: [admins]}}]
contexts: [{name: one, context: {cluster: one, user: me}}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		as   Impersonation
		want rest.ImpersonationConfig
	}{
		{Impersonation{}, rest.ImpersonationConfig{UserName: "ops", Groups: []string{"admins"}}},
		{
			Impersonation{User: "ci", UID: "7", Groups: []string{"robots"}},
			rest.ImpersonationConfig{UserName: "ci", UID: "7", Groups: []string{"robots"}},
		},
		{Impersonation{User: "ci"}, rest.ImpersonationConfig{UserName: "ci"}},
	} {
		config, err := Address{Access: Access{Kubeconfig: file, Impersonate: test.as}, Context: "one"}.config()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Impersonate; got.UserName != test.want.UserName || got.UID != test.want.UID || !slices.Equal(got.Groups, test.want.Groups) {
			t.Errorf("as %+v: got %+v", test.as, got)
		}
	}
}
