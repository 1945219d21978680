package values

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestDecodeRefuses(t *testing.T) {
	_, data := stored(t, fleetChart(app))
	head := len(encodingName) + 1 + sha256.Size
	sealed := func(body []byte) []byte {
		sum := sha256.Sum256(body)
		return slices.Concat([]byte(encodingName), []byte{encodingVersion}, sum[:], body)
	}
	other := bytes.Clone(data)
	other[len(encodingName)]++
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":       {nil, "not the format of stored types"},
		"text":          {[]byte("package x"), "not the format of stored types"},
		"a head":        {data[:head-1], "not the format of stored types"},
		"other version": {other, fmt.Sprintf("they are of version %d", encodingVersion+1)},
		"no body":       {data[:head], "damaged"},
		"cut off":       {sealed(data[head : len(data)-1]), "cut off"},
		"more":          {sealed(append(bytes.Clone(data[head:]), 0)), "1 bytes more"},
		"empty":         {sealed(nil), "cut off"},
		"a long string": {sealed([]byte{1, 0xff, 0x7f}), "a string is cut off"},
		"many strings":  {sealed([]byte{0xff, 0xff, 0xff, 0xff, 0x7f}), "fewer things"},
		"a long number": {sealed(bytes.Repeat([]byte{0x80}, 11)), "number is too large"},
		"large":         {sealed(make([]byte, maxEncoded+1)), "more than"},
	} {
		typ, err := Decode(c.data, fleetChart(app))
		if err == nil || typ != nil || !strings.HasPrefix(err.Error(), "decode types: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for i := range data {
		wrong := bytes.Clone(data)
		wrong[i] ^= 0x20
		if _, err := Decode(wrong, fleetChart(app)); err == nil {
			t.Fatalf("byte %d of %d can be another", i, len(data))
		}
	}
}

// TestDecodeBounds decodes data with wrong, too large sizes.
func TestDecodeBounds(t *testing.T) {
	strings := []byte{1, 1, 'k'}
	nested := slices.Concat(strings, []byte{0, 0, 0, 0})
	// A type with one key, whose type has one key, and so on.
	one := append(binary.AppendUvarint(nil, flagKeys), 0, 0, 0, 1, 0, tagType)
	lists := append(binary.AppendUvarint(nil, flagDefault), 0, 0, 0)
	for name, body := range map[string][]byte{
		"types within each other":  slices.Concat(strings, bytes.Repeat(one, 100_000)),
		"lists within each other":  slices.Concat(strings, lists, bytes.Repeat([]byte{valueList, 1}, 1<<20)),
		"many fields":              slices.Concat(strings, binary.AppendUvarint(nil, flagKeys), []byte{0, 0, 0}, binary.AppendUvarint(nil, 1<<40)),
		"many elements":            slices.Concat(strings, lists, []byte{valueList}, binary.AppendUvarint(nil, 1<<40)),
		"charts within each other": slices.Concat(nested, bytes.Repeat([]byte{0, valueNull, 0, 0, 1}, 100_000)),
		"uses within each other":   slices.Concat(nested, []byte{0, valueNull, 0, 0, 0}, bytes.Repeat([]byte{2}, 100_000)),
	} {
		if _, err := decodeBody(body); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzDecode decodes arbitrary bytes, also behind a valid header. Check and CUE
// must handle every type that Decode accepts, and encoding the type again must
// give the same bytes.
func FuzzDecode(f *testing.F) {
	for _, ch := range []*fleet.Chart{fleetChart(app), umbrella(), circle()} {
		_, data := stored(f, ch)
		f.Add(data[len(encodingName)+1+sha256.Size:])
		f.Add(data)
	}
	values := treeFrom(map[string]any{
		"db": map[string]any{"size": []any{1.0}, "enabled": false}, "global": map[string]any{"x": "y"}, "image": nil,
		"tags": map[string]any{"fast": true}, "hosts": []any{map[string]any{"name": 1.0}},
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Decode(data, fleetChart(app)); err == nil && !bytes.HasPrefix(data, []byte(encodingName)) {
			t.Error("no head is needed")
		}
		typ, err := decodeBody(data)
		if err != nil {
			return
		}
		typ.Check(values, nil)
		if _, err := typ.CUE("#Values"); err != nil && !strings.Contains(err.Error(), "format") {
			t.Error(err)
		}
		once, err := typ.Encode()
		if err != nil {
			t.Fatalf("it is not stored again: %v", err)
		}
		again, err := Decode(once, fleetChart(app))
		if err != nil {
			t.Fatalf("it is not read again: %v", err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("it is not stable, %v", err)
		}
	})
}
