package chart

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Versions lists versions of a pinned chart. Each is a valid version of a [Request].
type Versions struct {
	Pinned     string `json:"pinned"`     // the pinned version; for git the tag of the commit, or the commit
	Compatible string `json:"compatible"` // the newest without a major change; for git without tags the newest commit
	Newest     string `json:"newest"`     // the newest stable version, at least the pinned one
}

// Versions looks up the versions of the chart in its repository. It returns none for
// charts by path.
func (s *Source) Versions(ctx context.Context, ref fleet.ChartRef) (Versions, error) {
	if err := checkRef(ref); err != nil || ref.Path != "" {
		return Versions{}, err
	}
	if s.Offline {
		return Versions{}, fault(diag.CodeFlagCombination, "run the command again without --offline", "%s: listing versions needs the network", ref)
	}
	return bounded(ctx, ref.String(), func(ctx context.Context) (Versions, error) {
		switch {
		case ref.Git.URL != "":
			return s.gitVersions(ctx, ref.Git)
		case isOCI(ref.Repo):
			tags, err := s.tags(ctx, ref.Repo+"/"+ref.Name)
			return newer(ref.Version, diag.Each(tags, versionOf)), err
		}
		_, all, err := s.entries(ctx, ref)
		return newer(ref.Version, all), err
	})
}

// IsNewer reports whether a version is newer than another one; an empty one is the oldest.
func IsNewer(version, than string) bool {
	a, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	b, err := semver.NewVersion(than)
	return than == "" || err == nil && a.GreaterThan(b)
}

// IsMajorChange reports whether the major version changes. Below 1.0, the minor version counts.
func IsMajorChange(before, after string) bool {
	a, err := semver.NewVersion(before)
	b, err2 := semver.NewVersion(after)
	if err != nil || err2 != nil {
		return false
	}
	return a.Major() != b.Major() || a.Major() == 0 && a.Minor() != b.Minor()
}

// newer selects the updates of the pinned version.
func newer(pinned string, all []string) Versions {
	v := Versions{pinned, pinned, pinned}
	current, err := semver.NewVersion(pinned)
	if err != nil {
		return v
	}
	for _, other := range newestFirst(validVersions(all)) {
		switch {
		case !other.GreaterThan(current):
			return v
		case other.Prerelease() != "":
			continue
		case v.Newest == pinned:
			v.Newest = other.Original()
		}
		if !IsMajorChange(pinned, other.Original()) {
			v.Compatible = other.Original()
			return v
		}
	}
	return v
}

// gitVersions takes versions from the tags of a repository: v1.2.3, or app-1.2.3 for
// one of several charts. If the pinned commit has no such tag, the newest version is
// the commit of HEAD.
func (s *Source) gitVersions(ctx context.Context, ref fleet.GitRef) (Versions, error) {
	var listed []byte
	err := s.inRepo(ctx, ref.URL, func(g gitRepo) (err error) {
		listed, err = g.remote(ctx, "ls-remote", "--", g.url, "HEAD", "refs/tags/*")
		return g.fault(err)
	})
	if err != nil {
		return Versions{}, err
	}
	commits := map[string]string{} // by name of the ref
	for line := range strings.Lines(string(listed)) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && fullHash.MatchString(commit) {
			// The line after an annotated tag has its commit.
			commits[strings.TrimSuffix(strings.TrimPrefix(name, "refs/tags/"), "^{}")] = commit
		}
	}
	prefix := path.Base(strings.TrimSuffix(path.Join(ref.URL, ref.Path), ".git")) + "-"
	// Tags with the chart's name take precedence over tags of the whole repository.
	for _, prefix := range []string{prefix, ""} {
		tags := map[string]string{} // by version
		for name := range commits {
			if version, ok := strings.CutPrefix(name, prefix); ok && versionForm.MatchString(version) {
				tags[version] = name
			}
		}
		versions := slices.Collect(maps.Keys(tags))
		for _, at := range newestFirst(versions) {
			if tag := tags[at.Original()]; commits[tag] == ref.Ref || tag == ref.Ref {
				v := newer(at.Original(), versions)
				return Versions{tag, tags[v.Compatible], tags[v.Newest]}, nil
			}
		}
	}
	return Versions{ref.Ref, commits["HEAD"], commits["HEAD"]}, nil
}
