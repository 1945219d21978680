package git

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A command is stopped when its files exceed the limit.
func TestRunWithin(t *testing.T) {
	r := repo(t)
	if _, err := r.RunWithin(t.Context(), 1<<30, limit, "status"); err != nil {
		t.Error(err)
	}
	r.Settings = append(r.Settings, "alias.wait=!sleep 60")
	_, err := r.RunWithin(t.Context(), 10, limit, "wait")
	if d := diag.All(err); len(d) != 1 || Failed(err) != nil || !strings.HasPrefix(d[0].Msg, "here is larger than 0 MiB") {
		t.Errorf("got %v", err)
	}
}
