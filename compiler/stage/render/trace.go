package render

import (
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
)

// A trace is what a rendering read, and which of its templates printed what.
// Only renderings of a [Probe] have one.
type trace struct {
	*reads
	sites []site              // of all parsed nodes, by their numbers
	words map[string][]string // texts that stand beside fields of a name in one command
	open  *printing           // the execution that goes on
	last  *printing           // the one that ended last
}

// A site is a node of a template text.
type site struct {
	file     string // as [text] names it
	content  string
	pos      int  // in content
	verbatim bool // whether the node prints what stands there
}

func (s site) line(further int) int { return 1 + strings.Count(s.content[:s.pos], "\n") + further }

// A printing is one execution of a template, by include or tpl or for itself.
type printing struct {
	above  *printing
	site   int   // the node that is executed
	calls  []int // the nodes that template actions are within
	chunks []chunk
	inner  []*printing // those that the node has waited for
	text   strings.Builder
}

// A chunk is what a node printed at once.
type chunk struct {
	start, end int
	site       int
	calls      []int
	inner      []*printing
}

func newTrace() *trace {
	return &trace{reads: newReads(), words: map[string][]string{}}
}

// observe makes the functions of a rendering tell the trace which node is executed.
func (t *trace) observe(funcs template.FuncMap) {
	maps.Copy(funcs, template.FuncMap{
		fnAt: func(n int) bool {
			t.open.site, t.open.inner = n, nil
			return false
		},
		fnCall: func(n int) bool { t.open.calls = append(t.open.calls, n); return false },
		fnBack: func(int) bool { t.open.calls = t.open.calls[:len(t.open.calls)-1]; return false },
	})
}

// begin tells the trace that a template is executed, which writes to w, and
// returns what it is to write to instead.
func (t *trace) begin(w io.Writer) io.Writer {
	t.open = &printing{above: t.open}
	return tracer{w, t.open}
}

// end tells the trace that the template that began last has ended.
func (t *trace) end() {
	t.last = t.open
	if t.open = t.open.above; t.open != nil {
		t.open.inner = append(t.open.inner, t.last)
	}
}

// A tracer remembers which node wrote what.
type tracer struct {
	w io.Writer
	p *printing
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
