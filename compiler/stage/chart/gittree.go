package chart

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/ignore"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A blob is a file in a git tree.
type blob struct {
	id   string
	size int64
	name string // below the chart's directory
}

// archive returns the chart's directory at a commit as an uncompressed tar file in
// canonical form: sorted names, no metadata. The digest is the same on every machine
// and with every version of git. The targets of symbolic links replace the links.
func (g gitRepo) archive(ctx context.Context, commit string, ref fleet.GitRef) ([]byte, error) {
	tree, err := g.tree(ctx, commit, ref)
	if err != nil {
		return nil, err
	}
	dir, err := tree.chartDir(ref.Path)
	if err != nil {
		return nil, g.noChart(ctx, commit, ref)
	}
	rules, err := g.ignoreRules(ctx, tree, dir)
	if err != nil {
		return nil, inChart(ref, err)
	}
	blobs, err := tree.blobs(dir, rules)
	if err != nil {
		return nil, inChart(ref, err)
	}
	contents, err := g.cat(ctx, blobs)
	if err != nil {
		return nil, err
	}
	return canonicalTar(blobs, contents)
}

// inChart adds the chart to an error.
func inChart(ref fleet.GitRef, err error) error {
	d := &diag.Diag{Code: diag.CodeChartFiles, Msg: fmt.Sprintf("%s: %s", fleet.ChartRef{Git: ref}, err), Hint: otherVersion, Cause: err}
	if of, ok := errors.AsType[*diag.Diag](err); ok {
		d.Msg, d.Hint = fmt.Sprintf("%s: %s", fleet.ChartRef{Git: ref}, of.Msg), of.Hint
	}
	return d
}

// tree lists the directory of a chart at a commit. If the directory or a parent has
// symbolic links, it lists the whole commit, because links may lead anywhere in it.
func (g gitRepo) tree(ctx context.Context, commit string, ref fleet.GitRef) (*gitTree, error) {
	tree := newGitTree()
	listing, err := g.list(ctx, commit+":"+ref.Path)
	if err == nil {
		if err := tree.add(ref.Path, string(listing)); err != nil {
			return nil, inChart(ref, err)
		}
		if len(tree.links) == 0 {
			return tree, nil
		}
	}
	tree = newGitTree()
	if listing, err = g.list(ctx, commit); err != nil {
		return nil, g.fault(err)
	}
	if err := tree.add("", string(listing)); err != nil {
		return nil, inChart(ref, err)
	}
	return tree, g.readLinks(ctx, tree)
}

func (g gitRepo) list(ctx context.Context, tree string) ([]byte, error) {
	return g.run(ctx, "ls-tree", "-r", "-z", "-l", "--full-tree", tree)
}

// readLinks reads the targets of all symbolic links of a tree.
func (g gitRepo) readLinks(ctx context.Context, tree *gitTree) error {
	var blobs []blob
	for _, name := range tree.links {
		if e := tree.entries[name]; e.size <= maxName {
			blobs = append(blobs, blob{e.id, e.size, name})
		}
	}
	contents, err := g.cat(ctx, blobs)
	for i, text := range contents {
		tree.entries[blobs[i].name].target = string(text)
	}
	return err
}

// ignoreRules returns the rules of the chart's .helmignore. They apply to symbolic
// links and submodules only. Other ignored files stay in the archive.
func (g gitRepo) ignoreRules(ctx context.Context, tree *gitTree, dir string) (*ignore.Rules, error) {
	rules := ignore.Empty()
	_, e, err := tree.resolve(path.Join(dir, ignore.HelmIgnore))
	if err == nil && e.mode.IsRegular() && e.size <= maxFile && (len(tree.links) > 0 || tree.submodules) {
		text, err := g.cat(ctx, []blob{{e.id, e.size, ignore.HelmIgnore}})
		if err != nil {
			return nil, err
		}
		if rules, err = parseIgnore(text[0]); err != nil {
			return nil, err
		}
	}
	rules.AddDefaults()
	return rules, nil
}

// cat returns the contents of blobs, in the same order.
func (g gitRepo) cat(ctx context.Context, blobs []blob) ([][]byte, error) {
	var ids strings.Builder
	for _, b := range blobs {
		ids.WriteString(b.id + "\n")
	}
	out, err := g.git().Run(ctx, strings.NewReader(ids.String()), maxStream, "cat-file", "--batch")
	if err != nil {
		return nil, g.fault(err)
	}
	contents := make([][]byte, len(blobs))
	for i, b := range blobs {
		// The header is "<id> blob <size>". A newline follows the content.
		header := fmt.Sprintf("%s blob %d\n", b.id, b.size)
		rest, ok := bytes.CutPrefix(out, []byte(header))
		if !ok || int64(len(rest)) <= b.size {
			return nil, fmt.Errorf("read %s of %s: git has no such object", oneLine(b.name), g.url)
		}
		contents[i], out = rest[:b.size], rest[b.size+1:]
	}
	return contents, nil
}

// canonicalTar packs sorted files. Its bytes must never change, because committed
// pins contain their digest.
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

// noChart returns the fault for a path without a chart. It lists the charts of the
// commit.
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
	where := "at its root"
	if ref.Path != "" {
		where = "in " + ref.Path
	}
	return fault(diag.CodeChartNotFound, oneOfCharts("//"+ref.Path, charts), "%s has no chart %s at %s", g.url, where, ref.Ref)
}
