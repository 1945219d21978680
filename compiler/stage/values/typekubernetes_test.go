package values

import (
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/kube"
)

func TestShapes(t *testing.T) {
	k := newShapes()
	pod := k.place([]apiKind{{apiVersion: "apps/v1", kind: "Deployment"}}, []string{"spec", "template", "spec"})
	for path, want := range map[string]bool{
		"securityContext.fsGroup": true, "securityContext.privileged": false, "containers.[].securityContext.privileged": true,
		"containers.[].securityContext.fsGroup": false, "containers.[].resources.limits.cpu": true, "containers.[].resources.limits.cup": false,
		"containers.[].resources.limits.nvidia.com/gpu": true, "nodeSelector.anything": true, "affinity.nodeAffinity": true,
		"affinity.nodeAntiAffinity": false, "volumes.[].csi.volumeAttributes.x": true, "tolerations.[].key": true, "tolerations.[].kez": false,
		"containers.[].resources.requests.hugepages-2Mi": true,
	} {
		at, ok := pod, true
		for _, step := range strings.Split(strings.ReplaceAll(path, "nvidia.com", "nvidia~com"), ".") {
			step = strings.ReplaceAll(step, "~", ".")
			switch {
			case step == anItem:
				at = at.key(step)
			case ok && at.closed() || at != nil && at.free:
				at, ok = at.at(step)
			}
		}
		if ok != want {
			t.Errorf("%s: %v", path, ok)
		}
	}
	if k.of(k.definitions([]string{"core.v1.Probe"})) != k.named("core.v1.Probe") {
		t.Error("a shape is made twice")
	}
	if s := k.of(make([]*kube.Schema, 3)); s != nil {
		t.Errorf("a shape of nothing: %v", s)
	}
}

// TestShapesOfPlaces looks up shapes by kind and by the name of a part.
func TestShapesOfPlaces(t *testing.T) {
	k := newShapes()
	for name, c := range map[string]struct {
		kinds []apiKind
		path  string
		field string // a field; empty when nothing is known
	}{
		"a kind":                     {[]apiKind{{apiVersion: "apps/v1", kind: "Deployment"}}, "spec.strategy", "rollingUpdate"},
		"a kind of any version":      {[]apiKind{{apiVersion: "", kind: "HorizontalPodAutoscaler"}}, "spec.behavior", "scaleDown"},
		"a kind of another version":  {[]apiKind{{apiVersion: "autoscaling/v1", kind: "HorizontalPodAutoscaler"}}, "spec.behavior", ""},
		"one of two kinds":           {[]apiKind{{apiVersion: "apps/v1", kind: "Deployment"}, {apiVersion: "apps/v1", kind: "StatefulSet"}}, "spec.updateStrategy", "rollingUpdate"},
		"no such path":               {[]apiKind{{apiVersion: "v1", kind: "ConfigMap"}}, "data.resources", ""},
		"below an unknown path":      {[]apiKind{{apiVersion: "v1", kind: "ConfigMap"}}, "spec.containers.[].resources", ""},
		"a custom resource":          {[]apiKind{{apiVersion: "x.example/v1", kind: "Thing"}}, "spec.resources", "limits"},
		"a custom one with the name": {[]apiKind{{apiVersion: "x.example/v1", kind: "Deployment"}}, "spec.strategy", ""},
		"a part of it":               {[]apiKind{{apiVersion: "x.example/v1", kind: "Thing"}}, "spec.affinity.podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"},
		"a piece":                    {nil, "containers.[].livenessProbe", "httpGet"},
		"a piece of no name":         {nil, "spec.template", ""},
		"an item of a piece":         {nil, "resources.[]", ""},
	} {
		s := k.place(c.kinds, strings.Split(c.path, "."))
		if c.field == "" {
			if s.closed() {
				t.Errorf("%s: %v", name, s.fields)
			}
		} else if _, ok := s.fields[c.field]; !ok {
			t.Errorf("%s: it has no %s", name, c.field)
		}
	}
}

func TestJoin(t *testing.T) {
	k := newShapes()
	leaf := &shape{}
	a := &shape{fields: map[string]*shape{"a": {fields: map[string]*shape{"x": leaf}}, "both": {fields: map[string]*shape{"x": leaf}}}}
	b := &shape{fields: map[string]*shape{"b": leaf, "both": {fields: map[string]*shape{"y": leaf}}}}
	a.fields["self"], b.fields["self"] = a, b
	s := k.join(a, b)
	for path, want := range map[string]bool{
		"a.x": true, "a.y": false, "b": true, "both.x": true, "both.y": true, "both.z": false, "c": false, "self.self.both.y": true,
	} {
		at, ok := s, true
		for step := range strings.SplitSeq(path, ".") {
			if ok {
				at, ok = at.at(step)
			}
		}
		if ok != want {
			t.Errorf("%s: %v", path, ok)
		}
	}
	if k.join(a, nil) != nil || k.join(a, a) != a || k.join(a, b) != s {
		t.Error("joined with nothing, with itself, or again")
	}
	if s := k.join(a, &shape{list: true}); s.closed() || s.list {
		t.Error("a map or a list has no keys that are known")
	}
}
