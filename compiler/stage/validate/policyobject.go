package validate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Limits of objects, since CUE is slow for huge ones. Real objects are far
// smaller.
const (
	maxPolicyDepth = 200     // nested fields
	maxPolicyBytes = 4 << 20 // bytes as JSON
	maxValues      = 100_000 // number of values
	maxItems       = 2_000   // structs in a list
)

// A policyObject is an object of the cluster.
type policyObject struct {
	fleet.Object
	plain  map[string]any // normalized
	digest digest
	unfit  string // limit that the object exceeds; empty for none
}

// read normalizes the object and reports whether rules can check it.
func (o *policyObject) read() bool {
	if o.plain != nil {
		return true
	}
	if o.unfit != "" {
		return false
	}
	n := normaliser{values: maxValues}
	plain, err := n.value(o.Object.Object, maxPolicyDepth)
	var data []byte
	if err == nil {
		data, err = json.Marshal(plain)
	}
	if err == nil && len(data) > maxPolicyBytes {
		err = fmt.Errorf("it has %d bytes, and rules read at most %d", len(data), maxPolicyBytes)
	}
	if err != nil {
		o.unfit = err.Error()
		return false
	}
	o.plain, o.digest = plain.(map[string]any), sha256.Sum256(data)
	return true
}

// isSecret reports whether the value at the path must not be shown.
func (o *policyObject) isSecret(path []string) bool {
	return o.GetKind() == "Secret" && (len(path) == 0 || path[0] == "data" || path[0] == "stringData")
}

// A normaliser normalizes objects for rules.
type normaliser struct{ values int } // remaining values

// value returns a value without null fields, and with whole numbers as
// integers, in any notation.
func (n *normaliser) value(v any, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("its fields are nested deeper than the %d levels that rules read", maxPolicyDepth)
	}
	if n.values--; n.values < 0 {
		return nil, fmt.Errorf("it has more than the %d values that rules read", maxValues)
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if x == nil {
				continue
			}
			y, err := n.value(x, depth-1)
			if err != nil {
				return nil, err
			}
			out[k] = y
		}
		return out, nil
	case []any:
		return n.list(v, depth)
	case json.Number:
		return bigNumber(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a valid number", v)
		}
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
		return v, nil
	case nil, bool, string, int64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float32:
		return n.value(float64(v), depth)
	}
	return nil, fmt.Errorf("a %T is not valid in an object", v)
}

func (n *normaliser) list(l []any, depth int) (any, error) {
	out, structs := make([]any, len(l)), 0
	for i, x := range l {
		y, err := n.value(x, depth-1)
		if err != nil {
			return nil, err
		}
		if _, ok := y.(map[string]any); ok {
			structs++
		}
		out[i] = y
	}
	if structs > maxItems {
		return nil, fmt.Errorf("it has a list of %d items, and rules read at most %d", structs, maxItems)
	}
	return out, nil
}

// bigNumber parses a number.
func bigNumber(text json.Number) (any, error) {
	if i, err := text.Int64(); err == nil {
		return i, nil
	}
	if i, ok := new(big.Int).SetString(text.String(), 10); ok {
		return i, nil
	}
	f, err := text.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid number", visible(text.String()))
	}
	n := normaliser{values: 1}
	return n.value(f, 1)
}

// An objectID identifies an object in violations.
type objectID struct{ kind, id string }

// A world holds the objects for the violations of a rule.
type world struct {
	objects []*policyObject
	byID    map[objectID]*policyObject
}

// add adds an object by its kind, or by kind and group if another group has an
// object with the same kind and name.
func (w *world) add(o *policyObject) {
	id := objectID{o.GetKind(), o.GetName()}
	if ns := o.GetNamespace(); ns != "" {
		id.id = ns + "/" + id.id
	}
	if _, taken := w.byID[id]; taken {
		id.kind = o.GroupVersionKind().GroupKind().String()
	}
	w.byID[id] = o
	w.objects = append(w.objects, o)
}

// digest returns a digest of all objects that does not depend on their order.
func (w *world) digest() digest {
	var lines []string
	for id, o := range w.byID {
		lines = append(lines, fmt.Sprintf("%q %q %x\n", id.kind, id.id, o.digest))
	}
	slices.Sort(lines)
	return digestOf(strings.Join(lines, ""))
}

// fields returns the objects by kind, then by ID. The given kinds exist even
// without objects.
func (w *world) fields(kinds []string) map[string]any {
	out := map[string]any{}
	for _, k := range kinds {
		out[k] = map[string]any{}
	}
	for id, o := range w.byID {
		byID, _ := out[id.kind].(map[string]any)
		if byID == nil {
			byID = map[string]any{}
			out[id.kind] = byID
		}
		byID[id.id] = o.plain
	}
	return out
}
