package deliver

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/bitnami-labs/sealed-secrets/pkg/crypto"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// certificate returns a key of the controller and its certificate.
func certificate(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	const bits = 2048
	key, cert, err := crypto.GeneratePrivateKeyAndCert(bits, time.Hour, "test")
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
}

// The controller decrypts each value, in the namespace and for the name of the Secret only.
func TestSeal(t *testing.T) {
	private, cert := certificate(t)
	public, err := fleet.SealingKey(cert)
	if err != nil {
		t.Fatal(err)
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a", "namespace": "n"}, "type": "Opaque",
		"data":       map[string]any{"binary": "AP8=", "both": "eA=="},
		"stringData": map[string]any{"text": "line\nü", "both": "counts", "empty": ""},
	}}
	encrypted, err := seal(secret, public)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"binary": "\x00\xff", "text": "line\nü", "both": "counts", "empty": ""}
	if len(encrypted) != len(want) {
		t.Errorf("%d values", len(encrypted))
	}
	keys := map[string]*rsa.PrivateKey{"": private}
	for name, plain := range want {
		text, err := base64.StdEncoding.DecodeString(encrypted[name].(string))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := crypto.HybridDecrypt(rand.Reader, keys, text, []byte("n/a")); err != nil || string(got) != plain {
			t.Errorf("%s is %q, %v", name, got, err)
		}
		if _, err := crypto.HybridDecrypt(rand.Reader, keys, text, []byte("n/b")); err == nil {
			t.Errorf("%s fits another Secret", name)
		}
	}
}

func TestSealFaults(t *testing.T) {
	_, cert := certificate(t)
	for name, text := range map[string]string{
		"it is not a PEM certificate": "x", "the certificate is damaged": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	} {
		if _, err := fleet.SealingKey(text); err == nil || err.Error() != name {
			t.Errorf("%q: %v", text, err)
		}
	}
	public, err := fleet.SealingKey(cert)
	if err != nil {
		t.Fatal(err)
	}
	for want, data := range map[string]map[string]any{"data.a is not base64": {"a": "%"}, "data.a is not a string": {"a": int64(1)}} {
		_, err := seal(&unstructured.Unstructured{Object: map[string]any{"data": data}}, public)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
