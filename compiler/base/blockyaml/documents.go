package blockyaml

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"go.yaml.in/yaml/v3"
)

// Documents yields the documents of a text. It ends after the first that does not parse, which
// has an error.
func Documents(text []byte) iter.Seq2[*yaml.Node, error] {
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
