package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Resolution is the chart found for a [Request], with metadata of its Chart.yaml.
type Resolution struct {
	Ref         fleet.ChartRef // exact, with the digest
	Name        string         // of the chart: letters, digits, dashes, dots and underscores
	Version     string
	AppVersion  string // may be empty
	Description string // one line; may be empty
	Deprecated  bool   // set by the maintainers
}

// Resolve finds the chart of a request: the newest version in the range, or the
// commit of a git ref. It downloads the chart and its missing dependencies into the
// store, and checks that the chart loads and matches the index of the repository. It
// returns a fault when the chart does not exist.
func (s *Source) Resolve(ctx context.Context, req Request) (Resolution, error) {
	ref, err := s.target(ctx, req)
	if err != nil {
		return Resolution{}, err
	}
	var r Resolution
	var files []fleet.File
	if ref.Path == "" {
		r, files, err = s.newest(ctx, req.Ref, ref)
	} else if files, _, err = s.local(ref); err == nil {
		r, err = describe(ref, files)
	}
	if err != nil {
		return Resolution{}, err
	}
	r.Ref, err = s.pinDependencies(ctx, r.Ref, files)
	return r, err
}

// newest resolves a remote chart without its dependencies.
func (s *Source) newest(ctx context.Context, name string, ref fleet.ChartRef) (Resolution, []fleet.File, error) {
	if s.Offline {
		return Resolution{}, nil, fault(diag.CodeFlagCombination, "run the command again without --offline", "%s: adding a chart needs the network", oneLine(name))
	}
	data, err := bounded(ctx, name, func(ctx context.Context) ([]byte, error) {
		switch {
		case ref.Git.URL != "":
			data, commit, err := s.fetchGit(ctx, ref.Git)
			ref.Git.Ref = commit
			return data, err
		case isOCI(ref.Repo):
			return s.newestOCI(ctx, &ref)
		}
		return s.newestHTTP(ctx, &ref)
	})
	if err != nil {
		return Resolution{}, nil, err
	}
	ref.Digest = digest(data)
	files, err := remoteFiles(ref, data)
	if err != nil {
		return Resolution{}, nil, err
	}
	r, err := describe(ref, files)
	if err != nil {
		return Resolution{}, nil, err
	}
	st, err := s.store()
	if err != nil {
		return Resolution{}, nil, err
	}
	s.swept.Do(st.sweep)
	return r, files, st.write(ref.Digest, data)
}

// Describe returns the pinned chart with metadata of its Chart.yaml. It returns the
// errors of [Source.Chart].
func (s *Source) Describe(ctx context.Context, ref fleet.ChartRef) (Resolution, error) {
	c, err := s.Chart(ctx, ref)
	if err != nil {
		return Resolution{}, err
	}
	return describe(ref, c.Files)
}

// newestHTTP downloads the newest version in the range ref.Version, and sets
// ref.Version to it.
func (s *Source) newestHTTP(ctx context.Context, ref *fleet.ChartRef) ([]byte, error) {
	entries, all, err := s.entries(ctx, *ref)
	if err != nil {
		return nil, err
	}
	if ref.Version, err = newest(*ref, all); err != nil {
		return nil, err
	}
	e := entries[slices.Index(all, ref.Version)]
	data, err := s.download(ctx, *ref, e)
	if err != nil {
		return nil, err
	}
	want := "sha256:" + strings.TrimPrefix(strings.ToLower(e.Digest), "sha256:")
	if got := digest(data); e.Digest != "" && got != want {
		return nil, fault(diag.CodeDigestMismatch, "ask the repository's owner: its index or the archive was changed",
			"%s has the digest %s, the repository's index says %s", ref, got, oneLine(want))
	}
	return data, nil
}

// newestOCI is newestHTTP for a registry.
func (s *Source) newestOCI(ctx context.Context, ref *fleet.ChartRef) ([]byte, error) {
	at := ref.Repo + "/" + ref.Name
	if _, err := semver.StrictNewVersion(ref.Version); err == nil {
		// An exact version needs no list of tags, which may have thousands.
		data, err := s.fetchOCI(ctx, at, tagOf(ref.Version))
		if err == nil || !errors.Is(err, ErrNotInRegistry) {
			return data, err
		}
	}
	tags, err := s.tags(ctx, at)
	if err != nil {
		return nil, err
	}
	versions := diag.Each(tags, versionOf)
	if ref.Version, err = newest(*ref, versions); err != nil {
		return nil, err
	}
	return s.fetchOCI(ctx, at, tags[slices.Index(versions, ref.Version)])
}

// newest selects the version as Helm does: the exact version, or the newest one in
// the range. Pre-releases match only ranges that contain a pre-release.
func newest(ref fleet.ChartRef, all []string) (string, error) {
	valid := validVersions(all)
	if slices.Contains(valid, ref.Version) {
		return ref.Version, nil
	}
	text := cmp.Or(ref.Version, "*")
	want, err := semver.NewConstraint(text)
	if err != nil {
		return "", &diag.Diag{
			Code: diag.CodeChartReference,
			Msg:  fmt.Sprintf("%q is not a range of versions", oneLine(ref.Version)),
			Hint: "write a version, or a range such as ~4.11 or '>=4 <5'", Cause: err,
		}
	}
	for _, v := range newestFirst(valid) {
		if want.Check(v) {
			return v.Original(), nil
		}
	}
	return "", noVersion(ref, all)
}

// validVersions returns the versions that pins may have.
func validVersions(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !versionForm.MatchString(v) })
}

// newestFirst returns the valid semantic versions, newest first.
func newestFirst(all []string) []*semver.Version {
	var versions []*semver.Version
	for _, text := range all {
		if v, err := semver.NewVersion(text); err == nil {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, func(a, b *semver.Version) int {
		if c := b.Compare(a); c != 0 {
			return c
		}
		return strings.Compare(b.Original(), a.Original())
	})
	return versions
}

// noVersion returns the fault for a version or range that matches no version of a
// repository.
func noVersion(ref fleet.ChartRef, all []string) error {
	const few = 5
	what := "no version " + oneLine(ref.Version)
	if ref.Version == "" {
		what = "no stable version"
	}
	var some []string
	for _, v := range newestFirst(validVersions(all)) {
		if len(some) < few {
			some = append(some, v.Original())
		}
	}
	hint := "use one of " + strings.Join(some, ", ")
	switch {
	case len(all) == 0:
		hint = "use another chart: it has no versions"
	case len(some) == 0:
		hint = "use another chart: none of its versions is valid, as 1.2.3 is"
	}
	return fault(diag.CodeChartNotFound, hint, "%s has %s of %s", ref.Repo, what, ref.Name)
}

// describe reads Chart.yaml and checks it against the reference. The name and
// version must match the index or tag, so that a pin is unambiguous.
func describe(ref fleet.ChartRef, files []fleet.File) (Resolution, error) {
	loaded, err := load(ref, files)
	if err != nil {
		return Resolution{}, err
	}
	meta := loaded.Metadata
	if !nameForm.MatchString(meta.Name) {
		return Resolution{}, fault(diag.CodeChartFiles, filesHint(ref), "%s: Chart.yaml has the name %q, which is not a valid chart name", ref, oneLine(meta.Name))
	}
	if ref.Repo != "" && !isOCI(ref.Repo) && meta.Name != ref.Name {
		return Resolution{}, fault(diag.CodeChartFiles, "ask the repository's owner", "%s: its Chart.yaml has the name %s", ref, meta.Name)
	}
	if ref.Repo != "" && !sameVersion(meta.Version, ref.Version) {
		return Resolution{}, fault(diag.CodeChartFiles, "ask the repository's owner", "%s: its Chart.yaml has the version %s", ref, oneLine(meta.Version))
	}
	return Resolution{
		Ref: ref, Name: meta.Name, Version: oneLine(meta.Version), AppVersion: oneLine(meta.AppVersion),
		Description: oneLine(meta.Description), Deprecated: meta.Deprecated,
	}, nil
}

func sameVersion(a, b string) bool {
	v, err := semver.NewVersion(a)
	if err != nil {
		return false
	}
	w, err := semver.NewVersion(b)
	return err == nil && v.Equal(w) && v.Metadata() == w.Metadata()
}
