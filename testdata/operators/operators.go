// Package operators builds the operators whose custom resources the example fleet has:
// cert-manager and the Prometheus operator, and an ACME server for cert-manager. The
// programs are built once from modules below testdata, see [Build].
package operators

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// recipes are the modules with their programs. Later versions of cert-manager have their
// programs in modules that the proxy does not serve.
var recipes = []clusters.Recipe{
	{Name: "certmanager", Parts: []string{"cainjector", "controller", "ctl", "webhook"}},
	{Name: "pebble", Parts: []string{"pebble", "cert.pem", "key.pem"}, Finish: copyCertificate},
	{Name: "prometheusoperator", Parts: []string{"operator", "prometheus-config-reloader"}},
}

// copyCertificate copies the certificate of Pebble's own tests.
func copyCertificate(dir string, module func(string) (string, error)) error {
	from, err := module("github.com/letsencrypt/pebble/v2")
	if err != nil {
		return err
	}
	for _, name := range []string{"cert.pem", "key.pem"} {
		text, err := os.ReadFile(filepath.Join(from, "test/certs/localhost", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Build returns the files of the programs by name, and builds them if necessary; see
// [clusters.Recipe.Build].
func Build(ctx context.Context, log io.Writer) (programs map[string]string, err error) {
	programs = map[string]string{}
	for _, recipe := range recipes {
		built, err := recipe.Build(ctx, log)
		if err != nil {
			return nil, err
		}
		for _, name := range recipe.Parts {
			programs[name] = filepath.Join(built.Dir, name)
		}
	}
	return programs, nil
}
