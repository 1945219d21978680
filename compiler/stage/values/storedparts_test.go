package values

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

func TestDecodeRefuses(t *testing.T) {
	_, data := stored(t, fleetChart(app))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":       {nil, "cut off"},
		"cut off":       {data[:len(data)-1], "cut off"},
		"more":          {append(bytes.Clone(data), 0), "1 bytes more"},
		"a long string": {[]byte{1, 0xff, 0x7f}, "a string is cut off"},
		"many strings":  {[]byte{0xff, 0xff, 0xff, 0xff, 0x7f}, "fewer things"},
		"a long number": {bytes.Repeat([]byte{0x80}, 11), "number is too large"},
		"many flags":    {[]byte{0, 0xff, 0xff, 0x7f}, "unknown flags"},
		"large":         {make([]byte, maxEncoded+1), "more than"},
	} {
		typ, err := Decode(c.data, fleetChart(app))
		if err == nil || typ != nil || !strings.HasPrefix(err.Error(), "decode types: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestDecodeBounds decodes data with wrong, too large sizes.
func TestDecodeBounds(t *testing.T) {
	table := []byte{1, 0}
	// The parts of an empty type before its default, its keys and its elements.
	start, limits := make([]byte, 7), make([]byte, 4)
	empty := make([]byte, 18)
	// A type with one key, whose type has one key, and so on.
	one := slices.Concat(start, []byte{valueNull}, limits, make([]byte, 4), []byte{1, 0, 1})
	end := slices.Concat(table, empty)
	for name, body := range map[string][]byte{
		"types within each other":  slices.Concat(table, bytes.Repeat(one, 100_000)),
		"lists within each other":  slices.Concat(table, start, bytes.Repeat([]byte{valueList, 1}, 1<<20)),
		"many keys":                slices.Concat(table, one[:len(one)-3], binary.AppendUvarint(nil, 1<<40)),
		"many elements":            slices.Concat(table, start, []byte{valueList}, binary.AppendUvarint(nil, 1<<40)),
		"charts within each other": slices.Concat(end, bytes.Repeat([]byte{0, 0, 0, 0, 0, 1}, 100_000)),
		"uses within each other":   slices.Concat(end, make([]byte, 7), []byte{1}, bytes.Repeat([]byte{1}, 100_000)),
	} {
		want := "too"
		if strings.HasPrefix(name, "many") {
			want = "fewer things"
		}
		if _, err := Decode(body, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// FuzzDecode decodes arbitrary bytes. Check and CUE must handle every type that
// Decode accepts, and encoding the type again must give the same bytes.
func FuzzDecode(f *testing.F) {
	for _, ch := range []*fleet.Chart{fleetChart(app), umbrella(), circle()} {
		_, data := stored(f, ch)
		f.Add(data)
	}
	values := treeFrom(map[string]any{
		"db": map[string]any{"size": []any{1.0}, "enabled": false}, "global": map[string]any{"x": "y"}, "image": nil,
		"tags": map[string]any{"fast": true}, "hosts": []any{map[string]any{"name": 1.0}},
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		typ, err := Decode(data, fleetChart(app))
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
