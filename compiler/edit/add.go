// Package edit changes the files of a fleet: it starts fleets, formats files, and adds and
// updates charts. [Lift] moves values that all clusters of a layer set equally to the files of
// the layer: it compiles the fleet before and after, and no bundle may change.
//
// [FindUpdates] finds newer versions of charts and images. [UpdateImages] writes all newer tags
// at once, and [Updates] writes or pushes charts and images group by group. Each change is
// compiled before anything is written. The package also edits secrets.
//
// It is large because each of these changes reads other files of CUE and writes them in
// another form.
package edit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// AddedChart is a pinned chart with the package that layers import to use it.
type AddedChart struct {
	Chart        string           `json:"chart"` // name
	Version      string           `json:"version,omitempty"`
	Digest       string           `json:"digest,omitempty"`
	Dependencies []string         `json:"dependencies,omitempty"` // pinned with it, as in [fleet.ChartRef]
	Values       *values.Coverage `json:"values,omitempty"`       // coverage of its values by types
	File         string           `json:"file"`                   // the written file, relative to the fleet's root, slash-separated
	Import       string           `json:"import"`                 // CUE import path of the package
	Package      string           `json:"package"`                // name of the package
	Unpinned     error            `json:"-"`                      // why a document that its schema refers to could not be pinned; nil when all are pinned
}

// setChart sets the fields that describe the chart.
func (a *AddedChart) setChart(r chart.Resolution) {
	a.Chart, a.Version, a.Digest, a.Dependencies = r.Name, r.Version, r.Ref.Digest, nil
	for name := range r.Ref.Dependencies.All() {
		a.Dependencies = append(a.Dependencies, name)
	}
}

// setPinned sets the fields that are known when the chart is pinned.
func (a *AddedChart) setPinned(ctx context.Context, p *pinning) error {
	a.setChart(p.versions[0])
	a.Unpinned = p.unpinned
	types, err := p.types(ctx, p.versions[0].Ref)
	if err != nil {
		return err
	}
	coverage := types.Coverage()
	a.Values = &coverage
	return nil
}

// AddChart finds a chart and writes the CUE package that pins it. Without a name, it is the
// package that pins the chart already, or else a package with the name of the chart. AddChart
// does not replace a file of other tools.
func AddChart(ctx context.Context, c *compiler.Compiler, req chart.Request, name string) (*AddedChart, error) {
	root, module, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	if name != "" && chart.PackageName(name) != name {
		return nil, &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%q is not a valid name of a CUE package", name), Hint: "write " + chart.PackageName(name)}
	}
	req.Ref = belowRoot(root, cmp.Or(c.Dir, "."), req.Ref)
	source := c.Source(root)
	resolved, err := source.Resolve(ctx, req)
	if err != nil {
		return nil, err
	}
	packages, err := load.Packages(root)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if name, err = packageFor(resolved, packages); err != nil {
			return nil, err
		}
	}
	file := load.PackageFile(name)
	a := &AddedChart{File: file, Import: path.Join(module, path.Dir(file)), Package: name}
	existing, err := ReadFile(root, a.File)
	switch {
	case err == nil && !bytes.HasPrefix(existing, []byte(load.GeneratedBy)):
		return nil, &diag.Diag{
			Code: diag.CodeNotOwnFile,
			At:   []diag.Pos{{File: a.File}}, Msg: "this file exists and was not written by fleetc chart add",
			Hint: "move it, or choose another package with --name",
		}
	case err == nil && !bytes.Contains(existing, fmt.Appendf(nil, "release of the chart %s.\n", resolved.Name)):
		return nil, &diag.Diag{
			Code: diag.CodeOtherChart,
			At:   []diag.Pos{{File: a.File}}, Msg: "this package pins another chart",
			Hint: "choose another package with --name",
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	p := pinning{c: c, source: source, root: root, pkg: load.Package{Name: name, File: file}, versions: []chart.Resolution{resolved}, edits: load.Edits{}}
	if i := slices.IndexFunc(packages, func(other load.Package) bool { return other.Name == name }); i >= 0 {
		p.pkg = packages[i]
	}
	p.addExisting()
	if _, err := writePins(ctx, &p); err != nil {
		return nil, err
	}
	if err := a.setPinned(ctx, &p); err != nil {
		return nil, err
	}
	return a, p.commit()
}

// belowRoot returns an absolute path, or one that leads out of a directory, relative to the
// root of the fleet. Other references and paths out of the fleet stay.
func belowRoot(root, dir, ref string) string {
	at := ref
	if !filepath.IsAbs(ref) {
		if !strings.HasPrefix(filepath.ToSlash(ref), "../") {
			return ref
		}
		at = filepath.Join(dir, ref)
	}
	at, err := filepath.Abs(at)
	if target, linkErr := filepath.EvalSymlinks(at); linkErr == nil {
		at = target
	}
	if below, relErr := filepath.Rel(root, at); err == nil && relErr == nil && filepath.IsLocal(below) {
		return "./" + filepath.ToSlash(below)
	}
	return ref
}

// packageFor returns the name of the package that pins the chart, or else a name made of the
// chart's. It returns a fault if a package with this name pins a chart from another place; an
// archive in the fleet may take the place of another.
func packageFor(resolved chart.Resolution, packages []load.Package) (string, error) {
	name := chart.PackageName(resolved.Name)
	location := resolved.Ref.Location()
	var pinning []string
	var taken *load.Package
	for _, p := range packages {
		switch other := p.Pins[0].Ref; {
		case other.Location() == location:
			pinning = append(pinning, p.Name)
		case p.Name == name && (other.Path == "" || resolved.Ref.Path == ""):
			taken = &p
		}
	}
	switch {
	case len(pinning) > 0 && !slices.Contains(pinning, name):
		return pinning[0], nil
	case taken != nil:
		return "", &diag.Diag{
			Code: diag.CodeOtherChart,
			At:   []diag.Pos{{File: taken.File}}, Msg: "this package pins the chart of " + taken.Pins[0].Ref.Location(),
			Hint: fmt.Sprintf("choose another package with --name, or pass --name %s to replace its chart", name),
		}
	}
	return name, nil
}
