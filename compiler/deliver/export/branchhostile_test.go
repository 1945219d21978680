package export

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAddress(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a b%41", "c.git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]remoteAddress{
		"https://example.com/a.git":           {"https://example.com/a.git", "https://example.com/a.git", overNetwork},
		"https://secret:secret@example.com/a": {"https://secret:secret@example.com/a", "https://example.com/a", overNetwork},
		"http://secret@example.com:8080/a":    {"http://secret@example.com:8080/a", "http://example.com:8080/a", overNetwork},
		"ssh://git:secret@example.com/a":      {"ssh://git:secret@example.com/a", "ssh://git@example.com/a", overNetwork},
		"git@example.com:org/a.git":           {"git@example.com:org/a.git", "git@example.com:org/a.git", overNetwork},
		"example.com:a":                       {"example.com:a", "example.com:a", overNetwork},
		"file:///srv/a.git":                   {"file:///srv/a.git", "file:///srv/a.git", onMachine},
		"a b%41/c.git":                        {"file://" + dir + "/a%20b%2541/c.git", "a b%41/c.git", onMachine},
		filepath.Join(dir, "a b%41", "c.git"): {"file://" + dir + "/a%20b%2541/c.git", dir + "/a b%41/c.git", onMachine},
	} {
		if got, err := parseAddress(text, dir); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                     "there is no git repository at",
		"nothing":                              "there is no git repository at",
		"github.com/example/a":                 "there is no git repository at",
		"--upload-pack=touch x":                "there is no git repository at",
		"-oProxyCommand=x:y":                   "there is no git repository at",
		"a@-oProxyCommand=x:y":                 "there is no git repository at",
		"ext::sh -c x":                         "there is no git repository at",
		"ext::sh":                              "there is no git repository at",
		"ext://sh":                             `the scheme "ext" is not supported`,
		"git://example.com/a":                  `the scheme "git" is not supported`,
		"ssh://-oProxyCommand=x/y":             "is invalid",
		"https:///a":                           "is invalid",
		"file://host/a":                        "is invalid",
		"https://example.com/a b":              "is invalid",
		"https://example.com/a?token=secret":   "has a query",
		"https://example.com/a#main":           "--branch",
		"https://u:secret/secret@example.com/": "invalid git URL",
		"https://u:%secret@example.com/":       "invalid git URL",
		"https://exa\x1bmple.com/":             "invalid git URL",
	} {
		_, err := parseAddress(text, dir)
		if err == nil {
			t.Errorf("%q is an address", text)
			continue
		}
		wantFault(t, err, want)
		if strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("%q", err.Error())
		}
	}
}

func TestNames(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	for _, u := range []BranchUpdate{
		{Branch: ""},
		{Branch: "-f"},
		{Branch: "a b"},
		{Branch: "a..b"},
		{Branch: "a:b"},
		{Branch: "+a"},
		{Branch: "a.lock"},
		{Branch: "*"},
		{Branch: "a", Onto: "x y"},
		{Branch: "a", Path: "/etc"},
		{Branch: "a", Path: ".."},
		{Branch: "a", Path: "a/../../b"},
		{Branch: "a", Path: "a/"},
		{Branch: "a", Path: ".git/hooks"},
		{Branch: "a", Path: "x/.GIT"},
		{Branch: "a", Path: "*"},
		{Branch: "a", Path: "!a"},
		{Branch: "a", Path: "a\nb"},
		{Branch: "a", Path: "-a"},
		{Branch: "a", Path: "."},
	} {
		u.Write = writes(nil)
		_, err := s.push(t, u)
		if u.Branch == "+a" { // a valid name for git
			if err != nil {
				t.Error(err)
			}
			continue
		}
		wantFault(t, err, "hint: ")
	}
}

// The fault has the reason of a server that refuses.
func TestRefused(t *testing.T) {
	for _, hook := range []string{"pre-receive", "update"} {
		s := serve(t, map[string]string{"README": "0"})
		script := "#!/bin/sh\necho 'GH006: protected \x1b[31mbranch'\necho 'ask a reviewer' >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(s.bare, "hooks", hook), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := s.push(t, BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})})
		wantFault(t, err, "rejects the push to main: GH006: protected", "ask a reviewer", "hint: ask for permission to push to it")
		if strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("%q", err.Error())
		}
		branchWantFiles(t, s.files(t, "main"), map[string]string{"README": "0"})
		if s.pushes != 1 {
			t.Errorf("%d pushes", s.pushes)
		}
	}
}

// A branch cannot exist beside one whose name is a directory of its name. Git says so like
// of a branch that moves, and no retry helps.
func TestBranchInTheWay(t *testing.T) {
	for existing, want := range map[string]string{"fleetc": "fleetc/update/web", "fleetc/update/web/old": "fleetc/update/web"} {
		s := serve(t, map[string]string{"README": "0"})
		s.git(t, "-C", s.bare, "branch", existing, "main")
		_, err := s.push(t, BranchUpdate{Branch: want, Onto: "main", Owned: true, Write: writes(map[string]string{"x": "1"})})
		wantFault(t, err, "the branch "+want+" cannot exist beside the branch "+existing, "hint: remove "+existing+", or name another branch")
		if s.pushes != 1 {
			t.Errorf("%d pushes", s.pushes)
		}
	}
}

// A branch that is checked out needs another destination, not more rights.
func TestRefusedCheckedOut(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	s.git(t, "-C", s.bare, "worktree", "add", "--quiet", filepath.Join(t.TempDir(), "checkout"), "main")
	_, err := s.push(t, BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})})
	wantFault(t, err, "refusing to update checked out branch", "hint: push to a bare repository, or to a branch that is not checked out there")
}

// A server that cannot store the push is not a matter of permissions.
func TestRefusedUnpack(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	s.git(t, "-C", s.bare, "config", "receive.maxInputSize", "10")
	_, err := s.push(t, BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})})
	wantFault(t, err, "pack exceeds maximum allowed size", "hint: look at the server that has the repository")
}

// The hints of an update for a pull request do not name flags of fleetc export.
func TestHintsForPullRequests(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	u := BranchUpdate{Branch: "u", Onto: "nope", Owned: true, Write: writes(map[string]string{"x": "1"})}
	_, err := s.push(t, u)
	wantFault(t, err, "has no branch nope to merge into", "hint: name an existing branch with --branch\n")
	if err := os.WriteFile(filepath.Join(s.bare, "hooks", "update"), []byte("#!/bin/sh\necho no\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	u.Onto = "main"
	_, err = s.push(t, u)
	wantFault(t, err, "rejects the push to u: no", "hint: ask for permission to push to it\n")
}

// Retries end when a branch keeps moving.
func TestBranchKeepsMoving(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	r := s.open(t)
	a := &attempt{Remote: r, BranchUpdate: BranchUpdate{Branch: "main"}, count: maxAttempts}
	if a.retry(t.Context(), a.moved(nil)) {
		t.Error("there is no end")
	}
	wantFault(t, a.moved(nil), "main keeps moving")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.count = 0
	if a.retry(ctx, errMoved) || a.retry(t.Context(), errors.New("another")) {
		t.Error("it is tried again")
	}
}

func withPassword(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != "ann" || p != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Credentials come from git's helpers or from the address, and are never
// printed.
func TestCredentials(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	s.handler = withPassword(s.gitHandler())
	u := BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})}
	_, err := s.push(t, u)
	wantFault(t, err, s.url, "hint: run git ls-remote "+s.url)
	helper := filepath.Join(s.home, "helper")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\n[ \"$1\" = get ] && echo username=ann && echo password=secret\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.configure(t, "credential.helper", helper)
	s.mustPush(t, u, BranchCommitted)
	s.git(t, "config", "--global", "--unset", "credential.helper")

	plain := s.url
	s.url = strings.Replace(plain, "http://", "http://ann:secret@", 1)
	u.Write = writes(map[string]string{"x": "2"})
	if _, err := s.push(t, u); err != nil {
		t.Fatal(err)
	}
	s.url = strings.Replace(plain, "http://", "http://ann:secretwrong@", 1)
	_, err = s.push(t, u)
	wantFault(t, err, plain)
}

// Commits are signed with the user's configured key.
func TestSigned(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	key := filepath.Join(s.home, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	allowed := filepath.Join(s.home, "allowed")
	if err := os.WriteFile(allowed, []byte("ann@example.com "+string(public)), 0o644); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"gpg.format": "ssh", "user.signingKey": key, "commit.gpgSign": "true", "gpg.ssh.allowedSignersFile": allowed} {
		s.configure(t, k, v)
	}
	result := s.mustPush(t, BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})}, BranchCommitted)
	if out := s.git(t, "-C", s.bare, "verify-commit", result.Commit); !strings.Contains(out, `Good "git" signature for ann@example.com`) {
		t.Errorf("got %s", out)
	}
	s.configure(t, "user.signingKey", filepath.Join(s.home, "gone"))
	_, err = s.push(t, BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "2"})})
	wantFault(t, err, "git cannot make the commit: ", "gone")
}

func TestNoIdentity(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	s.git(t, "config", "--global", "--unset", "user.email")
	u := BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})}
	_, err := s.push(t, u)
	wantFault(t, err, "git has no name or address for the commit", "hint: run git config --global user.name NAME")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", who)
		t.Setenv("GIT_"+who+"_EMAIL", who+"@example.com")
	}
	s.mustPush(t, u, BranchCommitted)
	if log := s.git(t, "-C", s.bare, "log", "-1", "--format=%an %ce", "main"); log != "AUTHOR COMMITTER@example.com\n" {
		t.Errorf("got %s", log)
	}
}

// Hooks, filters, attributes, links and submodules of the repository neither
// run, nor write outside of the copy, nor change the content of commits.
func TestHostileRepository(t *testing.T) {
	outside := t.TempDir()
	s := serve(t, map[string]string{
		"clusters/.gitattributes": "y filter=evil ident text eol=crlf working-tree-encoding=UTF-16\nx ident\n", "clusters/x": "$Id$\n",
		".gitattributes": "* filter=evil export-subst\n", ".gitmodules": "[submodule \"a\"]\n\tpath = a\n\turl = ext::touch x\n",
	})
	ran := filepath.Join(outside, "ran")
	for _, what := range []string{"filter.evil.smudge", "filter.evil.clean", "core.fsmonitor"} {
		s.configure(t, what, "touch "+ran)
	}
	templates := filepath.Join(outside, "templates", "hooks")
	if err := os.MkdirAll(templates, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"pre-push", "post-checkout", "post-index-change", "reference-transaction"} {
		if err := os.WriteFile(filepath.Join(templates, hook), []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.configure(t, "init.templateDir", filepath.Dir(templates))
	text := "a\r\n$Id$\n"
	s.mustPush(t, BranchUpdate{Branch: "main", Path: "clusters", Write: writes(map[string]string{"y": text, "x": "$Id$\n"})}, BranchCommitted)
	if got := s.files(t, "main"); got["clusters/y"] != text || got["clusters/x"] != "$Id$\n" {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("something ran")
	}
	s.link(t, "out", outside)
	s.link(t, "clusters/deep", outside)
	_, err := s.push(t, BranchUpdate{Branch: "main", Path: "out", Write: writes(map[string]string{"z": "1"})})
	wantFault(t, err, "out is not a directory")
	_, err = s.push(t, BranchUpdate{Branch: "main", Path: "out/more", Write: writes(map[string]string{"z": "1"})})
	wantFault(t, err, "cannot add these files")
	if _, err := os.Stat(filepath.Join(outside, "z")); err == nil {
		t.Error("a file was written outside")
	}
	s.git(t, "-C", s.bare, "update-ref", "refs/heads/sub", s.gitlink(t, "a"))
	_, err = s.push(t, BranchUpdate{Branch: "sub", Path: "a", Write: writes(map[string]string{"z": "1"})})
	wantFault(t, err, "cannot add these files")
}

// link commits a symbolic link to main.
func (s *server) link(t *testing.T, name, to string) {
	t.Helper()
	dir := t.TempDir()
	s.git(t, "clone", "--quiet", "--template=", "-c", "core.fsmonitor=false", "-c", "filter.evil.smudge=cat", "-c", "filter.evil.clean=cat", s.bare, dir)
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	s.git(t, "-C", dir, "add", name)
	s.git(t, "-C", dir, "commit", "--quiet", "-m", "link")
	s.git(t, "-C", dir, "push", "--quiet", "origin", "HEAD:main")
}

// gitlink makes a commit with a submodule.
func (s *server) gitlink(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.Command("git", "-C", s.bare, "mktree", "--missing")
	cmd.Stdin = strings.NewReader("160000 commit 1111111111111111111111111111111111111111\t" + name + "\n")
	tree, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s.git(t, "-C", s.bare, "commit-tree", "-m", "sub", strings.TrimSpace(string(tree))))
}

// A server that does not answer, answers nonsense, or never ends its answer.
func TestHostileServer(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	u := BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})}
	for name, handler := range map[string]http.HandlerFunc{
		"gone":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", http.StatusInternalServerError) },
		"nonsense": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.handler = handler
			_, err := s.push(t, u)
			wantFault(t, err, s.url)
		})
	}
	s.handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.open(t).Push(ctx, false, u); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// A server that does not answer within the timeout of git's commands is a fault. When
// the command ends before, the error is that of the command.
func TestTimeout(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	s.handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	u := BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})}
	r := s.open(t)
	r.timeout = 50 * time.Millisecond
	_, err := r.Push(t.Context(), false, u)
	wantFault(t, err, s.url+" does not answer within 50ms")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r.timeout = gitTimeout
	if _, err := r.Push(ctx, false, u); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
}

// A server without support for filters.
func TestPlainServer(t *testing.T) {
	s := serve(t, map[string]string{"README": "0", "a/b/x": "1", "a/b/link": "2", "a/z": "0"})
	s.git(t, "-C", s.bare, "config", "uploadpack.allowFilter", "false")
	s.mustPush(t, BranchUpdate{Branch: "main", Path: "a/b", Write: writes(map[string]string{"x": "2", "link": ""})}, BranchCommitted)
	branchWantFiles(t, s.files(t, "main"), map[string]string{"README": "0", "a/b/x": "2", "a/z": "0"})
}

func TestLocalPath(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	s.url = s.bare
	r := s.open(t)
	results, err := r.Push(t.Context(), false, BranchUpdate{Branch: "main", Path: "a", Write: writes(map[string]string{"x": "2"})})
	if err != nil || len(results) != 1 || s.files(t, "main")["a/x"] != "2" {
		t.Errorf("%v, %v", results, err)
	}
}

// An interrupted push leaves the branch unchanged, and the next push succeeds.
func TestInterrupted(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	u := BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})}
	git := s.gitHandler()
	ctx, cancel := context.WithCancel(t.Context())
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost {
			cancel()
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done() // the client is gone
			return
		}
		git.ServeHTTP(w, r)
	})
	if _, err := s.open(t).Push(ctx, false, u); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	branchWantFiles(t, s.files(t, "main"), map[string]string{"README": "0"})
	s.handler = nil
	s.mustPush(t, u, BranchCommitted)
}

// A lost answer does not cause a second push.
func TestLostAnswer(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	git := s.gitHandler()
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost {
			git.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		git.ServeHTTP(w, r)
	})
	result := s.mustPush(t, BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})}, BranchCommitted)
	if result.Commit != s.tip(t, "main") {
		t.Errorf("%+v, and the tip is %s", result, s.tip(t, "main"))
	}
}
