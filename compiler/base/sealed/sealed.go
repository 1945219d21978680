// Package sealed makes SealedSecrets, which the Sealed Secrets controller decrypts in its
// cluster.
package sealed

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bitnami-labs/sealed-secrets/pkg/crypto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// APIVersion and Kind are those of a SealedSecret.
const (
	APIVersion = "bitnami.com/v1alpha1"
	Kind       = "SealedSecret"
)

// ParseKey returns the key of a PEM certificate of the controller.
func ParseKey(cert string) (*rsa.PublicKey, error) {
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

// Encrypt returns the values of a Secret, encrypted for the controller with the key. They
// fit only the name and namespace of the Secret.
func Encrypt(secret *unstructured.Unstructured, key *rsa.PublicKey) (map[string]any, error) {
	values, err := valuesOf(secret.Object)
	if err != nil {
		return nil, err
	}
	label := []byte(secret.GetNamespace() + "/" + secret.GetName())
	encrypted := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, err := crypto.HybridEncrypt(rand.Reader, key, values[name], label)
		if err != nil {
			return nil, fmt.Errorf("encrypt %s: %w", name, err)
		}
		encrypted[name] = base64.StdEncoding.EncodeToString(text)
	}
	return encrypted, nil
}

// Resource returns a SealedSecret with encrypted values, from which the controller makes a
// Secret with the metadata and type of secret. metadata is that of the SealedSecret.
func Resource(secret *unstructured.Unstructured, metadata any, encrypted map[string]any) *unstructured.Unstructured {
	template := map[string]any{}
	for _, field := range []string{"metadata", "type", "immutable"} {
		if v, ok := secret.Object[field]; ok {
			template[field] = v
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": APIVersion, "kind": Kind, "metadata": metadata,
		"spec": map[string]any{"encryptedData": encrypted, "template": template},
	}}
}

// valuesOf returns the values of a Secret, decoded.
func valuesOf(secret map[string]any) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, part := range []string{"data", "stringData"} { // stringData counts where both have a key
		values, _ := secret[part].(map[string]any)
		for name, v := range values {
			text, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("%s.%s is not a text", part, name)
			}
			out[name] = []byte(text)
			if part == "data" {
				decoded, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					return nil, fmt.Errorf("%s.%s is not base64", part, name)
				}
				out[name] = decoded
			}
		}
	}
	return out, nil
}
