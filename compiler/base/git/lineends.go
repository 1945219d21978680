package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// findLineEnds sets crlf of the files that have CRLF in the working tree because git converts
// line ends, by its attributes and settings there.
func (c *commit) findLineEnds(ctx context.Context, files map[string]file) error {
	names, err := c.withCRLF(files)
	if len(names) == 0 || err != nil {
		return err
	}
	setting, err := c.run(ctx, "config", "--get", "--default=false", "core.autocrlf")
	if err != nil {
		return err
	}
	always := !slices.Contains([]string{"false", "no", "off", "0", ""}, strings.ToLower(strings.TrimSpace(string(setting))))
	out, err := c.git().Run(ctx, strings.NewReader(strings.Join(names, "\x00")+"\x00"), maxListing, "check-attr", "-z", "--stdin", "text", "eol")
	if err != nil {
		return err
	}
	// <name>NUL text NUL<value>NUL<name>NUL eol NUL<value>NUL
	fields := strings.Split(string(out), "\x00")
	for ; len(fields) >= 6; fields = fields[6:] {
		name, text, eol := fields[0], fields[2], fields[5]
		f, known := files[name]
		if !known || text == "unset" || text == "unspecified" && eol != "crlf" && eol != "lf" && !always {
			continue
		}
		f.crlf = true
		files[name] = f
	}
	return nil
}

// withCRLF returns the files with CRLF in the working tree that have another size than in the
// commit.
func (c *commit) withCRLF(files map[string]file) ([]string, error) {
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var names []string
	for name, f := range files {
		at := filepath.FromSlash(name)
		info, err := root.Lstat(at)
		if err != nil || !info.Mode().IsRegular() || f.outer || f.mode == linkMode || info.Size() == f.size || info.Size() > maxBytes {
			continue
		}
		if data, err := root.ReadFile(at); err == nil && bytes.Contains(data, []byte("\r\n")) {
			names = append(names, name)
		}
	}
	return names, nil
}
