package export

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

const (
	forms = "write https://HOST/PATH, ssh://HOST/PATH, USER@HOST:PATH, or the path of a repository on this machine"

	overNetwork = "http:https:ssh"
	onMachine   = overNetwork + ":file"
)

// A remoteAddress is the parsed address of a repository.
type remoteAddress struct {
	url       string // URL for git, may contain credentials
	name      string // name for messages, without credentials
	protocols string // protocols that git may use, as GIT_ALLOW_PROTOCOL lists them
}

// hostPath matches the short form of ssh addresses, such as git@host:path. It
// matches neither options nor git's ext::sh, which names a program.
var hostPath = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:\s\\-][^\s\\]*$`)

// parseAddress parses the address of a repository. A relative path is relative to dir.
func parseAddress(text, dir string) (remoteAddress, error) {
	if strings.Contains(text, "://") {
		return parseURL(text)
	}
	if hostPath.MatchString(text) {
		return remoteAddress{text, text, overNetwork}, nil
	}
	file := text
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return remoteAddress{}, fmt.Errorf("find the repository %s: %w", text, err)
	}
	if info, err := os.Stat(file); text == "" || err != nil || !info.IsDir() {
		return remoteAddress{}, &diag.Diag{
			Code: diag.CodeGitAddress,
			Msg:  fmt.Sprintf("there is no git repository at %q", diag.Visible(text, diag.MaxText)),
			Hint: "correct the path, or " + forms,
		}
	}
	return remoteAddress{(&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String(), text, onMachine}, nil
}

func parseURL(text string) (remoteAddress, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The error repeats the URL, credentials and all.
		if parsed, ok := errors.AsType[*url.Error](err); ok {
			err = parsed.Err
		}
		return remoteAddress{}, &diag.Diag{Code: diag.CodeGitAddress, Msg: "invalid git URL: " + hidden(err.Error()), Hint: forms}
	}
	a := remoteAddress{text, "", overNetwork}
	switch {
	case !slices.Contains([]string{"https", "http", "ssh", "file"}, u.Scheme):
		return a, &diag.Diag{Code: diag.CodeGitAddress, Msg: fmt.Sprintf("the scheme %q is not supported", u.Scheme), Hint: forms}
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return a, &diag.Diag{Code: diag.CodeGitAddress, Msg: "the git URL of " + u.Host + " has a query or a fragment", Hint: "leave it out; name the branch with --branch"}
	case u.Scheme != "file" && u.Hostname() == "", u.Scheme == "file" && u.Host != "",
		strings.HasPrefix(u.Host, "-"), strings.HasPrefix(u.User.Username(), "-"), strings.ContainsFunc(text, needsEscape):
		return a, &diag.Diag{Code: diag.CodeGitAddress, Msg: "the git URL of " + diag.Visible(u.Host, diag.MaxText) + " is invalid", Hint: forms}
	}
	if u.Scheme == "file" {
		a.protocols = onMachine
	}
	// The user name of an http URL is often a token, too.
	named := *u
	named.User = nil
	if u.Scheme == "ssh" && u.User.Username() != "" {
		named.User = url.User(u.User.Username())
	}
	a.name = named.String()
	return a, nil
}

// hidden returns the message of a URL parser up to the first quote, since it
// quotes the URL.
func hidden(text string) string {
	text, _, _ = strings.Cut(text, `"`)
	return strings.TrimRight(text, ": ")
}

func needsEscape(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }

// directoryPath matches a directory in a repository.
var directoryPath = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`)

// checkPath returns a fault for a path that is not a directory in a repository.
func checkPath(dir string) error {
	legal := dir == "" || directoryPath.MatchString(dir)
	for part := range strings.SplitSeq(strings.ToLower(dir), "/") {
		legal = legal && part != "." && part != ".." && part != ".git" && !strings.HasPrefix(part, "-")
	}
	if legal {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeGitAddress,
		Msg:  fmt.Sprintf("%q is not a valid directory in a repository", diag.Visible(dir, diag.MaxText)),
		Hint: "write a path from the top of the repository, with letters, digits, dashes, underscores, dots and slashes",
	}
}

// checkBranch returns a fault for an invalid branch name.
func checkBranch(name string) error {
	if IsBranchName(name) {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeGitAddress,
		Msg:  fmt.Sprintf("%q is not a valid branch name", diag.Visible(name, diag.MaxText)),
		Hint: BranchHint(name),
	}
}

// BranchHint returns what to do about an invalid branch name.
func BranchHint(name string) string {
	if short, ok := strings.CutPrefix(name, "refs/heads/"); ok && IsBranchName(short) {
		return "write " + short + " without refs/heads/"
	}
	if isOtherRef(name) {
		return "write the name of a branch, such as main"
	}
	return "use letters, digits, dashes and slashes, without a slash at the end"
}

// isOtherRef reports whether git understands a name as another reference than the branch: a
// branch refs/heads/main would be the reference refs/heads/refs/heads/main.
func isOtherRef(name string) bool {
	return name == "HEAD" || name == "@" || strings.HasPrefix(name, "refs/")
}

// IsBranchName reports whether a branch can have the name, by the rules of
// git-check-ref-format(1). A name that begins with a dash would be an option of git. Names
// that git understands otherwise, such as HEAD, are mistakes.
func IsBranchName(name string) bool {
	if isOtherRef(name) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	return name[0] != '-' && !strings.HasSuffix(name, ".") && !strings.Contains(name, "..") && !strings.Contains(name, "@{")
}
