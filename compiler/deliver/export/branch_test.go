package export

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/testdata/fleets"
)

// A server serves a bare repository with git's own HTTP server.
type server struct {
	url, bare string
	handler   http.Handler // replaces git when it is set
	home      string
	pushes    int
}

// serve makes a repository with the files on branch main; without files it is
// empty. The test has its own git configuration.
func serve(t *testing.T, files map[string]string) *server {
	t.Helper()
	s := &server{bare: filepath.Join(t.TempDir(), "clusters.git"), home: t.TempDir()}
	t.Setenv("HOME", s.home)
	t.Setenv("XDG_CONFIG_HOME", s.home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(s.home, "config"))
	s.configure(t, "user.name", "Ann Example")
	s.configure(t, "user.email", "ann@example.com")
	s.git(t, "init", "--quiet", "--bare", "--initial-branch=main", s.bare)
	s.git(t, "-C", s.bare, "config", "http.receivepack", "true")
	s.git(t, "-C", s.bare, "config", "uploadpack.allowFilter", "true")
	if len(files) > 0 {
		s.commit(t, "main", files)
	}
	backend := s.gitHandler()
	var mu sync.Mutex
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost {
			mu.Lock()
			s.pushes++
			mu.Unlock()
		}
		if s.handler != nil {
			s.handler.ServeHTTP(w, r)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(http.Close)
	s.url = http.URL + "/clusters.git"
	return s
}

func (s *server) configure(t *testing.T, key, value string) {
	t.Helper()
	s.git(t, "config", "--global", key, value)
}

func (s *server) git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// commit commits files to a branch like another client would. An empty content
// removes a file.
func (s *server) commit(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	s.git(t, "init", "--quiet", "--initial-branch="+branch, dir)
	if out, err := exec.Command("git", "-C", dir, "pull", "--quiet", s.bare, branch).CombinedOutput(); err != nil && !strings.Contains(string(out), "couldn't find remote ref") {
		t.Fatalf("%v\n%s", err, out)
	}
	fleets.Write(t, dir, files)
	s.git(t, "-C", dir, "add", "--force", "-A")
	s.git(t, "-C", dir, "commit", "--quiet", "--no-gpg-sign", "-m", "theirs")
	s.git(t, "-C", dir, "push", "--quiet", s.bare, "HEAD:refs/heads/"+branch)
}

// files returns the files of a branch, nil if it does not exist.
func (s *server) files(t *testing.T, branch string) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "-C", s.bare, "ls-tree", "-r", "--name-only", "refs/heads/"+branch).Output()
	if err != nil {
		return nil
	}
	files := map[string]string{}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		files[name] = s.git(t, "-C", s.bare, "cat-file", "blob", "refs/heads/"+branch+":"+name)
	}
	return files
}

func (s *server) tip(t *testing.T, branch string) string {
	t.Helper()
	return strings.TrimSpace(s.git(t, "-C", s.bare, "rev-parse", "refs/heads/"+branch))
}

func (s *server) open(t *testing.T) *Remote {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	r, err := OpenRemote(t.Context(), s.url, ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(filepath.Dir(r.dir)); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
	return r
}

// writes returns a Write that writes only the files whose content differs.
func writes(files map[string]string) func(context.Context, string, string) (BranchChange, error) {
	return func(_ context.Context, dir, _ string) (BranchChange, error) {
		c := BranchChange{Message: "export\n\nTool: test\n"}
		for name, text := range files {
			file := filepath.Join(dir, name)
			old, err := os.ReadFile(file)
			if err == nil && string(old) == text || err != nil && text == "" {
				continue
			}
			if text == "" {
				err = os.Remove(file)
			} else if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
				err = os.WriteFile(file, []byte(text), 0o644)
			}
			if err != nil {
				return c, err
			}
			c.Files = append(c.Files, name)
		}
		slices.Sort(c.Files)
		return c, nil
	}
}

func (s *server) push(t *testing.T, u BranchUpdate) (BranchResult, error) {
	t.Helper()
	r := s.open(t)
	results, err := r.Push(t.Context(), false, u)
	if len(results) == 1 {
		return results[0], err
	}
	return BranchResult{}, err
}

func (s *server) mustPush(t *testing.T, u BranchUpdate, want BranchState) BranchResult {
	t.Helper()
	before := s.pushes
	result, err := s.push(t, u)
	if err != nil {
		t.Fatal(err)
	}
	if result.State != want || result.Branch != u.Branch {
		t.Fatalf("%+v, want it %s", result, want)
	}
	pushes := map[BranchState]int{BranchCommitted: 1, BranchCreated: 1}[want]
	if s.pushes-before != pushes {
		t.Errorf("%d pushes, want %d", s.pushes-before, pushes)
	}
	return result
}

func branchWantFiles(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("files\n%v\nwant\n%v", got, want)
	}
}

func TestPush(t *testing.T) {
	s := serve(t, map[string]string{"README": "theirs\r\n", "clusters/a/x": "1\n", "other/big": "big\n", ".gitattributes": "* text=auto eol=crlf\n", ".gitignore": "y\n"})
	for _, path := range []string{"clusters", ""} {
		below := func(name string) string { return strings.TrimPrefix(path+"/"+name, "/") }
		u := BranchUpdate{Branch: "main", Path: path, Write: writes(map[string]string{"a/x": path + "2\r\n", "a/y": "3\n", "b/z": "4\n"})}
		result := s.mustPush(t, u, BranchCommitted)
		if got := s.tip(t, "main"); got != result.Commit {
			t.Errorf("the tip is %s, not %s", got, result.Commit)
		}
		got := s.files(t, "main")
		for name, want := range map[string]string{below("a/x"): path + "2\r\n", below("a/y"): "3\n", below("b/z"): "4\n", "README": "theirs\n", "other/big": "big\n"} {
			if got[name] != want {
				t.Errorf("%s: %q, want %q", name, got[name], want)
			}
		}
		if tip := s.mustPush(t, u, BranchUnchanged).Commit; tip != result.Commit {
			t.Errorf("the tip is %s, not %s", tip, result.Commit)
		}
		u.Write = writes(map[string]string{"a/y": ""})
		s.mustPush(t, u, BranchCommitted)
		if _, ok := s.files(t, "main")[below("a/y")]; ok {
			t.Error("a/y is still there")
		}
	}
	log := s.git(t, "-C", s.bare, "log", "--format=%an <%ae> %cn <%ce>%n%B", "-1", "main")
	if log != "Ann Example <ann@example.com> Ann Example <ann@example.com>\nexport\n\nTool: test\n\n" {
		t.Errorf("the commit says %q", log)
	}
	if n := s.git(t, "-C", s.bare, "rev-list", "--count", "main"); n != "5\n" {
		t.Errorf("%s commits", n)
	}
}

func TestNewBranch(t *testing.T) {
	s := serve(t, map[string]string{"README": "theirs"})
	u := BranchUpdate{Branch: "fleet/prod", Write: writes(map[string]string{"x": "1"})}
	s.mustPush(t, u, BranchCommitted)
	branchWantFiles(t, s.files(t, "fleet/prod"), map[string]string{"README": "theirs", "x": "1"})
	branchWantFiles(t, s.files(t, "main"), map[string]string{"README": "theirs"})
	s.mustPush(t, BranchUpdate{Branch: "same", Write: writes(nil)}, BranchCreated)
	if s.tip(t, "same") != s.tip(t, "main") {
		t.Error("a commit was made for nothing")
	}
	s.mustPush(t, BranchUpdate{Branch: "same", Write: writes(nil)}, BranchUnchanged)
}

func TestEmptyRepository(t *testing.T) {
	for _, path := range []string{"", "clusters/a"} {
		s := serve(t, nil)
		s.mustPush(t, BranchUpdate{Branch: "main", Path: path, Write: writes(nil)}, BranchUnchanged)
		u := BranchUpdate{Branch: "main", Path: path, Write: writes(map[string]string{"x": "1"})}
		s.mustPush(t, u, BranchCommitted)
		branchWantFiles(t, s.files(t, "main"), map[string]string{strings.TrimPrefix(path+"/x", "/"): "1"})
		s.mustPush(t, u, BranchUnchanged)
		r := s.open(t)
		if name, err := r.Default(t.Context()); name != "main" || err != nil {
			t.Errorf("%q, %v", name, err)
		}
	}
	s := serve(t, nil)
	if _, err := s.open(t).Default(t.Context()); err == nil || !strings.Contains(err.Error(), "has no default branch") {
		t.Errorf("got %v", err)
	}
}

// Others push before each of our first pushes, before or after git has read the
// position of the branch. Their changes stay, and Write runs again when they
// change our files.
func TestBranchMoves(t *testing.T) {
	s := serve(t, map[string]string{"ours/x": "0", "theirs/x": "0"})
	n, written := 0, 0
	git := s.gitHandler()
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks := r.URL.Query().Get("service") == "git-receive-pack"
		pushes := strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost
		if n < 2 && pushes || n >= 2 && n < 4 && asks {
			n++
			s.commit(t, "main", []map[string]string{
				{"theirs/x": "1"}, {"theirs/y": "2"}, {"ours/x": "3", "theirs/z": "3"}, {"README": "4"},
			}[n-1])
		}
		git.ServeHTTP(w, r)
	})
	writeFiles := writes(map[string]string{"x": "1", "y/z": "1"})
	result, err := s.push(t, BranchUpdate{Branch: "main", Path: "ours", Write: func(ctx context.Context, dir, base string) (BranchChange, error) {
		written++
		return writeFiles(ctx, dir, base)
	}})
	if err != nil || result.State != BranchCommitted {
		t.Fatalf("%+v, %v", result, err)
	}
	branchWantFiles(t, s.files(t, "main"), map[string]string{"README": "4", "ours/x": "1", "ours/y/z": "1", "theirs/x": "1", "theirs/y": "2", "theirs/z": "3"})
	if written != 2 {
		t.Errorf("written %d times, and others changed our files once", written)
	}
	if count := s.git(t, "-C", s.bare, "rev-list", "--count", "main"); count != "6\n" {
		t.Errorf("%s commits", count)
	}
}

// gitHandler returns git's own server.
func (s *server) gitHandler() http.Handler {
	path, _ := exec.Command("git", "--exec-path").Output()
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Stderr: os.Stderr,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(s.bare), "GIT_HTTP_EXPORT_ALL=1", "HOME=" + s.home},
	}
}

// A file of others in the place of our directory is not overwritten.
func TestBranchMovesWithConflict(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	n := 0
	git := s.gitHandler()
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost && n == 0 {
			n++
			s.commit(t, "main", map[string]string{"a": "theirs"})
		}
		git.ServeHTTP(w, r)
	})
	_, err := s.push(t, BranchUpdate{Branch: "main", Write: writes(map[string]string{"a/x": "1"})})
	if err == nil || s.files(t, "main")["a"] != "theirs" {
		t.Errorf("got %v and %v", err, s.files(t, "main"))
	}
}

// The branch is deleted during the push: it starts again from the default
// branch, or without history if it is the default branch itself.
func TestBranchIsDeleted(t *testing.T) {
	for _, branch := range []string{"fleet", "main"} {
		s := serve(t, map[string]string{"README": "0"})
		s.commit(t, "fleet", map[string]string{"old": "0"})
		git, n := s.gitHandler(), 0
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost && n == 0 {
				n++
				s.git(t, "-C", s.bare, "update-ref", "-d", "refs/heads/"+branch)
			}
			git.ServeHTTP(w, r)
		})
		if result, err := s.push(t, BranchUpdate{Branch: branch, Write: writes(map[string]string{"x": "1"})}); err != nil || result.State != BranchCommitted {
			t.Fatalf("%+v, %v", result, err)
		}
		want := map[string]string{"README": "0", "x": "1"}
		if branch == "main" {
			want = map[string]string{"x": "1"}
		}
		branchWantFiles(t, s.files(t, branch), want)
	}
}

// Concurrent pushes to one branch all succeed.
func TestConcurrentPushes(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	t.Setenv("TMPDIR", t.TempDir())
	const pushers = 5
	var all sync.WaitGroup
	for i := range pushers {
		all.Go(func() {
			r, err := OpenRemote(t.Context(), s.url, ".")
			if err == nil {
				_, err = r.Push(t.Context(), false, BranchUpdate{Branch: "main", Write: writes(map[string]string{fmt.Sprintf("c%d/x", i): "1"})})
				err = errors.Join(err, r.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if files := s.files(t, "main"); len(files) != pushers+1 {
		t.Errorf("the branch has %v", files)
	}
	if n := s.git(t, "-C", s.bare, "rev-list", "--count", "main"); n != fmt.Sprintf("%d\n", pushers+1) {
		t.Errorf("%s commits", n)
	}
}

func TestPullRequestBranch(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	u := BranchUpdate{Branch: "fleetc/prod", Onto: "main", Write: writes(map[string]string{"x": "1"})}
	first := s.mustPush(t, u, BranchCommitted)
	branchWantFiles(t, s.files(t, "main"), map[string]string{"README": "0"})
	branchWantFiles(t, s.files(t, "fleetc/prod"), map[string]string{"README": "0", "x": "1"})
	if retry := s.mustPush(t, u, BranchUnchanged); retry.Commit != first.Commit {
		t.Errorf("the tip is %s, not %s", retry.Commit, first.Commit)
	}
	// The base moves, and the branch follows it with one commit of ours.
	s.commit(t, "main", map[string]string{"README": "1"})
	u.Write = writes(map[string]string{"x": "2"})
	s.mustPush(t, u, BranchCommitted)
	branchWantFiles(t, s.files(t, "fleetc/prod"), map[string]string{"README": "1", "x": "2"})
	if n := s.git(t, "-C", s.bare, "rev-list", "--count", "main..fleetc/prod"); n != "1\n" {
		t.Errorf("%s commits", n)
	}
	// The change is merged in another way, and the branch stays.
	s.commit(t, "main", map[string]string{"x": "2"})
	tip := s.tip(t, "fleetc/prod")
	s.mustPush(t, u, BranchStale)
	if s.tip(t, "fleetc/prod") != tip {
		t.Error("the stale branch has moved")
	}
	s.mustPush(t, BranchUpdate{Branch: "fleetc/dev", Onto: "main", Write: writes(nil)}, BranchUnchanged)
	if s.files(t, "fleetc/dev") != nil {
		t.Error("there is a branch for nothing")
	}
	_, err := s.push(t, BranchUpdate{Branch: "fleetc/prod", Onto: "nothing", Write: writes(nil)})
	wantFault(t, err, "has no branch nothing")
	_, err = s.push(t, BranchUpdate{Branch: "main", Onto: "main", Write: writes(nil)})
	wantFault(t, err, "cannot be merged into itself")
}

// Nothing is pushed before all trees are written.
func TestAllOrNothing(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	wrong := errors.New("wrong")
	r := s.open(t)
	_, err := r.Push(t.Context(), false,
		BranchUpdate{Branch: "a", Onto: "main", Write: writes(map[string]string{"x": "1"})},
		BranchUpdate{Branch: "b", Onto: "main", Write: func(context.Context, string, string) (BranchChange, error) { return BranchChange{}, wrong }})
	if !errors.Is(err, wrong) || s.pushes != 0 {
		t.Errorf("%v and %d pushes", err, s.pushes)
	}
	results, err := r.Push(t.Context(), false,
		BranchUpdate{Branch: "a", Onto: "main", Write: writes(map[string]string{"x": "1"})},
		BranchUpdate{Branch: "b", Onto: "main", Write: writes(map[string]string{"x": "2"})})
	if err != nil || len(results) != 2 || s.files(t, "a")["x"] != "1" || s.files(t, "b")["x"] != "2" {
		t.Errorf("%v, %v", results, err)
	}
}

func TestBranchCheck(t *testing.T) {
	s := serve(t, map[string]string{"README": "0"})
	s.git(t, "config", "--global", "--unset", "user.name") // a check makes no commit and needs no name
	r := s.open(t)
	results, err := r.Push(t.Context(), true, BranchUpdate{Branch: "main", Write: writes(map[string]string{"x": "1"})},
		BranchUpdate{Branch: "new", Write: writes(nil)}, BranchUpdate{Branch: "main", Write: writes(nil)})
	want := []BranchResult{{Branch: "main", State: BranchCommitted}, {Branch: "new", State: BranchCreated, Commit: s.tip(t, "main")}, {Branch: "main", State: BranchUnchanged, Commit: s.tip(t, "main")}}
	if err != nil || !reflect.DeepEqual(results, want) || s.pushes != 0 {
		t.Errorf("%v, %v, %d pushes", results, err, s.pushes)
	}
}

func wantFault(t *testing.T, err error, want ...string) {
	t.Helper()
	found := diag.All(err)
	if len(found) != 1 {
		t.Fatalf("%d faults: %v", len(found), err)
	}
	var text strings.Builder
	if err := diag.WriteText(&text, err, func(file string) string { return file }); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		if !strings.Contains(text.String(), w) {
			t.Errorf("got %q, want %q in it", text.String(), w)
		}
	}
	if strings.Contains(text.String(), "secret") {
		t.Errorf("a password is shown: %s", text.String())
	}
}
