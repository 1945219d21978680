package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// pinning is an edit of the package that pins a chart, and of the layers that select its
// versions.
type pinning struct {
	c        *compiler.Compiler
	source   *chart.Source
	root     string
	pkg      load.Package       // before the edit; without pins if it is new
	versions []chart.Resolution // after the edit; the first one is the default of releases
	edits    load.Edits         // of the package's file and of layers
	unpinned error              // why a document that a schema refers to could not be pinned; nil when all are pinned

	selections []selection // in layers
}

// addExisting adds the existing versions of the package. It skips a version with the name of
// a new one, which replaces it.
func (p *pinning) addExisting() {
	first := p.versions[0]
	for _, pin := range p.pkg.Pins {
		if pin.Version != "" && sameChart(pin.Ref, first.Ref) && !p.has(pin.Version) {
			p.versions = append(p.versions, chart.Resolution{Ref: pin.Ref, Name: first.Name, Version: pin.Version, Description: first.Description})
		}
	}
	// The newest first, after the default.
	slices.SortStableFunc(p.versions[1:], func(a, b chart.Resolution) int { return compareVersions(b.Version, a.Version) })
}

// sameChart reports whether two references can be versions of one chart.
func sameChart(a, b fleet.ChartRef) bool {
	return a.Path == "" && b.Path == "" && a.Location() == b.Location()
}

func (p *pinning) has(version string) bool {
	return slices.ContainsFunc(p.versions, func(r chart.Resolution) bool { return r.Version == version })
}

func compareVersions(a, b string) int {
	v, err := semver.NewVersion(a)
	w, err2 := semver.NewVersion(b)
	if err != nil || err2 != nil {
		return 0
	}
	return v.Compare(w)
}

// writePins adds the edits of the files of packages, which share their edits, and evaluates the
// fleet with all of them, unless the packages are new.
func writePins(ctx context.Context, pins ...*pinning) (after compiler.Evaluation, err error) {
	for _, p := range pins {
		if err := p.pinSchemas(ctx); err != nil {
			return after, err
		}
		// Without types, on which the evaluation of layers does not depend.
		p.edits[p.pkg.File] = chart.Package(p.pkg.Name, p.versions...)
	}
	if slices.ContainsFunc(pins, func(p *pinning) bool { return len(p.pkg.Pins) > 0 }) {
		after = pins[0].evaluate(ctx)
	}
	for _, p := range pins {
		if err := p.checkSelections(after); err != nil {
			return after, err
		}
		if p.removeUnused(after); ctx.Err() != nil {
			return after, ctx.Err()
		}
		if err := p.text(ctx); err != nil {
			return after, err
		}
	}
	return after, nil
}

// removeUnused removes versions that are unused and not the default, if all clusters can be
// evaluated.
func (p *pinning) removeUnused(after compiler.Evaluation) {
	if after.Fleet == nil || after.Faults != nil {
		return
	}
	used := fleet.ChartUsers(after.Fleet)
	others := slices.DeleteFunc(slices.Clone(p.versions[1:]), func(r chart.Resolution) bool { return used[r.Ref] == nil })
	p.versions = slices.Concat(p.versions[:1], others)
}

// pinSchemas pins the documents that the schemas of new versions refer to and that are not
// in the charts, including transitive ones.
func (p *pinning) pinSchemas(ctx context.Context) error {
	const chain = 16 // limits transitive references
	earlier := map[string]string{}
	for _, pin := range p.pkg.Pins {
		maps.Insert(earlier, pin.Ref.Schemas.All())
	}
	for i := range p.versions {
		ref := &p.versions[i].Ref
		if ref.Schemas != "" {
			continue
		}
		tried := map[string]bool{}
		for n := 0; ; n++ {
			types, err := p.types(ctx, *ref)
			if err != nil {
				return err
			}
			missing := slices.DeleteFunc(types.Missing(), func(at string) bool {
				return tried[at] || !strings.HasPrefix(at, "https://") && !strings.HasPrefix(at, "http://") || strings.Contains(at, "#")
			})
			if len(missing) == 0 {
				break
			}
			if n == chain {
				if p.unpinned == nil {
					p.unpinned = &diag.Diag{Code: diag.CodeSchemaDocument, Msg: fmt.Sprintf("fleetc follows at most %d references in a row", chain), Hint: fleet.SchemaHint}
				}
				break
			}
			for _, at := range missing {
				tried[at] = true
			}
			pinned, _, err := p.source.PinSchemas(ctx, *ref, missing, earlier)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if *ref = pinned; err != nil && p.unpinned == nil {
				p.unpinned = err
			}
		}
	}
	return nil
}

// types returns the types of the values of a chart.
func (p *pinning) types(ctx context.Context, ref fleet.ChartRef) (*values.Type, error) {
	ch, err := p.source.Chart(ctx, ref)
	if err != nil {
		return nil, err
	}
	return p.c.Results().Types(ch)
}

// evaluate evaluates the fleet with the edits.
func (p *pinning) evaluate(ctx context.Context) compiler.Evaluation {
	edited := *p.c
	edited.Dir, edited.Edits = p.root, p.edits
	return edited.Evaluate(ctx, nil)
}

// text adds the edit of the package's file.
func (p *pinning) text(ctx context.Context) error {
	// A new fleet has only the root layer.
	layers, _ := load.LayerNames(p.root)
	typed := make([]values.Version, len(p.versions))
	for i, r := range p.versions {
		types, err := p.types(ctx, r.Ref)
		if err != nil {
			return err
		}
		typed[i] = values.Version{Version: r.Version, Types: types}
	}
	text, err := values.Package(chart.Package(p.pkg.Name, p.versions...), layers, typed...)
	p.edits[p.pkg.File] = text
	return err
}

// changedFiles returns the files that edits change, sorted.
func changedFiles(root string, edits load.Edits) ([]string, error) {
	var out []string
	for _, file := range slices.Sorted(maps.Keys(edits)) {
		existing, err := ReadFile(root, file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || !bytes.Equal(existing, edits[file]) {
			out = append(out, file)
		}
	}
	return out, nil
}

// commit writes the edits: the package first, because the layers refer to it.
func (p *pinning) commit() error {
	if err := WriteFile(p.root, p.pkg.File, p.edits[p.pkg.File]); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(p.edits)) {
		if file == p.pkg.File {
			continue
		}
		if err := WriteFile(p.root, file, p.edits[file]); err != nil {
			return err
		}
	}
	return nil
}

// uses returns the releases of a cluster that use a version of the package.
func (p *pinning) uses(c *fleet.Cluster) []*fleet.Release {
	return diag.Filter(c.Releases, func(r *fleet.Release) bool {
		return slices.ContainsFunc(p.pkg.Pins, func(pin load.Pin) bool { return pin.Ref == r.Chart })
	})
}
