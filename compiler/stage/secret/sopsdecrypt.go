package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// SOPSPlain is a decrypted file. Its values are in memory only.
type SOPSPlain struct {
	name   string
	values map[string]string // by path
}

// Value returns the text of the value at a path.
func (p *SOPSPlain) Value(path string) (string, error) {
	if value, ok := p.values[normalized(path)]; ok {
		return value, nil
	}
	return "", &diag.Diag{Code: diag.CodeSecretUnavailable, Msg: p.name + " has no string, number or bool at " + diag.Visible(path, diag.MaxText), Hint: "correct the key"}
}

// Decrypt decrypts all values and verifies their checksum. The faults contain no value:
// no identity fits (their cause is [ErrNoIdentity]), or the file was changed without sops.
func (f *SOPSFile) Decrypt(identities []age.Identity) (*SOPSPlain, error) {
	key, err := f.dataKey(identities)
	if err != nil {
		return nil, err
	}
	return f.decrypt(key)
}

// decrypt decrypts all values with the data key and verifies their checksum.
func (f *SOPSFile) decrypt(key []byte) (*SOPSPlain, error) {
	values, sum, err := f.values(key)
	if err != nil {
		return nil, err
	}
	mac, err := open(f.meta.MAC, key, lastModified(f.meta.LastModified))
	if err != nil || subtle.ConstantTimeCompare(mac, []byte(sum)) != 1 {
		return nil, &diag.Diag{
			Code: diag.CodeSOPSFile,
			At:   []diag.Pos{{File: f.name}}, Msg: "the SOPS checksum does not match the values: the file was changed without sops",
			Hint: "restore it from version control, and change it with sops edit", Cause: err,
		}
	}
	return &SOPSPlain{name: f.name, values: values}, nil
}

// values decrypts all values, by path, and returns their checksum, too.
func (f *SOPSFile) values(key []byte) (values map[string]string, sum string, err error) {
	values = map[string]string{}
	h := sha512.New()
	if f.meta.MACOnlyEncrypted {
		h.Write(macOnlyEncrypted)
	}
	for _, l := range f.leaves {
		value, err := f.value(l, key)
		if err != nil {
			return nil, "", err
		}
		if !f.meta.MACOnlyEncrypted || l.encrypted {
			h.Write(value)
		}
		if value != nil {
			values[l.field] = displayed(l.node, value)
		}
	}
	return values, strings.ToUpper(hex.EncodeToString(h.Sum(nil))), nil
}

// macOnlyEncrypted begins the checksum of a file in which SOPS sums encrypted values only:
// MACOnlyEncryptedInitialization of SOPS.
var macOnlyEncrypted = []byte{
	0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0xb,
	0xb, 0x97, 0x5b, 0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
}

// displayed returns the text of a value: bools are written as in YAML.
func displayed(n *yaml.Node, value []byte) string {
	if n.ShortTag() == "!!bool" || strings.HasSuffix(n.Value, ",type:bool]") && isEncrypted(n) {
		return strings.ToLower(string(value))
	}
	return string(value)
}

// lastModified returns the text that SOPS authenticates with the checksum.
func lastModified(text string) string {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.Format(time.RFC3339)
	}
	return text
}

// dataKey decrypts the key of the values.
func (f *SOPSFile) dataKey(identities []age.Identity) ([]byte, error) {
	for _, a := range f.meta.Age {
		if len(identities) == 0 {
			break
		}
		r, err := age.Decrypt(armor.NewReader(strings.NewReader(a.Enc)), identities...)
		if err != nil {
			continue
		}
		const size = 32
		key, err := io.ReadAll(io.LimitReader(r, size+1))
		if err == nil && len(key) == size {
			return key, nil
		}
		return nil, &diag.Diag{
			Code: diag.CodeSOPSFile, At: []diag.Pos{{File: f.name}},
			Msg:   "the data key for " + a.Recipient + " is damaged",
			Hint:  "restore the file from version control",
			Cause: err,
		}
	}
	recipients, hint := f.Recipients(), "set SOPS_AGE_KEY to the key, or SOPS_AGE_KEY_FILE to its file, or add it to ~/.config/sops/age/keys.txt"
	if len(recipients) == 0 {
		recipients, hint = f.OtherKeys(), "run the sops program on the file, or add an age key to it with sops"
	}
	return nil, &diag.Diag{
		Code: diag.CodeDecryptionKey,
		At:   []diag.Pos{{File: f.name}}, Msg: "no available age key decrypts the file: it is encrypted for " + diag.Visible(strings.Join(recipients, ", "), diag.MaxText),
		Hint: hint, Cause: ErrNoIdentity,
	}
}

// value returns the plain text of a value; nil for null.
func (f *SOPSFile) value(l leaf, key []byte) (text []byte, err error) {
	if !l.encrypted || isEmpty(l.node) {
		return plainBytes(l.node), nil
	}
	text, err = open(l.node.Value, key, authenticated(l.keys))
	if err != nil {
		return nil, &diag.Diag{
			Code: diag.CodeSOPSFile,
			At:   []diag.Pos{f.pos(l.node)}, Path: l.field, Msg: "the encrypted value is damaged, or belongs to another key",
			Hint: "restore the file from version control, or set the value again with sops edit " + f.name, Cause: err,
		}
	}
	return text, nil
}

// plainBytes returns an unencrypted value as SOPS adds it to the checksum.
func plainBytes(n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return []byte(map[bool]string{true: "True", false: "False"}[b])
		}
	case "!!int":
		var i int
		if n.Decode(&i) == nil {
			return []byte(strconv.Itoa(i))
		}
	case "!!float":
		var x float64
		if n.Decode(&x) == nil {
			return []byte(strconv.FormatFloat(x, 'f', -1, 64))
		}
	case "!!timestamp":
		var t time.Time
		if n.Decode(&t) == nil {
			return []byte(t.Format(time.RFC3339Nano))
		}
	}
	return []byte(n.Value)
}

// open decrypts a value of the form ENC[...]. aad is the text that is authenticated with
// it.
func open(text string, key []byte, aad string) ([]byte, error) {
	m := encryptedValue.FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("not an encrypted value")
	}
	var parts [3][]byte
	for i := range parts {
		var err error
		if parts[i], err = base64.StdEncoding.DecodeString(m[i+1]); err != nil {
			return nil, err
		}
	}
	data, iv, tag := parts[0], parts[1], parts[2]
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	if len(iv) == 0 || len(iv) > 64 {
		return nil, fmt.Errorf("a nonce of %d bytes", len(iv))
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, len(iv))
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, iv, append(data, tag...), []byte(aad))
}
