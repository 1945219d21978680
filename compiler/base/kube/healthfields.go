package kube

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// fieldValue returns a field of an object, nil when it does not exist.
func fieldValue(u *unstructured.Unstructured, field ...string) any {
	v, _ := fleet.Lookup(u.Object, field)
	return v
}

// text returns a string field, "" for other types.
func text(u *unstructured.Unstructured, field ...string) string {
	s, _ := fieldValue(u, field...).(string)
	return s
}

// number returns an integer field, or otherwise when it is not an integer.
func number(u *unstructured.Unstructured, otherwise int64, field ...string) int64 {
	if n, ok := asInt(fieldValue(u, field...)); ok {
		return n
	}
	return otherwise
}

// asInt returns an integer of any type that JSON decoders produce.
func asInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true
		}
	}
	return 0, false
}

// A condition is an element of status.conditions.
type condition struct {
	kind, status, reason, message string
	since                         string // when the status changed
	stale                         bool   // of an earlier generation
}

// conditions returns the conditions of an object, in order.
func conditions(u *unstructured.Unstructured) []condition {
	listed, _ := fieldValue(u, "status", "conditions").([]any)
	generation, known := asInt(fieldValue(u, "metadata", "generation"))
	var out []condition
	for _, item := range listed {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		c := condition{}
		c.kind, _ = m["type"].(string)
		c.status, _ = m["status"].(string)
		c.reason, _ = m["reason"].(string)
		c.message, _ = m["message"].(string)
		c.since, _ = m["lastTransitionTime"].(string)
		if seen, ok := asInt(m["observedGeneration"]); ok && known {
			c.stale = seen != generation
		}
		out = append(out, c)
	}
	return out
}

// conditionOf returns the condition of a type.
func conditionOf(u *unstructured.Unstructured, kind string) (condition, bool) {
	for _, c := range conditions(u) {
		if c.kind == kind {
			return c, true
		}
	}
	return condition{}, false
}

// holds reports whether the condition has the status for the last generation.
func (c condition) holds(status string) bool { return c.status == status && !c.stale }

// detail returns the reason and message of a condition, with a leading colon. It does not
// shorten them, because callers remove secrets first, and would not find a part of one.
func (c condition) detail() string {
	out := ""
	for _, part := range []string{c.reason, c.message} {
		if part = diag.Line(part, len(part)); part != "" {
			out += ": " + part
		}
	}
	return out
}

// describe returns a clause about the condition.
func (c condition) describe() string {
	if c.stale {
		return fmt.Sprintf("condition %s does not reflect the last generation yet", clean(c.kind))
	}
	return fmt.Sprintf("condition %s is %s", clean(c.kind), clean(c.status)) + c.detail()
}

// clean returns a text of the cluster as one line for messages.
func clean(s string) string { return diag.Line(s, diag.MaxText) }

// pods returns a number of pods with the noun.
func pods(n int64) string { return diag.Count(int(n), "pod", "pods") }

// ReadySince returns the latest time at which a condition Ready or Available of the object
// became true; zero if the object has none.
func ReadySince(u *unstructured.Unstructured) time.Time {
	var latest time.Time
	for _, c := range conditions(u) {
		if c.kind != "Ready" && c.kind != "Available" || c.status != "True" {
			continue
		}
		if t, err := time.Parse(time.RFC3339, c.since); err == nil && t.After(latest) {
			latest = t
		}
	}
	return latest
}
