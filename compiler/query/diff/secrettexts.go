package diff

import (
	"encoding/base64"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// SecretTexts holds digests of the texts in Secrets.
type SecretTexts map[sum]bool

// Add adds the texts of the object if it is a Secret.
func (s SecretTexts) Add(o fleet.Object) {
	if o.Unstructured == nil || !isKind(o.Object, "Secret") {
		return
	}
	note := func(text string) {
		if text != "" {
			s[sumOf(text)] = true
			s[sumOf(strings.TrimRight(text, "\n"))] = true
		}
	}
	for _, field := range []string{"data", "stringData"} {
		data, _ := o.Object[field].(map[string]any)
		for _, v := range data {
			text, _ := v.(string)
			note(text)
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" {
				note(string(decoded))
			}
		}
	}
}

// Contains reports whether the value is, or contains, one of the texts.
func (s SecretTexts) Contains(v any) bool {
	return fleet.AnyLeaf(v, func(v any) bool {
		if text, ok := v.(string); ok {
			return s[sumOf(text)] || s[sumOf(strings.TrimRight(text, "\n"))]
		}
		text, ok := number(v)
		return ok && s[sumOf(text)]
	})
}

// Mask returns the value for a [Cell]. Each text that equals a text of a
// Secret is replaced, so that only differences are visible.
func (s SecretTexts) Mask(v any) any {
	if len(s) == 0 {
		return v
	}
	return fleet.MapLeaves(v, func(v any) any {
		if s.Contains(v) {
			return masker{}.secret(v, false)
		}
		return v
	})
}
