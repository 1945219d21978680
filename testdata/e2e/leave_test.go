package e2e

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// stamper starts a mutating webhook for the Deployments of namespace web. It adds a
// new timestamp to each request, and a sidecar to objects without one.
func (p *place) stamper(id string) {
	p.Helper()
	var stamp atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID    string
				Object struct {
					Metadata struct{ Annotations map[string]string }
					Spec     struct {
						Template struct {
							Spec struct{ Containers []struct{ Name string } }
						}
					}
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		notes := review.Request.Object.Metadata.Annotations
		if notes == nil {
			notes = map[string]string{}
		}
		notes["example.com/stamp"] = fmt.Sprint(stamp.Add(1))
		patch := []any{map[string]any{"op": "add", "path": "/metadata/annotations", "value": notes}}
		if len(review.Request.Object.Spec.Template.Spec.Containers) == 1 {
			patch = append(patch, map[string]any{
				"op": "add", "path": "/spec/template/spec/containers/-",
				"value": map[string]any{"name": "sidecar", "image": fmt.Sprintf("example.com/sidecar:%d", stamp.Load())},
			})
		}
		text, err := json.Marshal(patch)
		if err == nil {
			err = json.NewEncoder(w).Encode(map[string]any{
				"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
				"response": map[string]any{"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": text},
			})
		}
		if err != nil {
			p.Error(err)
		}
	}))
	p.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	p.kubectlInput(id, fmt.Sprintf(`{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "stamper"},
		"webhooks": [{
			"name": "stamper.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
			"clientConfig": {"url": %q, "caBundle": %q},
			"rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}],
			"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "web"}}
		}]
	}`, server.URL, base64.StdEncoding.EncodeToString(authority)), "create", "-f", "-")
}

// A mutating webhook sets fields that the bundle does not have, with new values in
// each request. A release that leaves these fields shows no changes in plans,
// applies, saved plans and diff --live.
func TestLeaveAbsentFields(t *testing.T) {
	p := newWeb(t)
	p.stamper("one")
	p.kubectl("one", "create", "namespace", "web")
	p.waitFor("the webhook is called", func() bool {
		out := p.kubectl("one", "-n", "web", "create", "deployment", "probe", "--image=probe", "--dry-run=server", "-o", "yaml")
		return strings.Contains(out, "example.com/stamp")
	})
	p.fleetc("apply", "--yes").ok(p)
	// An up-to-date apply does not call the webhook. Without ownership, each dry
	// run shows a difference.
	p.fleetc("apply", "--dry-run").ok(p)
	p.fleetc("diff", "--live").exits(p, 1).says(p, `metadata.annotations."example.com/stamp"`)

	p.write("environments/leave.cue", `package fleet

releases: web: ownership: webhook: {
	target: kinds: ["Deployment"]
	fields: ["metadata.annotations.\"example.com/stamp\"", "spec.template.spec.containers[name=sidecar]"]
	leave: true
}
`)
	_, mark := p.writes("one", 0)
	p.fleetc("apply", "--dry-run").ok(p)
	p.fleetc("diff", "--live").ok(p)
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
	if w, _ := p.writes("one", mark); len(w) > 0 {
		t.Errorf("apply writes %q", w)
	}

	// A change of another field shows only that field, and a saved plan is still
	// valid after the webhook has written a new timestamp.
	p.edit("environments/web.cue", "replicas: 2", "replicas: 3")
	p.fleetc("diff", "--live").exits(p, 1).says(p, "spec.replicas: 2 -> 3").lacks(p, "stamp", "sidecar")
	p.fleetc("apply", "--plan", "plan.json").ok(p).says(p, "spec.replicas: 2 -> 3").lacks(p, "stamp", "sidecar")
	stamp := func() string {
		return p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", `jsonpath={.metadata.annotations.example\.com/stamp}`)
	}
	before := stamp()
	p.kubectl("one", "-n", "web", "annotate", "--overwrite", "deployment", "web", "example.com/stamp=hand")
	if stamp() == before {
		t.Fatal("the webhook wrote no other stamp")
	}
	p.fleetc("apply", "--yes", "--from-plan", "plan.json").ok(p).says(p, "0 created, 1 changed")
	p.fleetc("apply", "--dry-run").ok(p)
	if got := p.kubectl("one", "-n", "web", "get", "deployment", "web", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[*].name}"); got != "3 web sidecar" {
		t.Errorf("the deployment has %s", got)
	}
}

// lacks requires the output not to contain the texts.
func (d result) lacks(p *place, texts ...string) result {
	p.Helper()
	for _, text := range texts {
		if strings.Contains(d.stdout+d.stderr, text) {
			p.Fatalf("fleetc %s says %q:\n%s%s", d.command, text, d.stdout, d.stderr)
		}
	}
	return d
}

// Objects are recreated for all wordings of messages about immutable fields.
func TestReplaceOtherKinds(t *testing.T) {
	p := newWeb(t)
	p.write("environments/kinds.cue", `package fleet

releases: kinds: {
	namespace: "web"
	objects: {
		class: {apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: name: "web", value: 1000}
		binding: {
			apiVersion: "rbac.authorization.k8s.io/v1"
			kind:       "RoleBinding"
			metadata: name: "web"
			roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view"}
			subjects: [{apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "web"}]
		}
	}
}
`)
	p.fleetc("apply", "--yes").ok(p)
	p.edit("environments/kinds.cue", "value: 1000", "value: 2000")
	p.edit("environments/kinds.cue", `name: "view"`, `name: "edit"`)
	p.fleetc("apply", "--yes").exits(p, 2).says(p, `PriorityClass.scheduling.k8s.io web: value: .*may not be changed in an update`, "list its kind under replace of the release",
		`RoleBinding.rbac.authorization.k8s.io web/web: roleRef`)
	p.edit("environments/kinds.cue", `namespace: "web"`, "namespace: \"web\"\n\treplace: [\"PriorityClass\", \"RoleBinding\"]")
	p.fleetc("apply", "--dry-run").exits(p, 1).says(p, `replaces PriorityClass.scheduling.k8s.io web, .*value: .*may not be changed in an update`)
	p.fleetc("apply", "--yes").ok(p).says(p, "2 replaced")
	if got := p.kubectl("one", "get", "priorityclass", "web", "-o", "jsonpath={.value}"); got != "2000" {
		t.Errorf("the priority is %s", got)
	}
	if got := p.kubectl("one", "-n", "web", "get", "rolebinding", "web", "-o", "jsonpath={.roleRef.name}"); got != "edit" {
		t.Errorf("the role is %s", got)
	}
	p.fleetc("apply", "--yes").ok(p).says(p, "nothing was written")
}
