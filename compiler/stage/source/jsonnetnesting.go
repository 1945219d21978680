package source

import (
	"bytes"
	"fmt"
)

// The library parses and evaluates by recursion without a limit, and Go ends a
// process that runs out of stack: 12 KB of opening brackets are enough. So the
// nesting of a text is measured before parsing. The result is an upper bound
// for the syntax tree; it may be too large for unusual texts.
const (
	maxBrackets = 400  // nested brackets: each takes up to 130 KiB of stack
	maxChain    = 5000 // nested tokens without brackets: each takes 6 KiB
)

// A level is the text between two brackets: a chain of tokens, of which each
// may be the parent of the next.
type level struct {
	chain int   // tokens since the last comma
	binds []int // length of the chain at each local and assert without its semicolon
}

// nesting returns an error if the text may nest too deep for the parser or the
// evaluation.
func nesting(src []byte) error {
	chain, brackets, at := measure(src, maxChain, maxBrackets)
	line := 1 + bytes.Count(src[:at], []byte("\n"))
	switch {
	case brackets > maxBrackets:
		return fmt.Errorf("brackets nest more than %d deep in line %d", maxBrackets, line)
	case chain > maxChain:
		return fmt.Errorf("expressions nest more than %d deep in line %d", maxChain, line)
	}
	return nil
}

// measure returns the maximum nesting of a text: the sum of the chains at one
// position, and the number of open brackets. It stops at a limit.
func measure(src []byte, chainLimit, bracketLimit int) (chain, brackets, at int) {
	levels := []level{{}}
	sum := 0 // of the chains of all levels
	for at < len(src) && chain <= chainLimit && brackets <= bracketLimit {
		l := &levels[len(levels)-1]
		before := l.chain
		size, isBlank := skip(src[at:])
		size = max(size, 1)
		switch c := src[at]; {
		case isBlank:
		case c == ']' || c == ')' || c == '}':
			if len(levels) > 1 {
				levels = levels[:len(levels)-1]
				sum -= before
			}
			before = l.chain
		case c == ',':
			l.chain = l.innermost()
		case c == ';' && len(l.binds) > 0:
			l.chain = l.innermost()
			l.binds = l.binds[:len(l.binds)-1]
		default:
			if isWord(c) {
				size = wordLen(src[at:])
				if word := string(src[at : at+size]); word == "local" || word == "assert" {
					l.binds = append(l.binds, l.chain)
				}
			}
			l.chain++
		}
		sum += l.chain - before
		chain = max(chain, sum)
		if c := src[at]; size == 1 && (c == '[' || c == '(' || c == '{') {
			levels = append(levels, level{})
			brackets = max(brackets, len(levels)-1)
		}
		at += size
	}
	return chain, brackets, at
}

// innermost returns the length of the chain after a comma or semicolon, which
// ends an element or a variable of the last local.
func (l *level) innermost() int {
	if n := len(l.binds); n > 0 {
		return l.binds[n-1] + 1
	}
	return 0
}

func isWord(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// wordLen returns the length of the name, keyword or number at the beginning of
// the text.
func wordLen(src []byte) int {
	n := 1
	for n < len(src) && isWord(src[n]) && (!isDigit(src[0]) || isDigit(src[n])) {
		n++
	}
	return n
}

// skip returns the length of the white space, comment or string at the beginning of the text,
// or 0. isBlank reports whether it is white space or a comment.
func skip(src []byte) (size int, isBlank bool) {
	until := func(n int, end string) int {
		if i := bytes.Index(src[n:], []byte(end)); i >= 0 {
			return n + i + len(end)
		}
		return len(src)
	}
	hasPrefix := func(s string) bool { return bytes.HasPrefix(src, []byte(s)) }
	switch c := src[0]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return 1, true
	case c == '#' || hasPrefix("//"):
		return until(0, "\n"), true
	case hasPrefix("/*"):
		return until(2, "*/"), true
	case hasPrefix("|||"):
		return textBlock(src), false
	case hasPrefix(`@"`) || hasPrefix(`@'`):
		return verbatim(src), false
	case c == '"' || c == '\'':
		for n := 1; n < len(src); n++ {
			switch src[n] {
			case '\\':
				n++
			case c:
				return n + 1, false
			}
		}
		return len(src), false
	}
	return 0, false
}

// verbatim returns the length of a verbatim string, in which two quotes stand
// for one.
func verbatim(src []byte) int {
	quote := src[1]
	for n := 2; n < len(src); n++ {
		if src[n] != quote {
			continue
		}
		if n+1 == len(src) || src[n+1] != quote {
			return n + 1
		}
		n++
	}
	return len(src)
}

// textBlock returns the length of a text block between |||. Its lines are empty
// or begin with the indentation of the first line that is not empty; any other
// line ends it. It must agree exactly with the library: with a difference, a
// text could hide brackets.
func textBlock(src []byte) int {
	n := bytes.IndexByte(src, '\n') + 1
	if n == 0 {
		return len(src)
	}
	for n < len(src) && src[n] == '\n' {
		n++
	}
	rest := src[n:]
	indent := rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))]
	for len(indent) > 0 && bytes.HasPrefix(src[n:], indent) {
		end := bytes.IndexByte(src[n:], '\n')
		if end < 0 {
			return len(src)
		}
		for n += end; n < len(src) && src[n] == '\n'; {
			n++
		}
	}
	return len(src) - len(bytes.TrimPrefix(bytes.TrimLeft(src[n:], " \t"), []byte("|||")))
}
