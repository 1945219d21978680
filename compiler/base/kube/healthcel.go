package kube

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

// variables are the variables of expressions: the fields of the object.
var variables = []string{"apiVersion", "kind", "metadata", "spec", "status", "data"}

// maxCost limits the evaluation of an expression, in cost units of CEL: a million
// takes a fraction of a second, and no status needs more.
const maxCost = 1_000_000

// maxExpression limits the length of an expression, in bytes.
const maxExpression = 10_000

// environment is the CEL environment of expressions. It has the same functions as
// Flux's, so that expressions mean the same in both.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(),
		cel.ParserExpressionSizeLimit(maxExpression),
	}
	for _, v := range variables {
		t := cel.DynType
		if v == "apiVersion" || v == "kind" {
			t = cel.StringType
		}
		options = append(options, cel.Variable(v, t))
	}
	return cel.NewEnv(options...)
})

// A program is a compiled expression. It is safe for concurrent use.
type program struct{ cel.Program }

// A compileError is an error in an expression.
type compileError struct {
	msg       string
	undefined string // undeclared variable; empty for other errors
}

func (e *compileError) Error() string { return e.msg }

// compile compiles a boolean expression.
func compile(text string) (*program, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	ast, issues := env.Compile(text)
	if errs := issues.Errors(); len(errs) > 0 {
		first := errs[0]
		// The container of CEL does not help users.
		e := &compileError{msg: clean(strings.TrimSuffix(first.Message, " (in container '')"))}
		if at := first.Location; at.Line() > 0 {
			e.msg = fmt.Sprintf("%s (at %d:%d of the expression)", e.msg, at.Line(), at.Column()+1)
		}
		if name, ok := strings.CutPrefix(first.Message, "undeclared reference to '"); ok {
			e.undefined, _, _ = strings.Cut(name, "'")
		}
		return nil, e
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, &compileError{msg: fmt.Sprintf("the expression must be a bool, but has type %s", t)}
	}
	p, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return nil, &compileError{msg: clean(err.Error())}
	}
	return &program{p}, nil
}

// eval evaluates the expression for an object. An error means that it has no
// boolean value.
func (p *program) eval(object map[string]any) (bool, error) {
	v, _, err := p.Eval(object)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, errors.New("the expression is neither true nor false")
	}
	return bool(b), nil
}
