package values

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// uses are the reads of dependencies' values by the chart's own templates. They
// decide whether the values of a disabled dependency are used. nil means none.
type uses struct {
	all  bool // read as a whole, or through unknown keys
	keys map[string]*uses
	any  *uses // below every other key
}

// at returns the uses below the key.
func (u *uses) at(key string) *uses {
	switch {
	case u == nil || u.all:
		return u
	case u.keys[key] != nil:
		return u.keys[key]
	}
	return u.any
}

// maxUses is the maximum number of nodes of a tree of uses.
const maxUses = 100_000

// ownUses computes the uses of a chart on first use. Most charts never need
// them.
type ownUses struct {
	find   func() *uses // nil for none
	once   sync.Once
	uses   *uses
	known  atomic.Bool
	stored bool // decoded from a stored form
}

// get returns the uses. It is safe for concurrent use.
func (o *ownUses) get() *uses {
	o.once.Do(func() {
		if !o.known.Load() && o.find != nil {
			o.uses = o.find()
		}
		o.known.Store(true)
	})
	return o.uses
}

// Grown reports whether the uses were computed after the type was derived or
// decoded, so that Encode now returns more.
func (t *Type) Grown() bool {
	return t.chart != nil && t.chart.own.known.Load() && !t.chart.own.stored
}

// usesOf returns the chart's uses of its dependencies' values; nil when no
// dependency can be disabled.
func usesOf(ch *fleet.Chart) *uses {
	c, err := load(ch)
	if err != nil {
		return &uses{all: true} // the chart loaded before
	}
	if !switchable(c, 0) {
		return nil
	}
	own, left := Reads(withoutDependencies(c)), maxUses
	if own.GaveUp != "" {
		return &uses{all: true}
	}
	below := map[string]*Read{}
	for _, d := range subcharts(c) {
		if r := own.Keys[d.name]; d.chart != nil && r != nil {
			below[d.name] = r
		}
	}
	return newUses(&Read{Keys: below, Any: own.Any}, &left)
}

// switchable reports whether a dependency can be disabled.
func switchable(c *chart.Chart, depth int) bool {
	return slices.ContainsFunc(subcharts(c), func(d subchart) bool {
		switched := d.declared != nil && (d.declared.Condition != "" || len(d.declared.Tags) > 0)
		return d.chart != nil && (switched || depth < maxLevels && switchable(d.chart, depth+1))
	})
}

// newUses returns the uses at a node. left is the remaining number of nodes; at
// zero, everything counts as used.
func newUses(r *Read, left *int) *uses {
	if r == nil {
		return nil
	}
	if *left--; *left < 0 || r.Mode&(Printed|Ranged) != 0 {
		return &uses{all: true}
	}
	u := &uses{any: newUses(r.Any, left)}
	if len(r.Keys) > 0 {
		u.keys = make(map[string]*uses, len(r.Keys))
	}
	for _, k := range slices.Sorted(maps.Keys(r.Keys)) {
		u.keys[k] = newUses(r.Keys[k], left)
	}
	return u
}

// withoutDependencies returns the chart with only its library dependencies. Its
// reads of the other dependencies' values are the chart's own.
func withoutDependencies(c *chart.Chart) *chart.Chart {
	out := *c
	md := *c.Metadata
	md.Dependencies = nil
	out.Metadata = &md
	libraries := diag.Filter(c.Dependencies(), func(d *chart.Chart) bool { return d.Metadata.Type == "library" })
	out.SetDependencies(libraries...)
	return &out
}
