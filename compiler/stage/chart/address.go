package chart

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// parseAddress parses a remote resource in the syntax of kustomizations: the URL of
// a file, for which the returned GitRef is empty, or a directory of a git
// repository.
//
//	https://HOST/PATH/FILE.yaml
//	https://HOST/ORG/REPO//PATH?ref=REF   also ORG/REPO.git/PATH, and ORG/REPO/PATH
//	github.com/ORG/REPO/PATH?ref=REF
//	git@HOST:ORG/REPO//PATH?ref=REF, ssh://git@HOST/ORG/REPO//PATH?ref=REF
//
// A prefix git:: is allowed.
func parseAddress(address string) (git fleet.GitRef, err error) {
	text, query, hasQuery := strings.Cut(strings.TrimPrefix(address, "git::"), "?")
	if u, err := url.Parse(text); err == nil && !hasQuery && text == address && isFile(u) {
		return git, checkURL(address, helmLogin, "https", "http")
	}
	params, err := url.ParseQuery(query)
	if err != nil {
		return git, fault(diag.CodeChartReference, "", "%q has an invalid query", oneLine(address))
	}
	git.Ref = "HEAD"
	for _, name := range []string{"ref", "version"} {
		if ref := params.Get(name); ref != "" {
			git.Ref = ref
			break
		}
	}
	if params.Get("submodules") == "true" {
		return git, fault(diag.CodeChartReference, "leave it out: submodules are not fetched", "%q asks for submodules", oneLine(address))
	}
	git.URL, git.Path = splitRepo(withScheme(text))
	if scheme, _, _ := strings.Cut(git.URL, ":"); strings.EqualFold(scheme, "file") {
		// A third-party base must not read repositories of this machine.
		return git, fault(diag.CodeChartReference, "copy it into the repository, and name it by its path", "%q is a directory on this machine", oneLine(address))
	}
	return git, checkGit(git)
}

// CheckAddress returns a fault if a remote resource of a kustomization cannot be pinned,
// because of its form.
func CheckAddress(address string) error {
	_, err := parseAddress(address)
	return err
}

// isFile reports whether the URL names a file of Kubernetes objects.
func isFile(u *url.URL) bool {
	inGit := strings.Contains(u.Path, "//") || strings.Contains(u.Path, ".git/")
	return (u.Scheme == "https" || u.Scheme == "http") && !inGit && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(u.Path))
}

// withScheme converts the address of a repository to a URL with a scheme.
func withScheme(text string) string {
	for _, short := range []string{"github.com/", "github.com:"} {
		if len(text) > len(short) && strings.EqualFold(text[:len(short)], short) {
			return "https://github.com/" + text[len(short):]
		}
	}
	host, rest, ok := strings.Cut(text, ":")
	if strings.Contains(text, "://") || !strings.Contains(host, "@") {
		return text
	}
	if !ok {
		return "ssh://" + text
	}
	return "ssh://" + host + "/" + strings.TrimPrefix(rest, "/")
}

// splitRepo splits a URL into the URL of the repository and a path inside it.
func splitRepo(text string) (repo, dir string) {
	scheme, rest, _ := strings.Cut(text, "://")
	const parts = 3 // host, owner and name
	switch i := strings.Index(rest, "//"); {
	case i > 0:
		repo, dir = rest[:i], rest[i+2:]
	case strings.Contains(rest, ".git/"):
		repo, dir, _ = strings.Cut(rest, ".git/")
		repo += ".git"
	default:
		names := strings.Split(strings.TrimSuffix(rest, "/"), "/")
		n := min(parts, len(names))
		if strings.HasSuffix(rest, ".git") {
			n = len(names)
		}
		repo, dir = strings.Join(names[:n], "/"), strings.Join(names[n:], "/")
	}
	return scheme + "://" + repo, cleanDir(dir)
}

// cleanDir returns the path of a directory below the root of a repository; empty for the root.
func cleanDir(dir string) string {
	if dir = path.Clean(strings.Trim(dir, "/")); dir == "." {
		return ""
	}
	return dir
}
