package values

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A convention is a common name in charts for a part of a Kubernetes object that
// templates pass on as a whole.
type convention struct {
	names string   // lower-case keys, separated by blanks
	parts []string // the Kubernetes definitions of the part
	only  bool     // applies only when the chart's defaults have a field of the part
}

// conventions are the parts of the Kubernetes API that charts have in their values under the
// same names.
var conventions = []convention{
	{"resources", partNames["resources"], false},
	{"securitycontext podsecuritycontext containersecuritycontext", partNames["securityContext"], false},
	{"livenessprobe readinessprobe startupprobe", partNames["livenessProbe"], false},
	{"updatestrategy", strategies, false},
	{"strategy", strategies, true},
	{"affinity", partNames["affinity"], false},
}

var strategies = []string{"apps.v1.DeploymentStrategy", "apps.v1.StatefulSetUpdateStrategy", "apps.v1.DaemonSetUpdateStrategy"}

// probeNames are the names of the maps that contain a probe below spec.
var probeNames = []string{"liveness", "readiness", "startup"}

// numberOrText reports whether a value with this key and parent key mostly ends
// in a Kubernetes field that accepts numbers and text: a port, a quantity, a
// share of pods.
func numberOrText(key, parent string) bool {
	key, parent = strings.ToLower(key), strings.ToLower(parent)
	switch parent {
	case "requests", "limits":
		return true
	}
	for _, end := range []string{"port", "ports", "maxunavailable", "minavailable", "maxsurge"} {
		if strings.HasSuffix(key, end) || strings.HasSuffix(parent, end) && end == "ports" {
			return true
		}
	}
	return false
}

// conventional returns the shape of a map with a conventional name. It returns
// nil for other names, and when the chart uses the name for something else.
func (b *builder) conventional(t *Type, key, parent string) *shape {
	typed := t.Known&Schema != 0 && (t.typed && t.Kinds&^Null == Map || !t.typed && len(t.Keys) == 0)
	if !typed && t.Known&Defaults == 0 || t.seen&^(Map|Null) != 0 || t.Open || t.closed || t.missing {
		return nil
	}
	low := strings.ToLower(key)
	if typed && low == "spec" && slices.Contains(probeNames, strings.ToLower(parent)) {
		return b.shapes.named(partNames["livenessProbe"]...)
	}
	for _, c := range conventions {
		if !slices.ContainsFunc(strings.Fields(c.names), func(name string) bool { return strings.HasSuffix(low, name) }) {
			continue
		}
		s := b.shapes.named(c.parts...)
		// A chart that uses the name for something else has other keys. Without
		// keys, the name must match exactly: extraResources is something else.
		known := slices.ContainsFunc(t.Keys, func(k string) bool { _, ok := s.at(k); return ok })
		if known || len(t.Keys) == 0 && !c.only && slices.Contains(strings.Fields(c.names), low) {
			return s
		}
	}
	return nil
}

// fits reports whether the chart's defaults match the shape. If they do not, the
// value has another sink than it seems. Keys that templates read need not match:
// they are for the templates.
func (t *Type) fits(s *shape, read map[string]bool) bool {
	switch {
	case s == nil || t.missing || t.closed:
		return false
	case s.list:
		return t.seen&^(List|Null) == 0 && s.allows(t.Default)
	case !s.closed():
		return false
	}
	if t.seen&^(Map|Null) != 0 && !(t.blank && t.seen&^(Map|Null) == String) {
		return false
	}
	for _, k := range t.Keys {
		if _, ok := s.at(k); !ok && !read[k] && t.Fields[k].Known&(Defaults|Schema) != 0 {
			return false
		}
	}
	return true
}

// allows reports whether the shape has all keys of a default, with such values.
func (s *shape) allows(def any) bool {
	v, err := fleet.TreeOf(def)
	ok := err == nil
	not := func(*fleet.Tree, *shape, []string) { ok = false }
	(&shapeCheck{unknown: not, wrong: not}).value(v, s, nil)
	return ok
}

// adopt adds the keys of a part of a Kubernetes object to the type and closes
// it. The chart's own keys remain: some are for its templates only.
func (b *builder) adopt(t *Type, s *shape) {
	t.shape = s
	if !s.closed() {
		return
	}
	t.Open, t.Why = false, ""
	if t.Known&Defaults == 0 || t.seen&Map == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if b.full() {
			return
		}
		t.field(name).know(Templates, "")
	}
}
