package fleet

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

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
