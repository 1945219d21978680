package render

import (
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
)

// A trace records the values that a rendering reads and which template nodes
// print its output. Only renderings of a [Probe] have one.
type trace struct {
	*reads
	sites   []site              // all parsed nodes, by number
	words   map[string][]string // string constants in one command with a field, by field name
	current *execution          // the execution in progress
	last    *execution          // the execution that ended last
}

// A site is a node of a template.
type site struct {
	file     string // the name of the [text]
	content  string
	pos      int  // in content
	verbatim bool // whether the node prints its source text
}

func (s site) line(further int) int { return 1 + strings.Count(s.content[:s.pos], "\n") + further }

// An execution is one execution of a template file, include or tpl call.
type execution struct {
	parent *execution
	site   int   // the current node
	calls  []int // the enclosing template actions
	chunks []chunk
	inner  []*execution // executions that the node started
	text   strings.Builder
}

// A chunk is the output of one write by a node.
type chunk struct {
	start, end int
	site       int
	calls      []int
	inner      []*execution
}

// observe adds the functions that report the current node to the trace.
func (t *trace) observe(funcs template.FuncMap) {
	maps.Copy(funcs, template.FuncMap{
		fnAt: func(n int) bool {
			t.current.site, t.current.inner = n, nil
			return false
		},
		fnCall: func(n int) bool { t.current.calls = append(t.current.calls, n); return false },
		fnBack: func(int) bool { t.current.calls = t.current.calls[:len(t.current.calls)-1]; return false },
	})
}

// begin starts an execution that writes to w, and returns the writer to use
// instead.
func (t *trace) begin(w io.Writer) io.Writer {
	t.current = &execution{parent: t.current}
	return tracer{w, t.current}
}

// end ends the execution that began last.
func (t *trace) end() {
	t.last = t.current
	if t.current = t.current.parent; t.current != nil {
		t.current.inner = append(t.current.inner, t.last)
	}
}

// A tracer records which node wrote which output.
type tracer struct {
	w io.Writer
	p *execution
}

func (w tracer) Write(b []byte) (int, error) {
	p := w.p
	if text := withoutMissing(string(b)); text != "" {
		start := p.text.Len()
		p.text.WriteString(text)
		p.chunks = append(p.chunks, chunk{start, p.text.Len(), p.site, slices.Clone(p.calls), p.inner})
	}
	return w.w.Write(b)
}
