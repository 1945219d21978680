package importer

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A templateText is a text with templates and its place.
type templateText struct {
	text string
	dir  string   // to which paths in functions are relative
	file string   // of the repository
	line int      // of the text in the file
	at   diag.Pos // of the text, if its lines are not those of the file
}

// positionForm matches the position in an error of Go's templates.
var positionForm = regexp.MustCompile(`^template: (.*?):(\d+)(?::(\d+))?: (?:executing ".*?" at <.*?>: )?`)

// renderLines returns a text with its templates executed, and the line in the file of each
// line of the result.
func (e *environmentRun) renderLines(t templateText, data any) (string, []int, error) {
	out, err := e.run(t, data, false)
	for _, name := range out.missing {
		if _, ok := e.missing[name]; !ok {
			e.missing[name] = e.textPos(t, strings.Count(before(t.text, strconv.Quote(name), name), "\n"))
		}
	}
	if err != nil && e.ctx.Err() != nil {
		return "", nil, e.ctx.Err()
	}
	if err != nil {
		return "", nil, e.templateFault(t, err)
	}
	return out.text, out.lines, nil
}

// A rendering is the result of a template.
type rendering struct {
	text    string
	lines   []int    // line in the file of each line
	missing []string // environment variables that have no value
}

// run executes a template within the limits of time and memory. With an error, the result
// has the text before it.
func (e *environmentRun) run(t templateText, data any, lenient bool) (rendering, error) {
	return runTemplate(e.ctx, func() (out rendering, err error) {
		engine := &engine{run: e, source: t, dir: t.dir, lenient: lenient}
		text, err := engine.execute(t, data, true)
		out.text, out.lines = lineMap(text, t.line)
		out.missing = engine.missing
		return out, err
	})
}

// before returns the part of a text before the first of the given parts that it has.
func before(text string, parts ...string) string {
	for _, part := range parts {
		if head, _, ok := strings.Cut(text, part); ok {
			return head
		}
	}
	return ""
}

// textPos returns the position of a line of a text, counted from zero.
func (r *helmfileReader) textPos(t templateText, line int) diag.Pos {
	if t.at.IsValid() {
		return t.at
	}
	return r.pos(t.file, t.line+line, 1)
}

// templateFault returns the fault for an error of a template.
func (e *environmentRun) templateFault(t templateText, err error) error {
	var fault *programFault
	hint := "correct the template, or the values that it reads"
	if v, ok := errors.AsType[*VaryingError](err); ok {
		fault = &programFault{msg: v.Error(), hint: "write the value into the values of the environment"}
	}
	if fault != nil || errors.As(err, &fault) {
		hint = fault.hint
	}
	text := diag.Brief(withoutWatch(err))
	pos := e.textPos(t, 0)
	if m := positionForm.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[2])
		col, _ := strconv.Atoi(m[3])
		switch {
		case m[1] != t.file:
			pos = e.pos(m[1], line, col+1)
		case !t.at.IsValid():
			pos = e.pos(t.file, t.line+line-1, col+1)
		}
		text = strings.TrimPrefix(text, m[0])
	}
	if fault != nil {
		text = fault.msg
	}
	return &diag.Diag{Code: diag.CodeImportTemplate, At: []diag.Pos{pos}, Msg: "the template cannot be evaluated: " + text, Hint: hint, Cause: err}
}

// A programFault is the error of a function that fleetc does not have.
type programFault struct{ msg, hint string }

// Error returns the message.
func (f *programFault) Error() string { return f.msg }

// An engine executes the templates of one text.
type engine struct {
	run     *environmentRun
	source  templateText
	dir     string
	lenient bool     // whether missing values are empty
	missing []string // environment variables that have no value
	depth   int      // of calls of tpl and include
	calls   []templateCall
}

// positions returns the function that returns the position of a line of a template. name is
// that of the file.
func (g *engine) positions(name string) func(line int) diag.Pos {
	return func(line int) diag.Pos {
		switch name {
		case g.source.file:
			return g.run.textPos(g.source, line-1)
		case tplName:
			return g.run.textPos(g.source, 0)
		}
		return g.run.pos(name, line, 1)
	}
}

// tplName is the name of the templates that tpl executes.
const tplName = "tpl"

// maxHelmfileDepth limits the depth of calls of tpl and include.
const maxHelmfileDepth = 200

// execute returns a text with its templates executed. With marks, each line has a mark
// with its line in the source.
func (g *engine) execute(t templateText, data any, marks bool) (string, error) {
	if g.depth++; g.depth > maxHelmfileDepth {
		return "", &programFault{msg: fmt.Sprintf("templates call each other more than %d times", maxHelmfileDepth), hint: "remove the cycle of tpl or include"}
	}
	defer func() { g.depth-- }()
	option := "missingkey=error"
	if g.lenient {
		option = "missingkey=zero"
	}
	set := template.New(t.file).Option(option)
	set.Funcs(g.functions(set))
	helpers, err := g.run.glob(path.Join(g.dir, "_*.tpl"))
	if err != nil {
		return "", err
	}
	for _, name := range helpers {
		text, err := g.run.read(name)
		if err != nil {
			return "", err
		}
		g.run.count(name, lineCount(text), 0)
		if _, err := set.New(name).Parse(string(text)); err != nil {
			return "", err
		}
	}
	if set, err = set.Parse(t.text); err != nil {
		return "", err
	}
	for _, t := range set.Templates() {
		if t.Tree != nil && t.Root != nil {
			g.watch(t.Root, g.positions(t.ParseName))
		}
	}
	if marks && set.Tree != nil && set.Root != nil && !strings.ContainsAny(t.text, markStart+markEnd) {
		markLines(set.Root, t.text)
	}
	b := &TemplateOutput{}
	err = set.Execute(b, data)
	return b.String(), err
}

// The marks of lines. YAML cannot have these characters.
const markStart, markEnd = "\x02", "\x03"

// markLines adds the number of the line to the start of each text and line that a template
// prints itself.
func markLines(n parse.Node, text string) {
	mark := func(line int) string { return markStart + strconv.Itoa(line) + markEnd }
	branches := func(n *parse.BranchNode) {
		markLines(n.List, text)
		if n.ElseList != nil {
			markLines(n.ElseList, text)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, below := range n.Nodes {
			markLines(below, text)
		}
	case *parse.IfNode:
		branches(&n.BranchNode)
	case *parse.RangeNode:
		branches(&n.BranchNode)
	case *parse.WithNode:
		branches(&n.BranchNode)
	case *parse.TextNode:
		line := strings.Count(text[:min(int(n.Pos), len(text))], "\n")
		var b strings.Builder
		b.WriteString(mark(line))
		for i, part := range strings.Split(string(n.Text), "\n") {
			if i > 0 {
				b.WriteString("\n" + mark(line+i))
			}
			b.WriteString(part)
		}
		n.Text = []byte(b.String())
	}
}

// markForm matches a mark of a line.
var markForm = regexp.MustCompile(markStart + `(\d+)` + markEnd)

// lineMap returns a text without marks, and the line in the file of each of its lines.
func lineMap(text string, first int) (string, []int) {
	var out strings.Builder
	var lines []int
	last := 0
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		for j, m := range markForm.FindAllStringSubmatch(line, -1) {
			n, _ := strconv.Atoi(m[1])
			if last = n; j == 0 {
				lines = append(lines, first+n)
			}
		}
		if len(lines) == i {
			lines = append(lines, first+last)
		}
		out.WriteString(markForm.ReplaceAllString(line, ""))
	}
	return out.String(), lines
}

// plainLines returns the lines of a text without templates.
func plainLines(text string, first int) []int {
	lines := make([]int, strings.Count(text, "\n")+1)
	for i := range lines {
		lines[i] = first + i
	}
	return lines
}
