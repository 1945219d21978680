package diff

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// SecretTexts are the texts that Secrets hold, by their digests.
type SecretTexts map[sum]bool

// Note notes what the object holds, if it is a Secret.
func (s SecretTexts) Note(o fleet.Object) {
	if o.Unstructured == nil || !isKind(o.Object, "Secret") {
		return
	}
	note := func(text string) {
		if text != "" {
			s[sumOf(text)] = true
			s[sumOf(strings.TrimRight(text, "\n"))] = true
		}
	}
	data, _ := o.Object["data"].(map[string]any)
	for _, v := range data {
		text, _ := v.(string)
		note(text)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			note(string(decoded))
		}
	}
	data, _ = o.Object["stringData"].(map[string]any)
	for _, v := range data {
		text, _ := v.(string)
		note(text)
	}
}

// Hold reports whether the value is one of the texts, or has one in it.
func (s SecretTexts) Hold(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if s.Hold(e) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, s.Hold)
	case string:
		return s[sumOf(v)] || s[sumOf(strings.TrimRight(v, "\n"))]
	}
	text, ok := number(v)
	return ok && s[sumOf(text)]
}

// Mask returns the value for a [Cell]: one that stands for a secret in place of
// each text in it that a Secret holds as a whole, so that it is seen to differ,
// and no more.
func (s SecretTexts) Mask(v any) any {
	if len(s) == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = s.Mask(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.Mask(e)
		}
		return out
	}
	if s.Hold(v) {
		return masker{}.secret(v, false)
	}
	return v
}
