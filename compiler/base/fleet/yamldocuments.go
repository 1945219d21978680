package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAMLDocuments yields the documents of a text. It ends after the first that does not parse, which
// has an error.
func YAMLDocuments(text []byte) iter.Seq2[*yaml.Node, error] {
	return func(yield func(*yaml.Node, error) bool) {
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var document yaml.Node
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) || !yield(&document, err) || err != nil {
				return
			}
		}
	}
}

// YAMLMessage returns the message of an error of the YAML libraries in one line, without their
// prefixes. Of several messages it returns the first, and how many there are besides.
func YAMLMessage(err error) string {
	msg := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: while decoding JSON: ", "yaml: "} {
		msg = strings.TrimPrefix(msg, prefix)
	}
	more := ""
	if all, ok := strings.CutPrefix(msg, "unmarshal errors:\n"); ok {
		first, rest, ok := strings.Cut(all, "\n")
		if msg = first; ok {
			more = fmt.Sprintf(" (and %d more)", strings.Count(rest, "\n")+1)
		}
	}
	msg = strings.Join(strings.Fields(msg), " ")
	if field, got, want, ok := WrongTypeIn(msg); ok {
		if field != "" {
			field += " is "
		}
		msg = wrongType.ReplaceAllLiteralString(msg, field+got+", where "+want+" is expected")
	}
	return msg + more
}
