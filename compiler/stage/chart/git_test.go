package chart

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// runGit runs the git command.
func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "init.defaultBranch=main",
		"-c", "protocol.file.allow=always",
	}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A gitServer serves one repository, repo.git.
type gitServer struct {
	dir    string // served directory
	work   string // work tree
	server *httptest.Server
	old    atomic.Bool // use an old protocol version, which serves only commits that refs point to
	fail   atomic.Bool
}

func newGit(t *testing.T) *gitServer {
	t.Helper()
	g := &gitServer{dir: t.TempDir(), work: t.TempDir()}
	runGit(t, g.dir, "init", "--quiet", "--bare", "repo.git")
	runGit(t, g.work, "init", "--quiet")
	backend := cgi.Handler{
		Path:   filepath.Join(runGit(t, g.dir, "--exec-path"), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + g.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
		Stderr: io.Discard,
	}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if g.fail.Load() {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		if g.old.Load() {
			req.Header.Del("Git-Protocol")
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(g.server.Close)
	return g
}

// commit commits the files and returns the commit.
func (g *gitServer) commit(t *testing.T, files map[string]string) string {
	t.Helper()
	write(t, g.work, files)
	runGit(t, g.work, "add", "--all", "--force")
	runGit(t, g.work, "commit", "--quiet", "--message=x")
	runGit(t, g.work, "push", "--quiet", "--mirror", "file://"+g.dir+"/repo.git")
	return runGit(t, g.work, "rev-parse", "HEAD")
}

func (g *gitServer) urls() []string {
	return []string{g.server.URL + "/repo.git", "file://" + filepath.ToSlash(g.dir) + "/repo.git"}
}

func webFiles(version string) map[string]string {
	return map[string]string{
		"charts/web/Chart.yaml":       chartYAML("web", version),
		"charts/web/templates/a.yaml": "a",
		"charts/web/templates-b":      "b",
		"charts/web/.helmignore":      "ci/\n",
		"charts/web/ci/values.yaml":   "c",
		"README.md":                   "x",
	}
}

func TestGit(t *testing.T) {
	s := source(t)
	g := newGit(t)
	first := g.commit(t, webFiles("1.0.0"))
	runGit(t, g.work, "tag", "--annotate", "--message=x", "v1.0.0")
	runGit(t, g.work, "branch", "release/1")
	second := g.commit(t, webFiles("2.0.0"))
	digests := map[string]string{}
	for _, url := range g.urls() {
		for ref, want := range map[string]string{"": second, "main": second, "v1.0.0": first, "release/1": first, "refs/tags/v1.0.0": first, first: first, first[:9]: first} {
			got, err := s.Resolve(t.Context(), Request{Ref: "git+" + url + "//charts/web", Version: ref})
			if err != nil {
				t.Fatalf("%q: %v", ref, err)
			}
			pin := fleet.ChartRef{Git: fleet.GitRef{URL: url, Ref: want, Path: "charts/web"}, Digest: got.Ref.Digest}
			if got.Ref != pin || got.Name != "web" || digests[want] != "" && digests[want] != got.Ref.Digest {
				t.Errorf("%q: got %+v, want %+v", ref, got, pin)
			}
			digests[want] = got.Ref.Digest
		}
		fresh := &Source{Cache: t.TempDir()}
		c, err := fresh.Chart(t.Context(), fleet.ChartRef{Git: fleet.GitRef{URL: url, Ref: first, Path: "charts/web"}, Digest: digests[first]})
		if err != nil {
			t.Fatal(err)
		}
		if got := names(c.Files); !slices.Equal(got, []string{".helmignore", "Chart.yaml", "templates-b", "templates/a.yaml"}) {
			t.Errorf("got %v", got)
		}
		if left, _ := os.ReadDir(store{fresh.Cache}.work()); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		// The digest pins the content of a branch.
		_, err = fresh.Chart(t.Context(), fleet.ChartRef{Git: fleet.GitRef{URL: url, Ref: "main", Path: "charts/web"}, Digest: "sha256:" + strings.Repeat("0", 64)})
		wantFault(t, err, digests[second], strings.Repeat("0", 64), "fleetc chart add git+"+url+"//charts/web --version main")
	}
	if digests[first] == digests[second] {
		t.Error("two commits have one digest")
	}
	g.server.Close()
	if _, err := nextRun(s).Chart(t.Context(), fleet.ChartRef{Git: fleet.GitRef{URL: g.urls()[0], Ref: first, Path: "charts/web"}, Digest: digests[first]}); err != nil {
		t.Errorf("with the server gone: %v", err)
	}
}

func TestRelativeCache(t *testing.T) {
	s := source(t)
	g := newGit(t)
	g.commit(t, webFiles("1.0.0"))
	t.Chdir(t.TempDir())
	s.Cache = "cache"
	got, err := s.Resolve(t.Context(), Request{Ref: "git+" + g.urls()[0] + "//charts/web"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat((store{"cache"}).file(got.Ref.Digest)); err != nil {
		t.Error(err)
	}
}

func TestGitRootChart(t *testing.T) {
	s := source(t)
	g := newGit(t)
	g.commit(t, map[string]string{"Chart.yaml": chartYAML("web", "1.0.0"), "values.yaml": "a: 1\n"})
	for _, path := range []string{"", "//", "//."} {
		got, err := s.Resolve(t.Context(), Request{Ref: "git+" + g.urls()[0] + path})
		if err != nil || got.Ref.Git.Path != "" || got.Ref.Git.URL != g.urls()[0] {
			t.Errorf("%q: got %+v, %v", path, got, err)
		}
	}
}

// TestGitServerRefusesCommits uses an old protocol version, which refuses commits
// that no ref points to.
func TestGitServerRefusesCommits(t *testing.T) {
	s := source(t)
	g := newGit(t)
	first := g.commit(t, webFiles("1.0.0"))
	g.commit(t, webFiles("2.0.0"))
	g.old.Store(true)
	got, err := s.Resolve(t.Context(), Request{Ref: "git+" + g.urls()[0] + "//charts/web", Version: first})
	if err != nil || got.Version != "1.0.0" || got.Ref.Git.Ref != first {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = s.Resolve(t.Context(), Request{Ref: "git+" + g.urls()[0] + "//charts/web", Version: strings.Repeat("0", 40)})
	wantFault(t, err, "has no commit 0000000000")
}

func TestGitFaults(t *testing.T) {
	s := source(t)
	g := newGit(t)
	files := webFiles("1.0.0")
	files["charts/big/Chart.yaml"], files["charts/big/a"] = chartYAML("big", "1.0.0"), strings.Repeat("a", maxFile+1)
	files["charts/odd/Chart.yaml"], files["charts/odd/a\x01"] = chartYAML("odd", "1.0.0"), ""
	files["charts/link/Chart.yaml"], files["charts/module/Chart.yaml"] = chartYAML("link", "1.0.0"), chartYAML("module", "1.0.0")
	write(t, g.work, files)
	link(t, "/etc/passwd", filepath.Join(g.work, "charts/link/passwd"))
	sub := newGit(t)
	sub.commit(t, map[string]string{"x": "x"})
	runGit(t, g.work, "submodule", "--quiet", "add", sub.urls()[1], "charts/module/sub")
	g.commit(t, files)
	url := g.urls()[0]
	for name, c := range map[string]struct {
		ref, version string
		want         []string
	}{
		"no branch":     {url + "//charts/web", "mian", []string{url + " has no branch or tag mian", "did you mean main?"}},
		"no path":       {url + "//charts/wbe", "", []string{"has no chart in charts/wbe at HEAD", "did you mean //charts/web?"}},
		"no chart":      {url + "//charts", "", []string{"has no chart in charts", "//charts/"}},
		"no chart, top": {url, "", []string{"has no chart at its root", "//charts/web"}},
		"a file":        {url + "//README.md", "", []string{"has no chart in README.md"}},
		"link":          {url + "//charts/link", "", []string{"passwd is a symbolic link to /etc/passwd, which is outside of the repository", "put the files into the chart"}},
		"submodule":     {url + "//charts/module", "", []string{"sub is a submodule"}},
		"large":         {url + "//charts/big", "", []string{"a is larger than 5 MiB"}},
		"odd name":      {url + "//charts/odd", "", []string{"has a control character"}},
		"no repository": {strings.TrimSuffix(url, "repo.git") + "x.git", "", []string{"/x.git: repository", "not found", "run git ls-remote"}},
		"no directory":  {"file:///nowhere/at/all", "", []string{"nowhere/at/all", "run git ls-remote"}},
		"an option":     {url, "--upload-pack=touch", []string{"is not a git ref"}},
		"a refspec":     {url, "main:main", []string{"is not a git ref"}},
		"a walk":        {url, "main..x", []string{"is not a git ref"}},
		"upwards":       {url + "//../x", "", []string{"is not a path in a git repository"}},
		"ext":           {"ext::sh -c x://y", "", []string{"not supported for charts"}},
		"ext URL":       {"ext://sh", "", []string{`the scheme "ext" is not supported for charts`}},
		"ssh option":    {"ssh://-oProxyCommand=x/y", "", []string{"characters that are not valid in a URL"}},
		"ssh user":      {"ssh://-oProxyCommand=x@h/y", "", []string{"characters that are not valid in a URL"}},
		"password":      {"https://me:hunter2@h/y", "", []string{"has credentials in it", "credential helper"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Resolve(t.Context(), Request{Ref: "git+" + c.ref, Version: c.version})
			wantFault(t, err, c.want...)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret in %v", err)
			}
		})
	}
	g.fail.Store(true)
	_, err := s.Resolve(t.Context(), Request{Ref: "git+" + url})
	wantFault(t, err, url+": unable to access", "403", "run git ls-remote "+url)
}

func TestGitCancel(t *testing.T) {
	s := source(t)
	ctx, cancel := context.WithCancel(t.Context())
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { cancel(); <-req.Context().Done() }))
	defer slow.Close()
	_, err := s.Resolve(ctx, Request{Ref: "git+" + slow.URL + "/repo.git"})
	if _, isFault := errors.AsType[*diag.Diag](err); !errors.Is(err, context.Canceled) || isFault {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(store{s.Cache}.work()); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestGitIgnoresItsSurroundings(t *testing.T) {
	s := source(t)
	g := newGit(t)
	g.commit(t, webFiles("1.0.0"))
	hooks := t.TempDir()
	trace := filepath.Join(t.TempDir(), "ran")
	write(t, hooks, map[string]string{"reference-transaction": "#!/bin/sh\ntouch " + trace + "\n"})
	if err := os.Chmod(filepath.Join(hooks, "reference-transaction"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config")
	write(t, filepath.Dir(config), map[string]string{"config": "[core]\n\thooksPath = " + hooks + "\n[safe]\n\tbareRepository = explicit\n" +
		"[protocol]\n\tallow = always\n[url \"ext::touch " + trace + " #\"]\n\tinsteadOf = https://evil.example.com/\n"})
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
	t.Setenv("GIT_WORK_TREE", t.TempDir())
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	t.Setenv("GIT_TERMINAL_PROMPT", "1")
	if _, err := s.Resolve(t.Context(), Request{Ref: "git+" + g.urls()[0] + "//charts/web"}); err != nil {
		t.Error(err)
	}
	_, err := s.Resolve(t.Context(), Request{Ref: "git+https://evil.example.com/x"})
	wantFault(t, err, "transport 'ext' not allowed")
	if _, err := os.Stat(trace); err == nil {
		t.Error("a hook or another program ran")
	}
}

func TestGitIsMissing(t *testing.T) {
	s := source(t)
	t.Setenv("PATH", t.TempDir())
	_, err := s.Resolve(t.Context(), Request{Ref: "git+https://example.com/x"})
	wantFault(t, err, "needs the git command", "install git")
}
