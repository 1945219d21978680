package load

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Chain holds one cluster with the instances of its layers.
type Chain struct {
	Root    string // absolute path of the CUE module's root
	Cluster        // with the instance of all layers

	// Prefixes holds, for each layer, the instance of that layer and those
	// above it; nil if CUE cannot load it without the layers below.
	Prefixes []*build.Instance
}

// LoadChain reads the one cluster that the pattern selects, see
// [fleet.MatchCluster], in the fleet of dir, with the edits applied. The error
// contains the faults of its layers, not those of other directories. A pattern
// that selects no or several clusters is a fault.
func LoadChain(dir, pattern string, edits Edits) (*Chain, error) {
	s, err := open(dir, edits)
	if err != nil {
		return nil, err
	}
	root, tree := s.root, s.tree
	f := &Fleet{Root: root, source: s, files: map[string]*fileFacts{}}
	leaves, err := selectLeaves(tree.leaves(), []string{pattern})
	if err != nil {
		return nil, err
	}
	if len(leaves) > 1 {
		return nil, &diag.Diag{
			Code: diag.CodeSeveralMatches,
			Msg:  fmt.Sprintf("%s selects %d clusters, and only one can be explained at a time", pattern, len(leaves)),
			Hint: "write one of " + strings.Join(diag.Each(leaves, idOf), ", "),
		}
	}
	dirs := diag.Each(tree.layers(leaves[0]), func(l fleet.Layer) string { return l.Dir })
	instances := loadInstances(root, s.withEdits(edits), dirs)
	rebaseEmbeds(root, instances)
	reader, err := newFactReader(root)
	if err != nil {
		return nil, err
	}
	defer reader.close()
	l := f.newLeaf(leaves[0], instances[len(instances)-1], reader)
	if l.err == nil {
		l.err = f.CheckEmbedded(l.cluster)
	}
	if l.err != nil {
		return nil, diag.In(idOf(leaves[0]), l.err)
	}
	for i, in := range instances {
		if in.Err != nil {
			instances[i] = nil
		}
	}
	return &Chain{Root: root, Cluster: l.cluster, Prefixes: instances}, nil
}

// maxChain limits the number of consecutive operators, selectors, indices and
// calls in an expression. CUE evaluates a chain by nested calls, so that a
// long one exceeds Go's stack and ends the process. CUE itself only limits
// nested brackets.
const maxChain = 10_000

// maxNesting limits the labels and brackets around a value. CUE evaluates nested values by
// nested calls too, and does not limit labels: a: a: a: 1.
const maxNesting = 1000

// parserOf returns the function that parses the CUE files of a fleet. It returns an error for
// a file that is a link out of the fleet or not UTF-8, and for a text that [ParseFile] refuses.
func parserOf(root string) func(string, any, parser.Config) (*ast.File, error) {
	return func(name string, src any, config parser.Config) (*ast.File, error) {
		if err := checkLink(root, name); err != nil {
			return nil, errors.Newf(token.NewFile(name, -1, 0).Pos(0, token.NoRelPos), "%s", outsideFault(diag.Pos{}, "this", err).Msg)
		}
		return parseFile(name, src, config)
	}
}

func parseFile(name string, src any, config parser.Config) (*ast.File, error) {
	text, ok := src.([]byte)
	if !ok {
		return parser.ParseFile(name, src, config)
	}
	// CUE has replaced wrong bytes, which only the file itself shows.
	if len(text) <= maxSource && bytes.ContainsRune(text, utf8.RuneError) {
		if raw, err := os.ReadFile(name); err == nil && !utf8.Valid(raw) {
			return parser.ParseFile(name, raw, config)
		}
	}
	return ParseFile(name, text, config)
}

// ParseFile parses a CUE file of a user. It returns an error for a text that CUE cannot process
// within limits: one that is too large, nested too deeply, or has a chain that is too long.
func ParseFile(name string, text []byte, options ...parser.Option) (*ast.File, error) {
	if len(text) > maxSource {
		return nil, errors.Newf(token.NewFile(name, -1, len(text)).Pos(0, token.NoRelPos), "%s", tooLarge)
	}
	if len(text) > maxNesting {
		if err := checkChains(name, text); err != nil {
			return nil, err
		}
	}
	return parser.ParseFile(name, text, options...)
}

// A level holds the state between two brackets.
type level struct {
	links  int  // length of the current chain
	labels int  // labels before the current value: 2 in a: b: 1
	text   bool // whether the brackets are an interpolation: "\(x)"
}

// checkChains reports the first chain of a text that is too long, or the first value that is
// nested too deeply.
func checkChains(name string, text []byte) error {
	var s scanner.Scanner
	s.Init(token.NewFile(name, -1, len(text)), text, func(token.Pos, string, []any) {}, 0)
	levels := []level{{}}
	nesting := 0    // labels and brackets around the current token
	inText := false // whether the next bracket is an interpolation
	for {
		pos, tok, _ := s.Scan()
		at := &levels[len(levels)-1]
		switch {
		case tok == token.EOF:
			return nil
		case tok == token.COMMA:
			nesting -= at.labels
			at.links, at.labels = 0, 0
		case tok == token.COLON:
			nesting++
			at.labels++
			at.links = 0
		case tok == token.PERIOD || tok.IsOperator() && tok.Precedence() > 0:
			at.links++
		case tok == token.INTERPOLATION:
			inText = true
		case tok == token.LPAREN || tok == token.LBRACK || tok == token.LBRACE:
			if !inText {
				at.links++
			}
			nesting++
			levels = append(levels, level{text: inText})
			inText = false
		case (tok == token.RPAREN || tok == token.RBRACK || tok == token.RBRACE) && len(levels) > 1:
			nesting -= at.labels + 1
			levels = levels[:len(levels)-1]
			inText = at.text && strings.HasSuffix(s.ResumeInterpolation(), `\(`)
		}
		if at.links > maxChain {
			return errors.Newf(pos, "an expression has more than %d operators in a row", maxChain)
		}
		if nesting > maxNesting {
			return errors.Newf(pos, "a value is nested in more than %d fields and brackets", maxNesting)
		}
	}
}
