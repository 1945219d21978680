package values

import (
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A convention is what charts mean by a name: a part of a Kubernetes object,
// which their templates pass on as a whole.
type convention struct {
	names string   // of the key, in lower case, between blanks
	parts []string // the definitions of Kubernetes
	only  bool     // only when the chart's defaults have a field of it
}

// conventions are the parts of Kubernetes' API that charts have among their
// values under the same names.
func conventions() []convention {
	parts := partNames()
	strategies := []string{"apps.v1.DeploymentStrategy", "apps.v1.StatefulSetUpdateStrategy", "apps.v1.DaemonSetUpdateStrategy"}
	return []convention{
		{" resources ", parts["resources"], false},
		{" securitycontext podsecuritycontext containersecuritycontext ", parts["securityContext"], false},
		{" livenessprobe readinessprobe startupprobe ", parts["livenessProbe"], false},
		{" updatestrategy ", strategies, false},
		{" strategy ", strategies, true},
		{" affinity ", parts["affinity"], false},
	}
}

// probeNames are the names of the maps in which charts keep a probe below spec.
var probeNames = []string{"liveness", "readiness", "startup"}

// numberOrText reports whether a value with this key, in a map with that one,
// is mostly for a field that Kubernetes takes as a number or as text: a port, a
// quantity, a share of pods.
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

// conventional returns the shape that a map has by its name; nil when there is
// no such name, or when the chart means something else by it.
func (b *builder) conventional(t *Type, key, parent string) *shape {
	typed := t.Known&Schema != 0 && (t.typed && t.Kinds&^Null == Map || !t.typed && len(t.Keys) == 0)
	if !typed && t.Known&Defaults == 0 || t.seen&^(Map|Null) != 0 || t.Open || t.closed || t.missing {
		return nil
	}
	low := strings.ToLower(key)
	if typed && low == "spec" && slices.Contains(probeNames, strings.ToLower(parent)) {
		return b.shapes.named(partNames()["livenessProbe"]...)
	}
	for _, c := range b.conventions {
		if !slices.ContainsFunc(strings.Fields(c.names), func(name string) bool { return strings.HasSuffix(low, name) }) {
			continue
		}
		s := b.shapes.named(c.parts...)
		// A chart that means something else by the name has other keys. The name
		// has to be exact where there are none: extraResources is something else.
		known := slices.ContainsFunc(t.Keys, func(k string) bool { _, ok := s.at(k); return ok })
		if known || len(t.Keys) == 0 && !c.only && slices.Contains(strings.Fields(c.names), low) {
			return s
		}
	}
	return nil
}

// fits reports whether the chart's defaults are what the shape says. When they
// are not, the value ends somewhere else than it seems. Keys that templates
// read are for those.
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

// allows reports whether all keys of a default are in the shape.
func (s *shape) allows(def any) bool {
	ok := true
	(&shapeCheck{unknown: func(*fleet.Tree, *shape, []string) { ok = false }}).value(treeOfDefault(def), s, nil)
	return ok
}

// adopt gives the value the keys of a part of a Kubernetes object, and closes
// it. The chart's own keys stay: some are for the template alone.
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
