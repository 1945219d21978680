package jsonnet

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/go-jsonnet/ast"

	"github.com/fleetc/fleetc/compiler/diag"
)

// argumentNames are the parameters that a file's function may have.
var argumentNames = []string{"params", "cluster", "release"}

// arguments returns what a file's function is called with, as JSON, which is
// Jsonnet. The release is there for what needs to know its name or namespace.
func arguments(req Request) (map[string]string, error) {
	release := req.Release
	params := req.Params
	if params == nil {
		params = map[string]any{}
	}
	own := map[string]any{"name": release.Name, "namespace": release.Namespace, "stage": release.Stage}
	args := map[string]string{}
	for i, v := range []any{params, req.Cluster, own} {
		name := argumentNames[i]
		p, err := plain(v, 0)
		if err == nil {
			var text []byte
			text, err = json.Marshal(p)
			args[name] = string(text)
		}
		if err != nil {
			d := *diag.All(err)[0]
			d.At = []diag.Pos{release.Pos}
			d.Path = release.Path(strings.Replace(name, "params", "values", 1)) + d.Path
			return nil, &d
		}
	}
	return args, nil
}

// bind gives the file's function the arguments that it names. What cannot be
// seen from the text, such as a function that another one returns, gets params
// and cluster.
func (m *machine) bind(node ast.Node) error {
	f := m.follow(node, map[ast.Identifier]ast.Node{}, 0)
	fn, ok := f.(*ast.Function)
	switch {
	case ok:
		return m.bindTo(fn)
	case f != nil:
		return m.unused("the file is no function, and the release sets values for it")
	}
	m.vm.TLACode("params", m.run.args["params"])
	m.vm.TLACode("cluster", m.run.args["cluster"])
	return nil
}

func (m *machine) bindTo(fn *ast.Function) error {
	takesParams := false
	for _, p := range fn.Parameters {
		name := string(p.Name)
		if arg, ok := m.run.args[name]; ok {
			m.vm.TLACode(name, arg)
		} else if p.DefaultArg == nil {
			d := m.run.fault("the file's function has a parameter %s, which nothing sets", name)
			if isUsers(p.LocRange.FileName) {
				d.At[0] = posOf(&p.LocRange)
			}
			d.Hint = diag.OneOf(name, argumentNames)
			return d
		}
		takesParams = takesParams || name == "params"
	}
	if !takesParams {
		return m.unused("the file's function has no parameter params, and the release sets values for it")
	}
	return nil
}

// unused returns a fault when the release has values: nobody would ever see
// them.
func (m *machine) unused(msg string) error {
	if m.run.args["params"] == "{}" {
		return nil
	}
	d := m.run.fault("%s", msg)
	d.Hint = "make it function(params, cluster)"
	return d
}

// maxFollow is how many steps are followed from a file to its function.
const maxFollow = 1000

// follow returns the function that a file evaluates to, or else the expression
// that is certainly none; nil when the text does not tell.
func (m *machine) follow(node ast.Node, binds map[ast.Identifier]ast.Node, steps int) ast.Node {
	for ; steps < maxFollow; steps++ {
		switch n := node.(type) {
		case *ast.Function, *ast.DesugaredObject, *ast.Array:
			return n
		case *ast.Local:
			for _, b := range n.Binds {
				binds[b.Variable] = b.Body
			}
			node = n.Body
		case *ast.Var:
			// A name that is bound twice may be the other one.
			node = binds[n.Id]
		case *ast.Conditional: // an assert
			if _, ok := n.BranchFalse.(*ast.Error); !ok {
				return nil
			}
			node = n.BranchTrue
		case *ast.Import:
			m.meter.code = true
			imported, _, err := m.vm.ImportAST(n.Loc().FileName, n.File.Value)
			if err != nil {
				return nil // told again when it is evaluated
			}
			node, binds = imported, map[ast.Identifier]ast.Node{}
		default:
			return nil
		}
	}
	return nil
}

// posOf returns where a range of a file begins.
func posOf(at *ast.LocationRange) diag.Pos {
	return diag.Pos{File: at.FileName, Line: at.Begin.Line, Col: at.Begin.Column}
}

// isArgument reports whether a name is that of an argument.
func isArgument(name string) bool { return slices.Contains(argumentNames, name) }
