package deliver

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/deliver/apply"
)

// wantJSON compares the JSON form of a result with the expected text.
func wantJSON(t *testing.T, result any, want string) {
	t.Helper()
	got, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStatusJSON checks that the JSON form of a status has exactly the documented fields.
func TestStatusJSON(t *testing.T) {
	last := apply.Revision{Number: 3, Bundle: "sha256:b", By: "ann@host", Commit: "c0ffee", Tool: "v1", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	inventory := &apply.Inventory{Bundle: "sha256:b", History: []apply.Revision{{Number: 2}, last}, Objects: []apply.Entry{{Kind: "Secret", Name: "x"}}}
	s := &Status{
		ClusterRecord: &ClusterRecord{Cluster: &fleet.Cluster{ID: "dev/a"}, Reached: true, Err: errors.New("broken"), Inventory: inventory},
		ID:            "dev/a", State: Behind, Compiled: "sha256:c", Compile: errors.New("does not compile"), Holder: "bob", ReadySince: time.Now(),
		Unhealthy: []apply.UnhealthyObject{{ID: "Pod a/b", State: kube.HealthFailed, Reason: "bad"}},
		Orphans:   []string{"ConfigMap a/o"}, Unread: []string{"Secret"},
	}
	s.describe(StatusOptions{Health: true})
	wantJSON(t, s, `{
  "id": "dev/a",
  "state": "behind",
  "running": {
    "revision": 3,
    "current": true,
    "time": "2026-01-02T03:04:05Z",
    "by": "ann@host",
    "commit": "c0ffee",
    "dirty": false,
    "bundle": "sha256:b",
    "tool": "v1",
    "what": "apply",
    "created": 0,
    "changed": 0,
    "pruned": 0,
    "replaced": 0,
    "applied": 1,
    "applies": [
      {
        "time": "2026-01-02T03:04:05Z",
        "by": "ann@host",
        "tool": "v1"
      }
    ],
    "folded": []
  },
  "compiled": "sha256:c",
  "applying": "bob",
  "unhealthy": [
    {
      "id": "Pod a/b",
      "state": "failed",
      "reason": "bad"
    }
  ],
  "orphans": [
    "ConfigMap a/o"
  ],
  "unread": [
    "Secret"
  ],
  "faults": [
    "broken [FL3110]",
    "does not compile [FL3110]"
  ]
}`)
	const nothing = `{
  "id": "dev/b",
  "state": "unreachable",
  "running": null,
  "unhealthy": null,
  "orphans": null,
  "faults": []
}`
	lost := &Status{ClusterRecord: &ClusterRecord{Cluster: &fleet.Cluster{ID: "dev/b"}}, ID: "dev/b", State: Unreachable}
	lost.describe(StatusOptions{})
	wantJSON(t, lost, nothing)
	lost.describe(StatusOptions{Health: true})
	if lost.Unhealthy == nil {
		t.Error("with the option Health, the list of a readable cluster is not null")
	}
}

// A cluster is refused when it or its inventory is wrong, and not when it could not be read.
func TestStatusState(t *testing.T) {
	for name, test := range map[string]struct {
		code diag.Code
		want ClusterState
	}{
		"another cluster":    {diag.CodeOtherCluster, Refused},
		"two contexts":       {diag.CodeSameCluster, Refused},
		"a damaged record":   {diag.CodeDamagedRecord, Refused},
		"a newer record":     {diag.CodeOtherVersion, Refused},
		"no right to read":   {diag.CodeRights, Forbidden},
		"a failing server":   {diag.CodeAPIServer, Unknown},
		"a lost connection":  {diag.CodeKubeconfig, Unknown},
		"nothing is applied": {"", NeverApplied},
	} {
		s := &Status{ClusterRecord: &ClusterRecord{Reached: true}}
		if test.code != "" {
			s.Err = diag.In("dev/a", &diag.Diag{Code: test.code, Msg: name})
		}
		if s.setState(); s.State != test.want {
			t.Errorf("%s: %s, want %s", name, s.State, test.want)
		}
	}
}
