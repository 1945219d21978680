package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// KeyWriter computes the digest of the inputs of a result. No two sequences of inputs
// have the same encoding.
type KeyWriter struct{ hash.Hash }

// NewKeyWriter returns a writer without inputs.
func NewKeyWriter() KeyWriter { return KeyWriter{sha256.New()} }

func (w KeyWriter) size(n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	w.Write(b[:])
}

// Text adds a text.
func (w KeyWriter) Text(s string) {
	w.size(len(s))
	w.Write([]byte(s))
}

// Tree adds a value without its source positions.
func (w KeyWriter) Tree(t *fleet.Tree) {
	switch {
	case t == nil:
		w.Text("none")
	case t.Fields != nil:
		w.Text("map")
		w.size(len(t.Fields))
		for _, k := range t.Keys() {
			w.Text(k)
			w.Tree(t.Fields[k])
		}
	case t.List != nil:
		w.Text("list")
		w.size(len(t.List))
		for _, e := range t.List {
			w.Tree(e)
		}
	default:
		w.Text(fmt.Sprintf("%T %v", t.Scalar, t.Scalar))
	}
}
