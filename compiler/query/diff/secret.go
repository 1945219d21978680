package diff

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A secret replaces a value that must not be shown. It is comparable and
// cannot be reversed without the key.
type secret struct {
	sum   sum
	size  int  // in bytes, -1 when the value is not a string
	keyed bool // whether parts of sum may be shown
}

// unkeyed is the text of a secret without a key.
const unkeyed = "<secret>"

// shownSum is the number of bytes of a hash that are shown.
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

// mask returns v with the values of Secrets replaced, and whether it contains
// Secrets. It also searches nested objects: in a List, a template, or a
// resource from which an operator creates objects. It does not modify v.
func mask(v any, key []byte) (any, bool) {
	if !holdsSecret(v) {
		return v, false
	}
	m := masker{key: key}
	out := m.value(v, false)
	if obj, ok := out.(map[string]any); ok {
		// The annotation of the last apply contains the whole object.
		m.maskApplied(obj)
	}
	return out, true
}

// maskObject returns the content of an object with the values of Secrets and its secret
// fields replaced.
func maskObject(o fleet.Object, key []byte) any {
	content, _ := mask(o.Object, key)
	for _, field := range o.SecretFields {
		content = masker{key: key}.field(content, field)
	}
	return content
}

// field returns a copy of v with the field masked. The field is masked in all elements of
// lists, because elements may have moved.
func (m masker) field(v any, field []string) any {
	if len(field) == 0 {
		return m.secret(v, false)
	}
	switch v := v.(type) {
	case map[string]any:
		e, ok := v[field[0]]
		if !ok {
			return v
		}
		out := maps.Clone(v)
		out[field[0]] = m.field(e, field[1:])
		return out
	case []any:
		return diag.Each(v, func(e any) any { return m.field(e, field[1:]) })
	}
	return m.secret(v, false)
}

// holdsSecret reports whether v contains a Secret. It ignores the group and
// the letter case of the kind: an object that is masked by mistake still shows
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

// value returns a masked copy of v. isSecret means that v is a Secret or a
// list of Secrets, even without a kind.
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
		return diag.Each(v, func(e any) any { return m.value(e, isSecret) })
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
		m.maskApplied(out)
	}
	return out
}

// data masks the data of a Secret, of any type.
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

// maskApplied masks the annotations in which tools store the applied object.
// It modifies obj.
func (m masker) maskApplied(obj map[string]any) {
	meta, _ := obj["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for k, v := range annotations {
		if strings.Contains(strings.ToLower(k), "applied") {
			annotations[k] = m.secret(v, false)
		}
	}
}

// secret returns the replacement of v; null stays null. Base64 text counts as
// its decoded bytes, so that a value that moves between data and stringData is
// unchanged.
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
		// The encoding is not canonical, so the text counts, not the bytes.
		s.size = len(text)
		digestText(h, 'e', text)
	}
	h.Sum(s.sum[:0])
	return s
}

// reveal replaces each secret in v by its text, and reports whether there were
// any.
func reveal(v any) (any, bool) {
	isSecret := func(v any) bool { _, ok := v.(secret); return ok }
	if !fleet.AnyLeaf(v, isSecret) {
		return v, false
	}
	return fleet.MapLeaves(v, func(v any) any {
		if s, ok := v.(secret); ok {
			return s.String()
		}
		return v
	}), true
}
