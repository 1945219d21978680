// Package edit changes the files of a fleet: it starts fleets, formats files, and adds and
// updates charts.
package edit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// AddedChart is a pinned chart with the package that layers import to use it.
type AddedChart struct {
	Chart   chart.Resolution
	File    string // the written file, relative to the fleet's root, slash-separated
	Import  string // CUE import path of the package
	Package string // name of the package

	Types    *values.Type // of its values
	Unpinned error        // why a document that its schema refers to could not be pinned; nil when all are pinned
}

// AddChart finds a chart and writes the CUE package that pins it. An empty name is derived
// from the name of the chart. It does not replace a file of other tools.
func AddChart(ctx context.Context, c *compiler.Compiler, req chart.Request, name string) (*AddedChart, error) {
	root, module, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	if name != "" && chart.PackageName(name) != name {
		return nil, &diag.Diag{Msg: fmt.Sprintf("%q is not a valid name of a CUE package", name), Hint: "write " + chart.PackageName(name)}
	}
	source := c.Source(root)
	resolved, err := source.Resolve(ctx, req)
	if err != nil {
		return nil, err
	}
	name = cmp.Or(name, chart.PackageName(resolved.Name))
	file := load.PackageFile(name)
	a := &AddedChart{Chart: resolved, File: file, Import: path.Join(module, path.Dir(file)), Package: name}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	have, err := tree.ReadFile(filepath.FromSlash(a.File))
	switch {
	case err == nil && !bytes.HasPrefix(have, []byte(load.GeneratedBy)):
		return nil, &diag.Diag{
			At: []diag.Pos{{File: a.File}}, Msg: "this file exists and was not written by fleetc chart add",
			Hint: "move it, or choose another package with --name",
		}
	case err == nil && !bytes.Contains(have, fmt.Appendf(nil, "release of the chart %s.\n", resolved.Name)):
		return nil, &diag.Diag{
			At: []diag.Pos{{File: a.File}}, Msg: "this package pins another chart",
			Hint: "choose another package with --name",
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	packages, err := load.Packages(root)
	if err != nil {
		return nil, err
	}
	p := pinning{c: c, source: source, root: root, pkg: load.Package{Name: name, File: file}, versions: []chart.Resolution{resolved}, edits: load.Edits{}}
	for _, other := range packages {
		if other.Name == name {
			p.pkg = other
		}
	}
	p.addExisting()
	if _, err := p.write(ctx); err != nil {
		return nil, err
	}
	a.Chart, a.Unpinned = p.versions[0], p.unpinned
	if a.Types, err = p.types(ctx, a.Chart.Ref); err != nil {
		return nil, err
	}
	return a, p.commit(tree)
}
