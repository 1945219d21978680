package fleet

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsEncrypted reports whether an object is a Secret that SOPS has encrypted: the
// API server takes it when whoever applies it has decrypted it.
func IsEncrypted(u *unstructured.Unstructured) bool {
	if u == nil || !isSecret(u) {
		return false
	}
	_, ok := u.Object["sops"].(map[string]any)
	return ok
}

// Plaintext returns the fields of a Secret whose values can be read in it, such
// as data.password, sorted; none for other kinds. What is empty, encrypted by
// SOPS or a reference to a value that is elsewhere cannot be read.
func Plaintext(u *unstructured.Unstructured) []string {
	if u == nil || !isSecret(u) {
		return nil
	}
	return secretFields(u, readable)
}

// secretFields returns the fields of a Secret whose values are as they are looked
// for. What is no text counts as one.
func secretFields(u *unstructured.Unstructured, wanted func(text string) bool) []string {
	var fields []string
	for _, part := range []string{"data", "stringData"} {
		values, _ := u.Object[part].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			text, isText := values[key].(string)
			if !isText {
				text = "?"
			}
			if decoded, err := base64.StdEncoding.DecodeString(text); part == "data" && err == nil {
				text = string(decoded)
			}
			if values[key] != nil && wanted(text) {
				fields = append(fields, FieldText([]string{part, key}))
			}
		}
	}
	return fields
}

func isSecret(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// readable reports whether a value tells something.
func readable(text string) bool {
	text = strings.TrimSpace(text)
	encrypted := strings.HasPrefix(text, "ENC[") && strings.HasSuffix(text, "]")
	return text != "" && !encrypted && !isReference(text)
}

// isReference reports whether a value stands for one that is elsewhere.
func isReference(text string) bool {
	return strings.HasPrefix(text, "((fleetc:") && strings.HasSuffix(text, "))") && strings.Count(text, "((") == 1
}

// HasReferences reports whether an object is a Secret with values that are
// elsewhere.
func HasReferences(u *unstructured.Unstructured) bool {
	if u == nil || !isSecret(u) {
		return false
	}
	return len(secretFields(u, func(text string) bool { return isReference(strings.TrimSpace(text)) })) > 0
}
