package diag

import (
	"bytes"
	"unicode/utf8"
)

const (
	notUTF8    = "the file is not UTF-8"
	saveAsUTF8 = "save it as UTF-8"
)

// NotUTF8 returns a fault at the first wrong byte of a file that is not UTF-8, nil for
// other files.
func NotUTF8(code Code, file string, data []byte) *Diag {
	if utf8.Valid(data) {
		return nil
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	pos := Pos{File: file, Line: 1 + bytes.Count(data[:at], []byte("\n")), Col: at - bytes.LastIndexByte(data[:at], '\n')}
	return &Diag{Code: code, At: []Pos{pos}, Msg: notUTF8, Hint: saveAsUTF8}
}
