package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// secretFields is the regular expression of the fields that [EncryptSecret] encrypts.
const secretFields = "^(data|stringData)$"

// version is the version of SOPS whose format is written.
const version = "3.13.3"

// ivSize is the size of nonces in bytes, as SOPS has it.
const ivSize = 32

// EncryptSecret returns a copy of a Kubernetes Secret, as decoded JSON, whose data is
// encrypted for age recipients at a time. The checksum covers the encrypted values alone,
// in the order of keys, so that other fields may change and keys must stay sorted.
func EncryptSecret(secret map[string]any, recipients []string, now time.Time) (map[string]any, error) {
	e := newEncrypter()
	modified := now.UTC().Format(time.RFC3339)
	out := maps.Clone(secret)
	sum := sha512.New()
	sum.Write(macOnlyEncrypted)
	for _, part := range []string{"data", "stringData"} {
		values, _ := secret[part].(map[string]any)
		encrypted := make(map[string]any, len(values))
		for _, name := range slices.Sorted(maps.Keys(values)) {
			text, ok := values[name].(string)
			if !ok {
				return nil, fmt.Errorf("%s.%s is not a string", part, name)
			}
			if text == "" {
				encrypted[name] = text // as SOPS leaves it
				continue
			}
			sum.Write([]byte(text))
			encrypted[name] = e.seal([]byte(text), "str", authenticated([]string{part, name}))
		}
		if values != nil {
			out[part] = encrypted
		}
	}
	mac := e.seal([]byte(strings.ToUpper(hex.EncodeToString(sum.Sum(nil)))), "str", modified)
	wrapped, err := e.wrap(recipients)
	if err != nil {
		return nil, err
	}
	out["sops"] = map[string]any{
		"age": wrapped, "encrypted_regex": secretFields, "lastmodified": modified, "mac": mac, "mac_only_encrypted": true, "version": version,
	}
	return out, nil
}

// DecryptSecret returns a copy of a Kubernetes Secret, as decoded JSON, with the values that
// SOPS has encrypted in plain text.
func DecryptSecret(secret map[string]any, identities []age.Identity) (map[string]any, error) {
	text, err := json.Marshal(secret)
	if err != nil {
		return nil, err
	}
	file, err := ParseSOPS("", text)
	if err != nil {
		return nil, err
	}
	plain, err := file.Decrypt(identities)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(secret)
	for _, part := range []string{"data", "stringData"} {
		if values, ok := secret[part].(map[string]any); ok {
			decrypted := map[string]any{}
			for name := range values {
				if decrypted[name], err = plain.Value(fleet.FieldText([]string{part, name})); err != nil {
					return nil, err
				}
			}
			out[part] = decrypted
		}
	}
	return out, nil
}

// An encrypter encrypts the values of one file with its data key of 32 bytes.
type encrypter struct{ key []byte }

// newEncrypter returns an encrypter with a new key.
func newEncrypter() encrypter {
	key := make([]byte, 32)
	rand.Read(key)
	return encrypter{key}
}

// authenticated returns the text that SOPS authenticates with the value at a path.
func authenticated(keys []string) string { return strings.Join(keys, ":") + ":" }

// seal encrypts a text into the form ENC[...]. kind is its type; aad is authenticated with
// it.
func (e encrypter) seal(text []byte, kind, aad string) string {
	block, _ := aes.NewCipher(e.key) // fails only for another length
	gcm, _ := cipher.NewGCMWithNonceSize(block, ivSize)
	iv := make([]byte, ivSize)
	rand.Read(iv)
	sealed := gcm.Seal(nil, iv, text, []byte(aad))
	data, tag := sealed[:len(sealed)-gcm.Overhead()], sealed[len(sealed)-gcm.Overhead():]
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("ENC[AES256_GCM,data:%s,iv:%s,tag:%s,type:%s]", b64(data), b64(iv), b64(tag), kind)
}

// wrap encrypts the data key for each recipient.
func (e encrypter) wrap(recipients []string) ([]any, error) {
	var out []any
	for _, recipient := range slices.Sorted(slices.Values(recipients)) {
		to, err := parseRecipient(recipient)
		if err != nil {
			return nil, err
		}
		var text strings.Builder
		armored := armor.NewWriter(&text)
		w, err := age.Encrypt(armored, to)
		if err == nil {
			_, err = w.Write(e.key)
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil {
			err = armored.Close()
		}
		if err != nil {
			return nil, err
		}
		out = append(out, map[string]any{"recipient": recipient, "enc": text.String()})
	}
	return out, nil
}

// parseRecipient reads an age recipient: a public key of age or of SSH.
func parseRecipient(text string) (age.Recipient, error) {
	if strings.HasPrefix(text, "ssh-") {
		return agessh.ParseRecipient(text)
	}
	found, err := age.ParseRecipients(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d recipients", len(found))
	}
	return found[0], nil
}
