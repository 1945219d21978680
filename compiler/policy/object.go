package policy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// CUE takes long for objects that no cluster would take: these bounds are far
// beyond real ones.
const (
	maxDepth  = 200     // how deep the fields of an object may nest
	maxBytes  = 4 << 20 // how large an object may be as JSON
	maxValues = 100_000 // how many values it may have
	maxItems  = 2_000   // how many structs a list may have
)

// An object is one of the cluster at hand.
type object struct {
	fleet.Object
	plain  map[string]any // as rules see it
	digest digest
	unfit  string // why no rule can look at it; "" when one can
}

// read makes the object ready for rules, and reports whether it is.
func (o *object) read() bool {
	if o.plain != nil {
		return true
	}
	if o.unfit != "" {
		return false
	}
	n := normaliser{values: maxValues}
	plain, err := n.value(o.Object.Object, maxDepth)
	if err != nil {
		o.unfit = err.Error()
		return false
	}
	data, err := json.Marshal(plain)
	if err != nil {
		o.unfit = err.Error()
		return false
	}
	if len(data) > maxBytes {
		o.unfit = fmt.Sprintf("it has %d bytes, and rules look at %d", len(data), maxBytes)
		return false
	}
	o.plain, o.digest = plain.(map[string]any), sha256.Sum256(data)
	return true
}

// isSecret reports whether what is at the path is not to be told.
func (o *object) isSecret(path []string) bool {
	return o.GetKind() == "Secret" && (len(path) == 0 || path[0] == "data" || path[0] == "stringData")
}

// A normaliser brings objects into the form in which rules see them.
type normaliser struct{ values int } // how many more there may be

// value returns a value without the fields that are null, and with whole
// numbers as such, however they are written.
func (n *normaliser) value(v any, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("its fields nest deeper than the %d levels that rules look at", maxDepth)
	}
	if n.values--; n.values < 0 {
		return nil, fmt.Errorf("it has more than the %d values that rules look at", maxValues)
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
		return number(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is no number", v)
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
	return nil, fmt.Errorf("a %T is no part of an object", v)
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
		return nil, fmt.Errorf("a list of it has %d items, and rules look at %d", structs, maxItems)
	}
	return out, nil
}

// number returns a number that is written as text.
func number(text json.Number) (any, error) {
	if i, err := text.Int64(); err == nil {
		return i, nil
	}
	if i, ok := new(big.Int).SetString(text.String(), 10); ok {
		return i, nil
	}
	f, err := text.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s is no number", visible(text.String()))
	}
	n := normaliser{values: 1}
	return n.value(f, 1)
}

// An objectID is how violations name an object.
type objectID struct{ kind, id string }

// A world is the objects that a rule computes its violations from.
type world struct {
	objects []*object
	byID    map[objectID]*object
}

// add adds an object, by its kind; by kind and group where another group has
// an object of the same kind and name.
func (w *world) add(o *object) {
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

// digest stands for all objects of the world, in any order.
func (w *world) digest() digest {
	var lines []string
	for id, o := range w.byID {
		lines = append(lines, fmt.Sprintf("%q %q %x\n", id.kind, id.id, o.digest))
	}
	slices.Sort(lines)
	return digestOf(strings.Join(lines, ""))
}

// fields returns the world as rules see it: by kind, then by ID. The given
// kinds are there even when they have no objects.
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
