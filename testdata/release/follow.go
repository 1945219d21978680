package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A block is a fenced block of a Markdown page.
type block struct {
	section, lang string
	line          int // of the first line inside
	lines         []string
}

// blocks returns the fenced blocks of a page.
func blocks(text string) []block {
	var out []block
	var section string
	var open *block
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{section: section, lang: fence, line: i + 2}
		case isFence:
			out = append(out, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		case strings.HasPrefix(line, "## "):
			section = strings.TrimPrefix(line, "## ")
		}
	}
	return out
}

// exampleVersion is the version in docs/install.md.
const exampleVersion = "1.2.3"

// followDocs does what docs/install.md says about archives, and then what
// docs/quickstart.md says, as a new user does: in an empty directory, with an
// empty home directory and the programs of the system. Downloads from the
// releases of GitHub read the files of a directory instead. Each command
// must print what the page shows. followDocs prints what each block took.
func followDocs(ctx context.Context, docs, dist string, w io.Writer) error {
	r, err := readRelease(dist)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "fleetc-follow-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	s, err := newSession(ctx, work, r)
	if err != nil {
		return err
	}
	var errs []error
	for _, page := range []string{"install.md", "quickstart.md"} {
		text, err := os.ReadFile(filepath.Join(docs, page))
		if err != nil {
			return err
		}
		for _, b := range blocks(strings.ReplaceAll(string(text), exampleVersion, r.Version)) {
			if page == "install.md" && b.section != "An archive" {
				continue
			}
			start := time.Now()
			if err := s.do(b); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %w", page, b.line, err))
			}
			fmt.Fprintf(w, "%s:%d: %.1f s\n", page, b.line, time.Since(start).Seconds())
		}
	}
	return errors.Join(append(errs, s.close())...)
}

// A session is a shell that stays open, as the terminal of a user.
type session struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// curl replaces downloads from GitHub's releases with files.
const curl = `#!/bin/bash
exec /usr/bin/curl "${@/#https:\/\/github.com\/fleetc\/fleetc\/releases\/download\/v%s\//file://%s/}"
`

func newSession(ctx context.Context, work string, r *release) (*session, error) {
	home, bin, dir := filepath.Join(work, "home"), filepath.Join(work, "bin"), filepath.Join(work, "start")
	for _, d := range []string{home, bin, dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "curl"), fmt.Appendf(nil, curl, r.Version, r.dir), 0o755); err != nil {
		return nil, err
	}
	s := &session{cmd: exec.CommandContext(ctx, "sh")}
	s.cmd.Dir = dir
	s.cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin", "LC_ALL=C", "TERM=dumb"}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stderr, s.out = s.cmd.Stdout, bufio.NewReader(out)
	return s, s.cmd.Start()
}

func (s *session) close() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

// do does what a block shows.
func (s *session) do(b block) error {
	switch b.lang {
	case "sh":
		_, _, err := s.run("set -e\n" + strings.Join(b.lines, "\n") + "\nset +e")
		return err
	case "cue":
		return s.write(b.lines)
	case "console":
		return s.console(b.lines)
	}
	return nil
}

// end follows what a command prints, with its exit status.
var end = regexp.MustCompile(`(?m)^--- end of the command ([0-9]+) ---\n`)

// run runs a text in the shell.
func (s *session) run(text string) (out, status string, err error) {
	if _, err := fmt.Fprintf(s.in, "%s\nprintf -- '--- end of the command %%d ---\\n' $?\n", text); err != nil {
		return "", "", err
	}
	for {
		line, err := s.out.ReadString('\n')
		if m := end.FindStringSubmatch(line); m != nil {
			return out, m[1], nil
		}
		out += line
		if err != nil {
			return out, "", fmt.Errorf("the shell ended: %w\n%s", err, out)
		}
	}
}

// fileName matches the first line of a block that shows a whole file.
var fileName = regexp.MustCompile(`^// ([a-z0-9/_.-]+\.cue)$`)

// write writes a file below the current directory of the shell.
func (s *session) write(lines []string) error {
	m := fileName.FindStringSubmatch(lines[0])
	if m == nil {
		return nil
	}
	dir, _, err := s.run("pwd")
	if err != nil {
		return err
	}
	file := filepath.Join(strings.TrimSpace(dir), m[1])
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// console runs commands, which follow "$ ", and compares what they print with the
// next lines.
func (s *session) console(lines []string) error {
	for len(lines) > 0 {
		command, isCommand := strings.CutPrefix(lines[0], "$ ")
		if !isCommand {
			return fmt.Errorf("%q is not a command", lines[0])
		}
		lines = lines[1:]
		var want strings.Builder
		for len(lines) > 0 && !strings.HasPrefix(lines[0], "$ ") {
			want.WriteString(lines[0] + "\n")
			lines = lines[1:]
		}
		got, _, err := s.run(command)
		if err != nil {
			return err
		}
		if got != want.String() {
			return fmt.Errorf("%s prints\n%s\nand not\n%s", command, got, want.String())
		}
	}
	return nil
}
