package fleet

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Float returns a number as a float of 64 bits. exact is false for an integer
// that the float cannot represent with the same digits, and for a number that is
// too large for a float.
func Float(n json.Number) (f float64, exact bool) {
	f, err := n.Float64()
	if err != nil {
		return f, false
	}
	text := string(n)
	return f, strings.ContainsAny(text, ".eE") || strconv.FormatFloat(f, 'f', -1, 64) == text || text == "-0"
}

// KubernetesNumber reports whether Kubernetes, which stores integers of 64 bits
// and floats, stores a number with the same digits.
func KubernetesNumber(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return true
	}
	_, exact := Float(n)
	return exact
}

// InexactNumber returns the message of a fault for a number that Kubernetes does
// not store with the same digits. The hint is to make it a string.
func InexactNumber(n string) string {
	if strings.ContainsAny(n, ".eE") {
		return "Kubernetes cannot store the number " + n + ": its numbers have 64 bits"
	}
	return "Kubernetes cannot store the number " + n + " exactly: its integers end at 9223372036854775807"
}

// IsCRD reports whether a decoded object is a CustomResourceDefinition. Kubernetes reads
// the limits of numbers in its schema as floats, so that they may be rounded.
func IsCRD(object any) bool {
	o, _ := object.(map[string]any)
	return o["kind"] == "CustomResourceDefinition"
}

// InexactIntegers returns the integers of a YAML document that Kubernetes cannot store
// with the same digits.
func InexactIntegers(n *yaml.Node) (found []*yaml.Node) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Kind == yaml.ScalarNode && n.Style&quoted == 0 && len(n.Value) > 15 {
		var unsigned uint64
		switch tag := n.ShortTag(); {
		case tag != "!!int" && tag != "!!float":
		case integer.MatchString(n.Value):
			if !KubernetesNumber(json.Number(n.Value)) {
				return []*yaml.Node{n}
			}
		case tag == "!!int" && n.Decode(&unsigned) == nil: // hexadecimal
			if !KubernetesNumber(json.Number(strconv.FormatUint(unsigned, 10))) {
				return []*yaml.Node{n}
			}
		}
	}
	for _, c := range n.Content {
		found = append(found, InexactIntegers(c)...)
	}
	return found
}

var (
	integer     = regexp.MustCompile(`^-?[1-9][0-9]*$`)
	largeInText = regexp.MustCompile(`["']-?[1-9][0-9_]{15,}["'\\]|(-?\b[1-9][0-9_]{15,}\b)`) // the group has no quotes, and may have separators
)

// FindRounded returns the first integer in files that objects have only as a rounded
// number, because a tool read it as a float. It ignores integers in quotes, which are
// texts. The files are contents by name.
func FindRounded(objects []Object, files map[string][]byte) (pos diag.Pos, number, rounded string, ok bool) {
	large := largeNumbers{map[string]bool{}, map[float64]bool{}}
	for _, o := range objects {
		if !IsCRD(o.Object) {
			AnyLeaf(o.Object, large.add)
		}
	}
	if len(large.floats) == 0 {
		return diag.Pos{}, "", "", false
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		for _, at := range largeInText.FindAllSubmatchIndex(text, -1) {
			const start, end = 2, 3 // of the group
			if at[start] < 0 {
				continue
			}
			number := strings.ReplaceAll(string(text[at[start]:at[end]]), "_", "")
			f, exact := Float(json.Number(number))
			if exact || large.exact[number] || !large.floats[f] {
				continue
			}
			before := text[:at[start]]
			pos = diag.Pos{File: name, Line: 1 + bytes.Count(before, []byte("\n")), Col: at[start] - bytes.LastIndexByte(before, '\n')}
			return pos, number, strconv.FormatFloat(f, 'f', -1, 64), true
		}
	}
	return diag.Pos{}, "", "", false
}

// largeNumbers holds the numbers of objects from 2^53, where floats begin to round.
type largeNumbers struct {
	exact  map[string]bool  // integers
	floats map[float64]bool // all as floats
}

// add adds a number. It returns false, so that [AnyLeaf] goes on.
func (l largeNumbers) add(v any) bool {
	const limit = 1 << 53
	switch v := v.(type) {
	case int64:
		if v >= limit || v <= -limit {
			l.exact[strconv.FormatInt(v, 10)], l.floats[float64(v)] = true, true
		}
	case float64:
		if math.Abs(v) >= limit {
			l.floats[v] = true
		}
	}
	return false
}
