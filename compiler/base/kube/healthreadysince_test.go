package kube

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestReadySince(t *testing.T) {
	condition := func(kind, status, at string) any {
		return map[string]any{"type": kind, "status": status, "lastTransitionTime": at}
	}
	for _, c := range []struct {
		conditions []any
		want       string
	}{
		{nil, ""},
		{[]any{condition("Progressing", "True", "2026-11-26T12:00:00Z")}, ""},
		{[]any{condition("Available", "False", "2026-11-26T12:00:00Z")}, ""},
		{[]any{condition("Ready", "True", "soon"), "text"}, ""},
		{[]any{condition("Ready", "True", "2026-11-26T11:00:00Z"), condition("Available", "True", "2026-11-26T12:00:00Z")}, "2026-11-26T12:00:00Z"},
	} {
		got := ""
		if at := ReadySince(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": c.conditions}}}); !at.IsZero() {
			got = at.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%v: ready since %q, want %q", c.conditions, got, c.want)
		}
	}
}
