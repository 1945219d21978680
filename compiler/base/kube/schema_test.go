package kube

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// at returns the schema at a path below a kind: field, [] for the items of a
// list, {} for the values of a map.
func at(t *testing.T, v *Version, gvk schema.GroupVersionKind, path string) *Schema {
	t.Helper()
	s := v.Schema(gvk)
	for step := range strings.FieldsSeq(path) {
		if s == nil {
			t.Fatalf("%s: %s of %s has no schema before %s", v, path, gvk.Kind, step)
		}
		if step == "[]" || step == "{}" {
			s = s.Elem
			continue
		}
		s = s.Fields[step]
	}
	if s == nil {
		t.Fatalf("%s: %s of %s has no schema", v, path, gvk.Kind)
	}
	return s
}

// The schemas agree with well-known facts about Kubernetes.
func TestSchemaFacts(t *testing.T) {
	const podSpec = "spec template spec "
	service := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	crd := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	for _, v := range Versions() {
		for _, tt := range []struct {
			gvk  schema.GroupVersionKind
			path string
			test func(*Schema) bool
		}{
			{deployment, "", func(s *Schema) bool { return s.Name == "io.k8s.api.apps.v1.Deployment" && s.Type == Object && !s.Open }},
			{deployment, "spec", func(s *Schema) bool { return slices.Equal(s.Required, []string{"selector", "template"}) }},
			{deployment, "spec replicas", func(s *Schema) bool { return s.Type == Integer && s.Format == "int32" }},
			{deployment, "spec strategy", func(s *Schema) bool {
				return slices.Equal(s.Strategy, []string{"retainKeys"}) && s.Fields["type"] != nil
			}},
			{deployment, "spec strategy type", func(s *Schema) bool { return slices.Contains(s.Enum, "Recreate") }},
			{deployment, "spec strategy rollingUpdate maxSurge", func(s *Schema) bool { return s.Type == IntOrString }},
			{deployment, "spec selector", func(s *Schema) bool { return s.MapType == "atomic" }},
			{deployment, "spec selector matchLabels {}", func(s *Schema) bool { return s.Type == String }},
			{deployment, podSpec, func(s *Schema) bool { return slices.Equal(s.Required, []string{"containers"}) }},
			{deployment, podSpec + "containers", func(s *Schema) bool {
				return s.Type == List && s.ListType == ListMap && slices.Equal(s.ListKeys, []string{"name"}) && s.MergeKey == "name" && slices.Equal(s.Strategy, []string{"merge"})
			}},
			{deployment, podSpec + "containers [] ports", func(s *Schema) bool {
				return s.ListType == ListMap && slices.Equal(s.ListKeys, []string{"containerPort", "protocol"}) && s.MergeKey == "containerPort"
			}},
			{deployment, podSpec + "containers [] ports [] protocol", func(s *Schema) bool {
				return s.Default == "TCP" && slices.Equal(s.Enum, []string{"SCTP", "TCP", "UDP"})
			}},
			{deployment, podSpec + "containers [] env", func(s *Schema) bool { return s.ListType == ListMap && slices.Equal(s.ListKeys, []string{"name"}) }},
			{deployment, podSpec + "containers [] resources limits {}", func(s *Schema) bool { return s.Type == Quantity && s.Format == "" }},
			{deployment, podSpec + "volumes", func(s *Schema) bool { return slices.Equal(s.Strategy, []string{"merge", "retainKeys"}) }},
			{deployment, podSpec + "restartPolicy", func(s *Schema) bool { return slices.Equal(s.Enum, []string{"Always", "Never", "OnFailure"}) }},
			{deployment, "metadata creationTimestamp", func(s *Schema) bool { return s.Type == String && s.Format == "date-time" }},
			{deployment, "metadata finalizers", func(s *Schema) bool { return s.ListType == ListSet }},
			{deployment, "metadata managedFields [] fieldsV1", func(s *Schema) bool { return s.Type == Object && s.Open }},
			{service, "spec ports", func(s *Schema) bool { return slices.Equal(s.ListKeys, []string{"port", "protocol"}) }},
			{service, "spec type", func(s *Schema) bool { return len(s.Enum) == 4 }},
			{secret, "data {}", func(s *Schema) bool { return s.Type == String && s.Format == "byte" }},
			{crd, "spec versions [] schema openAPIV3Schema", func(s *Schema) bool { return s.Fields["not"].Name == s.Name && s.Fields["default"].Type == Any }},
			{crd, "spec versions [] subresources status", func(s *Schema) bool { return s.Type == Object && !s.Open && s.Fields == nil && s.Elem == nil }},
		} {
			if s := at(t, v, tt.gvk, tt.path); !tt.test(s) {
				t.Errorf("%s: %s %s is %+v", v, tt.gvk.Kind, tt.path, *s)
			}
		}
	}
}

// The newest version decides whether a field is required.
func TestSettled(t *testing.T) {
	for _, tt := range []struct {
		name, field string
		required    bool
	}{
		{"io.k8s.api.apps.v1.StatefulSetSpec", "serviceName", false},
		{"io.k8s.api.rbac.v1.RoleRef", "apiGroup", false},
		{"io.k8s.api.networking.v1.NetworkPolicySpec", "podSelector", false},
		{"io.k8s.api.scheduling.v1.PriorityClass", "value", false},
		{"io.k8s.api.apps.v1.Deployment", "spec", true},
		{"io.k8s.api.batch.v1.CronJob", "spec", true},
		{"io.k8s.api.rbac.v1.RoleRef", "name", true},
	} {
		for _, v := range Versions() {
			d := v.Definition(tt.name)
			if d == nil || d.Fields[tt.field] == nil || slices.Contains(d.Required, tt.field) != tt.required {
				t.Errorf("%s: %s requires %s: want %v", v, tt.name, tt.field, tt.required)
			}
		}
	}
}

// Each schema has exactly one name.
func TestNames(t *testing.T) {
	for _, v := range Versions() {
		for name, s := range v.schemas().named {
			if s.Name != name || s.Type == Any && !strings.HasPrefix(name, "io.k8s.apiextensions-apiserver.") {
				t.Errorf("%s: %s is %s of type %q", v, name, s.Name, s.Type)
			}
			for _, field := range s.Required {
				if s.Fields[field] == nil {
					t.Errorf("%s: %s requires %s and does not have it", v, name, field)
				}
			}
		}
	}
}

// Each version is decoded once, separately from the others.
func TestOnce(t *testing.T) {
	first, again := version(t, "1.36").Schema(deployment), version(t, "1.36.2").Schema(deployment)
	if first != again || first == version(t, "1.37").Schema(deployment) {
		t.Error("the schemas are not decoded once for each version")
	}
}

func TestDecode(t *testing.T) {
	const lines = `io.A 1.29-1.30 {"type":"object","kind":"v1 A","properties":{"b":{"$ref":"io.B","default":"x"},"l":{"type":"array","items":{"$ref":"io.B"},"x-kubernetes-patch-strategy":"merge"}}}
io.B 1.29 {"format":"int-or-string"}
io.B 1.30-1.31 {"type":"string","enum":["x","y"]}
`
	s, err := decode(packed(t, lines), 29)
	if err != nil {
		t.Fatal(err)
	}
	b := &Schema{Name: "io.B", Type: IntOrString}
	withDefault := *b
	withDefault.Default = "x"
	want := &Schema{Name: "io.A", Type: Object, Fields: map[string]*Schema{
		"b": &withDefault,
		"l": {Type: List, Elem: b, Strategy: []string{"merge"}, ListType: ListSet},
	}}
	if got := s.kinds[schema.GroupVersionKind{Version: "v1", Kind: "A"}]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if s, err := decode(packed(t, lines), 31); err != nil || len(s.named) != 1 || len(s.kinds) != 0 {
		t.Errorf("1.31 has %v, %v", s, err)
	}
}

func TestDecodeFaults(t *testing.T) {
	for name, tt := range map[string]struct{ lines, want string }{
		"parts":     {"io.A 1.29\n", "a line of the schemas has 2 parts, not 3"},
		"minors":    {"io.A 1.x {}\n", `"1.x" is not a run of minor versions`},
		"json":      {"io.A 1.29 {\n", "definition io.A: unexpected end of JSON input"},
		"reference": {`io.A 1.29 {"items":{"$ref":"io.B"}}` + "\n", "no definition of io.B"},
	} {
		if _, err := decode(packed(t, tt.lines), 29); fmt.Sprint(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if _, err := decode([]byte("no zstd"), 29); err == nil {
		t.Error("what is not packed is taken")
	}
}

func packed(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, err := decode(schemasPacked, 36); err != nil {
			b.Fatal(err)
		}
	}
}
