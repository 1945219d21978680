package edit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// RefreshedChart is a pin that RefreshCharts has looked at. Values is nil if the file is
// complete.
type RefreshedChart struct {
	AddedChart
	OldVersion string `json:"oldVersion,omitempty"` // the default version that fleetc pinned before; may be empty
	Changed    bool   `json:"changed"`              // the file changes
}

// RefreshCharts completes the pins of packages whose version another program has changed:
// it pins the digests, dependencies and schemas of the new versions, and writes the types
// of the values. names are packages or their charts; without names, all packages. The error
// holds the faults of pins that cannot be completed; the others are written.
func RefreshCharts(ctx context.Context, c *compiler.Compiler, names ...string) ([]RefreshedChart, error) {
	root, module, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	var faults diag.List
	packages, err := selectChanged(root, names, &faults)
	if err != nil {
		return nil, err
	}
	// All packages share the edits, because the fleet is evaluated with all of them.
	shared := pinning{c: c, source: c.Source(root), root: root, edits: load.Edits{}}
	out := make([]RefreshedChart, len(packages))
	pinnings := make([]*pinning, len(packages))
	for i, pkg := range packages {
		out[i] = refreshedOf(module, pkg)
		if pinnings[i], err = shared.refresh(ctx, pkg); err != nil {
			faults.Add(inPackage(pkg, err))
		}
	}
	if err := removeUnused(ctx, pinnings); err != nil {
		return nil, err
	}
	var kept []RefreshedChart
	for i, p := range pinnings {
		if p != nil {
			if err := finish(ctx, p, &out[i]); err != nil {
				faults.Add(inPackage(packages[i], err))
				continue
			}
		} else if !packages[i].Complete() {
			continue
		}
		kept = append(kept, out[i])
	}
	if err := ctx.Err(); err != nil {
		return kept, err
	}
	return kept, faults.Err()
}

// selectChanged returns the packages with the given names, or all. Faults of packages
// that cannot be read are added to faults.
func selectChanged(root string, names []string, faults *diag.List) ([]load.ChangedPackage, error) {
	packages, err := load.ChangedPackages(root)
	faults.Add(err)
	if len(names) == 0 {
		if len(packages) == 0 && err == nil {
			return nil, &diag.Diag{Code: diag.CodeNoPackage, Msg: "no package below environments/charts pins a chart", Hint: "run fleetc chart add REF, which writes one"}
		}
		return packages, nil
	}
	plain := make([]load.Package, len(packages))
	for i, p := range packages {
		plain[i] = p.Package
		plain[i].Pins = p.Stated
	}
	wanted := map[string]bool{}
	for _, name := range names {
		p, err := findPackage(plain, name)
		if err != nil {
			faults.Add(err)
			return nil, faults.Err()
		}
		wanted[p.Name] = true
	}
	// Faults of other packages do not matter.
	*faults = nil
	return slices.DeleteFunc(packages, func(p load.ChangedPackage) bool { return !wanted[p.Name] }), nil
}

// refreshedOf returns the result for a package that does not change.
func refreshedOf(module string, pkg load.ChangedPackage) RefreshedChart {
	first := pkg.Stated[0]
	if written := pkg.Written(first.Version); written != nil {
		first = *written
	}
	out := RefreshedChart{AddedChart: AddedChart{File: pkg.File, Import: path.Join(module, path.Dir(pkg.File)), Package: pkg.Name}}
	out.setChart(chart.Resolution{Ref: first.Ref, Name: pkg.Chart, Version: first.Version})
	if len(pkg.Pins) > 0 {
		out.OldVersion = pkg.Pins[0].Version
	}
	return out
}

// inPackage adds the file to the faults of a package.
func inPackage(pkg load.ChangedPackage, err error) error {
	return diag.Changed(err, func(d *diag.Diag) {
		if len(d.At) == 0 {
			d.At = []diag.Pos{{File: pkg.File}}
		}
	})
}

// refresh returns the edit that resolves the changed versions of a package. It returns nil
// if there are none.
func (p pinning) refresh(ctx context.Context, pkg load.ChangedPackage) (*pinning, error) {
	first := pkg.Stated[0].Ref
	if pkg.Complete() && first.Git.URL == "" {
		return nil, nil
	}
	p.pkg = pkg.Package
	for _, stated := range pkg.Stated {
		v, err := resolveStated(ctx, p.source, pkg, stated)
		if err != nil {
			return nil, err
		}
		if v.Name != pkg.Chart {
			return nil, &diag.Diag{
				Code: diag.CodeOtherChart,
				Msg:  fmt.Sprintf("the package pins the chart %s, and its fields now name the chart %s", pkg.Chart, v.Name),
				Hint: "run fleetc chart add with --name for another package",
			}
		}
		if !p.has(v.Version) {
			p.versions = append(p.versions, v)
		}
	}
	if first.Git.URL == "" {
		// A layer may still select a version that the package had.
		p.addExisting()
	}
	if err := p.pinSchemas(ctx); err != nil {
		return nil, err
	}
	p.edits[pkg.File] = chart.Package(pkg.Name, p.versions...)
	return &p, nil
}

// resolveStated returns the pin of a stated version: the one that fleetc wrote, or a new one.
func resolveStated(ctx context.Context, source *chart.Source, pkg load.ChangedPackage, stated load.Pin) (chart.Resolution, error) {
	ref, written := stated.Ref, pkg.Written(stated.Version)
	switch {
	case ref.Path != "":
		return source.Resolve(ctx, chart.Request{Ref: "./" + ref.Path})
	case ref.Git.URL != "":
		return resolveGit(ctx, source, ref, written)
	case ref.Repo == "":
		return chart.Resolution{}, &diag.Diag{
			Code: diag.CodeNoVersion,
			Msg:  "the package has no repository and no commit for version " + stated.Version, Hint: "run fleetc chart update " + pkg.Name + " --version TAG",
		}
	case written != nil:
		return source.Describe(ctx, written.Ref)
	}
	v, err := source.Resolve(ctx, requestOf(ref, stated.Version))
	if err == nil && v.Ref.Version != stated.Version {
		return v, &diag.Diag{
			Code: diag.CodeNoVersion,
			Msg:  fmt.Sprintf("%s is not a version of %s", stated.Version, ref.Location()),
			Hint: "write an exact version, such as " + v.Ref.Version,
		}
	}
	return v, err
}

// resolveGit keeps the pin that fleetc wrote if the commit has the same files.
func resolveGit(ctx context.Context, source *chart.Source, ref fleet.ChartRef, written *load.Pin) (chart.Resolution, error) {
	v, err := source.Resolve(ctx, requestOf(ref, ref.Git.Ref))
	if err != nil || written == nil || v.Ref.Digest != written.Ref.Digest {
		return v, err
	}
	for name, digest := range v.Ref.Dependencies.All() {
		if !strings.HasPrefix(name, "file://") {
			continue
		}
		for other, before := range written.Ref.Dependencies.All() {
			if other == name && before != digest {
				return v, nil
			}
		}
	}
	kept := written.Ref
	kept.Git = v.Ref.Git
	v.Ref = kept
	return v, nil
}

// removeUnused removes versions that no cluster uses, if all clusters can be evaluated.
func removeUnused(ctx context.Context, pinnings []*pinning) error {
	pinnings = slices.DeleteFunc(slices.Clone(pinnings), func(p *pinning) bool { return p == nil })
	if slices.ContainsFunc(pinnings, func(p *pinning) bool { return len(p.versions) > 1 }) {
		after := pinnings[0].evaluate(ctx)
		for _, p := range pinnings {
			p.removeUnused(after)
		}
	}
	return ctx.Err()
}

// finish writes the package, and completes its result.
func finish(ctx context.Context, p *pinning, out *RefreshedChart) error {
	if err := p.text(ctx); err != nil {
		return err
	}
	changed, err := changedFiles(p.root, load.Edits{p.pkg.File: p.edits[p.pkg.File]})
	if err != nil {
		return err
	}
	out.Changed = len(changed) > 0
	if err := out.setPinned(ctx, p); err != nil || !out.Changed {
		return err
	}
	return WriteFile(p.root, p.pkg.File, p.edits[p.pkg.File])
}
