package load

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"unicode/utf8"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/load"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// Files returns the files that the evaluation of a cluster reads: files of its
// layers and imported packages, embedded files, and module files. They are
// sorted, relative to the fleet's root and slash-separated, and need not
// exist. Copies of embedded packages are excluded, because they are not read.
//
// Files outside of the root are returned separately: those of registry
// modules, whose versions are pinned, and of modules in local directories.
//
// The error contains a fault for each @embed that finds no file.
func (f *Fleet) Files(c Cluster) (inside, outside []string, err error) {
	files := map[string]bool{}
	for _, name := range slices.Concat(f.modules, c.files) {
		files[name] = true
	}
	var faults diag.List
	for _, in := range append(c.Instance.Dependencies(), c.Instance) {
		if in.Err != nil {
			faults.Add(diag.CUEFaults(f.Root, in.Err, cue.Value{}).Err())
			continue // not all of its files are parsed
		}
		for i, file := range in.BuildFiles {
			name, err := filepath.Rel(f.Root, file.Filename)
			if err != nil {
				faults.Add(err)
				continue
			}
			local := filepath.IsLocal(name)
			if name = filepath.ToSlash(name); local && f.embedded[path.Dir(name)] {
				continue
			}
			files[name] = true
			facts, below := f.files[in.Files[i].Filename], ""
			if !local { // an external module embeds files of its directory
				embeds, err := diag.Embeds(filepath.Dir(file.Filename), in.Files[i])
				facts, below = &fileFacts{embeds: embeds, embedErr: err}, path.Dir(name)
			}
			faults.Add(facts.embedErr)
			for _, e := range facts.embeds {
				files[path.Join(below, e.Name)] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.IsLocal(filepath.FromSlash(name)) {
			inside = append(inside, name)
		} else {
			outside = append(outside, name)
		}
	}
	return inside, outside, diag.In(c.ID, faults.Err())
}

// moduleFiles returns the module files of the fleet and of the directories
// that replace modules.
func moduleFiles(root string) []string {
	out := []string{moduleFile, localModule}
	for _, dir := range ReplacingDirs(root) {
		out = append(out, path.Join(dir, moduleFile))
	}
	return out
}

// ReplacingDirs returns the directories that replace modules, relative to the fleet's root.
func ReplacingDirs(root string) (out []string) {
	modules, _ := replacedModules(root) // checkReplaced reports the fault
	for _, replaced := range modules {
		for _, with := range replaced {
			with = filepath.FromSlash(with)
			if filepath.IsAbs(with) {
				with, _ = filepath.Rel(root, with)
			}
			if with != "" {
				out = append(out, filepath.ToSlash(with))
			}
		}
	}
	return out
}

// fileFacts are facts about a parsed file, and about the files that it embeds.
type fileFacts struct {
	embeds             []diag.EmbeddedFile
	embedErr           error
	extern             error     // of an @embed without @extern(embed)
	linked, unreadable diag.List // of files that are links out of the fleet, and too large or not UTF-8
	duplicateKeys      func() diag.List
}

// A factReader finds the facts of files, once for each file.
type factReader struct {
	root, top   string
	tree, whole *os.Root // of the fleet, and of its repository
	found       map[*ast.File]*fileFacts
}

func newFactReader(root string) (*factReader, error) {
	r := &factReader{root: root, top: git.Top(root), found: map[*ast.File]*fileFacts{}}
	var err error
	if r.tree, err = os.OpenRoot(root); err != nil {
		return nil, err
	}
	if r.whole, err = os.OpenRoot(r.top); err != nil {
		r.tree.Close()
		return nil, err
	}
	return r, nil
}

func (r *factReader) close() {
	r.tree.Close()
	r.whole.Close()
}

func (r *factReader) facts(file *ast.File) *fileFacts {
	if known := r.found[file]; known != nil {
		return known
	}
	facts := &fileFacts{extern: checkExtern(r.root, file)}
	r.found[file] = facts
	facts.embeds, facts.embedErr = diag.Embeds(r.root, file) // CUE reports the error if the field is needed
	facts.linked, facts.duplicateKeys = r.links(file, facts.embeds), r.duplicateKeys(file, facts.embeds)
	for _, e := range facts.embeds {
		if d := cmp.Or(checkSize(r.root, e.Name, e.Pos), checkText(r.tree, e)); d != nil {
			facts.unreadable.Add(d)
		}
	}
	return facts
}

// checkLink returns an error for a file of the fleet that is a link out of it or into a .git
// directory, because CUE follows links. A directory of the repository may replace a module: its
// links, also those above the file, may lead to other files of the repository. Other modules have
// no links.
func checkLink(root, name string) error {
	rel, err := filepath.Rel(root, name)
	if err == nil && !filepath.IsLocal(rel) {
		info, serr := os.Lstat(name)
		dir, derr := filepath.EvalSymlinks(filepath.Dir(name))
		if serr != nil || derr != nil {
			return nil //nolint:nilerr // CUE reports it
		}
		root = git.Top(root)
		written, _ := filepath.Rel(root, name)
		isLink := info.Mode()&fs.ModeSymlink != 0 || filepath.IsLocal(written)
		rel, err = filepath.Rel(root, filepath.Join(dir, filepath.Base(name)))
		if !isLink && !filepath.IsLocal(rel) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer tree.Close()
	_, err = git.ResolveLink(tree, filepath.ToSlash(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a package that fleetc embeds, or an unsaved file
	}
	return err
}

// links reports the files that a file embeds if they are links out of the fleet or into a .git
// directory, because CUE follows links.
func (r *factReader) links(file *ast.File, embeds []diag.EmbeddedFile) (faults diag.List) {
	name, err := filepath.Rel(r.root, file.Filename)
	if err != nil || !filepath.IsLocal(name) {
		return moduleLinks(r.top, r.whole, file, diag.CUEPos(r.root, file.Pos()).File) // of another module
	}
	for _, e := range embeds {
		if _, err := git.ResolveLink(r.tree, e.Name); err != nil {
			faults.Add(outsideFault(e.Pos, e.Name, err))
		}
	}
	return faults
}

// moduleLinks is links for a file of another module, which faults show by name. A
// directory of the repository may replace the module. It also reports embedded files that
// are not UTF-8.
func moduleLinks(top string, tree *os.Root, file *ast.File, name string) diag.List {
	var faults diag.List
	embeds, _ := diag.Embeds(top, file)
	for _, e := range embeds {
		if _, err := git.ResolveLink(tree, e.Name); err != nil {
			e.Pos.File = name
			faults.Add(outsideFault(e.Pos, e.Name, err))
		} else if d := checkText(tree, e); d != nil {
			d.At[0].File = path.Join(path.Dir(name), e.As)
			faults.Add(d)
		}
	}
	return faults
}

// outsideFault returns the fault of a file that must not be read.
func outsideFault(at diag.Pos, what string, err error) *diag.Diag {
	if errors.Is(err, git.ErrGit) {
		return &diag.Diag{Code: diag.CodeOutsideFleet, At: []diag.Pos{at}, Msg: what + " " + err.Error(), Hint: "use a file outside of .git", Cause: err}
	}
	return &diag.Diag{Code: diag.CodeOutsideFleet, At: []diag.Pos{at}, Msg: what + " points outside of the fleet's directory", Hint: "copy its target into the fleet", Cause: err}
}

// ReadPackage loads a CUE file or the package of a directory that is not a
// layer, in the context of the fleet of dir, so that it may import the same
// packages. name is relative to the working directory. It also returns the
// fleet's root.
func ReadPackage(dir, name string) (root string, in *build.Instance, err error) {
	root, module, err := Root(dir)
	if err != nil {
		return "", nil, err
	}
	overlay, err := overlay(root, module, nil)
	if err != nil {
		return "", nil, err
	}
	abs, err := filepath.Abs(name)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, &diag.Diag{Code: diag.CodeNoMatch, Msg: "no file " + name, Hint: "name a CUE file, or a directory of the fleet with a package"}
	}
	if err != nil {
		return "", nil, err
	}
	config := &load.Config{Dir: root, ModuleRoot: root, Package: "*", Overlay: overlay, ParseFile: parserOf(root)}
	if info, err := os.Stat(abs); err != nil {
		return "", nil, err
	} else if info.IsDir() {
		rel, err := filepath.Rel(root, abs)
		if err != nil || !filepath.IsLocal(rel) {
			return "", nil, &diag.Diag{Code: diag.CodeOutsideFleet, Msg: fmt.Sprintf("the directory %s is outside of the fleet", name), Hint: "name a file, or a directory of the fleet"}
		}
		abs = "./" + filepath.ToSlash(rel)
	}
	in = load.Instances([]string{abs}, config)[0]
	if in.Err != nil {
		return "", nil, diag.CUEFaults(root, in.Err, cue.Value{}).Err()
	}
	return root, in, nil
}

// maxSource is how many bytes a file of CUE, or one that CUE embeds, may have. CUE
// reads a file of this size in ten seconds, and cannot be interrupted meanwhile.
const maxSource = 4 << 20

const tooLarge = "the file is larger than 4 MiB"

// checkSize returns a fault at a place when a file below root is too large, or no regular
// file.
func checkSize(root, name string, at diag.Pos) *diag.Diag {
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	if err == nil && isSpecial(info.Mode()) {
		return specialFile(at, name)
	}
	if err != nil || info.Size() <= maxSource {
		return nil // a file that cannot be read is a fault of its reader
	}
	d := &diag.Diag{Code: diag.CodeFileSize, At: []diag.Pos{at}, Msg: tooLarge, Hint: "split it"}
	if at.File != name {
		d.Msg = "the embedded file " + diag.Visible(name, diag.MaxText) + " is larger than 4 MiB"
		d.Hint = "split it, or keep the data elsewhere"
	}
	return d
}

// checkText returns a fault for an embedded file with text in another encoding than UTF-8 or,
// with a byte order mark, UTF-16: CUE would replace its characters. A line break of YAML that
// CUE does not count is also a fault: CUE can panic.
func checkText(tree *os.Root, e diag.EmbeddedFile) *diag.Diag {
	if e.IsBinary {
		return nil
	}
	data, err := git.ReadFile(tree, e.Name, maxSource)
	if err != nil {
		return nil // its reader reports it
	}
	text := diag.Decoded(data)
	var d *diag.Diag
	if !bytes.HasPrefix(data, []byte("\xff\xfe")) && !bytes.HasPrefix(data, []byte("\xfe\xff")) {
		d = diag.NotUTF8(diag.CodeEmbeddedFile, e.Name, data)
	}
	if at := unusualBreak.FindIndex(text); d == nil && at != nil && e.IsYAML {
		r, _ := utf8.DecodeRune(text[at[0]:])
		d = &diag.Diag{
			Code: diag.CodeEmbeddedFile, At: []diag.Pos{diag.PosAt(e.Name, text, at[0])},
			Msg:  fmt.Sprintf("YAML reads the character U+%04X as a line break, and CUE does not", r),
			Hint: `end lines with a line feed (LF); inside double quotes, write an escape such as \u2028`,
		}
	}
	return d
}

// unusualBreak matches the line breaks of YAML 1.1 besides a line feed:
// https://yaml.org/spec/1.1/#id871136.
var unusualBreak = regexp.MustCompile(`\r(?:[^\n]|$)|[\x{85}\x{2028}\x{2029}]`)
