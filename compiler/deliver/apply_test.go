package deliver

import (
	"errors"
	"testing"

	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// TestTestJSON checks that the JSON form of the result of a test hook has exactly the
// documented fields.
func TestTestJSON(t *testing.T) {
	wantJSON(t, apply.Test{Cluster: "dev/a", Release: "web", ID: "Job.batch web/smoke", Faults: []string{"it failed"}, Err: errors.New("it failed")}, `{
  "cluster": "dev/a",
  "release": "web",
  "id": "Job.batch web/smoke",
  "passed": false,
  "faults": [
    "it failed"
  ]
}`)
}
