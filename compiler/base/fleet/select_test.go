package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestSelector(t *testing.T) {
	o := Object{Release: &Release{Name: "web"}, Unstructured: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "nginx", "namespace": "front", "labels": map[string]any{"app": "x"}},
	}}}
	for _, c := range []struct {
		s    Selector
		want bool
	}{
		{Selector{}, true},
		{Selector{Kinds: []string{"Service", "Deployment"}}, true},
		{Selector{Kinds: []string{"Deployment.apps"}}, true},
		{Selector{Kinds: []string{"Deployment.extensions"}}, false},
		{Selector{Names: []string{"ng*"}}, true},
		{Selector{Names: []string{"g*", "[", ""}}, false},
		{Selector{Namespaces: []string{"front"}, Releases: []string{"w?b"}}, true},
		{Selector{Namespaces: []string{"back"}, Releases: []string{"web"}}, false},
		{Selector{Labels: map[string]string{"app": "x"}}, true},
		{Selector{Labels: map[string]string{"app": "*"}}, true},
		{Selector{Labels: map[string]string{"app": "y"}}, false},
		{Selector{Labels: map[string]string{"app": "x", "no": "*"}}, false},
	} {
		if got := c.s.Matches(o); got != c.want {
			t.Errorf("%+v is %v", c.s, got)
		}
	}
	if !(Selector{Kinds: []string{"Deployment"}}).Matches(Object{Unstructured: o.Unstructured}) {
		t.Error("an object without a release is not matched")
	}
}

func TestMatchCluster(t *testing.T) {
	for _, test := range []struct {
		pattern, id string
		want        bool
	}{
		{"prod", "prod", true},
		{"prod", "prod/us/east-1", true},
		{"prod/*", "prod/us/east-1", true},
		{"prod/us/east-[12]", "prod/us/east-1", true},
		{"*", "prod/us/east-1", true},
		{"*/us", "prod/us/east-1", true},
		{"us", "prod/us/east-1", false},
		{"prod/us/east", "prod/us/east-1", false},
		{"prod/us/east-1/x", "prod/us/east-1", false},
		{"", "prod", false},
	} {
		if got, err := MatchCluster(test.pattern, test.id); got != test.want || err != nil {
			t.Errorf("MatchCluster(%q, %q) = %v, %v", test.pattern, test.id, got, err)
		}
	}
	if _, err := MatchCluster("[", "prod"); err == nil {
		t.Error("a pattern with a syntax error matches")
	}
}
