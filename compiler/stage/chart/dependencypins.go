package chart

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxDependencies limits the pinned dependencies of one chart.
const maxDependencies = 100

// fileScheme is the URL scheme of dependencies in a directory beside the chart. In a
// pin, the path is relative to the root of the git repository.
const fileScheme = "file://"

// dependencies returns the pinned dependencies of a chart as references.
func dependencies(ref fleet.ChartRef) []fleet.ChartRef {
	var out []fleet.ChartRef
	for at, digest := range ref.Dependencies.All() {
		dep := fleet.ChartRef{Digest: digest}
		if dir, ok := strings.CutPrefix(at, fileScheme+"/"); ok {
			dep.Git = fleet.GitRef{URL: ref.Git.URL, Ref: ref.Git.Ref, Path: dir}
		} else {
			where, version := at, ""
			if i := strings.LastIndexByte(at, '@'); i >= 0 {
				where, version = at[:i], at[i+1:]
			}
			dep.Repo, dep.Name = splitLast(where)
			dep.Version = version
		}
		out = append(out, dep)
	}
	return out
}

// dependencyName returns the name under which a dependency is pinned.
func dependencyName(dep fleet.ChartRef) string {
	if dep.Git.URL != "" {
		return fileScheme + "/" + dep.Git.Path
	}
	return dep.Repo + "/" + dep.Name + "@" + dep.Version
}

// checkDependencies validates the pins of dependencies with checkRef.
func checkDependencies(ref fleet.ChartRef) error {
	deps := dependencies(ref)
	if len(deps) > maxDependencies {
		return pinAgain(ref, "", "%s: more than %d dependencies are pinned", ref, maxDependencies)
	}
	for _, dep := range deps {
		if dep.Repo == "" && dep.Git.URL == "" {
			return pinAgain(ref, "", "%s: a dependency is pinned in a directory of a git repository, but the chart is not in a repository", ref)
		}
		if err := checkRef(dep); err != nil {
			return forParent(ref, dep, err)
		}
	}
	return nil
}

// forParent adds to an error about a dependency the hint to pin its parent chart
// again.
func forParent(ref, dep fleet.ChartRef, err error) error {
	return diag.Changed(err, func(d *diag.Diag) { d.Hint = strings.ReplaceAll(d.Hint, addCommand(dep), addCommand(ref)) })
}

// pinned returns the chart's files together with those of its dependencies, pinned
// or by path.
func (s *Source) pinned(ctx context.Context, ref fleet.ChartRef, files []fleet.File) ([]fleet.File, error) {
	if ref.Dependencies == "" && (ref.Path == "" || !hasPaths(files)) {
		return files, nil
	}
	c := s.dependencyBuilder(ref, files)
	deps := dependencies(ref)
	used := map[fleet.ChartRef]bool{}
	c.find = func(_ context.Context, want fleet.ChartRef) (fleet.ChartRef, error) {
		if len(deps) == 0 {
			return fleet.ChartRef{}, nil // without pins, dependencies are left out
		}
		found := choose(deps, want)
		if found == (fleet.ChartRef{}) {
			return found, pinAgain(ref, ", which pins it", "%s: the dependency %s is not pinned", ref, oneLine(strings.TrimSuffix(dependencyName(want), "@")))
		}
		used[found] = true
		return found, nil
	}
	complete, err := c.complete(ctx, ref, files, 0)
	if err != nil {
		return nil, err
	}
	for _, dep := range deps {
		// `helm dependency build` stores the same archive in charts/.
		same := func(f fleet.File) bool { return isInner(f.Name) && digest(f.Data) == dep.Digest }
		if !used[dep] && !slices.ContainsFunc(files, same) {
			return nil, pinAgain(ref, ", or remove what charts has instead",
				"%s: the dependency %s is pinned, and Chart.yaml does not list it or charts has another", ref, dependencyName(dep))
		}
	}
	return complete, nil
}

// choose returns the newest pin that satisfies want.
func choose(deps []fleet.ChartRef, want fleet.ChartRef) (found fleet.ChartRef) {
	for _, dep := range deps {
		fits := dep.Git == want.Git
		if want.Git.URL == "" {
			fits = dep.Repo == want.Repo && dep.Name == want.Name && isInRange(want.Version, dep.Version)
		}
		if fits && (found == (fleet.ChartRef{}) || dep.Version == want.Version || IsNewer(dep.Version, found.Version) && found.Version != want.Version) {
			found = dep
		}
	}
	return found
}

// hasPaths reports whether the chart may depend on charts in directories.
func hasPaths(files []fleet.File) bool {
	return slices.ContainsFunc(files, func(f fleet.File) bool {
		return (f.Name == "Chart.yaml" || f.Name == "requirements.yaml") && bytes.Contains(f.Data, []byte(fileScheme))
	})
}

// pinDependencies returns ref with pins for the dependencies that the chart lacks,
// in the versions of its lock file or the newest ones in range.
func (s *Source) pinDependencies(ctx context.Context, ref fleet.ChartRef, files []fleet.File) (fleet.ChartRef, error) {
	digests := map[string]string{}
	found := map[fleet.ChartRef]fleet.ChartRef{} // exact reference by requirement
	c := s.dependencyBuilder(ref, files)
	c.find = func(ctx context.Context, want fleet.ChartRef) (fleet.ChartRef, error) {
		if dep, ok := found[want]; ok {
			return dep, nil
		}
		if len(digests) >= maxDependencies {
			return want, fault(diag.CodeChartDependencies, "use a chart with fewer dependencies", "%s: it has more than %d dependencies", ref, maxDependencies)
		}
		r, _, err := s.newest(ctx, oneLine(dependencyName(want)), want)
		if err != nil {
			return want, inChartYAML(ref, cmp.Or(want.Name, dependencyName(want)), err)
		}
		found[want], digests[dependencyName(r.Ref)] = r.Ref, r.Ref.Digest
		return r.Ref, nil
	}
	if _, err := c.complete(ctx, ref, files, 0); err != nil {
		return ref, err
	}
	ref.Dependencies = fleet.NewDigests(digests)
	return ref, nil
}
