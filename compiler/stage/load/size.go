package load

import (
	"bytes"
	"os"
	"path/filepath"

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

// checkUTF8 returns a fault for an embedded file with text in another encoding than UTF-8 or,
// with a byte order mark, UTF-16: CUE would replace its characters.
func checkUTF8(tree *os.Root, e diag.EmbeddedFile) *diag.Diag {
	if e.IsBinary {
		return nil
	}
	data, err := git.ReadFile(tree, e.Name, maxSource)
	if err != nil || bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil // a file that cannot be read is a fault of its reader
	}
	return diag.NotUTF8(diag.CodeEmbeddedFile, e.Name, data)
}
