package query

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func objectOf(apiVersion, kind, namespace, name string) fleet.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return fleet.Object{Unstructured: u}
}

func TestFindObject(t *testing.T) {
	objs := []fleet.Object{
		objectOf("apps/v1", "Deployment", "web", "app"), objectOf("v1", "Service", "web", "app"), objectOf("v1", "Service", "db", "app"),
		objectOf("networking.k8s.io/v1", "Ingress", "web", "app"), objectOf("v1", "Namespace", "", "web"),
		objectOf("networking.k8s.io/v1", "NetworkPolicy", "web", "deny"), objectOf("v1", "ConfigMap", "web", "settings"),
		objectOf("example.com/v1", "Gateway", "web", "gw"), objectOf("example.org/v1", "Gateway", "web", "gw"),
	}
	for name, want := range map[string]string{
		"deployment/web/app": "Deployment.apps web/app", "Deployment/app": "Deployment.apps web/app", "deploy/app": "Deployment.apps web/app",
		"deployments.apps/web/app": "Deployment.apps web/app", "svc/db/app": "Service db/app", "ingresses/app": "Ingress.networking.k8s.io web/app",
		"ns/web": "Namespace web", "networkpolicies/web/deny": "NetworkPolicy.networking.k8s.io web/deny", "netpol/deny": "NetworkPolicy.networking.k8s.io web/deny",
		"gateways.example.com/gw": "Gateway.example.com web/gw",

		"svc/app":                 "cluster c has 2 objects svc/app: use one of service/db/app, service/web/app",
		"gateway/gw":              "cluster c has 2 objects gateway/gw: use one of gateway.example.com/web/gw, gateway.example.org/web/gw",
		"deploy/db/app":           "cluster c has no object deploy/db/app: did you mean deployment/web/app?",
		"cm/web/setings":          "cluster c has no object cm/web/setings: did you mean configmap/web/settings?",
		"netpol/web/x":            "cluster c has no object netpol/web/x: use one of networkpolicy/web/deny",
		"svc/db/x":                "cluster c has no object svc/db/x: use one of service/db/app",
		"svc/x":                   "cluster c has no object svc/x: use one of service/db/app, service/web/app",
		"secret/db/x":             "cluster c has no object secret/db/x: use one of service/db/app",
		"deploymnet/web/app":      "cluster c has no object deploymnet/web/app: did you mean deployment/web/app?",
		"deployment.batch/app":    "cluster c has no object deployment.batch/app: did you mean deployment/web/app?",
		"app":                     `invalid object name "app": write it as kind/namespace/name, or kind/name`,
		"deployment//app":         `invalid object name "deployment//app": write it as kind/namespace/name, or kind/name`,
		"deployment/web/app/more": `invalid object name "deployment/web/app/more": write it as kind/namespace/name, or kind/name`,
	} {
		o, err := findObject(objs, "c", name)
		if got := outcome(o.Unstructured != nil && err == nil, o.Title(), err); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := nextObjects(objs, "svc/"); !slices.Equal(got, []string{"svc/db/app", "svc/web/app"}) {
		t.Errorf("completed by %q", got)
	}
	if got := nextObjects(objs, "serv"); !slices.Equal(got, []string{"service/db/app", "service/web/app"}) {
		t.Errorf("completed by %q", got)
	}
}

// outcome returns the name of the object, or the fault with its hint.
func outcome(found bool, what string, err error) string {
	if found {
		return what
	}
	return hinted(err)
}

func TestFindField(t *testing.T) {
	o := objectOf("v1", "Service", "web", "app")
	o.Object["spec"] = map[string]any{"ports": []any{
		map[string]any{"name": "http", "port": int64(80)}, map[string]any{"name": "a.b]", "port": int64(81)}, "odd",
	}}
	o.Object["data"] = map[string]any{"a.b": "x", "c=d": "y"}
	for text, want := range map[string]string{
		"": "", "spec.ports[0].port": "spec.ports[0].port", "spec.ports[name=http].port": "spec.ports[0].port", "spec.ports[port=81]": "spec.ports[1]",
		`data."a.b"`: `data."a.b"`, `data."c=d"`: "data.c=d",

		"spec.ports[name=htp].port": "spec.ports has no element with name htp: did you mean http?",
		"spec.prots":                "there is no field spec.prots: did you mean ports?",
		"spec.ports[7]":             "there is no field spec.ports[7]: name one of its 3 elements, from [0] on",
		"spec..ports":               noFieldText("spec..ports"), "spec.ports[name=http]port": noFieldText("spec.ports[name=http]port"),
		"spec.ports[name=http].": noFieldText("spec.ports[name=http]."), "spec.ports[name": noFieldText("spec.ports[name"),
		"[name=http]": " has no element with name http",
	} {
		way, err := findField(o, text)
		if got := outcome(err == nil, fleet.FieldText(way.keys()), err); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"spec.p": "spec.ports", "spec.ports[": "spec.ports[0] spec.ports[1] spec.ports[2]", "spec.ports[name=http].": "spec.ports[name=http].name spec.ports[name=http].port",
		"da": "data", "data.": `data."a.b" data.c=d`, "no.": "",
	} {
		if got := strings.Join(nextFields(o, text), " "); got != want {
			t.Errorf("%q is completed by %s, want %s", text, got, want)
		}
	}
}

func noFieldText(text string) string {
	return `invalid field path "` + text + `": write it as spec.replicas, spec.ports[0].name, spec.ports[name=http].port or data."a.b"`
}

// hinted returns the message and the hint of a fault.
func hinted(err error) string {
	d := diag.All(err)[0]
	if d.Hint == "" {
		return d.Msg
	}
	return d.Msg + ": " + d.Hint
}
