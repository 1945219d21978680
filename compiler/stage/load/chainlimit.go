package load

import (
	"bytes"
	"os"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"
)

// maxChain limits the number of consecutive operators, selectors, indices and
// calls in an expression. CUE evaluates a chain by nested calls, so that a
// long one exceeds Go's stack and ends the process. CUE itself only limits
// nested brackets.
const maxChain = 10_000

// parseFile parses a CUE file. It returns an error for a file that is too large or not
// UTF-8, and for an expression with a chain that is too long.
func parseFile(name string, src any, config parser.Config) (*ast.File, error) {
	if text, ok := src.([]byte); ok && len(text) > maxSource {
		return nil, errors.Newf(token.NewFile(name, -1, len(text)).Pos(0, token.NoRelPos), "%s", tooLarge)
	}
	// CUE has replaced wrong bytes, which only the file itself shows.
	if text, ok := src.([]byte); ok && bytes.ContainsRune(text, utf8.RuneError) {
		if raw, err := os.ReadFile(name); err == nil && !utf8.Valid(raw) {
			return parser.ParseFile(name, raw, config)
		}
	}
	if text, ok := src.([]byte); ok && len(text) > maxChain {
		if err := checkChains(name, text); err != nil {
			return nil, err
		}
	}
	return parser.ParseFile(name, src, config)
}

// A level holds the state between two brackets.
type level struct {
	links int  // length of the current chain
	text  bool // whether the brackets are an interpolation: "\(x)"
}

// checkChains reports the first chain of a text that is too long.
func checkChains(name string, text []byte) error {
	var s scanner.Scanner
	s.Init(token.NewFile(name, -1, len(text)), text, func(token.Pos, string, []any) {}, 0)
	levels := []level{{}}
	inText := false // whether the next bracket is an interpolation
	for {
		pos, tok, _ := s.Scan()
		at := &levels[len(levels)-1]
		switch {
		case tok == token.EOF:
			return nil
		case tok == token.COMMA || tok == token.COLON:
			at.links = 0
		case tok == token.PERIOD || tok.IsOperator() && tok.Precedence() > 0:
			at.links++
		case tok == token.INTERPOLATION:
			inText = true
		case tok == token.LPAREN || tok == token.LBRACK || tok == token.LBRACE:
			if !inText {
				at.links++
			}
			levels = append(levels, level{text: inText})
			inText = false
		case (tok == token.RPAREN || tok == token.RBRACK || tok == token.RBRACE) && len(levels) > 1:
			levels = levels[:len(levels)-1]
			inText = at.text && strings.HasSuffix(s.ResumeInterpolation(), `\(`)
		}
		if at.links > maxChain {
			return errors.Newf(pos, "an expression has more than %d operators in a row", maxChain)
		}
	}
}
