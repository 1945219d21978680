package cuediag

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/inject/embed"

	"github.com/fleetc/fleetc/compiler/diag"
)

// An Embed is a file that a file of CUE embeds.
type Embed struct {
	Name string   // relative to the fleet's root, slash-separated
	As   string   // as CUE has it in positions: relative to the file that embeds it
	Pos  diag.Pos // of the attribute
}

// Embeds returns the files that a file of the fleet with the given root embeds,
// none for a file outside of it. The error is a fault at an @embed that finds
// nothing.
func Embeds(root string, file *ast.File) ([]Embed, error) {
	name, err := filepath.Rel(root, file.Filename)
	if err != nil || !filepath.IsLocal(name) {
		return nil, nil
	}
	name = filepath.ToSlash(name)
	dir := path.Dir(name) + "/"
	if isRebased(file) {
		name, dir = path.Base(name), ""
	}
	embeds, cerr := embed.EmbeddedPaths(name, file)
	if cerr != nil {
		return nil, Faults(root, cerr, cue.Value{}).Err()
	}
	var out []Embed
	tree := os.DirFS(root)
	for _, e := range embeds {
		found, err := e.FindAll(tree)
		if err != nil {
			return nil, Faults(root, err, cue.Value{}).Err()
		}
		for _, f := range found {
			// A glob may name directories, which CUE passes over.
			if info, err := fs.Stat(tree, f); err == nil && !info.IsDir() {
				out = append(out, Embed{f, strings.TrimPrefix(f, dir), Pos(root, e.Attribute.Pos)})
			}
		}
	}
	return out, nil
}

// embedFile matches the file that an @embed names.
var embedFile = regexp.MustCompile(`\bfile=("(?:[^"\\]|\\.)*"|[^,)"\s]+)`)

// RebaseEmbeds makes a file of the fleet with the given root name the files that
// it embeds from the root on. CUE has the places in them by these names: files
// of one name in several layers would be the same to it. A file with globs stays
// as it is, since their matches are names of fields. It must not run while
// anything reads the file.
func RebaseEmbeds(root string, file *ast.File) {
	tok := file.Pos().File()
	dir, err := filepath.Rel(root, filepath.Dir(file.Filename))
	if tok == nil || tok.FSLoc().FS == nil || err != nil || !filepath.IsLocal(dir) || isRebased(file) {
		return
	}
	embeds, globs := embedsOf(file)
	if len(embeds) == 0 || globs {
		return
	}
	loc := tok.FSLoc()
	top := strings.TrimSuffix(path.Dir(loc.Path), filepath.ToSlash(dir))
	if filepath.ToSlash(dir) == "." {
		top = path.Dir(loc.Path)
	}
	sub, err := fs.Sub(loc.FS, path.Clean(top))
	if err != nil {
		return
	}
	for _, a := range embeds {
		a.Text = embedFile.ReplaceAllStringFunc(a.Text, func(arg string) string {
			name := unquoted(strings.TrimPrefix(arg, "file="))
			if !filepath.IsLocal(name) || path.Clean(name) != name {
				return arg // CUE refuses it
			}
			return "file=" + strconv.Quote(path.Join(filepath.ToSlash(dir), name))
		})
	}
	loc.FS, loc.Path = sub, path.Base(loc.Path)
	tok.SetFSLoc(loc)
}

// embedsOf returns the attributes of a file that embed others, and reports
// whether one of them is a glob.
func embedsOf(file *ast.File) (embeds []*ast.Attribute, globs bool) {
	ast.Walk(file, func(n ast.Node) bool {
		if a, ok := n.(*ast.Attribute); ok {
			if name, body := a.Split(); name == "embed" {
				embeds = append(embeds, a)
				globs = globs || strings.Contains(body, "glob=")
			}
		}
		return true
	}, nil)
	return embeds, globs
}

// isRebased reports whether RebaseEmbeds has changed the file.
func isRebased(file *ast.File) bool {
	tok := file.Pos().File()
	return tok != nil && tok.FSLoc().Path != "" && !strings.Contains(tok.FSLoc().Path, "/")
}
