package chart

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Formats of names, versions and digests, as in schema/release.cue.
var (
	nameForm    = regexp.MustCompile(`^[a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?$`)
	versionForm = regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)?(\.[0-9]+)?(-[-0-9A-Za-z.]+)?(\+[-0-9A-Za-z.]+)?$`)
	digestForm  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	refForm     = regexp.MustCompile(`^[A-Za-z0-9_./+#%=,@-]+$`)
)

const (
	helmLogin   = "leave them out, and run helm repo add NAME URL --username USER"
	dockerLogin = "leave them out, and run docker login HOST"
	gitLogin    = "leave them out, and set up a git credential helper"
)

// checkRef returns a fault for a pin that `chart add` cannot have written. The
// schema rejects most of them, but parts of a reference become file names, URLs and
// arguments of git, so this package checks them itself.
func checkRef(ref fleet.ChartRef) error {
	for at, digest := range ref.Schemas.All() {
		if err := checkSchemaURL(at); err != nil {
			return err
		}
		if !digestForm.MatchString(digest) {
			return pinAgain(ref, "", "%s: the digest %q is not sha256: and 64 hexadecimal digits", at, digest)
		}
	}
	if err := checkDependencies(ref); err != nil {
		return err
	}
	if ref.Path != "" {
		return checkPath(ref.Path)
	}
	if !digestForm.MatchString(ref.Digest) {
		return pinAgain(ref, "", "%s: the digest %q is not sha256: and 64 hexadecimal digits", ref, ref.Digest)
	}
	if ref.Git.URL != "" {
		return checkGit(ref.Git)
	}
	if err := checkRepo(ref.Repo); err != nil {
		return err
	}
	if !nameForm.MatchString(ref.Name) {
		return fault(diag.CodeChartReference, "use letters, digits, -, _ and .", "%q is not a valid chart name", ref.Name)
	}
	if !versionForm.MatchString(ref.Version) {
		return pinAgain(ref, "", "%s: %q is not an exact version", ref, ref.Version)
	}
	return nil
}

func checkPath(name string) error {
	if strings.Contains(name, `\`) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fault(diag.CodeChartPath, "write a path relative to the fleet's root; copy the chart into the fleet, or name its repository or registry", "the path %q is not inside the fleet", name)
	}
	return nil
}

// checkRepo checks the URL of an HTTP repository or of a path in a registry.
func checkRepo(raw string) error {
	hint := helmLogin
	if isOCI(raw) {
		hint = dockerLogin
	}
	return checkURL(raw, hint, "https", "http", "oci")
}

func checkGit(ref fleet.GitRef) error {
	if err := checkURL(ref.URL, gitLogin, "https", "http", "ssh", "git", "file"); err != nil {
		return err
	}
	// The ref becomes part of a refspec. It must not be an option, several refs, a
	// pattern or a revision expression.
	if !refForm.MatchString(ref.Ref) || strings.ContainsAny(ref.Ref[:1], "-+") || strings.Contains(ref.Ref, "..") {
		return fault(diag.CodeChartReference, "use a commit, a tag or a branch", "%q is not a git ref", ref.Ref)
	}
	if ref.Path != "" && (path.Clean(ref.Path) != ref.Path || checkPath(ref.Path) != nil || checkName(ref.Path) != nil) {
		return fault(diag.CodeChartReference, "write the path relative to the root of the git repository", "%q is not a path in a git repository", ref.Path)
	}
	return nil
}

// checkURL checks that a URL has no credentials, query or fragment, because it goes
// into a committed file.
func checkURL(raw, login string, schemes ...string) error {
	u, err := url.Parse(raw)
	if err != nil {
		// The message of the error contains the URL with its credentials.
		return fault(diag.CodeChartReference, "write it as in https://HOST/PATH", "invalid URL: %s", registryReason(err))
	}
	password := false
	if u.User != nil {
		_, password = u.User.Password()
	}
	switch {
	case u.Scheme == "":
		return fault(diag.CodeChartReference, "begin it with "+schemes[0]+"://", "the scheme of the URL is missing")
	case !slices.Contains(schemes, u.Scheme):
		return fault(diag.CodeChartReference, "use one of "+strings.Join(schemes, ", "), "the scheme %q is not supported for charts", u.Scheme)
	case password || u.User != nil && u.Scheme != "ssh":
		return fault(diag.CodeURLCredentials, login, "the URL of %s has credentials in it, and pins are committed", u.Host)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#"):
		return fault(diag.CodeChartReference, "leave it out", "the URL of %s has a query or a fragment", u.Host)
	case u.Scheme != "file" && u.Hostname() == "", u.Scheme == "file" && u.Host != "":
		return fault(diag.CodeChartReference, "write it as in "+u.Scheme+"://HOST/PATH", "invalid URL %q", raw)
	case strings.HasPrefix(u.Host, "-"), strings.HasPrefix(u.User.Username(), "-"), strings.ContainsFunc(raw, notPlain):
		return fault(diag.CodeChartReference, "remove them", "the URL %q has characters that are not valid in a URL", raw)
	}
	return nil
}

func notPlain(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' || r == '\\'
}

func isOCI(repo string) bool { return strings.HasPrefix(repo, "oci://") }

// pinAgain returns a fault that pinning the chart again fixes. Its fix runs without a review,
// so do not use it for changed content.
func pinAgain(ref fleet.ChartRef, after, format string, args ...any) error {
	name, version := ref.Request()
	return &diag.Diag{
		Code: diag.CodePin,
		Msg:  fmt.Sprintf(format, args...), Hint: "run " + addCommand(ref) + after,
		Fixes: []diag.Fix{{Kind: diag.FixChart, Old: name, New: version}},
	}
}

// addCommand returns the command that pins the same chart again.
func addCommand(ref fleet.ChartRef) string {
	name, version := ref.Request()
	if version == "" {
		return "fleetc chart add " + name
	}
	return "fleetc chart add " + name + " --version " + version
}

// oneLine makes text of a server, program or chart safe for messages: one printable
// line of limited length.
func oneLine(s string) string {
	const limit = 300
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit]) + "..."
	}
	return s
}
