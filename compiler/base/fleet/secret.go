package fleet

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// IsEncrypted reports whether an object is a Secret that SOPS has encrypted.
// It must be decrypted before it is applied.
func IsEncrypted(u *unstructured.Unstructured) bool {
	if u == nil || !IsSecret(u) {
		return false
	}
	_, ok := u.Object["sops"].(map[string]any)
	return ok
}

// Plaintext returns the sorted fields of a Secret with readable values, such
// as data.password, and nothing for other kinds. For a SealedSecret and an
// ExternalSecret it checks the template. Empty values, values encrypted by SOPS
// and references are not readable. Metadata, keys and the type are included if
// they contain a value or a copy of a Secret, or look like a key or token.
func Plaintext(u *unstructured.Unstructured) []string {
	if u == nil {
		return nil
	}
	var fields []string
	switch {
	case IsSecret(u):
		encrypted := hasMAC(u)
		fields = secretFields(u.Object, func(text string) bool { return readable(text, encrypted) })
		fields = append(fields, secretsOutsideValues(u.Object)...)
		fields = append(fields, repeatedValues(u.Object, u.Object)...)
	case isExternal(u):
		fields = externalFields(u)
	case isSealed(u):
		template, _, _ := unstructured.NestedMap(u.Object, "spec", "template")
		fields = secretFields(template, func(text string) bool {
			return readable(text, false) && (!strings.Contains(text, "{{") || looksLikeSecret(text))
		})
		fields = append(fields, secretsOutsideValues(template)...)
		fields = append(fields, repeatedValues(template, template)...)
		fields = below("spec.template.", fields)
		fields = append(fields, secretsOutsideValues(u.Object)...)
		fields = append(fields, repeatedValues(template, u.Object)...)
		fields = append(fields, unsealed(u)...)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// below returns paths with a prefix.
func below(prefix string, paths []string) []string {
	return diag.Each(paths, func(path string) string { return prefix + path })
}

// secretFields returns the fields of a Secret whose values match. A value that
// is not a string counts as text.
func secretFields(object map[string]any, wanted func(text string) bool) []string {
	var fields []string
	for _, part := range []string{"data", "stringData"} {
		values, _ := object[part].(map[string]any)
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

// IsSecret reports whether an object is a Secret.
func IsSecret(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// isExternal reports whether an object is an ExternalSecret of the External Secrets
// Operator, or one of the whole cluster.
func isExternal(u *unstructured.Unstructured) bool {
	gk := u.GroupVersionKind().GroupKind()
	return gk.Group == "external-secrets.io" && (gk.Kind == "ExternalSecret" || gk.Kind == "ClusterExternalSecret")
}

// externalFields returns the fields in the template of an ExternalSecret that look like a
// secret, or whose key says that they are one. Values with Go templates get theirs from the
// store, and other literal texts are settings, such as a URL.
func externalFields(u *unstructured.Unstructured) []string {
	path := []string{"spec", "target", "template"}
	if u.GetKind() == "ClusterExternalSecret" {
		path = []string{"spec", "externalSecretSpec", "target", "template"}
	}
	template, _, _ := unstructured.NestedMap(u.Object, path...)
	fields := secretsOutsideValues(template)
	values, _ := template["data"].(map[string]any)
	for key, v := range values {
		text, _ := v.(string)
		if looksLikeSecret(text) || !strings.Contains(text, "{{") && readable(text, false) && NamesSecret(key) && !isSetting(text) {
			fields = append(fields, FieldText([]string{"data", key}))
		}
	}
	return append(below(strings.Join(path, ".")+".", fields), secretsOutsideValues(u.Object)...)
}

// isSealed reports whether an object is a SealedSecret of Bitnami's
// controller.
func isSealed(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "bitnami.com", Kind: "SealedSecret"}
}

// unsealed returns the values of a SealedSecret that are not encrypted, see [isSealedValue].
func unsealed(u *unstructured.Unstructured) []string {
	var fields []string
	values, _, _ := unstructured.NestedMap(u.Object, "spec", "encryptedData")
	for key, v := range values {
		text, isText := v.(string)
		if !isText || readable(text, false) && !isSealedValue(text) {
			fields = append(fields, FieldText([]string{"spec", "encryptedData", key}))
		}
	}
	return fields
}

// isSealedValue reports whether a text has the form of a value that the Sealed Secrets
// controller decrypts, in base64: the length of the encrypted session key in two bytes, the
// key, of at least 1024 bits, and the value with a checksum of 16 bytes.
// https://github.com/bitnami-labs/sealed-secrets/blob/main/pkg/crypto/crypto.go
func isSealedValue(text string) bool {
	const lengthSize, minKey, checksum = 2, 128, 16
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || len(data) < lengthSize {
		return false
	}
	key := int(binary.BigEndian.Uint16(data))
	return key >= minKey && len(data) >= lengthSize+key+checksum
}

// sopsValue is the prefix of a value that SOPS has encrypted.
const sopsValue = "ENC[AES256_GCM,data:"

// hasMAC reports whether a Secret has the metadata of SOPS.
func hasMAC(u *unstructured.Unstructured) bool {
	mac, _, _ := unstructured.NestedString(u.Object, "sops", "mac")
	return strings.HasPrefix(mac, sopsValue)
}

// readable reports whether a value can be read. Only a Secret with the
// metadata of SOPS may have encrypted values. Text around a reference, such as the
// rest of a URL, is not secret unless it looks like it.
func readable(text string, encrypted bool) bool {
	text = strings.TrimSpace(text)
	if rest := MapReferences(text, func(string, string) string { return "" }); rest != text {
		return looksLikeSecret(rest)
	}
	encrypted = encrypted && strings.HasPrefix(text, sopsValue) && strings.HasSuffix(text, "]")
	return text != "" && !encrypted
}

// SealingKey returns the key of a PEM certificate of the Sealed Secrets controller.
func SealingKey(cert string) (*rsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(cert))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it is not a PEM certificate")
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, errors.New("the certificate is damaged")
	}
	key, ok := parsed.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("the certificate has no RSA key")
	}
	return key, nil
}
