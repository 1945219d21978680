package diff

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// MinText is the length in bytes from which a text of a Secret is hidden in other objects.
// Shorter texts occur everywhere, such as true and 8080.
const MinText = 6

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
func (s SecretTexts) Contains(v any) bool { return s.containsFrom(0, v) }

// ContainsLong is [SecretTexts.Contains] for texts of at least [MinText] bytes.
func (s SecretTexts) ContainsLong(v any) bool { return s.containsFrom(MinText, v) }

// containsFrom is [SecretTexts.Contains] for texts of a length in bytes or more.
func (s SecretTexts) containsFrom(length int, v any) bool {
	return fleet.AnyLeaf(v, func(v any) bool {
		return slices.ContainsFunc(ScalarTexts(v), func(text string) bool {
			return len(text) >= length && (s[sumOf(text)] || s[sumOf(strings.TrimRight(text, "\n"))])
		})
	})
}

// ScalarTexts returns the texts that a template prints for a string or number: it prints
// large numbers with an exponent, and integers without one. Other values have none.
func ScalarTexts(v any) []string {
	if text, ok := v.(string); ok {
		return []string{text}
	}
	text, ok := number(v)
	if !ok {
		return nil
	}
	f, _ := strconv.ParseFloat(text, 64)
	return []string{text, strconv.FormatFloat(f, 'g', -1, 64)}
}

// Mask returns the value for a [Cell]. Each text that equals a text of a
// Secret is replaced, so that only differences are visible.
func (s SecretTexts) Mask(v any) any { return s.mask(v, masker{}, s.Contains) }

// mask replaces the leaves of a value that are secret.
func (s SecretTexts) mask(v any, m masker, isSecret func(any) bool) any {
	if len(s) == 0 {
		return v
	}
	return fleet.MapLeaves(v, func(v any) any {
		if isSecret(v) {
			return m.secret(v, false)
		}
		return v
	})
}

// Hide replaces the values of changes that equal a text of a Secret, as in a copy in a
// ConfigMap. The key is that of [Objects]. Shorter texts than [MinText] stay visible.
func (s SecretTexts) Hide(changes []Change, key []byte) {
	for _, c := range changes {
		for i := range c.Fields {
			f := &c.Fields[i]
			for _, v := range []*any{&f.Before, &f.After} {
				if s.ContainsLong(*v) {
					*v, f.Secret = reveal(s.mask(*v, masker{key}, s.ContainsLong))
				}
			}
		}
	}
}
