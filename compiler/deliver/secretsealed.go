package deliver

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/bitnami-labs/sealed-secrets/pkg/crypto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// seal returns the values of a Secret, encrypted with the key of the Sealed Secrets
// controller. They are bound to the name and namespace of the Secret.
func seal(secret *unstructured.Unstructured, key *rsa.PublicKey) (map[string]any, error) {
	values, err := secretData(secret.Object)
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

// sealedSecret returns a SealedSecret with encrypted values, from which the controller makes a
// Secret with the metadata and type of secret. The Secret has no marks of fleetc, which does
// not manage it.
func sealedSecret(secret *unstructured.Unstructured, encrypted map[string]any) *unstructured.Unstructured {
	unmarked := fleet.Unmark(secret).DeepCopy()
	annotations := unmarked.GetAnnotations()
	delete(annotations, stateAnnotation)
	if unmarked.SetAnnotations(annotations); len(annotations) == 0 {
		unstructured.RemoveNestedField(unmarked.Object, "metadata", "annotations")
	}
	template := map[string]any{}
	for _, field := range []string{"metadata", "type", "immutable"} {
		if v, ok := unmarked.Object[field]; ok {
			template[field] = v
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bitnami.com/v1alpha1", "kind": "SealedSecret", "metadata": secret.Object["metadata"],
		"spec": map[string]any{"encryptedData": encrypted, "template": template},
	}}
}

// secretData returns the values of a Secret, decoded.
func secretData(secret map[string]any) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, part := range []string{"data", "stringData"} { // stringData counts where both have a key
		values, _ := secret[part].(map[string]any)
		for name, v := range values {
			text, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("%s.%s is not a string", part, name)
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
