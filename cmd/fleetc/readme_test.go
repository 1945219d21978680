package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"cuelang.org/go/cue/format"
	"go.yaml.in/yaml/v3"
)

// TestReadme executes README.md and docs: it writes the files, runs the
// commands and compares their output. The tour of the README starts in an
// empty directory beside this repository; the first screen and the pages of
// docs continue in copies of its fleet, but pages that start a fleet begin in an
// empty directory beside an unpacked release.
func TestReadme(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.Symlink(top, filepath.Join(work, "fleetc")); err != nil {
		t.Fatal(err)
	}
	readme := readPage(t, "README.md")
	firstScreen := slices.IndexFunc(readme.blocks, func(b block) bool { return b.section != "" })
	infra := filepath.Join(work, "infra")
	if err := os.Mkdir(infra, 0o755); err != nil {
		t.Fatal(err)
	}
	tour := page{readme.file, readme.text, readme.blocks[firstScreen:]}
	if n := tour.follow(t, work, infra); n < 15 {
		t.Fatalf("README.md: %d commands in the tour", n)
	}
	if err := os.RemoveAll(filepath.Join(infra, "clusters")); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(docs(t), page{"README.md, first screen", "", readme.blocks[:firstScreen]}) {
		t.Run(strings.TrimSuffix(filepath.Base(p.file), ".md"), func(t *testing.T) {
			t.Parallel()
			if p.startsEmpty() {
				home := t.TempDir()
				unpackCharts(t, filepath.Join(home, "fleetc"))
				dir := filepath.Join(home, "fleet")
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				p.follow(t, home, dir)
				return
			}
			dir, err := os.MkdirTemp(work, "infra-")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(dir, os.DirFS(infra)); err != nil {
				t.Fatal(err)
			}
			p.follow(t, work, dir)
		})
	}
}

// unpackCharts writes the charts that archives of releases contain, as
// .goreleaser.yaml lists them, to a directory.
func unpackCharts(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Archives []struct{ Files []struct{ Src, Dst string } }
	}
	if err := yaml.Unmarshal(data, &config); err != nil || len(config.Archives) != 1 {
		t.Fatalf("%d archives, %v", len(config.Archives), err)
	}
	for _, f := range config.Archives[0].Files {
		chart, isChart := strings.CutPrefix(f.Src, "testdata/charts/")
		if !isChart {
			continue
		}
		source := filepath.Join("../../testdata/charts", strings.TrimSuffix(chart, "/**"))
		if err := os.CopyFS(filepath.Join(dir, f.Dst), os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
	}
}

// A page is a Markdown file, named relative to the repository.
type page struct {
	file, text string
	blocks     []block
}

// startsEmpty reports whether the first command of the page starts a fleet.
func (p page) startsEmpty() bool {
	i := slices.IndexFunc(p.blocks, func(b block) bool { return b.lang == "console" })
	return i >= 0 && strings.HasPrefix(p.blocks[i].lines[0], "$ fleetc init ")
}

// A block is a fenced block of a page.
type block struct {
	section string // the heading above it; empty before the first heading
	lang    string
	line    int // of the first line inside
	lines   []string

	rewrites *rewrites // of the page
}

// rewrites are outputs of commands that -update writes into a page.
type rewrites struct {
	file string // from the top of the repository

	mu   sync.Mutex
	todo []rewrite
}

// rewrite replaces lines of a page.
type rewrite struct {
	line, lines int // the first line, from 1, and how many
	text        string
}

// add notes what a command prints in place of some lines.
func (r *rewrites) add(line, lines int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.todo = append(r.todo, rewrite{line, lines, text})
}

// write writes the page again when outputs differ.
func (r *rewrites) write(t *testing.T) {
	t.Helper()
	if len(r.todo) == 0 {
		return
	}
	file := filepath.Join("../..", r.file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	slices.SortFunc(r.todo, func(a, b rewrite) int { return b.line - a.line })
	for _, w := range r.todo {
		lines = slices.Replace(lines, w.line-1, w.line-1+w.lines, w.text)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

func docs(t *testing.T) []page {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d pages in docs, %v", len(files), err)
	}
	var pages []page
	for _, f := range files {
		pages = append(pages, readPage(t, "docs/"+filepath.Base(f)))
	}
	return pages
}

func readPage(t *testing.T, file string) page {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	p := page{file: file, text: string(data)}
	outputs := &rewrites{file: file}
	t.Cleanup(func() { outputs.write(t) })
	var section string
	var open *block
	for i, line := range strings.Split(p.text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{section: section, lang: fence, line: i + 2, rewrites: outputs}
		case isFence:
			p.blocks = append(p.blocks, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		case strings.HasPrefix(line, "##"):
			section = strings.TrimLeft(line, "# ")
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block does not end", file, open.line)
	}
	return p
}

// fileName matches the first line of a block that shows a whole file.
var fileName = regexp.MustCompile(`^// ([a-z0-9/_.-]+\.cue)$`)

// follow executes the page in dir, and returns the number of commands.
func (p page) follow(t *testing.T, home, dir string) (commands int) {
	t.Helper()
	for _, b := range p.blocks {
		at := fmt.Sprintf("%s:%d", p.file, b.line)
		switch b.lang {
		case "cue":
			text := strings.Join(b.lines, "\n") + "\n"
			if formatted, err := format.Source([]byte(text)); err != nil {
				t.Errorf("%s: %v", at, err)
			} else if string(formatted) != text {
				t.Errorf("%s: cue fmt would write\n%s", at, formatted)
			}
			if m := fileName.FindStringSubmatch(b.lines[0]); m != nil {
				writeFile(t, dir, m[1], text)
			}
		case "console":
			commands += b.run(t, at, home, dir)
		case "yaml":
			var v any
			if err := yaml.Unmarshal([]byte(strings.Join(b.lines, "\n")), &v); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		case "sh", "text", "json", "jsonnet":
		default:
			t.Errorf("%s: a block of %q", at, b.lang)
		}
	}
	return commands
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if !filepath.IsLocal(name) {
		t.Fatalf("%s is not below the fleet", name)
	}
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs the commands of a block, which follow "$ ", and compares their
// output with the next lines.
func (b block) run(t *testing.T, at, home, dir string) (commands int) {
	t.Helper()
	if len(b.lines) == 0 || !strings.HasPrefix(b.lines[0], "$ ") {
		t.Fatalf("%s: the block does not start with a command", at)
	}
	for i := 0; i < len(b.lines); {
		command := strings.TrimPrefix(b.lines[i], "$ ")
		i++
		from := i
		var want []string
		for ; i < len(b.lines) && !strings.HasPrefix(b.lines[i], "$ "); i++ {
			want = append(want, b.lines[i])
		}
		got, isTree := tree(dir, command)
		if isTree {
			want = withoutComments(want)
		} else {
			got = shell(t, home, dir, command)
		}
		shown := strings.Join(append(want, ""), "\n")
		if *update && !isTree && got != shown {
			b.rewrites.add(b.line+from, len(want), got)
			commands++
			continue
		}
		if got != shown {
			t.Errorf("%s: %s prints\n%s\nand not\n%s", at, command, got, strings.Join(want, "\n"))
		}
		commands++
	}
	return commands
}

// shell runs a command with an empty home directory. fleetc is this binary,
// see TestMain.
func shell(t *testing.T, home, dir, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "XDG_CONFIG_HOME="+home+"/.config", "LC_ALL=C")
	// The page shows exit statuses where they matter.
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

// tree draws a directory like the command of that name, which is not installed
// everywhere.
func tree(dir, command string) (drawn string, ok bool) {
	name, ok := strings.CutPrefix(command, "tree ")
	if !ok {
		return "", false
	}
	var b strings.Builder
	fmt.Fprintln(&b, name)
	draw(&b, filepath.Join(dir, name), "")
	return b.String(), true
}

func draw(b *strings.Builder, dir, indent string) {
	entries, _ := os.ReadDir(dir)
	for i, e := range entries {
		branch, below := "├── ", "│   "
		if i == len(entries)-1 {
			branch, below = "└── ", "    "
		}
		fmt.Fprintln(b, indent+branch+e.Name())
		if e.IsDir() {
			draw(b, filepath.Join(dir, e.Name()), indent+below)
		}
	}
}

func withoutComments(lines []string) []string {
	var out []string
	for _, l := range lines {
		l, _, _ = strings.Cut(l, "#")
		out = append(out, strings.TrimRight(l, " "))
	}
	return out
}
