package chart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	helm "helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/registry"
)

// A Resolved is a chart that was found for a [Request], with what its
// Chart.yaml says about it.
type Resolved struct {
	Ref         fleet.ChartRef // exact, with the digest
	Name        string         // of the chart: letters, digits, dashes, dots and underscores
	Version     string
	AppVersion  string // may be empty
	Description string // one line; may be empty
	Deprecated  bool   // its maintainers have given it up
}

// Resolve finds the chart that a user asks for: in a repository the newest
// version in the range, in git the commit. It downloads the chart with the
// dependencies that it lacks, checks that it is one and that the repository's index
// tells the truth about it, and keeps it in the store. It returns a fault when there
// is no such chart.
func (s *Source) Resolve(ctx context.Context, req Request) (Resolved, error) {
	ref, err := s.target(ctx, req)
	if err != nil {
		return Resolved{}, err
	}
	var r Resolved
	var files []fleet.File
	if ref.Path == "" {
		r, files, err = s.newest(ctx, req.Ref, ref)
	} else if files, _, err = s.local(ref); err == nil {
		r, err = describe(ref, files)
	}
	if err != nil {
		return Resolved{}, err
	}
	r.Ref, err = s.pinDependencies(ctx, r.Ref, files)
	return r, err
}

// newest finds a remote chart as Resolve does, without dependencies.
func (s *Source) newest(ctx context.Context, name string, ref fleet.ChartRef) (Resolved, []fleet.File, error) {
	if s.Offline {
		return Resolved{}, nil, fault("run the command again without --offline", "%s: adding a chart needs the network", oneLine(name))
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
		return Resolved{}, nil, err
	}
	ref.Digest = digest(data)
	files, err := remoteFiles(ref, data)
	if err != nil {
		return Resolved{}, nil, err
	}
	r, err := describe(ref, files)
	if err != nil {
		return Resolved{}, nil, err
	}
	st, err := s.store()
	if err != nil {
		return Resolved{}, nil, err
	}
	s.swept.Do(st.sweep)
	return r, files, st.write(ref.Digest, data)
}

// Describe returns the chart that ref pins with what its Chart.yaml says about
// it. It errs as Chart does.
func (s *Source) Describe(ctx context.Context, ref fleet.ChartRef) (Resolved, error) {
	c, err := s.Chart(ctx, ref)
	if err != nil {
		return Resolved{}, err
	}
	return describe(ref, c.Files)
}

// newestHTTP downloads the newest version in the range that ref has for its
// version, and sets the version.
func (s *Source) newestHTTP(ctx context.Context, ref *fleet.ChartRef) ([]byte, error) {
	x, err := s.index(ctx, ref.Repo)
	if err != nil {
		return nil, err
	}
	entries, err := x.versions(ref.Repo, ref.Name)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Version)
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
		return nil, fault("ask the repository's owner: its index or the archive was changed",
			"%s has the digest %s, the repository's index says %s", ref, got, oneLine(want))
	}
	return data, nil
}

// newestOCI is newestHTTP for a registry.
func (s *Source) newestOCI(ctx context.Context, ref *fleet.ChartRef) ([]byte, error) {
	at := ref.Repo + "/" + ref.Name
	if _, err := semver.StrictNewVersion(ref.Version); err == nil {
		// No need to list a registry that may have thousands of tags.
		data, err := s.fetchOCI(ctx, at, tagOf(ref.Version))
		if err == nil || !errors.Is(err, registry.ErrNotFound) {
			return data, err
		}
	}
	tags, err := s.tags(ctx, at)
	if err != nil {
		return nil, err
	}
	versions := make([]string, len(tags))
	for i, tag := range tags {
		versions[i] = versionOf(tag)
	}
	if ref.Version, err = newest(*ref, versions); err != nil {
		return nil, err
	}
	return s.fetchOCI(ctx, at, tags[slices.Index(versions, ref.Version)])
}

// newest returns the version that Helm would take: the one that the range of
// ref spells out, or the newest in it. Pre-releases are only in a range that
// has one in it.
func newest(ref fleet.ChartRef, all []string) (string, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !versionForm.MatchString(v) })
	if slices.Contains(all, ref.Version) {
		return ref.Version, nil
	}
	text := ref.Version
	if text == "" {
		text = "*"
	}
	want, err := semver.NewConstraint(text)
	if err != nil {
		return "", &diag.Diag{
			Msg:  fmt.Sprintf("%q is not a range of versions", oneLine(ref.Version)),
			Hint: "write a version, or a range such as ~4.11 or '>=4 <5'", Cause: err,
		}
	}
	for _, v := range newestFirst(all) {
		if want.Check(v) {
			return v.Original(), nil
		}
	}
	return "", noVersion(ref, all)
}

// newestFirst returns the semantic versions among the given ones.
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

// noVersion is the fault of a range, or version, that a repository has nothing
// for.
func noVersion(ref fleet.ChartRef, all []string) error {
	const few = 5
	what := "no version " + oneLine(ref.Version)
	if ref.Version == "" {
		what = "no stable version"
	}
	var some []string
	for _, v := range newestFirst(all) {
		if len(some) < few {
			some = append(some, v.Original())
		}
	}
	hint := "use another chart: it has no versions"
	if len(some) > 0 {
		hint = "use one of " + strings.Join(some, ", ")
	}
	return fault(hint, "%s has %s of %s", ref.Repo, what, ref.Name)
}

// describe reads Chart.yaml, and checks it against the reference: an index or
// a tag may say something else, and then nobody would know what is pinned.
func describe(ref fleet.ChartRef, files []fleet.File) (Resolved, error) {
	if err := loads(ref, files); err != nil {
		return Resolved{}, err
	}
	var meta helm.Metadata
	for _, f := range files {
		if f.Name == "Chart.yaml" {
			// loads has read the same bytes.
			_ = yaml.Unmarshal(f.Data, &meta)
		}
	}
	if !nameForm.MatchString(meta.Name) {
		return Resolved{}, fault("", "%s: Chart.yaml has the name %q, which is not one for a chart", ref, oneLine(meta.Name))
	}
	if ref.Repo != "" && !isOCI(ref.Repo) && meta.Name != ref.Name {
		return Resolved{}, fault("ask the repository's owner", "%s: its Chart.yaml has the name %s", ref, meta.Name)
	}
	if ref.Repo != "" && !sameVersion(meta.Version, ref.Version) {
		return Resolved{}, fault("ask the repository's owner", "%s: its Chart.yaml has the version %s", ref, oneLine(meta.Version))
	}
	return Resolved{
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
