package diag

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/inject/embed"
	"cuelang.org/go/cue/token"
	"sigs.k8s.io/yaml"
)

// An EmbeddedFile is a file that a CUE file embeds.
type EmbeddedFile struct {
	Name string // relative to the fleet's root, slash-separated
	As   string // name in CUE's positions: relative to the embedding file
	Pos  Pos    // of the attribute

	IsBinary bool // whether its content is bytes, not text
	IsYAML   bool
}

// Embeds returns the files that a CUE file of the fleet embeds, none for files
// outside of root. An @embed without matching files is a fault.
func Embeds(root string, file *ast.File) ([]EmbeddedFile, error) {
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
		return nil, CUEFaults(root, cerr, cue.Value{}).Err()
	}
	var out []EmbeddedFile
	tree := os.DirFS(root)
	for _, e := range embeds {
		found, err := e.FindAll(tree)
		if err != nil {
			return nil, CUEFaults(root, err, cue.Value{}).Err()
		}
		for _, f := range found {
			// CUE skips directories that a glob matches.
			if info, err := fs.Stat(tree, f); err == nil && !info.IsDir() {
				isYAML := e.Type == "yaml" || e.Type == "" && slices.Contains([]string{".yaml", ".yml"}, path.Ext(f))
				out = append(out, EmbeddedFile{f, strings.TrimPrefix(f, dir), CUEPos(root, e.Attribute.Pos), e.Type == "binary", isYAML})
			}
		}
	}
	return out, nil
}

// embedFile matches the file name in an @embed.
var embedFile = regexp.MustCompile(`\bfile=("(?:[^"\\]|\\.)*"|[^,)"\s]+)`)

// RebaseEmbeds rewrites the @embed attributes of a file to names relative to the
// fleet's root. CUE uses these names in positions, where equal names in different
// layers would be ambiguous. It skips files with globs, whose matches become field
// names. It must not run concurrently with readers of the file.
func RebaseEmbeds(root string, file *ast.File) {
	tok := file.Pos().File()
	dir, err := filepath.Rel(root, filepath.Dir(file.Filename))
	if filepath.IsAbs(file.Filename) && isUnlocated(file) {
		volume := filepath.VolumeName(file.Filename) + string(filepath.Separator)
		tok.SetFSLoc(token.FSLoc{FS: os.DirFS(volume), Path: filepath.ToSlash(strings.TrimPrefix(file.Filename, volume))})
		return
	}
	if tok == nil || tok.FSLoc().FS == nil || err != nil || !filepath.IsLocal(dir) || isRebased(file) || inModule(root, dir) {
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
				return arg // CUE rejects it
			}
			return "file=" + strconv.Quote(path.Join(filepath.ToSlash(dir), name))
		})
	}
	loc.FS, loc.Path = sub, path.Base(loc.Path)
	tok.SetFSLoc(loc)
}

// isUnlocated reports whether a file embeds others, and CUE does not know where they are:
// it belongs to a module that a directory replaces.
func isUnlocated(file *ast.File) bool {
	tok := file.Pos().File()
	if tok == nil || tok.FSLoc().FS != nil {
		return false
	}
	embeds, _ := embedsOf(file)
	return len(embeds) > 0
}

// inModule reports whether a directory below root is one of another module, whose files
// CUE embeds for that module alone.
func inModule(root, dir string) bool {
	for at := dir; at != "."; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(root, at, "cue.mod")); err == nil {
			return true
		}
	}
	return false
}

// embedsOf returns the @embed attributes of a file, and reports whether one of them
// is a glob.
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

// embedded explains an error of an embedded file, which has a position in that file, or of
// its attribute.
func (x *explanation) embedded(m []string) {
	at := slices.IndexFunc(x.At, func(p Pos) bool { return path.Ext(p.File) != ".cue" })
	switch {
	case at < 0:
		x.Msg, x.Hint = "invalid @embed: "+cmp.Or(m[2], m[1]), "write @embed(file=values.yaml), or @embed(file=NAME, type=yaml)"
		return
	case strings.HasPrefix(m[1], "number & "): // more than 64 bits, or the tag !!float
		n := strings.TrimPrefix(m[1], "number & ")
		x.Msg, x.Hint = "the number "+n+" cannot be read from YAML without a fraction", "write "+n+`.0, or "`+n+`" for a string`
	case m[1] != "":
		x.Msg, x.Hint = "the number "+m[1]+" does not exist in JSON, and so not in Kubernetes", "write a finite number, or a string in quotes"
	default:
		x.Msg, x.Hint = "the embedded file cannot be read: "+m[2], "correct the file here"
	}
	x.Code = CodeEmbeddedFile
	x.At[0], x.At[at] = x.At[at], x.At[0]
}

// yamlNumber explains a number of an embedded YAML file that CUE refuses, such as 00.5 or -07.
func (x *explanation) yamlNumber(m []string) {
	line, _ := strconv.Atoi(m[2])
	x.At = append([]Pos{{File: m[1], Line: line}}, x.At...)
	x.Msg, x.Hint = "the number "+strings.Replace(m[3], "0o", "0", 1)+" cannot be read", "write it without zeros in front, or in quotes for a string"
}

// yamlSyntax explains an embedded YAML file that does not parse.
func (x *explanation) yamlSyntax(m []string) {
	line, _ := strconv.Atoi(m[2])
	pos := Pos{File: m[1], Line: line}
	pos.Line = YAMLLine([]byte(x.sourceOf(pos)), line, m[3])
	x.At = append([]Pos{pos}, x.At...)
	x.Msg, x.Hint = YAMLFault(m[3])
}

// notExpected matches the messages of the parser of the YAML libraries.
var notExpected = regexp.MustCompile(`(?:line (\d+): )?did not find expected (?:key|node content|'-' indicator|',' or '[\]}]')$`)

// YAMLLine returns the line of a fault in YAML for the line and the message of a YAML library.
// sigs.k8s.io/yaml counts lines from 0, and go.yaml.in/yaml/v3 reports the line where the
// enclosing map or list begins.
func YAMLLine(data []byte, line int, msg string) int {
	if !notExpected.MatchString(msg) {
		return line
	}
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		if m := notExpected.FindStringSubmatch(err.Error()); m != nil {
			n, _ := strconv.Atoi(m[1])                                          // 0 if the message has no line: the fault is in the first line
			last := bytes.Count(bytes.TrimRight(data, " \t\r\n"), []byte("\n")) // a fault at the end of the file is reported in its last line with text
			return min(n, last) + 1
		}
	}
	return line
}

// YAMLFault returns the message and the hint of the fault of a file that the YAML library
// refuses with a message.
func YAMLFault(text string) (msg, hint string) {
	hint = "correct the indentation or the quotes of this line, or of the lines around it"
	switch {
	case strings.Contains(text, "cannot start any token"):
		text = "a line begins with a tab, or a string with a special character"
		hint = "indent with spaces instead of tabs, and put strings that begin with a special character in quotes"
	case strings.Contains(text, "mapping values are not allowed"):
		hint = "correct the indentation, or put strings that contain a colon in quotes"
	case strings.Contains(text, "unknown anchor"):
		hint = "put strings that begin with * in quotes"
	case strings.Contains(text, "invalid map key"):
		text, hint = "a string that begins with { is read as a map", "put it in quotes"
	}
	return "YAML that does not parse: " + text, hint
}
