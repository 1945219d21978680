package jsonnet

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// maxFaults is how many faults of one result are told: the first few show what
// is wrong with the rest.
const maxFaults = 10

// objects returns the Kubernetes objects in a result.
func objects(req Request, json string) ([]fleet.Object, error) {
	var v any
	if err := utiljson.Unmarshal([]byte(json), &v); err != nil {
		return nil, err
	}
	c := collector{req: req}
	c.collect("", v)
	return c.objs, c.faults.Err()
}

// A collector takes the objects out of a result.
type collector struct {
	req    Request
	objs   []fleet.Object
	faults diag.List
}

// collect takes what is at the path: an object, or maps and lists of them. What
// is null is left out, so that a condition needs no else.
func (c *collector) collect(path string, v any) {
	switch v := v.(type) {
	case nil:
	case []any:
		for i, e := range v {
			c.collect(path+"["+strconv.Itoa(i)+"]", e)
		}
	case map[string]any:
		apiVersion, versioned := v["apiVersion"].(string)
		kind, kinded := v["kind"].(string)
		switch {
		case versioned && kinded:
			c.object(path, v)
		case versioned:
			c.fault(path, fmt.Sprintf("an object with apiVersion %s and no kind", apiVersion))
		case kinded:
			c.fault(path, fmt.Sprintf("an object with kind %s and no apiVersion", kind))
		default:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				c.collect(path+field(k), v[k])
			}
		}
	default:
		c.fault(path, fmt.Sprintf("%s, where a Kubernetes object, or a map or list of them, is wanted", kindOf(v)))
	}
}

// object takes one object, or the items of a list of objects.
func (c *collector) object(path string, o map[string]any) {
	u := &unstructured.Unstructured{Object: o}
	if !strings.HasSuffix(u.GetKind(), "List") || !u.IsList() {
		c.objs = append(c.objs, fleet.Object{Unstructured: u, Release: c.req.Release, Template: c.req.File, Pos: c.req.Release.Pos})
		return
	}
	items, _ := o["items"].([]any)
	for i, item := range items {
		at := path + ".items[" + strconv.Itoa(i) + "]"
		m, ok := item.(map[string]any)
		if !ok {
			c.fault(at, fmt.Sprintf("%s, where an item of a %s is wanted", kindOf(item), u.GetKind()))
			continue
		}
		c.collect(at, m)
	}
}

func (c *collector) fault(path, msg string) {
	if path == "" {
		path = "the result"
	}
	switch n := len(c.faults); {
	case n < maxFaults:
		c.faults.Add(faultOf(c.req, "%s is %s", path, msg))
	case n == maxFaults:
		c.faults.Add(faultOf(c.req, "there is more in the result that is no Kubernetes object"))
	}
}

// identifier matches what Jsonnet takes as a field without quotes.
var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// field returns a step into a field as Jsonnet writes it.
func field(k string) string {
	if identifier.MatchString(k) {
		return "." + k
	}
	return "[" + strconv.Quote(k) + "]"
}

// kindOf names the kind of a value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
