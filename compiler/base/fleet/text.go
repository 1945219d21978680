package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// A Text is a text in consecutive parts. Clusters share parts of their
// objects' texts in memory.
type Text [3][]byte

// Len returns the length in bytes.
func (t Text) Len() int { return len(t[0]) + len(t[1]) + len(t[2]) }

// AppendTo appends the text to buf and returns the result.
func (t Text) AppendTo(buf []byte) []byte {
	return append(append(append(buf, t[0]...), t[1]...), t[2]...)
}

// Bytes returns a copy of the text.
func (t Text) Bytes() []byte { return t.AppendTo(make([]byte, 0, t.Len())) }

// String returns the text as a string.
func (t Text) String() string { return string(t.Bytes()) }

// Equal reports whether the text equals data.
func (t Text) Equal(data []byte) bool {
	if len(data) != t.Len() {
		return false
	}
	for _, part := range t {
		if !bytes.Equal(data[:len(part)], part) {
			return false
		}
		data = data[len(part):]
	}
	return true
}

// Sum returns the digest of the text.
func (t Text) Sum() Sum {
	h := sha256.New()
	for _, part := range t {
		h.Write(part)
	}
	return Sum(h.Sum(nil))
}

// A Sum is the sha256 of a text.
type Sum [sha256.Size]byte

// String returns the sum as sha256:hex.
func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }
