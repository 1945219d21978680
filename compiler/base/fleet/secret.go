package fleet

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsEncrypted reports whether an object is a Secret that SOPS has encrypted.
// It must be decrypted before it is applied.
func IsEncrypted(u *unstructured.Unstructured) bool {
	if u == nil || !isSecret(u) {
		return false
	}
	_, ok := u.Object["sops"].(map[string]any)
	return ok
}

// Plaintext returns the sorted fields of a Secret with readable values, such
// as data.password, and nothing for other kinds. For a SealedSecret it checks
// the template. Empty values, values encrypted by SOPS and references are not
// readable. Metadata, keys and the type are included if they contain a copy of
// a Secret, or look like a key or token.
func Plaintext(u *unstructured.Unstructured) []string {
	if u == nil {
		return nil
	}
	var fields []string
	switch {
	case isSecret(u):
		encrypted := hasMAC(u)
		fields = secretFields(u, func(text string) bool { return readable(text, encrypted) })
		fields = append(fields, secretsOutsideValues(u.Object)...)
	case isSealed(u):
		template, _, _ := unstructured.NestedMap(u.Object, "spec", "template")
		values := &unstructured.Unstructured{Object: template}
		fields = secretFields(values, func(text string) bool {
			return readable(text, false) && (!strings.Contains(text, "{{") || looksLikeSecret(text))
		})
		fields = append(fields, secretsOutsideValues(template)...)
		for i, f := range fields {
			fields[i] = "spec.template." + f
		}
		fields = append(fields, secretsOutsideValues(u.Object)...)
		fields = append(fields, unsealed(u)...)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// secretFields returns the fields of a Secret whose values match. A value that
// is not a string counts as text.
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

// isSealed reports whether an object is a SealedSecret of Bitnami's
// controller.
func isSealed(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "bitnami.com", Kind: "SealedSecret"}
}

// unsealed returns the values of a SealedSecret that are not encrypted. Encrypted
// values are base64.
func unsealed(u *unstructured.Unstructured) []string {
	var fields []string
	values, _, _ := unstructured.NestedMap(u.Object, "spec", "encryptedData")
	for key, v := range values {
		text, isText := v.(string)
		if _, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); !isText || err != nil && readable(text, false) {
			fields = append(fields, FieldText([]string{"spec", "encryptedData", key}))
		}
	}
	return fields
}

// sopsValue is the prefix of a value that SOPS has encrypted.
const sopsValue = "ENC[AES256_GCM,data:"

// hasMAC reports whether a Secret has the metadata of SOPS.
func hasMAC(u *unstructured.Unstructured) bool {
	mac, _, _ := unstructured.NestedString(u.Object, "sops", "mac")
	return strings.HasPrefix(mac, sopsValue)
}

// readable reports whether a value can be read. Only a Secret with the
// metadata of SOPS may have encrypted values.
func readable(text string, encrypted bool) bool {
	text = strings.TrimSpace(text)
	encrypted = encrypted && strings.HasPrefix(text, sopsValue) && strings.HasSuffix(text, "]")
	return text != "" && !encrypted && !isReference(text)
}

// isReference reports whether a value is a reference to a secret store.
func isReference(text string) bool {
	return strings.HasPrefix(text, "((fleetc:") && strings.HasSuffix(text, "))") && strings.Count(text, "((") == 1
}

// HasReferences reports whether an object is a Secret whose values contain
// references.
func HasReferences(u *unstructured.Unstructured) bool {
	if u == nil || !isSecret(u) {
		return false
	}
	return len(secretFields(u, func(text string) bool { return isReference(strings.TrimSpace(text)) })) > 0
}
