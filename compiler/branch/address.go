package branch

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
)

const (
	forms = "write https://HOST/PATH, ssh://HOST/PATH, USER@HOST:PATH, or the path of a repository on this machine"

	overNetwork = "http:https:ssh"
	onMachine   = overNetwork + ":file"
)

// An address is where a repository is.
type address struct {
	url       string // as git takes it, maybe with credentials
	name      string // as people may see it, without
	protocols string // that git may use for it
}

// hostPath matches the short form of ssh: nothing in it can be an option, or the
// name of a program as in ext::sh.
var hostPath = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:\s\\-][^\s\\]*$`)

// parse reads the address of a repository as users write it; a path is one from
// the directory dir.
func parse(text, dir string) (address, error) {
	if strings.Contains(text, "://") {
		return parseURL(text)
	}
	if hostPath.MatchString(text) {
		return address{text, text, overNetwork}, nil
	}
	file := text
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return address{}, fmt.Errorf("find the repository %s: %w", text, err)
	}
	if info, err := os.Stat(file); text == "" || err != nil || !info.IsDir() {
		return address{}, &diag.Diag{
			Msg:  fmt.Sprintf("%q is not the address of a git repository", diag.Visible(text, diag.MaxText)),
			Hint: forms,
		}
	}
	return address{(&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String(), text, onMachine}, nil
}

func parseURL(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The error repeats the URL, credentials and all.
		if parsed, ok := errors.AsType[*url.Error](err); ok {
			err = parsed.Err
		}
		return address{}, &diag.Diag{Msg: "a git URL that cannot be read: " + hidden(err.Error()), Hint: forms}
	}
	a := address{text, "", overNetwork}
	switch {
	case !slices.Contains([]string{"https", "http", "ssh", "file"}, u.Scheme):
		return a, &diag.Diag{Msg: fmt.Sprintf("the scheme %q is not one to push to", u.Scheme), Hint: forms}
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return a, &diag.Diag{Msg: "the git URL of " + u.Host + " has a query or a fragment", Hint: "leave it out; name the branch with --branch"}
	case u.Scheme != "file" && u.Hostname() == "", u.Scheme == "file" && u.Host != "",
		strings.HasPrefix(u.Host, "-"), strings.HasPrefix(u.User.Username(), "-"), strings.ContainsFunc(text, notPlain):
		return a, &diag.Diag{Msg: "the git URL of " + diag.Visible(u.Host, diag.MaxText) + " is not one that git can use", Hint: forms}
	}
	if u.Scheme == "file" {
		a.protocols = onMachine
	}
	// Of http, the name is often a token too.
	named := *u
	named.User = nil
	if u.Scheme == "ssh" && u.User.Username() != "" {
		named.User = url.User(u.User.Username())
	}
	a.name = named.String()
	return a, nil
}

// hidden is what the parser of URLs says, without the part of the URL that it
// quotes.
func hidden(text string) string {
	text, _, _ = strings.Cut(text, `"`)
	return strings.TrimRight(text, ": ")
}

func notPlain(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }

// pathForm matches a directory in a repository.
var pathForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`)

// checkPath checks a directory in a repository.
func checkPath(dir string) error {
	legal := dir == "" || pathForm.MatchString(dir)
	for part := range strings.SplitSeq(strings.ToLower(dir), "/") {
		legal = legal && part != "." && part != ".." && part != ".git" && !strings.HasPrefix(part, "-")
	}
	if legal {
		return nil
	}
	return &diag.Diag{
		Msg:  fmt.Sprintf("%q is no directory for a tree in a repository", diag.Visible(dir, diag.MaxText)),
		Hint: "write its path from the top of the repository, of letters, digits, dashes, underscores and dots",
	}
}
