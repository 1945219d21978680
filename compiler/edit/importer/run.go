package importer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// Options of an import.
type Options struct {
	Chart         map[string]string // directories or archives of charts, by name
	Charts        string            // directory with copies of charts; may be empty
	WithoutCharts bool              // whether releases whose chart cannot be fetched are written
	DryRun        bool              // whether nothing is written
	ProveWith     Programs
}

// sumFile records the digests of imported files.
const sumFile = "import.sum"

// work is the state of an import.
type work struct {
	c      *compiler.Compiler
	root   string // of the fleet
	stage  string // copy of the fleet
	module string
	model  *Model
	opts   Options
	place  func(diag.Pos) string // text of a position in the report

	charts   map[string]*pinnedChart       // by source
	packages map[string][]chart.Resolution // by name; the first version is the default
	loaded   map[fleet.ChartRef]*fleet.Chart
	files    map[string][]byte // planned files
	before   map[string]string // digests of the last import by file
	existing []string          // IDs of clusters that the import does not write
}

// Run writes the fleet of a model, proves it, and returns a report. It writes nothing
// when it returns an error.
func Run(ctx context.Context, c *compiler.Compiler, model *Model, opts Options) (*Report, error) {
	if !slices.ContainsFunc(model.Clusters, func(c *Cluster) bool { return len(c.Releases)+len(c.Dropped) > 0 }) {
		return nil, &diag.Diag{Code: diag.CodeNothingToImport, Msg: "the import found no releases", Hint: "name a directory, file or environment with releases"}
	}
	model.sort()
	dir := cmp.Or(c.Dir, ".")
	root, module, err := load.Root(dir)
	if err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp("", "fleetc-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	if stage, err = filepath.EvalSymlinks(stage); err != nil {
		return nil, err
	}
	if err := edit.CopyTree(ctx, root, stage); err != nil {
		return nil, err
	}
	w := &work{
		c: c, root: root, stage: stage, module: module, model: model, opts: opts, loaded: map[fleet.ChartRef]*fleet.Chart{}, files: map[string][]byte{},
	}
	if w.place, err = placeIn(dir); err != nil {
		return nil, err
	}
	if err := w.replaceImport(); err != nil {
		return nil, err
	}
	if err := w.pinCharts(ctx); err != nil {
		return nil, err
	}
	w.skipCRDs(ctx)
	w.skipHooks(ctx)
	for _, c := range model.Clusters {
		c.addNamespaceDependencies()
	}
	if err := w.writeManifests(); err != nil {
		return nil, err
	}
	plan, report, err := w.converge(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.checkExisting(ctx); err != nil {
		return nil, err
	}
	w.noteHooks()
	w.noteGuesses()
	w.noteMissing()
	report.describe(model, plan, w.place)
	report.CUELines = w.cueLines()
	if opts.DryRun {
		return report, nil
	}
	return report, w.commit(plan)
}

// cueLines returns the number of lines in the files of layers.
func (w *work) cueLines() int {
	n := 0
	for name, data := range w.files {
		if isLayerFile(name) {
			n += bytes.Count(data, []byte("\n"))
		}
	}
	return n
}

// compiler returns a compiler of another directory.
func (w *work) compiler(dir string) *compiler.Compiler {
	c := *w.c
	c.Dir, c.Edits = dir, nil
	return &c
}

// converge writes the layers, and again with waivers for the mistakes in values and the
// nondeterministic fields that the first proof finds.
func (w *work) converge(ctx context.Context) (*FilePlan, *Report, error) {
	w.writeIntegers(ctx)
	for round := 0; ; round++ {
		if err := w.writeLayers(); err != nil {
			return nil, nil, err
		}
		plan, err := w.plan()
		if err != nil {
			return nil, nil, err
		}
		for _, name := range slices.Concat(plan.Written, plan.Same) { // removeImported removed the others
			if err := w.put(name, w.files[name]); err != nil {
				return nil, nil, err
			}
		}
		report, again, err := w.prove(ctx, round > 1)
		if report == nil && err == nil {
			round-- // each time, a release is left out
			if err := w.forgetFiles(ctx, plan); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err != nil || !again || round > 1 {
			return plan, report, err
		}
	}
}

// A FilePlan is the change of the fleet's files. Names are relative to the root.
type FilePlan struct {
	Written []string `json:"written"` // that do not exist, or are as the last import wrote them
	Removed []string `json:"removed"` // that the import does not have any more
	Edited  []string `json:"edited"`  // that were edited since the last import, and stay as they are
	Same    []string `json:"-"`
	sum     []byte   // content of import.sum
}

// plan compares the planned files with the fleet.
func (w *work) plan() (*FilePlan, error) {
	p := &FilePlan{Written: []string{}, Removed: []string{}, Edited: []string{}, sum: []byte(toolLine + w.model.Tool + "\n")}
	for _, name := range diag.Distinct(slices.Concat(sortedKeys(w.files), sortedKeys(w.before))) {
		existing, err := os.ReadFile(filepath.Join(w.root, filepath.FromSlash(name)))
		isMissing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !isMissing {
			return nil, err
		}
		planned, isPlanned := w.files[name]
		if isPlanned {
			p.sum = fmt.Appendf(p.sum, "%s  %s\n", digest(planned), name)
		}
		isUnedited := isMissing || w.before[name] == digest(existing)
		switch {
		case isPlanned && !isMissing && bytes.Equal(existing, planned):
			p.Same = append(p.Same, name)
		case isPlanned && (isUnedited || bytes.HasPrefix(existing, []byte(load.GeneratedBy))):
			p.Written = append(p.Written, name)
		case !isPlanned && isMissing:
		case !isPlanned && isUnedited:
			p.Removed = append(p.Removed, name)
		default:
			p.Edited = append(p.Edited, name)
		}
	}
	return p, nil
}

// toolLine begins the line of import.sum with the tool.
const toolLine = "# fleetc import "

// recorded reads the digests in import.sum, and returns the tool of the last import; empty
// when it is not known.
func (w *work) recorded() (tool string, err error) {
	text, err := os.ReadFile(filepath.Join(w.root, sumFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	w.before = map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, toolLine); ok {
			tool = after
			continue
		}
		sum, name, ok := strings.Cut(line, "  ")
		if !ok || !filepath.IsLocal(filepath.FromSlash(name)) {
			return "", &diag.Diag{Code: diag.CodeImportInvalid, At: []diag.Pos{{File: sumFile}}, Msg: "not a list of digests and files", Hint: "restore the file from version control"}
		}
		w.before[name] = sum
	}
	return tool, err
}

// removeImported removes the files of the last import from the copy, but for those that
// were edited: the import must not build on files that it does not write again.
func (w *work) removeImported() error {
	for _, name := range sortedKeys(w.before) {
		file := filepath.Join(w.stage, filepath.FromSlash(name))
		data, err := os.ReadFile(file)
		if err == nil && digest(data) == w.before[name] {
			err = os.Remove(file)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// commit changes the files of the fleet.
func (w *work) commit(p *FilePlan) error {
	tree, err := os.OpenRoot(w.root)
	if err != nil {
		return err
	}
	defer tree.Close()
	for _, name := range p.Written {
		if err := edit.WriteFile(w.root, name, w.files[name]); err != nil {
			return err
		}
	}
	for _, name := range p.Removed {
		if err := tree.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return edit.WriteFile(w.root, sumFile, p.sum)
}
