package values

import "bytes"

// keyLine splits a line that begins with a key. It returns the width of a
// leading dash with its blanks, the key, and the text after the colon without
// surrounding blanks and actions.
func keyLine(line []byte) (dash int, key, value []byte, ok bool) {
	rest := line
	if bytes.HasPrefix(rest, []byte("- ")) {
		rest = bytes.TrimLeft(rest[1:], " ")
		dash = len(line) - len(rest)
	}
	rest = withoutQuote(rest)
	n := 0
	for n < len(rest) && isKeyByte(rest[n]) {
		n++
	}
	key, rest = rest[:n], withoutQuote(rest[n:])
	if n == 0 || len(rest) == 0 || rest[0] != ':' {
		return 0, nil, nil, false
	}
	rest = rest[1:]
	if len(rest) > 0 && rest[0] != ' ' && rest[0] != blot {
		return 0, nil, nil, false
	}
	return dash, key, bytes.Trim(rest, " "+string(blot)), true
}

func withoutQuote(text []byte) []byte {
	if len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		return text[1:]
	}
	return text
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '-' <= c && c <= '9' || c == '_' || c == '$'
}
