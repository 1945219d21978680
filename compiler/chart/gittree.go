package chart

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// A blob is a file in a git tree.
type blob struct {
	id   string
	size int64
	name string // below the chart's directory
}

// archive returns the chart's directory at a commit as a tar file of one form:
// names sorted, nothing in it but names and contents, and not compressed. Its
// digest is the same wherever it is made, and with whichever git.
func (g gitRepo) archive(ctx context.Context, commit string, ref fleet.GitRef) ([]byte, error) {
	tree := commit + ":" + ref.Path
	_, err := g.run(ctx, "cat-file", "-e", commit+":"+path.Join(ref.Path, "Chart.yaml"))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, g.noChart(ctx, commit, ref)
	}
	listing, err := g.run(ctx, "ls-tree", "-r", "-z", "-l", "--full-tree", tree)
	if err != nil {
		return nil, g.fault(err)
	}
	blobs, err := parseTree(string(listing))
	if err != nil {
		return nil, &diag.Diag{Msg: fmt.Sprintf("%s: %s", fleet.ChartRef{Git: ref}, err), Cause: err}
	}
	var ids strings.Builder
	for _, b := range blobs {
		ids.WriteString(b.id + "\n")
	}
	contents, err := g.cat(ctx, ids.String(), blobs)
	if err != nil {
		return nil, err
	}
	return canonicalTar(blobs, contents)
}

// parseTree reads what ls-tree lists, and refuses what a chart cannot have or
// what would be too much.
func parseTree(listing string) ([]blob, error) {
	var blobs []blob
	left := budget{entries: maxEntries, bytes: maxTotal}
	for line := range strings.SplitSeq(strings.TrimSuffix(listing, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		about, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if len(fields) != 4 {
			return nil, fmt.Errorf("git lists %q", oneLine(line))
		}
		switch mode := fields[0]; {
		case mode == "120000":
			return nil, fmt.Errorf("%s is a symbolic link", oneLine(name))
		case mode == "160000":
			return nil, fmt.Errorf("%s is a submodule", oneLine(name))
		case !strings.HasPrefix(mode, "100"):
			return nil, fmt.Errorf("%s has the mode %s, which is not that of a file", oneLine(name), oneLine(mode))
		}
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git lists %q", oneLine(line))
		}
		if err := cmp.Or(left.entry(), checkName(name)); err != nil {
			return nil, err
		}
		if size > maxFile {
			return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
		}
		if left.bytes -= size; left.bytes <= 0 {
			return nil, errTotal
		}
		blobs = append(blobs, blob{fields[2], size, name})
	}
	slices.SortFunc(blobs, func(a, b blob) int { return strings.Compare(a.name, b.name) })
	return blobs, nil
}

// cat returns the contents of blobs, in their order.
func (g gitRepo) cat(ctx context.Context, ids string, blobs []blob) ([][]byte, error) {
	out, err := g.git().Run(ctx, strings.NewReader(ids), maxStream, "cat-file", "--batch")
	if err != nil {
		return nil, g.fault(err)
	}
	contents := make([][]byte, len(blobs))
	for i, b := range blobs {
		// The header is "<id> blob <size>", and a line end follows the content.
		header := fmt.Sprintf("%s blob %d\n", b.id, b.size)
		rest, ok := bytes.CutPrefix(out, []byte(header))
		if !ok || int64(len(rest)) <= b.size {
			return nil, fmt.Errorf("read %s of %s: git has no such object", b.name, g.url)
		}
		contents[i], out = rest[:b.size], rest[b.size+1:]
	}
	return contents, nil
}

// canonicalTar packs files, which are sorted. Pins rest on its bytes: they
// must never change.
func canonicalTar(blobs []blob, contents [][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i, b := range blobs {
		hd := &tar.Header{Typeflag: tar.TypeReg, Name: "chart/" + b.name, Mode: 0o644, Size: b.size}
		if err := w.WriteHeader(hd); err != nil {
			return nil, fmt.Errorf("pack %s: %w", b.name, err)
		}
		if _, err := w.Write(contents[i]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", b.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack a chart: %w", err)
	}
	return out.Bytes(), nil
}

// noChart says that there is no chart at the path, and where there are some.
func (g gitRepo) noChart(ctx context.Context, commit string, ref fleet.GitRef) error {
	listing, err := g.run(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
	if err != nil {
		return g.fault(err)
	}
	var charts []string
	for name := range strings.SplitSeq(string(listing), "\x00") {
		if path.Base(name) == "Chart.yaml" {
			charts = append(charts, "//"+oneLine(path.Dir(name)))
		}
	}
	hint := "use another repository: it has no charts"
	if len(charts) > 0 {
		hint = oneOf("//"+ref.Path, charts)
	}
	where := "at its root"
	if ref.Path != "" {
		where = "in " + ref.Path
	}
	return fault(hint, "%s has no chart %s at %s", g.url, where, ref.Ref)
}
