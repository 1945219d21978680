package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-jsonnet/ast"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// argumentNames are the parameters that fleetc sets.
var argumentNames = []string{"params", "cluster", "release"}

// arguments returns the arguments that fleetc sets, as Jsonnet values. The
// release is for files that need its name or namespace.
func arguments(req JsonnetRequest) (map[string]any, error) {
	release := req.Release
	own := map[string]any{"name": release.Name, "namespace": release.Namespace, "stage": release.Stage}
	args := map[string]any{}
	for i, v := range []any{req.values(), req.Cluster, own} {
		name := argumentNames[i]
		p, err := jsonnetPlain(v, 0)
		if err != nil {
			d := *diag.All(err)[0]
			d.At = []diag.Pos{release.Pos}
			d.Path = release.Path(strings.Replace(name, "params", "values", 1)) + d.Path
			return nil, &d
		}
		args[name] = p
	}
	return args, nil
}

// values returns the values of the release, never nil.
func (req JsonnetRequest) values() any {
	if req.Params == nil {
		return map[string]any{}
	}
	return req.Params
}

// bind passes the arguments to the file's function. Each value is the argument
// of the parameter with its name, unless there is a parameter params, which
// takes all values as a map. A function that is not visible in the text, such
// as the result of a call, gets params and cluster.
func (m *machine) bind(node ast.Node) error {
	fn, err := m.checkFunction(node)
	if err != nil {
		return err
	}
	names := []string{"params", "cluster"}
	if fn != nil {
		names = nil
		for _, p := range fn.Parameters {
			names = append(names, string(p.Name))
		}
		if values, ok := m.run.args["params"].(map[string]any); ok && !slices.Contains(names, "params") {
			maps.Copy(m.run.args, values)
		}
	}
	for _, name := range names {
		arg, ok := m.run.args[name]
		if !ok {
			continue // use the default
		}
		text, err := json.Marshal(arg)
		if err != nil {
			return err
		}
		m.vm.TLACode(name, string(text)) // JSON is valid Jsonnet
	}
	return nil
}

// checkFunction returns the function of a file, or nil if it is not visible in
// the text. The error has the faults of values and parameters that do not
// match.
func (m *machine) checkFunction(node ast.Node) (*ast.Function, error) {
	f := m.follow(node, map[ast.Identifier]ast.Node{}, 0)
	if f == nil {
		return nil, nil
	}
	values, _ := m.run.req.values().(map[string]any)
	fn, ok := f.(*ast.Function)
	if !ok {
		if len(values) == 0 {
			return nil, nil
		}
		d := m.run.fault("the file is not a function, but the release sets values")
		d.Code = diag.CodeJsonnetParameter
		d.Hint = "make it a function with a parameter for each value"
		return nil, d
	}
	byName := !slices.ContainsFunc(fn.Parameters, func(p ast.Parameter) bool { return p.Name == "params" })
	if !byName {
		values = nil
	}
	var faults diag.List
	var names []string // parameters that take a value
	for _, p := range fn.Parameters {
		if !isArgument(string(p.Name)) {
			names = append(names, string(p.Name))
		}
	}
	misspelt := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			misspelt[diag.Nearest(name, names)] = true
			faults.Add(m.run.withoutParameter(fn, name, names))
		}
	}
	for _, p := range fn.Parameters {
		name := string(p.Name)
		if _, ok := values[name]; !ok && p.DefaultArg == nil && !misspelt[name] && !isArgument(name) {
			faults.Add(m.run.withoutValue(p, byName))
		}
	}
	return fn, faults.Err()
}

// withoutValue returns the fault of a parameter without a value.
func (t *run) withoutValue(p ast.Parameter, byName bool) *diag.Diag {
	name := string(p.Name)
	d := t.fault("the parameter %s of the file's function has no value", name)
	d.Code = diag.CodeJsonnetParameter
	if isUsers(p.LocRange.FileName) {
		d.At[0] = posOf(&p.LocRange)
	}
	if near := diag.DidYouMean(name, argumentNames); near != "" {
		d.Hint = near
		return d
	}
	if !byName {
		d.Hint = fmt.Sprintf("write params.%s, or remove params: then each value has a parameter", name)
		return d
	}
	slices.Reverse(d.At) // the release needs the change
	d.Hint = fmt.Sprintf("set %s, or give the parameter a default", t.req.Release.Path("values", name))
	return d
}

// withoutParameter returns the fault of a value without a parameter.
func (t *run) withoutParameter(fn *ast.Function, name string, parameters []string) *diag.Diag {
	release := t.req.Release
	d := &diag.Diag{Code: diag.CodeJsonnetParameter, At: []diag.Pos{release.Pos, {File: t.req.File}}, Path: release.Path("values", name)}
	if at := fn.Loc(); isUsers(at.FileName) {
		d.At[1] = posOf(at)
	}
	if release.Values != nil {
		if at, depth := release.Values.Lookup(name); depth == 1 && at.Pos.IsValid() {
			d.At[0] = at.Pos
		}
	}
	switch {
	case isArgument(name):
		d.Msg = fmt.Sprintf("this name is reserved: fleetc sets the parameter %s", name)
		d.Hint = "give the value and its parameter another name"
	case len(parameters) == 0:
		d.Msg = "no such value: the file's function has no parameter " + name
		d.Hint = fmt.Sprintf("add the parameter %s, or params, which takes all values", name)
	default:
		d.Msg = "no such value: the file's function has no parameter " + name
		d.Hint = diag.OneOf(name, parameters)
	}
	return d
}

// maxFollow is the maximum number of steps from a file to its function.
const maxFollow = 1000

// follow returns the function that a file evaluates to, or an expression that
// is certainly not a function, or nil if the text does not show it.
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
			// The name may be bound twice, and this may be the wrong binding.
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
				return nil // reported by the evaluation
			}
			node, binds = imported, map[ast.Identifier]ast.Node{}
		default:
			return nil
		}
	}
	return nil
}

// posOf returns the beginning of a range.
func posOf(at *ast.LocationRange) diag.Pos {
	return diag.Pos{File: at.FileName, Line: at.Begin.Line, Col: at.Begin.Column}
}

// isArgument reports whether fleetc sets a parameter.
func isArgument(name string) bool { return slices.Contains(argumentNames, name) }
