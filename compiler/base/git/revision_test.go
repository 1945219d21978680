package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// runGit runs the user's git.
func runGit(t *testing.T, dir string, args ...string) string { return gitIn(t, dir, "", args...) }

func gitIn(t *testing.T, dir, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always",
	}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func commitAll(t *testing.T, dir string) string {
	t.Helper()
	runGit(t, dir, "add", "--all", "--force")
	runGit(t, dir, "commit", "--quiet", "--allow-empty", "--message=x")
	return runGit(t, dir, "rev-parse", "HEAD")
}

// fleet makes a repository with a fleet in the given directory of it.
func fleet(t *testing.T, below string, initial ...string) (repo, dir string) {
	t.Helper()
	// A separate TMPDIR, to check for files that are left over.
	t.Setenv("TMPDIR", t.TempDir())
	repo = t.TempDir()
	dir = filepath.Join(repo, below)
	runGit(t, repo, append([]string{"init", "--quiet"}, initial...)...)
	write(t, dir, map[string]string{
		"cue.mod/module.cue": "module: \"x.com/x\"\n", "environments/fleet.cue": "package fleet\n",
		"charts/web/values.yaml": "a: 1\n", "old.yaml": "old\n", "empty": "",
	})
	write(t, repo, map[string]string{"README.md": "x"})
	commitAll(t, repo)
	return repo, dir
}

// tree returns the files and links below a directory, with their contents and
// targets.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		if e.Type() == os.ModeSymlink {
			out[name], err = os.Readlink(file)
			out[name] = "-> " + out[name]
			return err
		}
		data, err := os.ReadFile(file)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantNothingLeft(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func wantFault(t *testing.T, err error, want ...string) {
	t.Helper()
	d, ok := errors.AsType[*diag.Diag](err)
	if !ok {
		t.Fatalf("got %v, want a fault", err)
	}
	for _, w := range want {
		if !strings.Contains(d.Msg+"\n"+d.Hint, w) {
			t.Errorf("got %q, hint %q, want %q", d.Msg, d.Hint, w)
		}
	}
}

func TestCheckout(t *testing.T) {
	for _, below := range []string{"", "infra/eu", "odd \xff\n\"name"} {
		for _, format := range []string{"sha1", "sha256"} {
			t.Run(fmt.Sprintf("%q %s", below, format), func(t *testing.T) {
				repo, dir := fleet(t, below, "--object-format="+format)
				odd := map[string]string{"a\xffb\n\t.txt": "odd", "ünï/cödé": "\x00\x01", "environments/:(top)": "magic", "-n": "dash"}
				write(t, dir, odd)
				link(t, "../../etc/passwd", filepath.Join(dir, "link"))
				link(t, "environments", filepath.Join(dir, "envs"))
				commitAll(t, repo)
				runGit(t, repo, "tag", "--annotate", "--message=x", "v1")
				want := tree(t, dir)
				for name := range want {
					if name == ".git" || strings.HasPrefix(name, ".git/") {
						delete(want, name)
					}
				}
				write(t, dir, map[string]string{"environments/fleet.cue": "package new\n", "new": ""})
				commitAll(t, repo)
				for _, ref := range []string{"v1", "HEAD~1", "main^", runGit(t, repo, "rev-parse", "v1^{commit}")} {
					root, done, err := Checkout(t.Context(), dir, ref)
					if err != nil {
						t.Fatal(err)
					}
					got := tree(t, root)
					delete(want, "README.md")
					delete(got, "README.md") // of the repository
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s: got %q, want %q", ref, got, want)
					}
					done()
					done()
					wantNothingLeft(t)
				}
			})
		}
	}
}

// Filters and other programs of the repository's configuration do not run, and
// attributes do not count.
func TestNothingRuns(t *testing.T) {
	repo, dir := fleet(t, "")
	write(t, dir, map[string]string{
		".gitattributes": "* text=auto eol=crlf export-subst filter=evil diff=evil ident\n*.yaml export-ignore\n", "id": "$Id$ $Format:%H$\n",
	})
	commitAll(t, repo)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.fsmonitor", "diff.evil.textconv", "core.pager", "core.sshCommand", "uploadpack.packObjectsHook"} {
		runGit(t, repo, "config", key, "touch "+ran)
	}
	root, done, err := Checkout(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if got := tree(t, root); got["id"] != "$Id$ $Format:%H$\n" || got["old.yaml"] != "old\n" {
		t.Errorf("got %q", got)
	}
	if got, err := Changed(t.Context(), dir, "HEAD"); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program was run")
	}
}

// As in a hook, git's variables name another repository.
func TestRevisionEnvironment(t *testing.T) {
	_, other := fleet(t, "")
	_, dir := fleet(t, "")
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_WORK_TREE", other)
	t.Setenv("GIT_INDEX_FILE", "nowhere")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	write(t, dir, map[string]string{"new": ""})
	if got, err := Changed(t.Context(), dir, "main"); err != nil || !slices.Equal(got, []string{"new"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestChanged(t *testing.T) {
	for _, below := range []string{"", "infra"} {
		repo, dir := fleet(t, below)
		write(t, dir, map[string]string{".gitignore": "ignored*\n", "same": "same", "was-link": "x", "sub/deep/gone": "x", "size": "abc", "bytes": "abc"})
		link(t, "same", filepath.Join(dir, "link"))
		link(t, "same", filepath.Join(dir, "same-link"))
		commitAll(t, repo)
		if got, err := Changed(t.Context(), dir, "HEAD"); err != nil || len(got) > 0 {
			t.Fatalf("got %q, %v", got, err)
		}
		write(t, dir, map[string]string{"size": "abcd", "bytes": "abd", "staged": "x", "untracked\xff": "x", "ignored/file": "x"})
		write(t, repo, map[string]string{"README.md": "not the fleet's"})
		runGit(t, dir, "add", "staged")
		runGit(t, dir, "mv", "old.yaml", "renamed.yaml")
		runGit(t, dir, "update-index", "--assume-unchanged", "bytes")
		for _, removed := range []string{"sub", "link", "was-link"} {
			if err := os.RemoveAll(filepath.Join(dir, removed)); err != nil {
				t.Fatal(err)
			}
		}
		link(t, "other", filepath.Join(dir, "link"))
		link(t, "same", filepath.Join(dir, "was-link"))
		if err := os.Chmod(filepath.Join(dir, "same"), 0o755); err != nil {
			t.Fatal(err)
		}
		want := []string{"bytes", "ignored/file", "link", "old.yaml", "renamed.yaml", "size", "staged", "sub/deep/gone", "untracked\xff", "was-link"}
		if below == "" {
			want = slices.Insert(want, 0, "README.md")
		}
		got, err := Changed(t.Context(), dir, "HEAD")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got  %q, %v\nwant %q", got, err, want)
		}
	}
}

// A submodule is empty in a checkout, and all its files count as changed.
func TestRevisionHead(t *testing.T) {
	repo, dir := fleet(t, "infra")
	hash := commitAll(t, repo)
	want := func(modified bool) {
		t.Helper()
		commit, got, err := Head(t.Context(), dir)
		if commit != strings.TrimSpace(runGit(t, repo, "rev-parse", "HEAD")) || got != modified || err != nil {
			t.Errorf("%s, %v, %v; want %s and %v", commit, got, err, hash, modified)
		}
	}
	want(false)
	write(t, dir, map[string]string{"out/of/it": "x"})
	write(t, repo, map[string]string{"beside": "x"})
	want(false)
	write(t, dir, map[string]string{"environments/new/cluster.cue": "x"})
	want(true)
	commitAll(t, repo)
	want(false)
	write(t, dir, map[string]string{"old.yaml": "another"})
	want(true)
	_, _, err := Head(t.Context(), t.TempDir())
	wantFault(t, err, "the fleet is not in a git repository")
}

func TestSubmodule(t *testing.T) {
	sub, _ := fleet(t, "")
	repo, dir := fleet(t, "")
	runGit(t, repo, "submodule", "--quiet", "add", "file://"+sub, "sub")
	commitAll(t, repo)
	root, done, err := Checkout(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if got := tree(t, root); got[".gitmodules"] == "" || got["sub/old.yaml"] != "" {
		t.Errorf("got %q", got)
	}
	got, err := Changed(t.Context(), dir, "HEAD")
	want := []string{"sub/README.md", "sub/charts/web/values.yaml", "sub/cue.mod/module.cue", "sub/empty", "sub/environments/fleet.cue", "sub/old.yaml"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWorktree(t *testing.T) {
	repo, _ := fleet(t, "infra")
	tree := filepath.Join(t.TempDir(), "tree")
	runGit(t, repo, "worktree", "add", "--quiet", "-b", "next", tree)
	write(t, tree, map[string]string{"infra/old.yaml": "new\n"})
	commitAll(t, tree)
	got, err := Changed(t.Context(), filepath.Join(tree, "infra"), "main")
	if err != nil || !slices.Equal(got, []string{"old.yaml"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFaults(t *testing.T) {
	repo, dir := fleet(t, "infra")
	runGit(t, repo, "branch", "release/eu")
	runGit(t, repo, "tag", "v1.0.0")
	alone := t.TempDir()
	write(t, alone, map[string]string{"cue.mod/module.cue": ""})
	later := filepath.Join(repo, "later")
	write(t, later, map[string]string{"cue.mod/module.cue": ""})
	runGit(t, repo, "init", "--quiet", "--bare", "bare.git")
	shallow := filepath.Join(t.TempDir(), "shallow")
	commitAll(t, repo)
	runGit(t, repo, "clone", "--quiet", "--depth=1", "file://"+repo, shallow)
	unborn := t.TempDir()
	write(t, unborn, map[string]string{"cue.mod/module.cue": ""})
	runGit(t, unborn, "init", "--quiet")
	orphan := runGit(t, repo, "commit-tree", "-m", "x", runGit(t, repo, "hash-object", "-t", "tree", "-w", os.DevNull))
	for name, c := range map[string]struct {
		dir, ref string
		want     []string
	}{
		"no repository":     {alone, "main", []string{"not in a git repository", "main", "run git init"}},
		"bare":              {filepath.Join(repo, "bare.git"), "main", []string{"a git repository without a working tree", "in a checkout"}},
		"no commits":        {unborn, "HEAD", []string{"the repository has no commits: cannot read HEAD", "then git commit"}},
		"no branch":         {dir, "mian", []string{"the repository has no commit mian", "did you mean main?"}},
		"no branch, deep":   {dir, "release/eu1", []string{"did you mean release/eu?"}},
		"no tag":            {dir, "v1.0.1", []string{"did you mean v1.0.0?"}},
		"nothing near":      {dir, "somethingelse", []string{"use one of main, release/eu, v1.0.0"}},
		"no hash":           {dir, strings.Repeat("0", 40), []string{"has no commit 000000"}},
		"empty":             {dir, "", []string{"the name of the commit is empty", "git:main"}},
		"an option":         {dir, "--git-dir", []string{"has no commit --git-dir"}},
		"control":           {dir, "\x1b[31m", []string{"has no commit \ufffd[31m"}},
		"a range":           {dir, "main..v1.0.0", []string{"has no commit main..v1.0.0"}},
		"a tree":            {dir, "main^{tree}", []string{"has no commit main^{tree}"}},
		"a file":            {dir, "main:README.md", []string{"has no commit main:README.md"}},
		"no directory":      {later, "v1.0.0", []string{"v1.0.0 has no fleet in this directory: later/cue.mod/module.cue is missing", "same directory"}},
		"no module":         {repo, "main", []string{"main has no fleet in this directory: cue.mod/module.cue is missing"}},
		"nothing":           {dir, orphan, []string{"has no fleet in this directory"}},
		"shallow":           {filepath.Join(shallow, "infra"), "v1.0.0~5", []string{"this shallow clone has no commit v1.0.0~5", "git fetch --unshallow"}},
		"shallow, a branch": {filepath.Join(shallow, "infra"), "origin/release/eu", []string{"this shallow clone has no commit origin/release/eu", "run git fetch origin release/eu:refs/remotes/origin/release/eu"}},
		"shallow, older":    {filepath.Join(shallow, "infra"), "origin/main~5", []string{"this shallow clone has no commit origin/main~5", "git fetch --unshallow"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, done, err := Checkout(t.Context(), c.dir, c.ref)
			done()
			wantFault(t, err, c.want...)
			_, err = Changed(t.Context(), c.dir, c.ref)
			wantFault(t, err, c.want...)
		})
	}
	wantNothingLeft(t)
}

func TestRevisionNoGit(t *testing.T) {
	_, dir := fleet(t, "")
	t.Setenv("PATH", t.TempDir())
	_, err := Changed(t.Context(), dir, "HEAD")
	wantFault(t, err, "needs the git command", "install git")
}

// A repository of another owner, which git does not trust, and an unreadable
// one.
func TestBrokenRepository(t *testing.T) {
	_, dir := fleet(t, "")
	write(t, dir, map[string]string{".git/config": "[core]\n\trepositoryformatversion = 99\n"})
	_, err := Changed(t.Context(), dir, "HEAD")
	wantFault(t, err, "git: ", "run git status")
}

func TestPartialClone(t *testing.T) {
	repo, _ := fleet(t, "")
	runGit(t, repo, "config", "uploadpack.allowFilter", "true")
	partial := filepath.Join(t.TempDir(), "partial")
	runGit(t, repo, "clone", "--quiet", "--no-checkout", "--filter=blob:none", "file://"+repo, partial)
	_, done, err := Checkout(t.Context(), partial, "HEAD")
	done()
	wantFault(t, err, "lacks files of HEAD", "run git fetch --refetch --no-filter")
	wantNothingLeft(t)
}

// A missing blob fails during the checkout.
func TestDamaged(t *testing.T) {
	_, dir := fleet(t, "")
	id := runGit(t, dir, "rev-parse", "HEAD:old.yaml")
	if err := os.Remove(filepath.Join(dir, ".git/objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	_, done, err := Checkout(t.Context(), dir, "HEAD")
	done()
	wantFault(t, err, "lacks files of HEAD")
	wantNothingLeft(t)
}

// commitTree commits a tree with the fleet's module and further lines of git
// mktree, in a repository without checks.
func commitTree(t *testing.T, dir string, lines []string) {
	t.Helper()
	module := runGit(t, dir, "rev-parse", "HEAD:cue.mod")
	id := gitIn(t, dir, strings.Join(append(lines, "040000 tree "+module+"\tcue.mod"), "\n")+"\n", "mktree")
	runGit(t, dir, "update-ref", "refs/heads/hostile", runGit(t, dir, "commit-tree", "-m", "x", id))
}

func TestTooManyFiles(t *testing.T) {
	_, dir := fleet(t, "")
	small := gitIn(t, dir, "x", "hash-object", "-w", "--stdin")
	large := gitIn(t, dir, strings.Repeat("x", 8<<20), "hash-object", "-w", "--stdin")
	for id, n := range map[string]int{small: maxFiles, large: maxBytes >> 23} {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf("100644 blob %s\tf%d", id, i))
		}
		commitTree(t, dir, lines)
		_, done, err := Checkout(t.Context(), dir, "hostile")
		done()
		wantFault(t, err, "hostile has more than 100000 files or 1024 MiB", "separate directory")
	}
	wantNothingLeft(t)
}

// Nested trees with more files than git could ever list.
func TestBomb(t *testing.T) {
	_, dir := fleet(t, "")
	id := gitIn(t, dir, "x", "hash-object", "-w", "--stdin")
	kind := "100644 blob"
	for range 10 {
		var lines []string
		for i := range 30 {
			lines = append(lines, fmt.Sprintf("%s %s\t%d", kind, id, i))
		}
		id, kind = gitIn(t, dir, strings.Join(lines, "\n")+"\n", "mktree"), "040000 tree"
	}
	commitTree(t, dir, []string{"040000 tree " + id + "\tbomb"})
	_, done, err := Checkout(t.Context(), dir, "hostile")
	done()
	if err == nil || !strings.Contains(err.Error(), "prints more than 16 MiB") {
		t.Errorf("got %v", err)
	}
}

// Names outside of the directory, and a link with the name of a directory.
func TestHostileNames(t *testing.T) {
	_, dir := fleet(t, "")
	outside := t.TempDir()
	blob := gitIn(t, dir, "x", "hash-object", "-w", "--stdin")
	target := gitIn(t, dir, outside, "hash-object", "-w", "--stdin")
	raw := func(entries ...string) string {
		var b strings.Builder
		for _, e := range entries {
			about, id, _ := strings.Cut(e, "@")
			b.WriteString(about + "\x00")
			for i := 0; i < len(id); i += 2 {
				var c byte
				if _, err := fmt.Sscanf(id[i:i+2], "%02x", &c); err != nil {
					t.Fatal(err)
				}
				b.WriteByte(c)
			}
		}
		return gitIn(t, dir, b.String(), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
	}
	module := runGit(t, dir, "rev-parse", "HEAD:cue.mod")
	for name, entries := range map[string][]string{
		"parent":   {"40000 cue.mod@" + module, "40000 ..@" + raw("100644 evil@"+blob)},
		"absolute": {"40000 @" + raw("100644 evil@"+blob), "40000 cue.mod@" + module},
		"slash":    {"100644 ../evil@" + blob, "40000 cue.mod@" + module},
		"link":     {"120000 a@" + target, "40000 a@" + raw("100644 evil@"+blob), "40000 cue.mod@" + module},
		"twice":    {"100644 a@" + blob, "100644 a@" + target, "40000 cue.mod@" + module},
	} {
		t.Run(name, func(t *testing.T) {
			id := raw(entries...)
			runGit(t, dir, "update-ref", "refs/heads/hostile", runGit(t, dir, "commit-tree", "-m", "x", id))
			_, done, err := Checkout(t.Context(), dir, "hostile")
			done()
			if err == nil && name != "twice" {
				t.Error("no error")
			}
			t.Log(err)
			if got := tree(t, outside); len(got) > 0 {
				t.Errorf("written outside: %v", got)
			}
			wantNothingLeft(t)
		})
	}
}

func TestInterrupted(t *testing.T) {
	_, dir := fleet(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	root, done, err := Checkout(ctx, dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for _, err = os.Stat(root); err == nil; _, err = os.Stat(root) {
		runtime.Gosched() // removed without a call of done
	}
	done()
	wantNothingLeft(t)
	if _, _, err := Checkout(ctx, dir, "HEAD"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := Changed(ctx, dir, "HEAD"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantNothingLeft(t)
}

// Some errors of git have a specific hint.
func TestErrorHint(t *testing.T) {
	const otherwise = "run git status"
	for text, want := range map[string]string{
		"fatal: bad object": otherwise,
		"error: unable to write symref for HEAD: No space left on device":                                                     "free disk space, or set TMPDIR to a directory with more space",
		"fatal: Unable to create temporary file '/r/shallow_XXXXXX': Permission denied\n":                                     "check the owner and the mode of the file and its directory",
		"warning: unable to access './config': Permission denied\nfatal: unable to access 'config': Permission denied":        "check the owner and the mode of the file and its directory",
		"git@example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.":                      otherwise,
		"fatal: detected dubious ownership in repository at '/a'\n\n\tgit config --global --add safe.directory /a\n\nSet x\n": "run git config --global --add safe.directory /a, or run fleetc as the owner of the repository",
	} {
		if got := (&Error{Text: text}).Hint(otherwise); got != want {
			t.Errorf("%q has the hint %q, want %q", text, got, want)
		}
	}
}

// A checkout is behind a commit that its history does not contain, unless the history is
// incomplete.
func TestIsBehind(t *testing.T) {
	dir := t.TempDir()
	runGit(t, dir, "init", "--quiet")
	first := commitAll(t, dir)
	second := commitAll(t, dir)
	last := commitAll(t, dir)
	shallow := t.TempDir()
	runGit(t, shallow, "clone", "--quiet", "--depth=1", "file://"+dir, ".")
	runGit(t, dir, "checkout", "--quiet", second)
	for _, c := range []struct {
		dir, commit string
		want        bool
	}{
		{dir, first, false},
		{dir, second, false},
		{dir, last, true},
		{dir, strings.Repeat("a", 40), true},
		{dir, "HEAD~1", false},
		{dir, "--help", false},
		{dir, "", false},
		{shallow, first, false},
		{t.TempDir(), first, false},
	} {
		if got := IsBehind(t.Context(), c.dir, c.commit); got != c.want {
			t.Errorf("%s is behind %q: %t, want %t", c.dir, c.commit, got, c.want)
		}
	}
}
