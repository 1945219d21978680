package apply

import (
	"errors"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An answer of the API server to a request about an object names the object. A lost
// connection concerns the whole cluster.
func TestLocate(t *testing.T) {
	it := &Item{ID: "ConfigMap web/settings"}
	for code, want := range map[diag.Code]string{diag.CodeAPIServer: it.ID, diag.CodeKubeconfig: ""} {
		err := &diag.Diag{Code: code, Msg: "etcdserver: request timed out"}
		d, ok := errors.AsType[*diag.Diag](it.fault(err))
		if !ok || d.Path != want || err.Path != "" {
			t.Errorf("%s: got %#v", code, d)
		}
	}
}
