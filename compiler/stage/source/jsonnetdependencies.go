package source

import (
	"context"
	"fmt"
	"path"

	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"
)

// Dependencies returns the files of the fleet that a render of a file can read,
// sorted: the file and all its transitive imports, evaluated or not. The name
// is as in [JsonnetRequest]. charts reports whether the file may render charts.
//
// Missing and invalid files are not errors here, but in a render. The error is
// too many files.
func (r *JsonnetRenderer) Dependencies(ctx context.Context, name string) (files []string, charts bool, err error) {
	m, err := r.machine()
	if err != nil {
		return nil, false, err
	}
	m.run = newRun(ctx, r, JsonnetRequest{File: path.Clean(name)})
	c := importWalk{machine: m, seen: map[string]bool{}}
	defer func() {
		// The file is input: a panic of the library is a fault of the file.
		if p := recover(); p != nil {
			files, err = nil, fmt.Errorf("%s%v", crashed, p)
			return
		}
		m.run = nil
		r.idle.Put(m)
	}()
	c.code("", m.run.req.File)
	if len(m.run.reads) > maxJsonnetReads || m.run.bytes > maxJsonnetReadBytes {
		return nil, false, fmt.Errorf("%s imports more than %d files or %d MiB", name, maxJsonnetReads, maxJsonnetReadBytes>>20)
	}
	return m.run.readFiles(), c.charts, ctx.Err()
}

// An importWalk follows the imports of files.
type importWalk struct {
	machine *machine
	seen    map[string]bool // visited code files, by the name in the library
	charts  bool
}

// code follows the imports of a code file that another file imports.
func (c *importWalk) code(from, name string) {
	c.machine.meter.code = true
	node, found, err := c.machine.vm.ImportAST(from, name)
	if err != nil || c.seen[found] || c.machine.run.ctx.Err() != nil {
		return
	}
	c.seen[found] = true
	c.node(found, node)
}

// node follows the imports in an expression.
func (c *importWalk) node(file string, n ast.Node) {
	switch n := n.(type) {
	case *ast.Import:
		c.code(file, n.File.Value)
	case *ast.ImportStr:
		c.data(file, n.File.Value)
	case *ast.ImportBin:
		c.data(file, n.File.Value)
	case *ast.Var:
		// std as a value: the program may call any of its functions.
		c.charts = c.charts || n.Id == "std"
	case *ast.Index:
		target, isVar := n.Target.(*ast.Var)
		field, isText := n.Index.(*ast.LiteralString)
		if isVar && target.Id == "std" && isText {
			c.charts = c.charts || field.Value == "native"
			return
		}
	case *ast.DesugaredObject:
		for _, a := range n.Asserts { // which toolutils.Children leaves out
			c.node(file, a)
		}
	}
	for _, child := range toolutils.Children(n) {
		c.node(file, child)
	}
}

// data records a file that is imported as text or bytes.
func (c *importWalk) data(from, name string) {
	c.machine.meter.code = false
	// An unreadable file is a fault of the render.
	_, _, _ = c.machine.run.find(from, name)
}
