package source

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxJsonnetFaults is the maximum number of faults of one result.
const maxJsonnetFaults = 10

// jsonnetObjects returns the Kubernetes objects in a result.
func jsonnetObjects(req JsonnetRequest, json string) ([]fleet.Object, error) {
	var v any
	if err := utiljson.Unmarshal([]byte(json), &v); err != nil {
		return nil, err
	}
	c := collector{req: req}
	c.collect("", v)
	return c.objs, c.faults.Err()
}

// rounded returns a fault when Jsonnet rounds an integer of its files.
func (t *run) rounded(objs []fleet.Object) error {
	files := make(map[string][]byte, len(t.reads))
	for name, f := range t.reads {
		files[name] = f.contents.Data()
	}
	pos, number, _, ok := fleet.FindRounded(objs, files)
	if !ok {
		return nil
	}
	d, _ := errors.AsType[*diag.Diag](inexact(number))
	d.At, d.Path = []diag.Pos{pos, t.req.Release.Pos}, t.req.Release.Path()
	return d
}

// A collector collects the objects of a result.
type collector struct {
	req    JsonnetRequest
	objs   []fleet.Object
	faults diag.List
}

// collect collects an object, or maps and lists of objects. It ignores null, so
// that a condition needs no else.
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
		c.fault(path, fmt.Sprintf("%s: it must be a Kubernetes object, or a map or list of them", jsonnetKindOf(v)))
	}
}

// object collects an object, or the items of a List.
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
			c.fault(at, fmt.Sprintf("%s: it must be an item of a %s", jsonnetKindOf(item), u.GetKind()))
			continue
		}
		c.collect(at, m)
	}
}

const returnObjects = "return an object with apiVersion, kind and metadata, or a map or list of such objects"

func (c *collector) fault(path, msg string) {
	if path == "" {
		path = "the result"
	}
	switch n := len(c.faults); {
	case n < maxJsonnetFaults:
		d := faultOf(diag.CodeRenderedObject, c.req, "%s is %s", path, msg)
		d.Hint = returnObjects
		c.faults.Add(d)
	case n == maxJsonnetFaults:
		d := faultOf(diag.CodeRenderedObject, c.req, "the result has more values that are not Kubernetes objects")
		d.Hint = returnObjects
		c.faults.Add(d)
	}
}

// identifier matches a field that Jsonnet accepts without quotes.
var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// field returns the access to a field in Jsonnet syntax.
func field(k string) string {
	if identifier.MatchString(k) {
		return "." + k
	}
	return "[" + strconv.Quote(k) + "]"
}

// jsonnetKindOf returns the name of a value's type.
func jsonnetKindOf(v any) string {
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
