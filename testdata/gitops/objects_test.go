package gitops

import (
	"encoding/json"
	"strings"
	"testing"
)

// An object is ready when its status says so for its current generation.
func TestReady(t *testing.T) {
	const ready = `{"type": "Ready", "status": "True", "observedGeneration": 2}`
	for _, test := range []struct{ name, object, why string }{
		{"ready", `{"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "lastAppliedRevision": "main@sha1:abc", "conditions": [` + ready + `]}}`, ""},
		{"a source", `{"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "artifact": {"revision": "main@sha1:abc"}, "conditions": [` + ready + `]}}`, ""},
		{"poked", `{"metadata": {"generation": 2, "annotations": {"reconcile.fluxcd.io/requestedAt": "5"}}, "status": {"observedGeneration": 2, "lastAppliedRevision": "main@sha1:abc", "lastHandledReconcileAt": "4", "conditions": [` + ready + `]}}`, "was poked at 5, and last handled 4"},
		{"new", `{"metadata": {"generation": 1}}`, "is of generation 1, and seen is 0"},
		{"behind", `{"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "lastAppliedRevision": "main@sha1:def", "conditions": [` + ready + `]}}`, "has revision main@sha1:def, not abc"},
		{"not ready", `{"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "lastAppliedRevision": "main@sha1:abc", "conditions": [{"type": "Ready", "status": "False", "observedGeneration": 2}]}}`, "has the conditions"},
		{"ready before", `{"metadata": {"generation": 3}, "status": {"observedGeneration": 3, "lastAppliedRevision": "main@sha1:abc", "conditions": [` + ready + `]}}`, "has the conditions"},
	} {
		var o object
		if err := json.Unmarshal([]byte(test.object), &o); err != nil {
			t.Fatal(err)
		}
		err := o.ready("abc")
		if (err == nil) != (test.why == "") || err != nil && !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
