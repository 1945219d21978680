package jsonnet

import (
	"context"
	"fmt"
	"path"

	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"
)

// Dependencies returns the files of the fleet that renders of a file can read,
// sorted: itself, and all that it and they import, whatever is evaluated. The
// name is as in [Request]. charts reports whether it may render charts.
//
// What is not there, or does not parse, is no error here: a render of it is. The
// error is that of too many files.
func (r *Renderer) Dependencies(ctx context.Context, name string) (files []string, charts bool, err error) {
	m, err := r.machine()
	if err != nil {
		return nil, false, err
	}
	m.run = newRun(ctx, r, Request{File: path.Clean(name)})
	c := closure{machine: m, seen: map[string]bool{}}
	defer func() {
		// A file is input: what it makes the library do is its fault.
		if p := recover(); p != nil {
			files, err = nil, fmt.Errorf("%s%v", crashed, p)
			return
		}
		m.run = nil
		r.idle.Put(m)
	}()
	c.code("", m.run.req.File)
	if len(m.run.reads) > maxReads || m.run.bytes > maxReadBytes {
		return nil, false, fmt.Errorf("%s imports more than %d files or %d MiB", name, maxReads, maxReadBytes>>20)
	}
	return m.run.readFiles(), c.charts, ctx.Err()
}

// A closure follows the imports of files.
type closure struct {
	machine *machine
	seen    map[string]bool // files of code, by what the library calls them
	charts  bool
}

// code follows the imports of a file of code that another one imports.
func (c *closure) code(from, name string) {
	c.machine.meter.code = true
	node, found, err := c.machine.vm.ImportAST(from, name)
	if err != nil || c.seen[found] || c.machine.run.ctx.Err() != nil {
		return
	}
	c.seen[found] = true
	c.node(found, node)
}

// node follows the imports in an expression of a file.
func (c *closure) node(file string, n ast.Node) {
	switch n := n.(type) {
	case *ast.Import:
		c.code(file, n.File.Value)
	case *ast.ImportStr:
		c.data(file, n.File.Value)
	case *ast.ImportBin:
		c.data(file, n.File.Value)
	case *ast.Var:
		// The standard library, as a value: it may go anywhere.
		c.charts = c.charts || n.Id == "std"
	case *ast.Index:
		target, isVar := n.Target.(*ast.Var)
		field, isText := n.Index.(*ast.LiteralString)
		if isVar && target.Id == "std" && isText {
			c.charts = c.charts || field.Value == "native"
			return
		}
	case *ast.DesugaredObject:
		for _, a := range n.Asserts { // which toolutils forgets
			c.node(file, a)
		}
	}
	for _, child := range toolutils.Children(n) {
		c.node(file, child)
	}
}

// data notes a file that is imported as it is.
func (c *closure) data(from, name string) {
	c.machine.meter.code = false
	// One that cannot be read is a fault of the render that wants it.
	_, _, _ = c.machine.run.find(from, name)
}
