package load

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// maxSource is how many bytes a file of CUE, or one that CUE embeds, may have. CUE
// reads a file of this size in ten seconds, and cannot be interrupted meanwhile.
const maxSource = 4 << 20

const tooLarge = "the file is larger than 4 MiB"

// checkSize returns a fault at a place when a file below root is too large, or no regular
// file.
func checkSize(root, name string, at diag.Pos) *diag.Diag {
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	if err == nil && isSpecial(info.Mode()) {
		return specialFile(at, name)
	}
	if err != nil || info.Size() <= maxSource {
		return nil // a file that cannot be read is a fault of its reader
	}
	d := &diag.Diag{Code: diag.CodeFileSize, At: []diag.Pos{at}, Msg: tooLarge, Hint: "split it"}
	if at.File != name {
		d.Msg = "the embedded file " + diag.Visible(name, diag.MaxText) + " is larger than 4 MiB"
		d.Hint = "split it, or keep the data elsewhere"
	}
	return d
}

// checkEmbedded returns a fault for an embedded file that CUE would read otherwise than Helm:
// with text in another encoding than UTF-8 or, with a byte order mark, UTF-16, whose
// characters CUE would replace, or with a key that occurs twice.
func checkEmbedded(tree *os.Root, e diag.EmbeddedFile) *diag.Diag {
	if e.IsBinary {
		return nil
	}
	data, err := git.ReadFile(tree, e.Name, maxSource)
	if err != nil || bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil // a file that cannot be read is a fault of its reader
	}
	if d := diag.NotUTF8(diag.CodeEmbeddedFile, e.Name, data); d != nil {
		return d
	}
	var n yaml.Node
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(e.Name)) || yaml.Unmarshal(data, &n) != nil {
		return nil // CUE reports errors
	}
	first, again := duplicateKey(&n)
	if again == nil {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeEmbeddedFile, At: []diag.Pos{{File: e.Name, Line: again.Line, Col: again.Column}},
		Msg:  fmt.Sprintf("the key %s occurs twice, first in line %d", diag.Visible(again.Value, diag.MaxText), first.Line),
		Hint: "keep one of them",
	}
}

// duplicateKey returns the places of a key that a map has twice; nil for none. CUE unifies its
// values, and Helm takes the last one.
func duplicateKey(n *yaml.Node) (first, again *yaml.Node) {
	keys := map[string]*yaml.Node{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if keys[c.Value] != nil {
				return keys[c.Value], c
			}
			keys[c.Value] = c
		}
		if first, again = duplicateKey(c); again != nil {
			return first, again
		}
	}
	return nil, nil
}
