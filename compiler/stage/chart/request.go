package chart

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Request names a chart to add, as the user writes it. Ref is one of
//
//	oci://HOST/PATH/NAME
//	https://HOST/PATH/NAME         the last part is the chart, the rest its repository
//	NAME                           in Repo
//	ALIAS/NAME                     in the repository ALIAS of Helm's configuration
//	git+https://HOST/REPO//PATH    also git+http, git+ssh, git+git and git+file; //PATH is optional
//	./PATH                         in the fleet's repository; ./ is optional if the path exists
type Request struct {
	Ref     string
	Version string // range of versions, empty for the newest stable one; for git a ref, empty for HEAD
	Repo    string // URL of the repository of Ref; may be empty
}

const forms = "use oci://HOST/PATH/NAME, https://HOST/PATH/NAME, NAME with --repo URL, ALIAS/NAME of a helm repository, " +
	"git+https://HOST/REPO//PATH, or ./PATH"

// target parses a request into a reference without digest. The version of a chart in
// a repository is still the requested range.
func (s *Source) target(ctx context.Context, req Request) (fleet.ChartRef, error) {
	if req.Repo != "" {
		if !nameForm.MatchString(req.Ref) {
			return fleet.ChartRef{}, fault(diag.CodeChartReference, "pass only the chart's name", "with --repo, %q is not a valid chart name", req.Ref)
		}
		return inRepo(req.Repo, req.Ref, req.Version)
	}
	scheme, _, isURL := strings.Cut(req.Ref, "://")
	switch {
	case isURL && strings.HasPrefix(scheme, "git+"):
		return inGit(strings.TrimPrefix(req.Ref, "git+"), req.Version)
	case isURL && slices.Contains([]string{"https", "http", "oci"}, scheme):
		if strings.HasSuffix(req.Ref, ".git") {
			return fleet.ChartRef{}, fault(diag.CodeChartReference, "write git+"+scheme+"://...", "%s is a git repository", path.Base(req.Ref))
		}
		if strings.HasSuffix(req.Ref, ".tgz") {
			return fleet.ChartRef{}, fault(diag.CodeChartReference, "give the URL of its repository and its name, or put the archive into the fleet's repository",
				"%s is an archive, not a chart in a repository", oneLine(path.Base(req.Ref)))
		}
		repo, name := splitLast(req.Ref)
		if !strings.Contains(repo, "://") {
			return fleet.ChartRef{}, fault(diag.CodeChartReference, "write it behind the URL of its repository: "+scheme+"://HOST/PATH/NAME", "the name of the chart is missing")
		}
		return inRepo(repo, name, req.Version)
	case isURL:
		return fleet.ChartRef{}, fault(diag.CodeChartReference, forms, "%q is not a reference to a chart", oneLine(scheme+"://..."))
	case s.isLocal(req.Ref):
		if req.Version != "" {
			return fleet.ChartRef{}, fault(diag.CodeFlagCombination, "leave --version out", "a chart by path has only the version in its directory")
		}
		name := path.Clean(filepath.ToSlash(req.Ref))
		return fleet.ChartRef{Path: name}, checkPath(name)
	}
	return s.inAlias(ctx, req)
}

// isLocal reports whether a reference is a path: it looks like one, or a file with
// this name exists.
func (s *Source) isLocal(ref string) bool {
	if ref == "." || ref == ".." || strings.HasPrefix(ref, "./") || strings.HasPrefix(ref, "../") || filepath.IsAbs(ref) {
		return true
	}
	if s.Root == "" || !filepath.IsLocal(filepath.FromSlash(ref)) {
		return false
	}
	_, err := os.Stat(filepath.Join(s.Root, filepath.FromSlash(ref)))
	return err == nil
}

// splitLast splits a URL before its last path element.
func splitLast(ref string) (before, last string) {
	ref = strings.TrimRight(ref, "/")
	if i := strings.LastIndexByte(ref, '/'); i >= 0 {
		return ref[:i], ref[i+1:]
	}
	return ref, ""
}

func inRepo(repo, name, version string) (fleet.ChartRef, error) {
	repo = strings.TrimRight(repo, "/")
	if err := checkRepo(repo); err != nil {
		return fleet.ChartRef{}, err
	}
	if isOCI(repo) {
		if base, tag, tagged := strings.Cut(name, ":"); tagged {
			return fleet.ChartRef{}, fault(diag.CodeChartReference, "write "+repo+"/"+oneLine(base)+" --version "+oneLine(tag), "the version must be in --version")
		}
	}
	if !nameForm.MatchString(name) {
		return fleet.ChartRef{}, fault(diag.CodeChartReference, forms, "%q is not a valid chart name", oneLine(name))
	}
	return fleet.ChartRef{Repo: repo, Name: name, Version: version}, nil
}

// inGit parses URL//PATH.
func inGit(raw, ref string) (fleet.ChartRef, error) {
	git := fleet.GitRef{URL: raw, Ref: cmp.Or(ref, "HEAD")}
	if scheme, rest, _ := strings.Cut(raw, "://"); len(rest) > 1 {
		// Skip the first byte: the path of a file:// URL starts with a slash.
		if i := strings.Index(rest[1:], "//"); i >= 0 {
			git.URL, git.Path = scheme+"://"+rest[:i+1], cleanDir(rest[i+1:])
		}
	}
	return fleet.ChartRef{Git: git}, checkGit(git)
}

// inAlias parses ALIAS/NAME.
func (s *Source) inAlias(ctx context.Context, req Request) (fleet.ChartRef, error) {
	alias, name, ok := strings.Cut(req.Ref, "/")
	if !ok || !nameForm.MatchString(alias) || !nameForm.MatchString(name) {
		return fleet.ChartRef{}, fault(diag.CodeChartReference, cmp.Or(s.nearPath(req.Ref), forms), "%q is not a reference to a chart", oneLine(req.Ref))
	}
	known, err := s.repositories(ctx)
	if err != nil {
		return fleet.ChartRef{}, err
	}
	var names []string
	for _, r := range known {
		if r.Name == alias {
			return inRepo(r.URL, name, req.Version)
		}
		names = append(names, r.Name)
	}
	hint := cmp.Or(diag.DidYouMean(alias, names), s.nearPath(req.Ref), forms)
	return fleet.ChartRef{}, fault(diag.CodeChartNotFound, hint, "helm knows no repository %s, and the fleet's repository has no %s", alias, req.Ref)
}

// oneOf returns a hint with the name most similar to word, or the first few names.
func oneOf(word string, among []string) string {
	const few = 8
	if hint := diag.DidYouMean(word, among); hint != "" || len(among) <= few {
		return diag.OneOf(word, among)
	}
	return diag.OneOf(word, among[:few]) + " or others"
}

// oneOfCharts is oneOf for the charts of a repository.
func oneOfCharts(name string, charts []string) string {
	return cmp.Or(oneOf(name, charts), "use another repository: this one has no charts")
}
