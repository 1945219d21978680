package lsp

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/creachadair/jrpc2/channel"
)

const (
	maxMessage = 64 << 20 // bytes of a message; a longer one is skipped
	maxHeader  = 4 << 10  // bytes of a line of a header; the rest of a longer one is skipped
)

// framing reads and writes messages with the headers of the protocol. Unlike the framings of
// the library, it skips lines that are not headers, so that a malformed header does not end
// the server.
type framing struct {
	channel.Channel // writes
	in              *bufio.Reader
}

// newFraming returns the framing of a connection.
func newFraming(in io.Reader, out io.WriteCloser) *framing {
	return &framing{channel.LSP(in, out), bufio.NewReader(in)}
}

// The codes of a cancelled request in the library and in the protocol. In a message, the texts
// cannot stand inside of a string, whose quotes are escaped.
var (
	libraryCancelled = []byte(`"error":{"code":-32097,`)
	requestCancelled = []byte(`"error":{"code":-32800,`)
)

// Send implements [channel.Channel].
func (f *framing) Send(message []byte) error {
	return f.Channel.Send(bytes.Replace(message, libraryCancelled, requestCancelled, 1))
}

// Recv implements [channel.Channel].
func (f *framing) Recv() ([]byte, error) {
	size := -1
	for {
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			size = contentLength(value)
			continue
		}
		if line != "" || size < 0 {
			continue
		}
		if size > maxMessage {
			if _, err := io.CopyN(io.Discard, f.in, int64(size)); err != nil {
				return nil, err
			}
			size = -1
			continue
		}
		data := make([]byte, size)
		_, err = io.ReadFull(f.in, data)
		return data, err
	}
}

// contentLength returns the number of bytes in a header; -1 when it is not valid.
func contentLength(text string) int {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 40)
	if err != nil {
		return -1
	}
	return int(n)
}

// line reads a line, of which it returns the beginning.
func (f *framing) line() (string, error) {
	var out []byte
	for {
		part, err := f.in.ReadSlice('\n')
		if len(out) < maxHeader {
			out = append(out, part...)
		}
		if err == bufio.ErrBufferFull { //nolint:errorlint // bufio returns it as it is
			continue
		}
		return strings.TrimRight(string(out), "\r\n"), err
	}
}
