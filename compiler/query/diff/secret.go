package diff

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// A secret stands for a value that must not be seen. It is comparable, and
// what it stands for cannot be got back from it without the key.
type secret struct {
	sum   sum
	size  int  // in bytes, -1 when it is no text
	keyed bool // whether parts of sum may be shown
}

// unkeyed is what is shown of a secret without a key.
const unkeyed = "<secret>"

// shownSum is how many bytes of a hash are shown.
const shownSum = 4

// String returns the text that is shown.
func (s secret) String() string {
	switch {
	case !s.keyed:
		return unkeyed
	case s.size < 0:
		return fmt.Sprintf("<secret #%x>", s.sum[:shownSum])
	case s.size == 1:
		return fmt.Sprintf("<secret 1 byte #%x>", s.sum[:shownSum])
	}
	return fmt.Sprintf("<secret %d bytes #%x>", s.size, s.sum[:shownSum])
}

// mask returns v with secrets in place of the values of Secrets, and whether
// it has any Secrets. It also looks into objects that hold others: a List, a
// template, what asks an operator to create an object. It does not modify v.
func mask(v any, key []byte) (any, bool) {
	if !holdsSecret(v) {
		return v, false
	}
	m := masker{key: key}
	out := m.value(v, false)
	if obj, ok := out.(map[string]any); ok {
		// What was applied last has all that the object holds.
		m.applied(obj)
	}
	return out, true
}

// holdsSecret reports whether a Secret is in v. Kinds are compared without
// regard to case and group: what is taken for a Secret by mistake still shows
// whether it changed.
func holdsSecret(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if isKind(v, "Secret") || isKind(v, "SecretList") {
			return true
		}
		for _, e := range v {
			if holdsSecret(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsSecret)
	}
	return false
}

func isKind(obj map[string]any, kind string) bool {
	k, _ := obj["kind"].(string)
	return strings.EqualFold(k, kind)
}

// A masker replaces the values of Secrets.
type masker struct{ key []byte }

// value returns a copy of v, masked. With isSecret, v is a Secret, or a list
// of such, that need not say so.
func (m masker) value(v any, isSecret bool) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		return m.object(v, isSecret || isKind(v, "Secret"))
	case []any:
		if v == nil {
			return nil
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = m.value(e, isSecret)
		}
		return out
	}
	return v
}

func (m masker) object(obj map[string]any, isSecret bool) map[string]any {
	out := make(map[string]any, len(obj))
	for k, v := range obj {
		switch {
		case isSecret && k == "data":
			out[k] = m.data(v, true)
		case isSecret && k == "stringData":
			out[k] = m.data(v, false)
		default:
			out[k] = m.value(v, k == "items" && isKind(obj, "SecretList"))
		}
	}
	if isSecret {
		m.applied(out)
	}
	return out
}

// data masks the data of a Secret, whatever it is.
func (m masker) data(v any, encoded bool) any {
	data, ok := v.(map[string]any)
	if !ok {
		return m.secret(v, false)
	}
	if data == nil {
		return nil
	}
	out := make(map[string]any, len(data))
	for k, e := range data {
		out[k] = m.secret(e, encoded)
	}
	return out
}

// applied masks those annotations of an object, which it modifies, in which
// tools keep all of what they applied.
func (m masker) applied(obj map[string]any) {
	meta, _ := obj["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for k, v := range annotations {
		if strings.Contains(strings.ToLower(k), "applied") {
			annotations[k] = m.secret(v, false)
		}
	}
}

// secret returns what stands for v; null stays null. Text that is encoded in
// base64 counts as the bytes that it encodes, so that a value that moves
// between data and stringData is seen to be the same.
func (m masker) secret(v any, encoded bool) any {
	if _, done := v.(secret); done || isNull(v) {
		return v
	}
	h := hmac.New(sha256.New, m.key)
	s := secret{size: -1, keyed: len(m.key) > 0}
	text, ok := v.(string)
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	switch {
	case !ok:
		digest(h, v)
	case !encoded:
		s.size = len(text)
		digestText(h, 't', text)
	case err == nil && base64.StdEncoding.EncodeToString(decoded) == text:
		s.size = len(decoded)
		digestText(h, 't', string(decoded))
	default:
		// Not as the API server writes it: another text for the same bytes
		// would be another value all the same.
		s.size = len(text)
		digestText(h, 'e', text)
	}
	h.Sum(s.sum[:0])
	return s
}

// reveal returns v with the text in place of each secret, and whether there
// are any.
func reveal(v any) (any, bool) {
	if !hasMasked(v) {
		return v, false
	}
	return revealed(v), true
}

func hasMasked(v any) bool {
	switch v := v.(type) {
	case secret:
		return true
	case map[string]any:
		for _, e := range v {
			if hasMasked(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasMasked)
	}
	return false
}

func revealed(v any) any {
	switch v := v.(type) {
	case secret:
		return v.String()
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = revealed(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = revealed(e)
		}
		return out
	}
	return v
}
