package source

import (
	"fmt"
	"strings"
	"testing"
)

// laughs returns YAML that expands to 10^n strings.
func laughs(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := range n {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return b.String()
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}

func TestBounded(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"plain":          {"a: b", true},
		"text":           {"a & b * c: [", true},
		"few":            {laughs(3), true},
		"many":           {laughs(9), false},
		"second":         {"a: b\n---\n" + laughs(9), false},
		"patch":          {"patches:\n- patch: |\n" + indent(laughs(9), "    "), false},
		"patch in patch": {"patches:\n- patch: |\n    patch: |\n" + indent(laughs(9), "      "), false},
		"long":           {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 100) + "]", false},
		"long once":      {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [*a]", true},
		"itself":         {"a: &a [*a]", false},
		"merged":         {"a: &a {x: y}\nb: {<<: *a}", true},
	} {
		if got := smallExpanded([]byte(test.text)); got != test.want {
			t.Errorf("%s: bounded is %v", name, got)
		}
	}
}

// TestBillionLaughs has aliases in every file that kustomize parses.
func TestBillionLaughs(t *testing.T) {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + laughs(9)
	for name, archive := range map[string]string{
		"kustomization": "-- app/kustomization.yaml --\nresources: [r.yaml]\n" + laughs(9),
		"resource":      "-- app/kustomization.yaml --\nresources: [x.yaml]\n-- app/x.yaml --\n" + object,
		"patch":         "-- app/kustomization.yaml --\nresources: [r.yaml]\npatches: [{path: x.yaml}]\n-- app/x.yaml --\n" + object,
		"inline":        "-- app/kustomization.yaml --\nresources: [r.yaml]\npatches:\n- patch: |\n" + indent(object, "    "),
		"generator":     "-- app/kustomization.yaml --\nresources: [r.yaml]\ngenerators:\n- |\n" + indent(object, "  "),
		"configuration": "-- app/kustomization.yaml --\nresources: [r.yaml]\nconfigurations: [x.yaml]\n-- app/x.yaml --\n" + laughs(9),
	} {
		_, _, err := BuildKustomization(t.Context(), unpack(t, []byte(archive+"-- app/r.yaml --\n{apiVersion: v1, kind: A, metadata: {name: a}}\n")), "app", release(), KustomizeInputs{})
		if got := faults(t, err); !strings.Contains(got, "aliases that expand to more than 64 MiB of it") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	// A file that is only put into a ConfigMap is not parsed.
	archive := "-- app/kustomization.yaml --\nconfigMapGenerator: [{name: a, files: [x.yaml]}]\n-- app/x.yaml --\n" + laughs(9)
	if _, _, err := BuildKustomization(t.Context(), unpack(t, []byte(archive)), "app", release(), KustomizeInputs{}); err != nil {
		t.Error(err)
	}
}
