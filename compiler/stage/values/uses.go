package values

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// uses says what a chart itself uses of its dependencies' values, which counts
// when those are switched off. nil stands for nothing.
type uses struct {
	all  bool // as a whole, or by keys that are not known
	keys map[string]*uses
	any  *uses // below every key that is none of keys
}

// at returns what is used below the key.
func (u *uses) at(key string) *uses {
	switch {
	case u == nil || u.all:
		return u
	case u.keys[key] != nil:
		return u.keys[key]
	}
	return u.any
}

// maxUses bounds how much is told apart.
const maxUses = 100_000

// ownUses are what a chart itself uses of the values of its dependencies. They
// are found out when they are first asked for: of most charts, nobody asks.
type ownUses struct {
	find   func() *uses // nil for none
	once   sync.Once
	uses   *uses
	known  atomic.Bool
	stored bool // in the form that the type was decoded from
}

// get returns the uses; several goroutines may ask at once.
func (o *ownUses) get() *uses {
	o.once.Do(func() {
		if !o.known.Load() && o.find != nil {
			o.uses = o.find()
		}
		o.known.Store(true)
	})
	return o.uses
}

// Grown reports whether more is known of the chart than when its type was
// derived or decoded, so that Encode returns more than it did then.
func (t *Type) Grown() bool {
	return t.chart != nil && t.chart.own.known.Load() && !t.chart.own.stored
}

// usesOf returns what the chart uses of the values of its dependencies; nil when
// none of them can be switched off.
func usesOf(ch *fleet.Chart) *uses {
	c, err := load(ch)
	if err != nil {
		return &uses{all: true} // it was loaded before
	}
	if !switchable(c, 0) {
		return nil
	}
	own, left := Reads(withoutDependencies(c)), maxUses
	if own.GaveUp != "" {
		return &uses{all: true}
	}
	deps, _ := named(c)
	below := map[string]*Read{}
	for _, d := range deps {
		if r := own.Keys[d.name]; r != nil {
			below[d.name] = r
		}
	}
	return newUses(&Read{Keys: below, Any: own.Any}, &left)
}

// switchable reports whether a dependency can be switched off.
func switchable(c *chart.Chart, depth int) bool {
	deps, _ := named(c)
	return slices.ContainsFunc(deps, func(d dependency) bool {
		return d.meta != nil && (d.meta.Condition != "" || len(d.meta.Tags) > 0) || depth < maxLevels && switchable(d.chart, depth+1)
	})
}

// newUses returns what is read at a node; left is how much may still be told
// apart.
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

// withoutDependencies returns the chart without those dependencies that can be
// switched off: what is left says what it reads of their values itself.
func withoutDependencies(c *chart.Chart) *chart.Chart {
	out := *c
	md := *c.Metadata
	md.Dependencies = nil
	out.Metadata = &md
	var libraries []*chart.Chart
	for _, d := range c.Dependencies() {
		if d.Metadata.Type == "library" {
			libraries = append(libraries, d)
		}
	}
	out.SetDependencies(libraries...)
	return &out
}
